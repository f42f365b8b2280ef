//===- Emit.cpp - Tensor operations -----------------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Elaborator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;

/// The wider of two float types; f32 for bf16 and f16.
static Type widerType(Type a, Type b) {
  if (a == b)
    return a;
  unsigned wa = a.getIntOrFloatBitWidth(), wb = b.getIntOrFloatBitWidth();
  if (wa == wb)
    return Float32Type::get(a.getContext());
  return wa > wb ? a : b;
}

Value Elaborator::splat(RankedTensorType type, double value, SMLoc loc) {
  return createSplat(builder(), location(loc), type, value);
}

Value Elaborator::reshape(Value value, ArrayRef<int64_t> shape, SMLoc loc) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return builder().create<ReshapeOp>(
      location(loc), RankedTensorType::get(shape, type.getElementType()),
      value);
}

Val Elaborator::reshaped(const Val &value, ArrayRef<int64_t> shape,
                         ArrayRef<StringRef> dims, SMLoc loc) {
  return Val::ofTensor(reshape(value.tensor, shape, loc), dims);
}

Value Elaborator::broadcast(Value value, ArrayRef<int64_t> shape, SMLoc loc) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  // Dims that repeat go, the others keep their place.
  SmallVector<int64_t> kept, dims;
  int64_t lead = shape.size() - type.getRank();
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (size == 1 && shape[lead + i] != 1)
      continue;
    kept.push_back(size);
    dims.push_back(lead + i);
  }
  return builder().create<BroadcastOp>(
      location(loc), RankedTensorType::get(shape, type.getElementType()),
      reshape(value, kept, loc), builder().getDenseI64ArrayAttr(dims));
}

Val Elaborator::convert(const Val &value, Type element, SMLoc loc) {
  Type from = value.type().getElementType();
  if (from == element)
    return value;
  if (value.wide && value.wide.getType() == value.type().clone(element))
    return Val::ofTensor(value.wide, value.dims);
  auto type = value.type().clone(element);
  Location at = location(loc);
  OpBuilder &b = builder();
  Value x = value.tensor, result;
  unsigned width = from.getIntOrFloatBitWidth();
  unsigned wanted = element.getIntOrFloatBitWidth();
  if (value.isBoolTensor())
    result = b.create<arith::UIToFPOp>(at, type, x);
  else if (isa<IntegerType>(from))
    result = b.create<arith::SIToFPOp>(at, type, x);
  else if (width < wanted)
    result = b.create<arith::ExtFOp>(at, type, x);
  else if (width > wanted)
    result = b.create<arith::TruncFOp>(at, type, x);
  else // bf16 and f16: neither holds the other
    return convert(convert(value, b.getF32Type(), loc), element, loc);
  return Val::ofTensor(result, value.dims);
}

Val Elaborator::widened(const Val &value, SMLoc loc) {
  if (!value.isFloatTensor() || !isNarrowFloat(value.type().getElementType()))
    return value;
  return convert(value, builder().getF32Type(), loc);
}

Type Elaborator::narrowDtype(ArrayRef<const Val *> operands) {
  Type dtype;
  for (const Val *operand : operands) {
    if (!operand->isFloatTensor())
      continue;
    Type own = operand->type().getElementType();
    if (!isNarrowFloat(own) || (dtype && dtype != own))
      return {};
    dtype = own;
  }
  return dtype;
}

Val Elaborator::rounded(const Val &value, Type dtype, SMLoc loc) {
  if (!value.isFloatTensor() || !isNarrowFloat(dtype) ||
      value.type().getElementType() == dtype)
    return value;
  Val result = convert(value, dtype, loc);
  result.wide = value.tensor;
  return result;
}

Val Elaborator::slice(const Val &value, int64_t dim, int64_t start,
                      int64_t size, SMLoc loc) {
  if (value.shape()[dim] == size)
    return value;
  SmallVector<int64_t> shape(value.shape());
  shape[dim] = size;
  SmallVector<StringRef, 4> dims(value.dims);
  if (static_cast<size_t>(dim) < dims.size())
    dims[dim] = "";
  return Val::ofTensor(
      builder().create<SliceOp>(
          location(loc),
          RankedTensorType::get(shape, value.type().getElementType()),
          value.tensor, dim, start),
      dims);
}

