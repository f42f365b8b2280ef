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
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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
