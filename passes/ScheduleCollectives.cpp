//===- ScheduleCollectives.cpp - Starts collectives early ----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/FF.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ff {
#define GEN_PASS_DEF_SCHEDULECOLLECTIVES
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

/// Splits each gather; the start goes behind the arrival of the gather before.
/// A unit that is still whole there cannot be gathered again: then it starts
/// where it is waited for.
static void scheduleGathers(Block &body) {
  Operation *previousWait = nullptr;
  llvm::DenseMap<Attribute, Operation *> lastRelease;
  for (auto gather : llvm::to_vector(body.getOps<GatherOp>())) {
    OpBuilder builder(gather);
    Operation *release = nullptr;
    for (Operation *user : gather->getUsers())
      if (isa<ReleaseOp>(user))
        release = user;
    Operation *earliest = lastRelease.lookup(gather.getUnitAttr());
    if (previousWait)
      builder.setInsertionPointAfter(previousWait);
    if (earliest && !(previousWait && earliest->isBeforeInBlock(previousWait)))
      builder.setInsertionPoint(gather);
    auto start = builder.create<GatherStartOp>(
        gather.getLoc(), PendingType::get(builder.getContext()),
        gather.getUnitAttr(), IntegerAttr());
    builder.setInsertionPoint(gather);
    auto wait =
        builder.create<GatherWaitOp>(gather.getLoc(), gather.getType(), start);
    gather.getResult().replaceAllUsesWith(wait.getResult());
    gather.erase();
    previousWait = wait;
    lastRelease[start.getUnitAttr()] = release;
  }
}

/// One reduction is under way while the next gradients are computed.
static void scheduleReductions(Block &body) {
  ReduceGradientsOp previous;
  for (auto reduce : body.getOps<ReduceGradientsOp>()) {
    if (previous) {
      OpBuilder builder(reduce);
      builder.create<ReduceWaitOp>(previous.getLoc(), previous.getUnitAttr());
    }
    previous = reduce;
  }
  if (previous) {
    OpBuilder builder(body.getTerminator());
    builder.create<ReduceWaitOp>(previous.getLoc(), previous.getUnitAttr());
  }
}

namespace {
struct ScheduleCollectivesPass
    : ff::impl::ScheduleCollectivesBase<ScheduleCollectivesPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!holdsCollectives(func))
        continue;
      scheduleGathers(func.getBody().front());
      scheduleReductions(func.getBody().front());
    }
  }
};
} // namespace