Val Elaborator::reduce(ReduceKind kind, const Val &value,
                       ArrayRef<int64_t> dims, bool keep, SMLoc loc) {
  SmallVector<int64_t> left, kept;
  SmallVector<StringRef> leftNames, keptNames;
  for (auto [i, size] : llvm::enumerate(value.shape())) {
    bool gone = llvm::is_contained(dims, static_cast<int64_t>(i));
    kept.push_back(gone ? 1 : size);
    keptNames.push_back(gone ? StringRef() : value.dimName(i));
    if (!gone) {
      left.push_back(size);
      leftNames.push_back(value.dimName(i));
    }
  }
  Value result = value.tensor;
  if (!dims.empty())
    result = builder().create<ReduceOp>(
        location(loc),
        RankedTensorType::get(left, value.type().getElementType()),
        ReduceKindAttr::get(context, kind), value.tensor,
        builder().getDenseI64ArrayAttr(dims));
  return keep ? Val::ofTensor(reshape(result, kept, loc), keptNames)
              : Val::ofTensor(result, leftNames);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Reports the first pair of dims, from the last, that do not agree.
static void reportShapes(Elaborator &e, const Val &lhs, const Val &rhs,
                         int64_t fromEnd, const Twine &what, SMLoc loc) {
  int64_t l = lhs.rank() - fromEnd, r = rhs.rank() - fromEnd;
  e.error(loc, what + ": shapes " + describeTensor(lhs) + " and " +
                   describeTensor(rhs) + " do not agree")
      .note("dim " + Twine(-fromEnd) + " is " +
            describeDim(lhs.dimName(l), lhs.shape()[l]) + " on the left and " +
            describeDim(rhs.dimName(r), rhs.shape()[r]) + " on the right");
}

bool Elaborator::unify(Val &lhs, Val &rhs, const Twine &what, SMLoc loc) {
  Val *sides[] = {&lhs, &rhs};
  for (auto [i, side] : llvm::enumerate(sides)) {
    Val &other = *sides[1 - i];
    if (!side->isNumber())
      continue;
    if (other.isIntTensor() && !side->isInteger()) {
      error(loc, what + ": a float and " + describeTensor(other))
          .note("convert the tensor first: cast(x, \"" +
                dtypeName(elementType) + "\")");
      return false;
    }
    *side = Val::ofTensor(splat(other.type(), side->asDouble(), loc));
    return true;
  }
  if (!lhs.isTensor() || !rhs.isTensor()) {
    error(loc, what + " cannot combine " + describeKind(lhs) + " and " +
                   describeKind(rhs));
    return false;
  }
  // As in PyTorch: the wider of two float dtypes.
  if (lhs.isFloatTensor() && rhs.isFloatTensor()) {
    Type common =
        widerType(lhs.type().getElementType(), rhs.type().getElementType());
    lhs = convert(lhs, common, loc);
    rhs = convert(rhs, common, loc);
  }
  if (lhs.type().getElementType() != rhs.type().getElementType()) {
    error(loc, what + ": dtypes of " + describeTensor(lhs) + " and " +
                   describeTensor(rhs) + " differ")
        .note("convert one of them with cast(x, dtype)");
    return false;
  }
  int64_t rank = std::max(lhs.rank(), rhs.rank());
  SmallVector<int64_t> shape(rank, 1);
  SmallVector<StringRef, 4> dims(rank);
  for (int64_t k = 1; k <= rank; ++k) {
    for (Val *side : sides) {
      int64_t dim = side->rank() - k;
      int64_t size = dim < 0 ? 1 : side->shape()[dim];
      int64_t &common = shape[rank - k];
      if (size != 1 && common != 1 && size != common) {
        reportShapes(*this, lhs, rhs, k, what, loc);
        return false;
      }
      if (size == 1)
        continue;
      common = size;
      if (dims[rank - k].empty())
        dims[rank - k] = side->dimName(dim);
    }
  }
  if (isTooLarge(shape)) {
    error(loc, what + ": the result has more than 2^40 elements");
    return false;
  }
  lhs = Val::ofTensor(broadcast(lhs.tensor, shape, loc), dims);
  rhs = Val::ofTensor(broadcast(rhs.tensor, shape, loc), dims);
  return true;
}

template <typename FloatOp, typename IntOp>
static Value emit(Elaborator &e, const Val &lhs, const Val &rhs, SMLoc loc) {
  if (lhs.isFloatTensor())
    return e.builder().create<FloatOp>(e.location(loc), lhs.tensor, rhs.tensor);
  return e.builder().create<IntOp>(e.location(loc), lhs.tensor, rhs.tensor);
}

static Value emitCompare(Elaborator &e, Operator op, const Val &lhs,
                         const Val &rhs, SMLoc loc) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  auto [f, i] = op == Operator::Eq   ? std::pair(F::OEQ, I::eq)
                : op == Operator::Ne ? std::pair(F::UNE, I::ne)
                : op == Operator::Lt ? std::pair(F::OLT, I::slt)
                : op == Operator::Le ? std::pair(F::OLE, I::sle)
                : op == Operator::Gt ? std::pair(F::OGT, I::sgt)
                                     : std::pair(F::OGE, I::sge);
  if (lhs.isFloatTensor())
    return e.builder().create<arith::CmpFOp>(e.location(loc), f, lhs.tensor,
                                             rhs.tensor);
  return e.builder().create<arith::CmpIOp>(e.location(loc), i, lhs.tensor,
                                           rhs.tensor);
}

