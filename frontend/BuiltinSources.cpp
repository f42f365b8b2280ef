//===- BuiltinSources.cpp - Constants and random values ---------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/BuiltinFamilies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

/// `x` of the samples that are kept, `null` of those that are dropped.
static Val dropped(Call &call, const Val &drop, const Val &value, Val null) {
  Elaborator &e = call.e;
  if (!value.isTensor() || value.rank() == 0 ||
      value.shape().front() != drop.shape().front())
    return call.failAt(0, "each tensor needs dim 0 B=" +
                              Twine(drop.shape().front()) + ", not " +
                              (value.isTensor() ? describeTensor(value)
                                                : describeKind(value).str()));
  Val kept = value;
  if (kept.isBoolTensor()) {
    if (!null.isInteger() || null.integer != 0)
      return call.failAt(2, "a mask is dropped to 0 alone");
    null = Val::ofTensor(e.splat(kept.type(), 0, call.loc), kept.dims);
  }
  ArrayRef<int64_t> shape = value.shape();
  if (!null.isNumber() && null.isTensor() && null.rank() > value.rank())
    return call.failAt(2, "'null' has more dims than what it replaces");
  if (!e.unify(kept, null, "cfg_dropout", call.loc))
    return Val::error();
  if (kept.shape() != shape)
    return call.failAt(2, "'null' does not broadcast to what it replaces, " +
                              describeTensor(value));
  SmallVector<int64_t> ones(shape.size(), 1);
  ones.front() = shape.front();
  Value flags =
      e.broadcast(e.reshape(drop.tensor, ones, call.loc), shape, call.loc);
  return Val::ofTensor(e.builder().create<arith::SelectOp>(
                           e.location(call.loc), flags,
                           e.broadcast(null.tensor, shape, call.loc),
                           kept.tensor),
                       value.dims);
}

Val ff::frontend::emitCfgDropout(Call &call) {
  auto probability = call.number(1);
  if (!probability)
    return Val::error();
  if (!(*probability >= 0 && *probability < 1))
    return call.failAt(1, "a probability is at least 0 and below 1");
  const Val &x = call[0];
  Val null = call.has(2) ? call[2] : Val::of(int64_t{0});
  if (x.isList() && x.items.empty())
    return call.failAt(0, "there is nothing to drop");
  if (null.isList() && (!x.isList() || x.items.size() != null.items.size()))
    return call.failAt(2, "'null' is a list, and not as long as what it "
                          "replaces");
  // One value for each sample, so that all that is dropped is dropped at once.
  Val draw =
      emitRandom(call, Distribution::Uniform, {call.e.function->batch}, {"B"});
  if (draw.isError())
    return draw;
  OpBuilder &b = call.e.builder();
  Val drop = Val::ofTensor(b.create<arith::CmpFOp>(
      call.e.location(call.loc), arith::CmpFPredicate::OLT, draw.tensor,
      call.e.splat(draw.type(), *probability, call.loc)));
  if (!x.isList())
    return dropped(call, drop, x, null);
  Val result = x;
  for (auto [i, item] : llvm::enumerate(result.items)) {
    item = dropped(call, drop, item, null.isList() ? null.items[i] : null);
    if (item.isError())
      return item;
  }
  return result;
}
