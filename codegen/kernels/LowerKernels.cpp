//===- LowerKernels.cpp - ff.fused and attention into kernels ---*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "codegen/kernels/Attention.h"
#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/FusedKernel.h"
#include "dialect/Flops.h"
#include "dialect/View.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ff {
#define GEN_PASS_DEF_LOWERKERNELSPASS
#include "codegen/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct LowerKernels : ff::impl::LowerKernelsPassBase<LowerKernels> {
  using LowerKernelsPassBase::LowerKernelsPassBase;

  void runOnOperation() override;

private:
  /// The kernel of `key`, made by `emit` where it is new.
  FlatSymbolRefAttr kernelFor(Location loc, const std::string &key,
                              llvm::function_ref<void(KernelBuilder &)> emit);
  /// Replaces `op` by a launch, whose results are followed by such of the types
  /// `scratch`, which nothing reads.
  void launch(Operation *op, FlatSymbolRefAttr kernel,
              ArrayRef<StridedView> views, LaunchShape shape,
              TypeRange scratch = {});
  void lower(FusedOp op);
  void lower(AttentionOp op);
  void lower(AttentionBackwardOp op);

  llvm::StringMap<FlatSymbolRefAttr> kernels;
};
} // namespace

FlatSymbolRefAttr
LowerKernels::kernelFor(Location loc, const std::string &key,
                        llvm::function_ref<void(KernelBuilder &)> emit) {
  FlatSymbolRefAttr &symbol = kernels[key];
  if (symbol)
    return symbol;
  auto builder = OpBuilder::atBlockEnd(getOperation().getBody());
  Type i64 = builder.getI64Type();
  auto type = builder.getFunctionType(
      {LLVM::LLVMPointerType::get(&getContext()), i64, i64}, {});
  std::string name = "kernel_" + std::to_string(kernels.size() - 1);
  auto function = builder.create<func::FuncOp>(loc, name, type);
  function.setPrivate();
  function->setAttr(kKernelAttr, builder.getUnitAttr());
  KernelBuilder kernel(function, vectorBytes);
  emit(kernel);
  return symbol = FlatSymbolRefAttr::get(function.getSymNameAttr());
}

Value ff::startOf(OpBuilder &builder, Location loc, const StridedView &view) {
  if (view.offset == 0)
    return view.root;
  auto type = tensorType(view.root);
  int64_t size = type.getNumElements();
  auto flat = RankedTensorType::get({size}, type.getElementType());
  auto rest =
      RankedTensorType::get({size - view.offset}, type.getElementType());
  Value all = builder.create<ReshapeOp>(loc, flat, view.root);
  return builder.create<SliceOp>(loc, rest, all, /*dim=*/0, view.offset);
}

void LowerKernels::launch(Operation *op, FlatSymbolRefAttr kernel,
                          ArrayRef<StridedView> views, LaunchShape shape,
                          TypeRange scratch) {
  OpBuilder builder(op);
  SmallVector<Value> inputs;
  for (const StridedView &view : views)
    inputs.push_back(startOf(builder, op->getLoc(), view));
  SmallVector<Type> types(op->getResultTypes());
  llvm::append_range(types, scratch);
  auto launch = builder.create<LaunchOp>(op->getLoc(), types, kernel.getValue(),
                                         inputs, shape.iterations, shape.grain);
  // For the plan: nothing can be read from a kernel.
  if (double flops = countFlops(op))
    launch->setAttr(kFlopsAttr, builder.getF64FloatAttr(flops));
  op->replaceAllUsesWith(launch.getResults().take_front(op->getNumResults()));
  op->erase();
}

void LowerKernels::lower(FusedOp op) {
  FusedKernel fused(op, vectorBytes);
  FlatSymbolRefAttr kernel =
      kernelFor(op.getLoc(), fused.key(),
                [&](KernelBuilder &builder) { fused.emit(builder); });
  launch(op, kernel, fused.views(), fused.launchShape());
}

void LowerKernels::lower(AttentionOp op) {
  AttentionShape shape(op, op.getScale().convertToDouble(), op.getCausal(),
                       vectorBytes);
  FlatSymbolRefAttr kernel =
      kernelFor(op.getLoc(), shape.key(),
                [&](KernelBuilder &builder) { emitAttention(builder, shape); });
  launch(op, kernel, shape.views, shape.forwardLaunch());
}

void LowerKernels::lower(AttentionBackwardOp op) {
  AttentionShape shape(op, op.getScale().convertToDouble(), op.getCausal(),
                       vectorBytes);
  FlatSymbolRefAttr kernel =
      kernelFor(op.getLoc(), shape.key(), [&](KernelBuilder &builder) {
        emitAttentionBackward(builder, shape);
      });
  SmallVector<Type> scratch = shape.scratchTypes();
  launch(op, kernel, shape.views, shape.backwardLaunch(), scratch);
}

void LowerKernels::runOnOperation() {
  kernels.clear();
  if (vectorBytes < 16 || !llvm::isPowerOf2_64(vectorBytes)) {
    getOperation().emitError()
        << "vector-bytes must be a power of two of at least 16, got "
        << vectorBytes.getValue();
    return signalPassFailure();
  }
  SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    if (function.isExternal())
      continue;
    Block &block = function.front();
    for (Operation &op : llvm::make_early_inc_range(block))
      llvm::TypeSwitch<Operation *>(&op)
          .Case<FusedOp, AttentionOp, AttentionBackwardOp>(
              [&](auto kernel) { lower(kernel); });
    // Views are in the kernels now.
    eraseUnused(block);
  }
}