/// x ** n by multiplications, which are exact to differentiate.
static Val emitPower(Elaborator &e, const Val &base, const Val &exponent,
                     SMLoc loc) {
  if (!base.isFloatTensor() || !exponent.isNumber()) {
    e.error(loc, "a power needs a float tensor and an exponent known at "
                 "compile time");
    return Val::error();
  }
  OpBuilder &b = e.builder();
  Location at = e.location(loc);
  double n = exponent.asDouble();
  Value x = base.tensor, result;
  if (n == 0)
    result = e.splat(base.type(), 1, loc);
  else if (n == 1)
    result = x;
  else if (n == 0.5)
    result = b.create<math::SqrtOp>(at, x);
  else if (n == -0.5)
    result = b.create<math::RsqrtOp>(at, x);
  else if (n == 2 || n == 3 || n == 4) {
    Value square = b.create<arith::MulFOp>(at, x, x);
    result = n == 2 ? square
                    : b.create<arith::MulFOp>(at, square, n == 3 ? x : square)
                          .getResult();
  } else if (n == -1)
    result = b.create<arith::DivFOp>(at, e.splat(base.type(), 1, loc), x);
  else
    result = b.create<math::PowFOp>(at, x, e.splat(base.type(), n, loc));
  return Val::ofTensor(result, base.dims);
}

Val Elaborator::binary(Operator op, const Val &left, const Val &right,
                       SMLoc loc) {
  if (op == Operator::MatMul && left.isTensor() && right.isTensor())
    return matmul(left, right, false, false, loc);
  Val lhs = widened(left, loc), rhs = widened(right, loc);
  if (Type dtype = narrowDtype({&left, &right})) {
    Val result = binary(op, lhs, rhs, loc);
    return result.isError() ? result : rounded(result, dtype, loc);
  }
  if (op == Operator::Pow)
    return emitPower(*this, lhs, rhs, loc);
  if (!unify(lhs, rhs, "'" + spelling(op) + "'", loc))
    return Val::error();
  Value result;
  switch (op) {
  case Operator::Add:
    result = emit<arith::AddFOp, arith::AddIOp>(*this, lhs, rhs, loc);
    break;
  case Operator::Sub:
    result = emit<arith::SubFOp, arith::SubIOp>(*this, lhs, rhs, loc);
    break;
  case Operator::Mul:
    result = emit<arith::MulFOp, arith::MulIOp>(*this, lhs, rhs, loc);
    break;
  case Operator::Div:
    if (lhs.isFloatTensor())
      result = builder().create<arith::DivFOp>(location(loc), lhs.tensor,
                                               rhs.tensor);
    break;
  case Operator::Eq:
  case Operator::Ne:
  case Operator::Lt:
  case Operator::Le:
  case Operator::Gt:
  case Operator::Ge:
    result = emitCompare(*this, op, lhs, rhs, loc);
    break;
  default:
    break;
  }
  if (result)
    return Val::ofTensor(result, lhs.dims);
  error(loc, "'" + spelling(op) + "' is not supported on tensors of " +
                 dtypeName(lhs.type().getElementType()));
  return Val::error();
}

