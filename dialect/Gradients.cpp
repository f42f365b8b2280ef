//===- Gradients.cpp - Gradients of ff operations ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The vector-Jacobian product of each differentiable operation of the dialect.
// `g` is the gradient of the result throughout.
//
//===----------------------------------------------------------------------===//

#include "dialect/FF.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ff;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Dims of [0, rank) that are not in `dims`.
static SmallVector<int64_t> complement(ArrayRef<int64_t> dims, int64_t rank) {
  SmallVector<int64_t> rest;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(dims, d))
      rest.push_back(d);
  return rest;
}

static Value reshapeTo(OpBuilder &b, Location loc, Value value,
                       ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, tensorOf(value).getElementType());
  return b.createOrFold<ReshapeOp>(loc, type, value);
}

static Value sumOver(OpBuilder &b, Location loc, Value value,
                     ArrayRef<int64_t> dims) {
  if (dims.empty())
    return value;
  auto type = tensorOf(value);
  SmallVector<int64_t> shape;
  for (int64_t d : complement(dims, type.getRank()))
    shape.push_back(type.getDimSize(d));
  return b.create<ReduceOp>(loc,
                            RankedTensorType::get(shape, type.getElementType()),
                            ReduceKind::Sum, value, dims);
}

//===----------------------------------------------------------------------===//
// Views and data movement
//===----------------------------------------------------------------------===//

void BroadcastOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                                ArrayRef<bool> wanted,
                                MutableArrayRef<Value> grads) {
  grads[0] =
      sumOver(b, getLoc(), g[0], complement(getDims(), getType().getRank()));
}

void ReshapeOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                              ArrayRef<bool> wanted,
                              MutableArrayRef<Value> grads) {
  grads[0] = reshapeTo(b, getLoc(), g[0], tensorOf(getInput()).getShape());
}

void TransposeOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                                ArrayRef<bool> wanted,
                                MutableArrayRef<Value> grads) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, p] : llvm::enumerate(getPermutation()))
    inverse[p] = i;
  grads[0] =
      b.create<TransposeOp>(getLoc(), getInput().getType(), g[0], inverse);
}

void SliceOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                            ArrayRef<bool> wanted,
                            MutableArrayRef<Value> grads) {
  auto in = tensorOf(getInput());
  int64_t dim = getDim(), begin = getStart();
  int64_t end = begin + tensorOf(g[0]).getDimSize(dim);
  SmallVector<Value> parts;
  auto zeros = [&](int64_t size) {
    SmallVector<int64_t> shape(in.getShape());
    shape[dim] = size;
    if (size > 0)
      parts.push_back(createSplat(
          b, getLoc(), RankedTensorType::get(shape, in.getElementType()), 0));
  };
  zeros(begin);
  parts.push_back(g[0]);
  zeros(in.getDimSize(dim) - end);
  grads[0] = parts.size() == 1
                 ? parts[0]
                 : b.create<ConcatOp>(getLoc(), in, parts, dim).getResult();
}

void ConcatOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                             ArrayRef<bool> wanted,
                             MutableArrayRef<Value> grads) {
  int64_t start = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    if (wanted[i])
      grads[i] =
          b.create<SliceOp>(getLoc(), input.getType(), g[0], getDim(), start);
    start += tensorOf(input).getDimSize(getDim());
  }
}

void EmbeddingOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                                ArrayRef<bool> wanted,
                                MutableArrayRef<Value> grads) {
  if (wanted[0])
    grads[0] = b.create<EmbeddingBackwardOp>(getLoc(), getTable().getType(),
                                             g[0], getIds());
}

//===----------------------------------------------------------------------===//
// Elementwise and rows
//===----------------------------------------------------------------------===//

void ActivationOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                                 ArrayRef<bool> wanted,
                                 MutableArrayRef<Value> grads) {
  grads[0] = b.create<ActivationBackwardOp>(getLoc(), getType(), getKindAttr(),
                                            getInput(), g[0]);
}

void ReduceOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                             ArrayRef<bool> wanted,
                             MutableArrayRef<Value> grads) {
  Location loc = getLoc();
  auto in = tensorOf(getInput());
  SmallVector<int64_t> kept = complement(getDims(), in.getRank());
  auto spread = [&](Value value) -> Value {
    return b.create<BroadcastOp>(loc, in, value, kept);
  };
  if (getKind() == ReduceKind::Sum) {
    grads[0] = spread(g[0]);
    return;
  }
  Value isMax = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ,
                                        getInput(), spread(getResult()));
  Value mask = b.create<arith::SelectOp>(loc, isMax, createSplat(b, loc, in, 1),
                                         createSplat(b, loc, in, 0));
  Value count = sumOver(b, loc, mask, getDims());
  Value share = b.create<arith::DivFOp>(loc, g[0], count);
  grads[0] = b.create<arith::MulFOp>(loc, mask, spread(share));
}

void LayerNormOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                                ArrayRef<bool> wanted,
                                MutableArrayRef<Value> grads) {
  grads[0] = b.create<LayerNormBackwardOp>(getLoc(), getType(), getInput(),
                                           g[0], getEpsAttr());
}

void RmsNormOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                              ArrayRef<bool> wanted,
                              MutableArrayRef<Value> grads) {
  grads[0] = b.create<RmsNormBackwardOp>(getLoc(), getType(), getInput(), g[0],
                                         getEpsAttr());
}

void SoftmaxOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                              ArrayRef<bool> wanted,
                              MutableArrayRef<Value> grads) {
  grads[0] =
      b.create<SoftmaxBackwardOp>(getLoc(), getType(), getResult(), g[0]);
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// gradient of the lhs: g · op(rhs)ᵀ, transposed where the lhs is.
static Value matmulLhsGrad(OpBuilder &b, MatmulOp op, Value g) {
  Location loc = op.getLoc();
  auto lhs = tensorOf(op.getLhs());
  SmallVector<int64_t> shape(tensorOf(g).getShape());
  int64_t rank = lhs.getRank();
  shape[rank - 1] = lhs.getDimSize(op.getTransposeLhs() ? rank - 2 : rank - 1);
  auto type = RankedTensorType::get(shape, lhs.getElementType());
  Value grad = b.create<MatmulOp>(loc, type, g, op.getRhs(),
                                  /*transposeLhs=*/false,
                                  /*transposeRhs=*/!op.getTransposeRhs());
  if (!op.getTransposeLhs())
    return grad;
  auto swap = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(swap[rank - 1], swap[rank - 2]);
  return b.create<TransposeOp>(loc, lhs, grad, swap);
}

/// gradient of the rhs: op(lhs)ᵀ · g, or its transpose gᵀ · op(lhs). A rhs
/// without batch dims collects the sum over the batch.
static Value matmulRhsGrad(OpBuilder &b, MatmulOp op, Value g) {
  Location loc = op.getLoc();
  Value lhs = op.getLhs();
  auto rhs = tensorOf(op.getRhs());
  bool shared = tensorOf(lhs).getRank() > rhs.getRank();
  bool transposeLhs = op.getTransposeLhs();
  if (shared && !transposeLhs) {
    // One long matmul over batch and rows.
    auto fold = [&](Value value) {
      ArrayRef<int64_t> s = tensorOf(value).getShape();
      int64_t rows = tensorOf(value).getNumElements() / s.back();
      return reshapeTo(b, loc, value, {rows, s.back()});
    };
    lhs = fold(lhs);
    g = fold(g);
  }
  SmallVector<int64_t> shape(tensorOf(lhs).getShape().drop_back(2));
  int64_t batchDims = shape.size();
  llvm::append_range(shape, rhs.getShape().take_back(2));
  // A sum over rows, and over the batch: rounded once, at its end.
  auto type = RankedTensorType::get(shape, numberTypeOf(rhs.getElementType()));
  Value grad =
      op.getTransposeRhs()
          ? b.create<MatmulOp>(loc, type, g, lhs, /*transposeLhs=*/true,
                               /*transposeRhs=*/transposeLhs)
          : b.create<MatmulOp>(loc, type, lhs, g,
                               /*transposeLhs=*/!transposeLhs,
                               /*transposeRhs=*/false);
  if (shared && batchDims > 0)
    grad = sumOver(b, loc, grad,
                   llvm::to_vector(llvm::seq<int64_t>(0, batchDims)));
  if (type.getElementType() != rhs.getElementType())
    grad = b.create<arith::TruncFOp>(loc, rhs, grad);
  return grad;
}

void MatmulOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                             ArrayRef<bool> wanted,
                             MutableArrayRef<Value> grads) {
  assert(!getBias() && !getActivation() &&
         "epilogues are fused after differentiation");
  // The gradient of a result wider than the operands is multiplied with them.
  Value grad = g[0];
  Type element = tensorOf(getLhs()).getElementType();
  if (tensorOf(grad).getElementType() != element)
    grad = b.create<arith::TruncFOp>(getLoc(), tensorOf(grad).clone(element),
                                     grad);
  if (wanted[0])
    grads[0] = matmulLhsGrad(b, *this, grad);
  if (wanted[1])
    grads[1] = matmulRhsGrad(b, *this, grad);
}

void AttentionOp::buildBackward(OpBuilder &b, ArrayRef<Value> g,
                                ArrayRef<bool> wanted,
                                MutableArrayRef<Value> grads) {
  if (!g[0])
    return;
  auto backward = b.create<AttentionBackwardOp>(
      getLoc(), getQuery().getType(), getKey().getType(), getValue().getType(),
      getQuery(), getKey(), getValue(), getResult(), getLse(), g[0], getMask(),
      getScaleAttr(), getCausalAttr());
  for (int i = 0; i < 3; ++i)
    if (wanted[i])
      grads[i] = backward->getResult(i);
}
