//===- BuiltinShapes.cpp - Operations on shapes -----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/BuiltinFamilies.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;

Val ff::frontend::emitReshape(Call &call) {
  SmallVector<int64_t> shape;
  SmallVector<StringRef> names;
  if (!call.isTensor(0) || !call.tensorShape(1, shape, names, /*infer=*/true))
    return Val::error();
  const Val &x = call[0];
  int64_t known = 1, elements = x.type().getNumElements();
  int64_t *unknown = nullptr;
  for (int64_t &size : shape) {
    if (size != -1) {
      known *= size;
      continue;
    }
    if (unknown)
      return call.failAt(1, "only one size can be -1");
    unknown = &size;
  }
  if (unknown && elements % known == 0)
    *unknown = elements / known;
  if (unknown ? elements % known == 0 : elements == known)
    return call.e.reshaped(x, shape, names, call.loc);
  call.e.error(call.args[1].loc,
               "reshape: " + describeTensor(x) + " has " + Twine(elements) +
                   " elements, the new shape " +
                   (unknown ? "a multiple of " : "") + Twine(known));
  return Val::error();
}

static Val emitPermutation(Call &call, ArrayRef<int64_t> permutation) {
  const Val &x = call[0];
  SmallVector<int64_t> shape;
  SmallVector<StringRef> names;
  for (int64_t dim : permutation) {
    shape.push_back(x.shape()[dim]);
    names.push_back(x.dimName(dim));
  }
  OpBuilder &b = call.e.builder();
  return Val::ofTensor(
      b.create<TransposeOp>(
          call.e.location(call.loc),
          RankedTensorType::get(shape, x.type().getElementType()), x.tensor,
          b.getDenseI64ArrayAttr(permutation)),
      names);
}

Val ff::frontend::emitTranspose(Call &call) {
  if (!call.isTensor(0))
    return Val::error();
  auto a = call.dim(1, 0), b = call.dim(2, 0);
  if (!a || !b)
    return Val::error();
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, call[0].rank()));
  std::swap(permutation[*a], permutation[*b]);
  return emitPermutation(call, permutation);
}

Val ff::frontend::emitPermute(Call &call) {
  if (!call.isTensor(0) || !call.dims(1, 0))
    return Val::error();
  const Val &x = call[0];
  SmallVector<int64_t> permutation;
  for (const Val &item : call[1].items)
    permutation.push_back(item.integer < 0 ? item.integer + x.rank()
                                           : item.integer);
  if (static_cast<int64_t>(permutation.size()) != x.rank())
    return call.failAt(1, Twine(permutation.size()) + " dims for " +
                              describeTensor(x));
  return emitPermutation(call, permutation);
}

Val ff::frontend::emitSplit(Call &call) {
  if (!call.isTensor(0))
    return Val::error();
  const Val &x = call[0];
  if (x.rank() == 0)
    return call.failAt(0, "a scalar has no dims");
  int64_t dim = x.rank() - 1;
  if (call.has(2)) {
    auto given = call.dim(2, 0);
    if (!given)
      return Val::error();
    dim = *given;
  }
  int64_t whole = x.shape()[dim], total = 0;
  SmallVector<int64_t> sizes;
  SmallVector<StringRef> names;
  if (call[1].isList()) {
    if (!call.shape(1, sizes, names))
      return Val::error();
    for (int64_t size : sizes)
      total += size;
    if (total != whole)
      return call.failAt(1, "the sizes add up to " + Twine(total) + ", dim " +
                                Twine(dim) + " of " + describeTensor(x) +
                                " has " + Twine(whole));
  } else {
    auto parts = call.integer(1);
    if (!parts)
      return Val::error();
    if (*parts < 1 || whole % *parts != 0)
      return call.failAt(1, "dim " + Twine(dim) + " of " + describeTensor(x) +
                                " has size " + Twine(whole) +
                                ", which does not divide into " +
                                Twine(*parts) + " parts");
    sizes.assign(*parts, whole / *parts);
  }
  Val list = Val::of(Val::Kind::List);
  int64_t start = 0;
  for (int64_t size : sizes) {
    list.items.push_back(call.e.slice(x, dim, start, size, call.loc));
    start += size;
  }
  return list;
}

