//===- BuiltinLayers.cpp - Builtin operations with parameters ---*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/BuiltinFamilies.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace ff;
using namespace ff::frontend;

/// Takes the weight and, where the call gives a prefix instead, the bias from
/// the parameters under it. False after an error.
static bool takeParams(Call &call, size_t weight, std::optional<size_t> bias) {
  if (call[weight].kind != Val::Kind::Params)
    return true;
  std::string prefix = call[weight].text;
  std::optional<Val> value = call.paramOf(weight, "weight");
  if (!value) {
    call.failAt(weight, "undefined parameter '" + prefix + ".weight'");
    return false;
  }
  if (bias && !call.has(*bias))
    if (auto found = call.paramOf(weight, "bias"))
      call.args[*bias].value = *found;
  call.args[weight].value = *value;
  return true;
}

Val ff::frontend::emitLinear(Call &call) {
  if (!takeParams(call, 1, 2) || !call.isFloatTensor(0) ||
      !call.isFloatTensor(1) || (call.has(2) && !call.isFloatTensor(2)))
    return Val::error();
  return call.e.linear(call[0], call[1], call.has(2) ? &call[2] : nullptr,
                       call.loc);
}

Val ff::frontend::emitMatmul(Call &call) {
  auto transposeA = call.boolean(2), transposeB = call.boolean(3);
  if (!transposeA || !transposeB || !call.isFloatTensor(0) ||
      !call.isFloatTensor(1))
    return Val::error();
  return call.e.matmul(call[0], call[1], *transposeA, *transposeB, call.loc);
}

Val ff::frontend::emitEmbedding(Call &call) {
  if (!takeParams(call, 1, std::nullopt) || !call.isTensor(0) ||
      !call.isFloatTensor(1))
    return Val::error();
  const Val &ids = call[0], &table = call[1];
  if (!ids.isIntTensor())
    return call.failAt(0, "the ids must be i64, not " + describeTensor(ids));
  if (table.rank() != 2)
    return call.failAt(1, "the table must have rank 2, it is " +
                              describeTensor(table));
  SmallVector<int64_t> shape(ids.shape());
  shape.push_back(table.shape()[1]);
  SmallVector<StringRef, 4> dims(ids.dims);
  dims.resize(shape.size());
  dims.back() = table.dimName(1);
  Val rows = Val::ofTensor(
      call.e.builder().create<EmbeddingOp>(
          call.e.location(call.loc),
          RankedTensorType::get(shape, table.type().getElementType()),
          table.tensor, ids.tensor),
      dims);
  // A table in a narrower dtype than the component computes in.
  if (table.type().getElementTypeBitWidth() <
      call.e.elementType.getIntOrFloatBitWidth())
    return call.e.convert(rows, call.e.elementType, call.loc);
  return rows;
}

/// [B, S, heads · D] as [B, S, heads, D].
static std::optional<Val> splitHeads(Call &call, size_t i, const Val &x,
                                     int64_t heads) {
  if (heads < 1 || x.rank() != 3 || x.shape()[2] % heads != 0) {
    call.failAt(i, "with heads = " + Twine(heads) +
                       " it takes [B, S, D] with D a multiple of it, not " +
                       describeTensor(x));
    return std::nullopt;
  }
  return call.e.reshaped(
      x, {x.shape()[0], x.shape()[1], heads, x.shape()[2] / heads},
      {x.dimName(0), x.dimName(1), "heads", "head_dim"}, call.loc);
}

