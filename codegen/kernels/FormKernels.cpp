//===- FormKernels.cpp - Groups operations into kernels ---------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"
#include "codegen/Passes.h"

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

/// Appends `op` to `order`, behind what it needs. False where it needs itself.
static bool appendInOrder(Operation *op,
                          llvm::DenseMap<Operation *, bool> &done,
                          SmallVectorImpl<Operation *> &order) {
  auto [it, fresh] = done.try_emplace(op, false);
  if (!fresh)
    return it->second;
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp())
      if (!appendInOrder(def, done, order))
        return false;
  done[op] = true;
  order.push_back(op);
  return true;
}

/// Moves what is used before it is defined up to its first use, and nothing
/// else: the order of the rest decides how long values live. (MLIR's
/// sortTopologically moves all up that can be, such as the blocks that a
/// backward computes again.)
static bool moveUpDefinitions(Block &block) {
  llvm::DenseMap<Operation *, bool> done;
  SmallVector<Operation *> order;
  for (Operation &op : block)
    if (!appendInOrder(&op, done, order))
      return false;
  for (Operation *op : order)
    op->moveBefore(&block, block.end());
  return true;
}

namespace {
struct FormKernels : ff::impl::FormKernelsPassBase<FormKernels> {
  using FormKernelsPassBase::FormKernelsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function->hasAttr(kKernelAttr))
      return;
    Block &block = function.front();
    foldConstants(block);
    mergePaddedSums(block);
    splitReductions(block, device ? kDeviceSplits : kHostSplits);
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
    if (!moveUpDefinitions(block)) {
      function.emitOpError("has kernels that depend on each other");
      return signalPassFailure();
    }
    materializeOperands(block);
    eraseUnused(block);
    shareConstants(block);
  }
};
} // namespace
