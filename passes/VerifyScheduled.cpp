//===- VerifyScheduled.cpp - Each collective is started and waited for once
//===//
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
#define GEN_PASS_DEF_VERIFYSCHEDULED
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {

/// Walks the straight line of a program as a rank runs it, with the state of
/// each unit.
class Sequence {
public:
  LogicalResult run(func::FuncOp func);

private:
  LogicalResult step(GatherStartOp op);
  LogicalResult step(GatherWaitOp op);
  LogicalResult step(ReleaseOp op);
  LogicalResult step(ReduceGradientsOp op);
  LogicalResult step(ReduceWaitOp op);

  /// An error at `op`, with a note at the operation that it conflicts with.
  static LogicalResult conflict(Operation *op, const Twine &message,
                                Operation *other) {
    InFlightDiagnostic diag = op->emitOpError(message);
    if (other)
      diag.attachNote(other->getLoc()) << "the other operation";
    return diag;
  }

  llvm::DenseMap<Attribute, Operation *> whole;    ///< started, not released
  llvm::DenseMap<Attribute, Operation *> reducing; ///< not waited for
  llvm::DenseSet<Value> arrived;                   ///< waited for
};

} // namespace

LogicalResult Sequence::step(GatherStartOp op) {
  auto [it, fresh] = whole.try_emplace(op.getUnitAttr(), op);
  if (!fresh)
    return conflict(op, "starts a unit that is whole", it->second);
  if (!op->hasOneUse())
    return conflict(op, "needs exactly one wait", nullptr);
  return success();
}

LogicalResult Sequence::step(GatherWaitOp op) {
  unsigned releases = llvm::count_if(
      op->getUsers(), [](Operation *user) { return isa<ReleaseOp>(user); });
  if (releases != 1)
    return conflict(op, "needs exactly one release", nullptr);
  arrived.insert(op.getResult());
  return success();
}

LogicalResult Sequence::step(ReleaseOp op) {
  auto wait = op.getUnit().getDefiningOp<GatherWaitOp>();
  if (!wait || !arrived.erase(wait.getResult()))
    return conflict(op, "releases a unit that is not whole", wait);
  auto start = wait.getPending().getDefiningOp<GatherStartOp>();
  whole.erase(start.getUnitAttr());
  return success();
}

LogicalResult Sequence::step(ReduceGradientsOp op) {
  auto [it, fresh] = reducing.try_emplace(op.getUnitAttr(), op);
  if (!fresh)
    return conflict(op, "reduces a unit whose reduction is under way",
                    it->second);
  return success();
}

LogicalResult Sequence::step(ReduceWaitOp op) {
  if (!reducing.erase(op.getUnitAttr()))
    return conflict(op, "waits for a reduction that is not under way", nullptr);
  return success();
}

LogicalResult Sequence::run(func::FuncOp func) {
  for (Operation &op : func.getBody().front()) {
    LogicalResult result = success();
    if (auto start = dyn_cast<GatherStartOp>(op))
      result = step(start);
    else if (auto wait = dyn_cast<GatherWaitOp>(op))
      result = step(wait);
    else if (auto release = dyn_cast<ReleaseOp>(op))
      result = step(release);
    else if (auto reduce = dyn_cast<ReduceGradientsOp>(op))
      result = step(reduce);
    else if (auto wait = dyn_cast<ReduceWaitOp>(op))
      result = step(wait);
    else if (isa<GatherOp>(op))
      result = op.emitOpError("is left after scheduling");
    if (failed(result))
      return failure();
  }
  for (auto &state : {whole, reducing})
    for (auto &[unit, op] : state)
      return op->emitOpError("is not completed at the end of the function");
  return success();
}

namespace {
struct VerifyScheduledPass
    : ff::impl::VerifyScheduledBase<VerifyScheduledPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (holdsCollectives(func) && failed(Sequence().run(func)))
        return signalPassFailure();
  }
};
} // namespace