Val Elaborator::negate(const Val &value, SMLoc loc) {
  if (Type dtype = narrowDtype({&value}))
    return rounded(negate(widened(value, loc), loc), dtype, loc);
  if (value.isFloatTensor())
    return Val::ofTensor(
        builder().create<arith::NegFOp>(location(loc), value.tensor),
        value.dims);
  return binary(Operator::Sub, Val::of(int64_t(0)), value, loc);
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

Val Elaborator::linear(const Val &input, const Val &weight, const Val *bias,
                       SMLoc loc) {
  if (weight.rank() != 2 || input.rank() < 1 ||
      weight.shape()[1] != input.shape().back()) {
    error(loc, "linear: the input is " + describeTensor(input) +
                   " and the weight " + describeTensor(weight))
        .note("the last dim of the input is contracted with dim 1 of the "
              "weight");
    return Val::error();
  }
  if (bias && (bias->rank() != 1 || bias->shape()[0] != weight.shape()[0])) {
    error(loc, "linear: the bias is " + describeTensor(*bias) +
                   " and the weight " + describeTensor(weight));
    return Val::error();
  }
  int64_t in = weight.shape()[1], out = weight.shape()[0];
  int64_t rows = input.type().getNumElements() / in;
  SmallVector<int64_t> shape(input.shape());
  shape.back() = out;
  SmallVector<StringRef, 4> dims(input.dims);
  dims.resize(shape.size());
  dims.back() = weight.dimName(0);
  // In the compute dtype, or in that of a weight that is kept wider.
  Type compute = widerType(elementType, weight.type().getElementType());
  Val x = convert(input, compute, loc), w = convert(weight, compute, loc);
  Value flat = reshape(x.tensor, {rows, in}, loc);
  Value product = builder().create<MatmulOp>(
      location(loc), RankedTensorType::get({rows, out}, numberTypeOf(compute)),
      flat, w.tensor, /*transposeLhs=*/false, /*transposeRhs=*/true);
  Val result = Val::ofTensor(reshape(product, shape, loc), dims);
  if (bias)
    result = binary(Operator::Add, result, *bias, loc);
  result = addAdapter(std::move(result), input, weight, loc);
  return result.isError() ? result : rounded(result, compute, loc);
}

Val Elaborator::matmul(const Val &lhs, const Val &rhs, bool transposeLhs,
                       bool transposeRhs, SMLoc loc) {
  auto fail = [&](StringRef why) {
    error(loc, "matmul: the operands are " + describeTensor(lhs) + " and " +
                   describeTensor(rhs))
        .note(why);
    return Val::error();
  };
  if (!lhs.isFloatTensor() || !rhs.isFloatTensor())
    return fail("it multiplies float tensors");
  int64_t lr = lhs.rank(), rr = rhs.rank();
  if (lr < 2 || rr < 2)
    return fail("it multiplies matrices: both need rank 2 or more");
  int64_t m = lhs.shape()[transposeLhs ? lr - 1 : lr - 2];
  int64_t k = lhs.shape()[transposeLhs ? lr - 2 : lr - 1];
  int64_t n = rhs.shape()[transposeRhs ? rr - 2 : rr - 1];
  if (k != rhs.shape()[transposeRhs ? rr - 1 : rr - 2])
    return fail("the dims that are contracted have different sizes");
  ArrayRef<int64_t> batch = lhs.shape().drop_back(2);
  ArrayRef<int64_t> rhsBatch = rhs.shape().drop_back(2);
  if (!rhsBatch.empty() && rhsBatch != batch)
    return fail("their batch dims differ; make them equal with expand");
  SmallVector<int64_t> shape(batch);
  shape.append({m, n});
  SmallVector<StringRef, 4> dims(lhs.dims);
  dims.resize(lr);
  dims[lr - 2] = lhs.dimName(transposeLhs ? lr - 1 : lr - 2);
  dims[lr - 1] = rhs.dimName(transposeRhs ? rr - 2 : rr - 1);
  Value product = builder().create<MatmulOp>(
      location(loc), RankedTensorType::get(shape, numberTypeOf(elementType)),
      convert(lhs, elementType, loc).tensor,
      convert(rhs, elementType, loc).tensor, transposeLhs, transposeRhs);
  return rounded(Val::ofTensor(product, dims), elementType, loc);
}
