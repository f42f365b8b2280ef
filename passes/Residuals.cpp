//===- Residuals.cpp - What a forward saves for its backward --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Residuals.h"

#include "dialect/View.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ff;

/// Cheap to compute again: it fuses into the loop that uses it.
static bool isCheap(Operation *op) {
  return isViewOp(op) ||
         isa<IotaOp, ActivationOp, LayerNormOp, RmsNormOp, StopGradientOp>(
             op) ||
         isa<arith::ArithDialect>(op->getDialect());
}

bool Residuals::isAvailable(Value value) {
  if (saved.contains(value) || !isForward(value))
    return true;
  if (auto it = available.find(value); it != available.end())
    return it->second;
  Operation *def = value.getDefiningOp();
  bool result =
      isCheap(def) && llvm::all_of(def->getOperands(), [&](Value operand) {
        return isAvailable(operand);
      });
  available[value] = result;
  return result;
}

bool Residuals::isOfParameters(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value))
    return arg.getOwner() == &forward &&
           block.getArgAttr(arg.getArgNumber(), kParamAttr);
  if (auto it = ofParameters.find(value); it != ofParameters.end())
    return it->second;
  Operation *def = value.getDefiningOp();
  bool constant = def->hasTrait<OpTrait::ConstantLike>() || isa<IotaOp>(def);
  bool result =
      constant || (isCheap(def) && def->getNumOperands() > 0 &&
                   !isa<LayerNormOp, RmsNormOp>(def) &&
                   llvm::all_of(def->getOperands(), [&](Value operand) {
                     return isOfParameters(operand);
                   }));
  ofParameters[value] = result;
  return result;
}

void Residuals::need(Value value, Operation *user) {
  if (!isForward(value))
    return;
  Operation *def = value.getDefiningOp();
  // To have a view is to have what it views.
  if (isViewOp(def))
    return need(def->getOperand(0), user);
  // The operand of a contraction must lie in memory anyway: reading what the
  // forward wrote is cheaper than writing it again.
  bool constant = def->hasTrait<OpTrait::ConstantLike>() || isa<IotaOp>(def);
  bool inMemory =
      isViewOp(user) || isa<MatmulOp, AttentionBackwardOp, func::CallOp>(user);
  if (!isCheap(def) || (inMemory && !constant && !isOfParameters(value)))
    saved.insert(value);
  else
    cheapNeeds.push_back(value);
}

SmallVector<Value> Residuals::getSaved() {
  for (Value value : cheapNeeds)
    if (!isAvailable(value)) {
      saved.insert(value);
      available.clear();
    }
  SmallVector<Value> order(saved.begin(), saved.end());
  llvm::sort(order, [](Value a, Value b) {
    if (a.getDefiningOp() != b.getDefiningOp())
      return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
    return cast<OpResult>(a).getResultNumber() <
           cast<OpResult>(b).getResultNumber();
  });
  return order;
}
