//===- BuiltinSources.cpp - Constants and random values ---------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/BuiltinFamilies.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Val emitConstant(Call &call, double value) {
  SmallVector<int64_t> shape;
  SmallVector<StringRef> names;
  if (!call.tensorShape(0, shape, names))
    return Val::error();
  auto type = RankedTensorType::get(shape, call.e.elementType);
  return Val::ofTensor(call.e.splat(type, value, call.loc), names);
}

Val ff::frontend::emitFull(Call &call) {
  auto value = call.number(1);
  return value ? emitConstant(call, *value) : Val::error();
}
Val ff::frontend::emitZeros(Call &call) { return emitConstant(call, 0); }
Val ff::frontend::emitOnes(Call &call) { return emitConstant(call, 1); }

static Val emitConstantLike(Call &call, double value) {
  if (!call.isTensor(0))
    return Val::error();
  return Val::ofTensor(call.e.splat(call[0].type(), value, call.loc),
                       call[0].dims);
}

Val ff::frontend::emitZerosLike(Call &call) {
  return emitConstantLike(call, 0);
}
Val ff::frontend::emitOnesLike(Call &call) { return emitConstantLike(call, 1); }

Val ff::frontend::emitArange(Call &call) {
  auto first = call.integer(0);
  if (!first)
    return Val::error();
  int64_t start = 0, stop = *first;
  if (call.has(1)) {
    auto given = call.integer(1);
    if (!given)
      return Val::error();
    start = *first;
    stop = *given;
  }
  if (stop <= start)
    return call.fail("there is nothing from " + Twine(start) + " up to " +
                     Twine(stop));
  int64_t size;
  if (llvm::SubOverflow(stop, start, size) || isTooLarge(size))
    return call.fail("a tensor of more than 2^40 elements");
  OpBuilder &b = call.e.builder();
  // bf16 holds whole numbers up to 256 alone.
  Type element = call.e.floatType();
  if (call.has(2)) {
    std::string dtype = call[2].isString() ? call[2].text : "";
    if (dtype == "i64")
      element = b.getI64Type();
    else if (dtype != dtypeName(element) && dtype != "float")
      return call.failAt(2, "the dtype can be \"i64\" or \"" +
                                dtypeName(element) + "\"");
  }
  auto type = RankedTensorType::get({size}, element);
  Value iota =
      b.create<IotaOp>(call.e.location(call.loc), type, b.getI64IntegerAttr(0));
  Val result = Val::ofTensor(iota);
  return start == 0
             ? result
             : call.e.binary(Operator::Add, result, Val::of(start), call.loc);
}

//===----------------------------------------------------------------------===//
// Random values
//===----------------------------------------------------------------------===//

static Val emitRandom(Call &call, Distribution distribution,
                      ArrayRef<int64_t> shape, ArrayRef<StringRef> names) {
  Elaborator &e = call.e;
  FunctionState &function = *e.function;
  if (shape.empty() || shape.front() != function.batch) {
    e.error(call.loc,
            Twine(call.builtin.name) +
                ": dim 0 of random values must be B=" + Twine(function.batch) +
                (shape.empty() ? Twine(", this is a scalar")
                               : ", not " + Twine(shape.front())))
        .note("each sample has random values of its own, which do not depend "
              "on the number of ranks");
    return Val::error();
  }
  return e.random(distribution, shape, names, e.elementType, call.loc);
}

static Val emitRandomShape(Call &call, Distribution distribution) {
  SmallVector<int64_t> shape;
  SmallVector<StringRef> names;
  if (!call.tensorShape(0, shape, names))
    return Val::error();
  return emitRandom(call, distribution, shape, names);
}

static Val emitRandomLike(Call &call, Distribution distribution) {
  if (!call.isTensor(0))
    return Val::error();
  return emitRandom(call, distribution, call[0].shape(), call[0].dims);
}

Val ff::frontend::emitRand(Call &call) {
  return emitRandomShape(call, Distribution::Uniform);
}
Val ff::frontend::emitRandn(Call &call) {
  return emitRandomShape(call, Distribution::Normal);
}
Val ff::frontend::emitRandLike(Call &call) {
  return emitRandomLike(call, Distribution::Uniform);
}
Val ff::frontend::emitRandnLike(Call &call) {
  return emitRandomLike(call, Distribution::Normal);
}