Val ff::frontend::emitConcat(Call &call) {
  const Val &list = call[0];
  if (!list.isList() || list.items.empty())
    return call.failAt(0, "it joins a list of tensors");
  for (const Val &item : list.items)
    if (!item.isTensor())
      return call.failAt(0, "it joins tensors, not " + describeKind(item));
  const Val &first = list.items.front();
  int64_t dim = -1;
  if (call.has(1)) {
    auto given = call.integer(1);
    if (!given)
      return Val::error();
    dim = *given;
  }
  dim += dim < 0 ? first.rank() : 0;
  if (dim < 0 || dim >= first.rank())
    return call.fail("there is no such dim in " + describeTensor(first));
  SmallVector<int64_t> shape(first.shape());
  shape[dim] = 0;
  SmallVector<Value> operands;
  for (const Val &item : list.items) {
    bool fits = item.rank() == first.rank() &&
                item.type().getElementType() == first.type().getElementType();
    for (int64_t d = 0; fits && d < first.rank(); ++d)
      fits = d == dim || item.shape()[d] == first.shape()[d];
    if (!fits)
      return call.failAt(0, "cannot join " + describeTensor(first) + " and " +
                                describeTensor(item) + " along dim " +
                                Twine(dim));
    shape[dim] += item.shape()[dim];
    operands.push_back(item.tensor);
  }
  SmallVector<StringRef, 4> names(first.dims);
  if (static_cast<size_t>(dim) < names.size())
    names[dim] = "";
  return Val::ofTensor(
      call.e.builder().create<ConcatOp>(
          call.e.location(call.loc),
          RankedTensorType::get(shape, first.type().getElementType()), operands,
          dim),
      names);
}

Val ff::frontend::emitExpand(Call &call) {
  SmallVector<int64_t> shape;
  SmallVector<StringRef> names;
  if (!call.isTensor(0) || !call.tensorShape(1, shape, names))
    return Val::error();
  const Val &x = call[0];
  int64_t lead = static_cast<int64_t>(shape.size()) - x.rank();
  bool fits = lead >= 0;
  for (int64_t i = 0; fits && i < x.rank(); ++i)
    fits = x.shape()[i] == 1 || x.shape()[i] == shape[lead + i];
  if (fits)
    return Val::ofTensor(call.e.broadcast(x.tensor, shape, call.loc), names);
  std::string wanted;
  for (auto [i, size] : llvm::enumerate(shape))
    wanted += (i ? ", " : "") + describeDim(names[i], size);
  return call.failAt(1, describeTensor(x) + " does not expand to [" + wanted +
                            "]");
}

Val ff::frontend::emitDim(Call &call) {
  if (!call.isTensor(0))
    return Val::error();
  auto dim = call.dim(1, 0);
  if (!dim)
    return Val::error();
  Val size = Val::of(call[0].shape()[*dim]);
  size.text = call[0].dimName(*dim).str();
  return size;
}

Val ff::frontend::emitLen(Call &call) {
  if (call[0].isList() || call[0].kind == Val::Kind::Modules)
    return Val::of(static_cast<int64_t>(call[0].items.size()));
  return call.failAt(0, describeKind(call[0]) + " has no length");
}

Val ff::frontend::emitRange(Call &call) {
  // More iterations than this are a mistake: each is unrolled.
  constexpr int64_t limit = 100000;
  auto first = call.integer(0);
  int64_t start = 0, stop = 0, step = 1;
  if (!first)
    return Val::error();
  stop = *first;
  if (call.has(1)) {
    auto given = call.integer(1);
    if (!given)
      return Val::error();
    start = *first;
    stop = *given;
  }
  if (call.has(2)) {
    auto given = call.integer(2);
    if (!given)
      return Val::error();
    step = *given;
  }
  if (step == 0)
    return call.failAt(2, "the step cannot be 0");
  Val list = Val::of(Val::Kind::List);
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
    if (static_cast<int64_t>(list.items.size()) == limit)
      return call.fail("more than " + Twine(limit) + " items");
    list.items.push_back(Val::of(i));
  }
  return list;
}
