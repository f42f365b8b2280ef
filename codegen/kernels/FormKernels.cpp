//===- FormKernels.cpp - Groups operations into kernels ---------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"
#include "codegen/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ff {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "codegen/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

bool ff::isElementwise(Operation *op) {
  return op && op->getNumResults() == 1 && op->getNumOperands() > 0 &&
         isa<RankedTensorType>(op->getResult(0).getType()) &&
         OpTrait::hasElementwiseMappableTraits(op);
}

bool ff::isLeaf(Operation *op) {
  return isa_and_nonnull<arith::ConstantOp, IotaOp>(op) &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

RankedTensorType ff::tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool ff::isFrontOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> of) {
  return shape.size() < of.size() && of.take_front(shape.size()) == shape;
}

bool ff::isRowBroadcast(BroadcastOp broadcast) {
  return llvm::equal(broadcast.getDims(),
                     llvm::seq<int64_t>(0, broadcast.getDims().size()));
}

void ff::eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

namespace {
struct FormKernels : ff::impl::FormKernelsPassBase<FormKernels> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function->hasAttr(kKernelAttr))
      return;
    Block &block = function.front();
    foldConstants(block);
    mergePaddedSums(block);
    splitReductions(block);
    // Views move up over what has one user.
    splitParameterChains(block);
    splitConversions(block);
    hoistViews(block);
    // Views of constants are constants now.
    foldConstants(block);
    eraseUnused(block);
    splitConversions(block);
    formClusters(block);
    // An ff.fused stands where its last operation stood: what uses its other
    // results comes after it now.
    if (!sortTopologically(&block)) {
      function.emitOpError("has kernels that depend on each other");
      return signalPassFailure();
    }
    materializeOperands(block);
    eraseUnused(block);
    shareConstants(block);
  }
};
} // namespace
