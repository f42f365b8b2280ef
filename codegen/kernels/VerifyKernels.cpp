//===- VerifyKernels.cpp - The exit form of ff-form-kernels -----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/Requirements.h"
#include "dialect/View.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "codegen/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

//===----------------------------------------------------------------------===//
// Requirements
//===----------------------------------------------------------------------===//

Requirement ff::requirementOf(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (!isa<RankedTensorType>(operand.get().getType()))
    return Requirement::None;
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return operand.getOperandNumber() < 2 ? Requirement::Matrix
                                          : Requirement::Contiguous;
  if (isa<AttentionOp, AttentionBackwardOp>(op))
    return getElementTypeOrSelf(operand.get()).isInteger(1)
               ? Requirement::Contiguous // the mask
               : Requirement::DenseRows;
  if (isa<EmbeddingOp, EmbeddingBackwardOp, func::CallOp, func::ReturnOp,
          GradientOp, ReduceGradientsOp>(op))
    return Requirement::Contiguous;
  return Requirement::None;
}

/// A dim of size 1 has no stride that matters.
static bool repeats(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                    size_t dim) {
  return shape[dim] != 1 && strides[dim] == 0;
}

static bool isMatrix(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  size_t rank = shape.size();
  bool dense = false;
  for (size_t dim : {rank - 2, rank - 1}) {
    if (repeats(shape, strides, dim))
      return false;
    dense |= shape[dim] == 1 || strides[dim] == 1;
  }
  return dense;
}

bool ff::meetsRequirement(OpOperand &operand) {
  Requirement need = requirementOf(operand);
  if (need == Requirement::None)
    return true;
  if (isLeaf(operand.get().getDefiningOp()))
    return false;
  ArrayRef<int64_t> shape = tensorType(operand.get()).getShape();
  StridedView view = resolveView(operand.get());
  if (isLeaf(view.root.getDefiningOp()))
    return false;
  switch (need) {
  case Requirement::None:
    return true;
  case Requirement::Matrix:
    return isMatrix(shape, view.strides);
  case Requirement::DenseRows:
    return shape.empty() || shape.back() == 1 || view.strides.back() == 1;
  case Requirement::Contiguous:
    return view.isContiguous(shape);
  }
  llvm_unreachable("unknown requirement");
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static StringRef requirementText(Requirement need) {
  switch (need) {
  case Requirement::None:
    return "any view";
  case Requirement::Matrix:
    return "a view whose matrix dims do not repeat, one with stride 1"; // K2
  case Requirement::DenseRows:
    return "a view whose last dim has stride 1"; // K3
  case Requirement::Contiguous:
    return "contiguous and not a constant"; // K4
  }
  llvm_unreachable("unknown requirement");
}

static LogicalResult verifyReturn(func::ReturnOp op) {
  llvm::DenseSet<Value> seen;
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    Value root = resolveView(value).root; // K5
    if (liesElsewhere(root))
      return op.emitOpError()
             << "returns "
             << (isa<BlockArgument>(root) ? "an argument" : "a parameter")
             << " as result " << i;
    if (!seen.insert(root).second)
      return op.emitOpError() << "returns one value twice, as result " << i;
  }
  return success();
}

static LogicalResult verifyOp(Operation &op) {
  if (isElementwise(&op) || isLeaf(&op) || isa<ReduceOp, ConcatOp>(op)) // K1
    return op.emitOpError("stands outside of ff.fused");
  for (OpOperand &operand : op.getOpOperands())
    if (!meetsRequirement(operand))
      return op.emitOpError()
             << "needs operand " << operand.getOperandNumber() << " to be "
             << requirementText(requirementOf(operand));
  if (isa<RandomOp, EmbeddingBackwardOp>(op) && // K6
      isNarrowFloat(getElementTypeOrSelf(op.getResult(0).getType())))
    return op.emitOpError() << "makes " << op.getResult(0).getType()
                            << ", but the runtime makes f32 and f64";
  if (auto ret = dyn_cast<func::ReturnOp>(op))
    return verifyReturn(ret);
  return success();
}

namespace {
struct VerifyKernels : ff::impl::VerifyKernelsPassBase<VerifyKernels> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function->hasAttr(kKernelAttr))
      return;
    for (Operation &op : function.front())
      if (failed(verifyOp(op)))
        return signalPassFailure();
  }
};
} // namespace