Val ff::frontend::emitAttention(Call &call) {
  auto causal = call.boolean(4);
  if (!call.isFloatTensor(0) || !call.isFloatTensor(1) ||
      !call.isFloatTensor(2) || !causal)
    return Val::error();
  Type compute = call.e.elementType;
  Val q = call.e.convert(call[0], compute, call.loc);
  Val k = call.e.convert(call[1], compute, call.loc);
  Val v = call.e.convert(call[2], compute, call.loc);
  if (call.has(3)) {
    auto heads = call.integer(3);
    if (!heads)
      return Val::error();
    for (auto [i, x] : {std::pair(0, &q), std::pair(1, &k), std::pair(2, &v)}) {
      auto split = splitHeads(call, i, *x, *heads);
      if (!split)
        return Val::error();
      *x = *split;
    }
  }
  if (q.rank() != 4 || k.rank() != 4 || k.shape() != v.shape() ||
      q.shape()[0] != k.shape()[0] || q.shape()[2] != k.shape()[2] ||
      q.shape()[3] != k.shape()[3]) {
    call.e
        .error(call.loc, "attention: q is " + describeTensor(call[0]) +
                             ", k is " + describeTensor(call[1]) + ", v is " +
                             describeTensor(call[2]))
        .note("k and v are equal, and differ from q in the sequence alone; "
              "give heads= for operands [B, S, D]");
    return Val::error();
  }
  double scale = 1.0 / std::sqrt(static_cast<double>(q.shape()[3]));
  if (call.has(5)) {
    auto given = call.number(5);
    if (!given)
      return Val::error();
    scale = *given;
  }
  Value mask;
  if (call.has(6)) {
    const Val &given = call[6];
    if (!given.isBoolTensor() ||
        given.shape() != ArrayRef(k.shape()).take_front(2))
      return call.failAt(6, "the mask must be [" +
                                describeDim(k.dimName(0), k.shape()[0]) + ", " +
                                describeDim(k.dimName(1), k.shape()[1]) +
                                "] bool, true where a key counts, not " +
                                (given.isTensor() ? describeTensor(given)
                                                  : describeKind(given).str()));
    mask = given.tensor;
  }
  OpBuilder &b = call.e.builder();
  auto lse = RankedTensorType::get(
      {q.shape()[0], q.shape()[2], q.shape()[1]},
      isNarrowFloat(compute) ? Float32Type::get(call.e.context) : compute);
  auto op = b.create<AttentionOp>(call.e.location(call.loc),
                                  TypeRange{q.type(), lse}, q.tensor, k.tensor,
                                  v.tensor, mask, b.getF64FloatAttr(scale),
                                  *causal ? b.getUnitAttr() : UnitAttr());
  return call.e.reshaped(Val::ofTensor(op.getResult(), q.dims), call[0].shape(),
                         call[0].dims, call.loc);
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

/// Multiplies with argument `weight` and adds argument `bias`, where given.
static Val emitAffine(Call &call, Val value, size_t weight,
                      std::optional<size_t> bias) {
  if (call.has(weight))
    value = call.e.binary(Operator::Mul, value, call[weight], call.loc);
  if (bias && call.has(*bias) && !value.isError())
    value = call.e.binary(Operator::Add, value, call[*bias], call.loc);
  return value;
}

static bool checkNorm(Call &call, std::initializer_list<size_t> params) {
  if (!call.isFloatTensor(0))
    return false;
  const Val &x = call[0];
  if (x.rank() == 0) {
    call.failAt(0, "a scalar has no last dim");
    return false;
  }
  for (size_t i : params) {
    if (!call.has(i))
      continue;
    if (!call.isFloatTensor(i))
      return false;
    if (call[i].rank() == 1 && call[i].shape()[0] == x.shape().back())
      continue;
    call.failAt(i, "x is " + describeTensor(x) + " and '" +
                       parametersOf(call.builtin)[i].first + "' is " +
                       describeTensor(call[i]));
    return false;
  }
  return true;
}

Val ff::frontend::emitLayerNorm(Call &call) {
  if (!takeParams(call, 1, 2) || !checkNorm(call, {1, 2}))
    return Val::error();
  double eps = 1e-5;
  if (call.has(3)) {
    auto given = call.number(3);
    if (!given)
      return Val::error();
    eps = *given;
  }
  OpBuilder &b = call.e.builder();
  Value norm = b.create<LayerNormOp>(call.e.location(call.loc), call[0].type(),
                                     call[0].tensor, b.getF64FloatAttr(eps));
  return emitAffine(call, Val::ofTensor(norm, call[0].dims), 1, 2);
}

Val ff::frontend::emitRmsNorm(Call &call) {
  if (!takeParams(call, 1, std::nullopt) || !checkNorm(call, {1}))
    return Val::error();
  double eps = 1e-6;
  if (call.has(2)) {
    auto given = call.number(2);
    if (!given)
      return Val::error();
    eps = *given;
  }
  OpBuilder &b = call.e.builder();
  Value norm = b.create<RmsNormOp>(call.e.location(call.loc), call[0].type(),
                                   call[0].tensor, b.getF64FloatAttr(eps));
  return emitAffine(call, Val::ofTensor(norm, call[0].dims), 1, std::nullopt);
}

Val ff::frontend::emitSoftmax(Call &call) {
  if (!checkNorm(call, {}))
    return Val::error();
  Val x = call[0];
  int64_t last = x.rank() - 1, dim = last;
  if (call.has(1)) {
    auto given = call.dim(1, 0);
    if (!given)
      return Val::error();
    dim = *given;
  }
  // The operation works on the last dim.
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  std::swap(permutation[dim], permutation[last]);
  OpBuilder &b = call.e.builder();
  Location at = call.e.location(call.loc);
  auto exchange = [&](Value value) -> Value {
    if (dim == last)
      return value;
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    std::swap(shape[dim], shape[last]);
    return b.create<TransposeOp>(
        at, RankedTensorType::get(shape, type.getElementType()), value,
        b.getDenseI64ArrayAttr(permutation));
  };
  Value moved = exchange(x.tensor);
  Value result = b.create<SoftmaxOp>(at, moved.getType(), moved);
  return Val::ofTensor(exchange(result), x.dims);
}
