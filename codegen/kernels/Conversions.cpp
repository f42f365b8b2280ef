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

namespace {
/// How a value is computed from parameters and constants alone.
struct Chain {
  unsigned operations = 0; ///< that a copy of it takes
  bool ofParameters = false;
  bool stands = false; ///< it is computed so, in few operations
};
} // namespace

/// Longer chains are computed once: copies of copies would grow without bound.
static constexpr unsigned kLongestChain = 16;

static Chain chainOf(Value value, llvm::DenseMap<Value, Chain> &known) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Operation *def = value.getDefiningOp();
  Chain chain;
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
    chain.ofParameters = chain.stands =
        function && function.getArgAttr(arg.getArgNumber(), kParamAttr);
  } else if (isa<ParamOp>(def)) {
    chain.ofParameters = chain.stands = true;
  } else if (isLeaf(def)) {
    chain.stands = true;
  } else if (isa<ReshapeOp, BroadcastOp>(def) ||
             (isElementwise(def) &&
              isa<arith::ArithDialect>(def->getDialect()))) {
    chain = {1, false, true};
    for (Value operand : def->getOperands()) {
      Chain part = chainOf(operand, known);
      chain.operations += part.operations;
      chain.ofParameters |= part.ofParameters;
      chain.stands &= part.stands;
    }
    chain.stands &= chain.operations <= kLongestChain;
  }
  known[value] = chain;
  return chain;
}

void ff::splitParameterChains(Block &block) {
  llvm::DenseMap<Value, Chain> known;
  // Last ones first: the users of a copy get copies in their turn.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isElementwise(&op))
      continue;
    Chain chain = chainOf(op.getResult(0), known);
    if (!chain.stands || !chain.ofParameters)
      continue;
    llvm::SetVector<Operation *> users(op.user_begin(), op.user_end());
    for (Operation *user : llvm::drop_begin(users)) {
      OpBuilder builder(user);
      Operation *copy = builder.clone(op);
      known[copy->getResult(0)] = chain;
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
