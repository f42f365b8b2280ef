//===- Conversions.cpp - Widening conversions stay with their users -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A conversion to a wider type is cheaper to do again than its result is to
// read. With a conversion for each user, kernels form as if the narrow value
// were read by all of them, and the wide one is never in memory.
//
// What is computed from parameters alone (a weight of fp8 as numbers, a frozen
// weight in the compute dtype) is computed for each user too: to keep it from
// the forward to the backward would keep the gathered parameters.
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ff;

bool ff::isWidening(Operation *op) {
  if (!isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp,
                       arith::SIToFPOp, arith::UIToFPOp>(op) ||
      !isElementwise(op))
    return false;
  auto width = [](Value value) {
    return tensorType(value).getElementTypeBitWidth();
  };
  return width(op->getOperand(0)) < width(op->getResult(0));
}

/// Whether `value` is computed from parameters and constants alone,
/// elementwise.
static bool isOfParameters(Value value, llvm::DenseMap<Value, bool> &known) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Operation *def = value.getDefiningOp();
  bool result;
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
    result = function && function.getArgAttr(arg.getArgNumber(), kParamAttr);
  } else if (isa<ParamOp>(def) || isLeaf(def)) {
    result = true;
  } else {
    result = (isElementwise(def) || isa<ReshapeOp, BroadcastOp>(def)) &&
             llvm::all_of(def->getOperands(), [&](Value operand) {
               return isOfParameters(operand, known);
             });
  }
  known[value] = result;
  return result;
}

void ff::splitParameterChains(Block &block) {
  llvm::DenseMap<Value, bool> known;
  // Last ones first: the users of a copy get copies in their turn.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isElementwise(&op) || !isOfParameters(op.getResult(0), known))
      continue;
    llvm::SetVector<Operation *> users(op.user_begin(), op.user_end());
    for (Operation *user : llvm::drop_begin(users)) {
      OpBuilder builder(user);
      Operation *copy = builder.clone(op);
      known[copy->getResult(0)] = true;
      user->replaceUsesOfWith(op.getResult(0), copy->getResult(0));
    }
  }
}

void ff::splitConversions(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isWidening(&op))
      continue;
    llvm::SetVector<Operation *> users(op.user_begin(), op.user_end());
    // The first one keeps the conversion itself.
    for (Operation *user : llvm::drop_begin(users)) {
      OpBuilder builder(user);
      user->replaceUsesOfWith(op.getResult(0), builder.clone(op)->getResult(0));
    }
  }
}
