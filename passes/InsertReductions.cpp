//===- InsertReductions.cpp - Reduces the gradients of each unit ---------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/FF.h"
#include "dialect/Units.h"
#include "dialect/View.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace ff {
#define GEN_PASS_DEF_INSERTREDUCTIONS
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

/// Whether `grad` can be computed where the unit's gradients lie: it is the
/// whole of a buffer that only this gradient reads.
static bool canLieInPlace(Value grad) {
  for (Value value = grad;; value = value.getDefiningOp()->getOperand(0)) {
    if (!value.hasOneUse() || !value.getDefiningOp())
      return false;
    if (isa<LossSeedOp, ViewOp>(value.getDefiningOp()))
      return false;
    if (!isViewOp(value.getDefiningOp()))
      return true;
    if (!isa<ReshapeOp>(value.getDefiningOp()))
      return false;
  }
}

/// A kernel that copies `value`.
static Value createCopy(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto copy = builder.create<FusedOp>(loc, TypeRange{type}, ValueRange{value},
                                      type.getShape(), /*reduced=*/0,
                                      /*columns=*/DenseI64ArrayAttr());
  Block &body = copy.getBody().emplaceBlock();
  Value arg = body.addArgument(type, loc);
  auto inner = OpBuilder::atBlockEnd(&body);
  inner.create<YieldOp>(loc, arg);
  return copy.getResult(0);
}

static void reduceUnit(UnitOp unit, ArrayRef<GradientOp> gradients) {
  SmallVector<Value> grads;
  SmallVector<StringRef> names;
  Operation *last = nullptr;
  for (GradientOp gradient : gradients) {
    Value grad = gradient.getGrad();
    if (!canLieInPlace(grad)) {
      OpBuilder builder(gradient);
      if (Operation *def = grad.getDefiningOp())
        builder.setInsertionPointAfter(def);
      grad = createCopy(builder, gradient.getLoc(), grad);
    }
    grads.push_back(grad);
    names.push_back(gradient.getParam().getLeafReference().getValue());
    Operation *def = grad.getDefiningOp();
    if (!last || last->isBeforeInBlock(def))
      last = def;
  }
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  builder.create<ReduceGradientsOp>(
      unit.getLoc(), FlatSymbolRefAttr::get(unit.getSymNameAttr()), grads,
      builder.getStrArrayAttr(names), IntegerAttr());
  for (GradientOp gradient : gradients)
    gradient->erase();
}

namespace {
struct InsertReductionsPass
    : ff::impl::InsertReductionsBase<InsertReductionsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    UnitTable units(module);
    for (auto func : module.getOps<func::FuncOp>()) {
      llvm::MapVector<Operation *, SmallVector<GradientOp>> byUnit;
      for (auto gradient : func.getBody().getOps<GradientOp>())
        byUnit[units.getUnit(gradient.getParam())].push_back(gradient);
      for (auto &[unit, gradients] : byUnit)
        reduceUnit(cast<UnitOp>(unit), gradients);
    }
  }
};
} // namespace
