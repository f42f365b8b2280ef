//===- BuiltinMath.cpp - Elementwise operations and reductions --*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/BuiltinFamilies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace ff;
using namespace ff::frontend;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

static Val emitActivation(Call &call, ActivationKind kind) {
  if (!call.isFloatTensor(0))
    return Val::error();
  Elaborator &e = call.e;
  return Val::ofTensor(
      e.builder().create<ActivationOp>(e.location(call.loc), call[0].type(),
                                       ActivationKindAttr::get(e.context, kind),
                                       call[0].tensor),
      call[0].dims);
}

Val ff::frontend::emitGeluTanh(Call &call) {
  return emitActivation(call, ActivationKind::GeluTanh);
}
Val ff::frontend::emitGelu(Call &call) {
  return emitActivation(call, ActivationKind::Gelu);
}
Val ff::frontend::emitSilu(Call &call) {
  return emitActivation(call, ActivationKind::Silu);
}
Val ff::frontend::emitRelu(Call &call) {
  return emitActivation(call, ActivationKind::Relu);
}
Val ff::frontend::emitSigmoid(Call &call) {
  return emitActivation(call, ActivationKind::Sigmoid);
}
Val ff::frontend::emitTanh(Call &call) {
  return emitActivation(call, ActivationKind::Tanh);
}

/// An operation of the math dialect on a tensor, or `fold` of a number.
template <typename MathOp>
static Val emitUnary(Call &call, double (*fold)(double)) {
  if (call[0].isNumber()) {
    double result = fold(call[0].asDouble());
    if (!std::isfinite(result))
      return call.fail("undefined for " + std::to_string(call[0].asDouble()));
    return Val::of(result);
  }
  if (!call.isFloatTensor(0))
    return Val::error();
  return Val::ofTensor(call.e.builder().create<MathOp>(
                           call.e.location(call.loc), call[0].tensor),
                       call[0].dims);
}

Val ff::frontend::emitExp(Call &call) {
  return emitUnary<math::ExpOp>(call, std::exp);
}
Val ff::frontend::emitLog(Call &call) {
  return emitUnary<math::LogOp>(call, std::log);
}
Val ff::frontend::emitSqrt(Call &call) {
  return emitUnary<math::SqrtOp>(call, std::sqrt);
}
Val ff::frontend::emitRsqrt(Call &call) {
  return emitUnary<math::RsqrtOp>(call,
                                  [](double x) { return 1 / std::sqrt(x); });
}
Val ff::frontend::emitSin(Call &call) {
  return emitUnary<math::SinOp>(call, std::sin);
}
Val ff::frontend::emitCos(Call &call) {
  return emitUnary<math::CosOp>(call, std::cos);
}
Val ff::frontend::emitAbs(Call &call) {
  if (call[0].isInteger())
    return Val::of(std::abs(call[0].integer));
  return emitUnary<math::AbsFOp>(call, std::fabs);
}

Val ff::frontend::emitSquare(Call &call) {
  if (call[0].isNumber())
    return foldBinary(Operator::Mul, call[0], call[0], call.loc, call.e.diags);
  if (!call.isFloatTensor(0))
    return Val::error();
  return call.e.binary(Operator::Mul, call[0], call[0], call.loc);
}

Val ff::frontend::emitPow(Call &call) {
  if (call[0].isNumber() && call[1].isNumber())
    return foldBinary(Operator::Pow, call[0], call[1], call.loc, call.e.diags);
  if (!call.isFloatTensor(0) || !call.number(1))
    return Val::error();
  return call.e.binary(Operator::Pow, call[0], call[1], call.loc);
}

Val ff::frontend::emitCast(Call &call) {
  if (!call.isTensor(0))
    return Val::error();
  if (call.has(1) && !call[1].isString())
    return call.failAt(1, "the dtype is a string, such as \"f32\"");
  Elaborator &e = call.e;
  std::string have = dtypeName(call[0].type().getElementType());
  std::string wanted = call.has(1) ? call[1].text : dtypeName(e.elementType);
  if (wanted == have)
    return call[0];
  Type element = e.declaredDtype(wanted);
  if (!element)
    return call.failAt(1, "cannot convert " + have + " to \"" + wanted + "\"");
  // A cast that is written rounds.
  return e.convert(call[0].settled(), element, call.loc);
}

Val ff::frontend::emitStopGradient(Call &call) {
  if (!call.isTensor(0))
    return Val::error();
  return Val::ofTensor(
      call.e.builder().create<StopGradientOp>(call.e.location(call.loc),
                                              call[0].type(), call[0].tensor),
      call[0].dims);
}

//===----------------------------------------------------------------------===//
// Two and three operands
//===----------------------------------------------------------------------===//

template <typename FloatOp>
static Val emitExtremum(Call &call, const Val &a, const Val &b, bool larger) {
  if (a.isNumber() && b.isNumber())
    return (a.asDouble() > b.asDouble()) == larger ? a : b;
  Val lhs = a, rhs = b;
  if (!call.e.unify(lhs, rhs, call.builtin.name, call.loc))
    return Val::error();
  if (!lhs.isFloatTensor())
    return call.fail("needs float tensors, not " + describeTensor(lhs));
  return Val::ofTensor(call.e.builder().create<FloatOp>(
                           call.e.location(call.loc), lhs.tensor, rhs.tensor),
                       lhs.dims);
}

Val ff::frontend::emitMaximum(Call &call) {
  return emitExtremum<arith::MaximumFOp>(call, call[0], call[1], true);
}
Val ff::frontend::emitMinimum(Call &call) {
  return emitExtremum<arith::MinimumFOp>(call, call[0], call[1], false);
}

Val ff::frontend::emitClamp(Call &call) {
  Val x = call[0];
  if (call.has(1))
    x = emitExtremum<arith::MaximumFOp>(call, x, call[1], true);
  if (call.has(2) && !x.isError())
    x = emitExtremum<arith::MinimumFOp>(call, x, call[2], false);
  return x;
}

Val ff::frontend::emitWhere(Call &call) {
  Elaborator &e = call.e;
  Val condition = call[0], a = call[1], b = call[2];
  if (!condition.isBoolTensor())
    return call.failAt(0, "the condition must be a comparison of tensors");
  if (a.isNumber() && b.isNumber()) {
    auto type = RankedTensorType::get(condition.shape(), e.elementType);
    a = Val::ofTensor(e.splat(type, a.asDouble(), call.loc), condition.dims);
  }
  if (!e.unify(a, b, "where", call.loc))
    return Val::error();
  // All three to one shape: the condition may be smaller or larger.
  auto flags =
      RankedTensorType::get(a.shape(), condition.type().getElementType());
  Val shape = Val::ofTensor(e.splat(flags, 0, call.loc), a.dims);
  if (!e.unify(condition, shape, "where", call.loc))
    return Val::error();
  ArrayRef<int64_t> common = condition.shape();
  return Val::ofTensor(e.builder().create<arith::SelectOp>(
                           e.location(call.loc), condition.tensor,
                           e.broadcast(a.tensor, common, call.loc),
                           e.broadcast(b.tensor, common, call.loc)),
                       condition.dims);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static Val emitReduction(Call &call, ReduceKind kind, bool isMean) {
  if (!call.isFloatTensor(0))
    return Val::error();
  auto dims = call.dims(1, 0);
  auto keep = call.boolean(2);
  if (!dims || !keep)
    return Val::error();
  Val result = call.e.reduce(kind, call[0], *dims, *keep, call.loc);
  if (!isMean)
    return result;
  double count = 1;
  for (int64_t dim : *dims)
    count *= static_cast<double>(call[0].shape()[dim]);
  return call.e.binary(Operator::Div, result, Val::of(count), call.loc);
}

Val ff::frontend::emitSum(Call &call) {
  return emitReduction(call, ReduceKind::Sum, /*isMean=*/false);
}
Val ff::frontend::emitMean(Call &call) {
  return emitReduction(call, ReduceKind::Sum, /*isMean=*/true);
}
Val ff::frontend::emitMax(Call &call) {
  return emitReduction(call, ReduceKind::Max, /*isMean=*/false);
}

Val ff::frontend::emitMse(Call &call) {
  if (!call.isFloatTensor(0) || !call.isFloatTensor(1))
    return Val::error();
  Val difference = call.e.binary(Operator::Sub, call[0], call[1], call.loc);
  if (difference.isError())
    return difference;
  Val squared = call.e.binary(Operator::Mul, difference, difference, call.loc);
  std::vector<int64_t> dims(llvm::seq<int64_t>(0, squared.rank()).begin(),
                            llvm::seq<int64_t>(0, squared.rank()).end());
  Val total =
      call.e.reduce(ReduceKind::Sum, squared, dims, /*keep=*/false, call.loc);
  double count = static_cast<double>(squared.type().getNumElements());
  return call.e.binary(Operator::Div, total, Val::of(count), call.loc);
}

/// 1 where an id counts, 0 where it is `ignore`, NaN where it is neither that
/// nor one of the classes, so that neither the loss nor the gradient hides it.
static Val emitIdFactor(Call &call, const Val &ids, int64_t classes,
                        RankedTensorType losses) {
  Elaborator &e = call.e;
  auto constant = [&](double value) {
    return Val::ofTensor(e.splat(losses, value, call.loc));
  };
  auto select = [&](Operator op, int64_t value, const Val &a, const Val &b) {
    Val holds = e.binary(op, ids, Val::of(value), call.loc);
    return Val::ofTensor(e.builder().create<arith::SelectOp>(
        e.location(call.loc), holds.tensor, a.tensor, b.tensor));
  };
  Val wrong = constant(std::numeric_limits<double>::quiet_NaN());
  Val factor = select(Operator::Lt, classes, constant(1), wrong);
  factor = select(Operator::Ge, 0, factor, wrong);
  return call.has(2)
             ? select(Operator::Eq, call[2].integer, constant(0), factor)
             : factor;
}

/// The value as rows of its last dim. A linear layer makes such rows, and gives
/// them the dims of its input: its product is taken as it is, through that and
/// conversions, so that all from there on, and the gradient back to there, is
/// one loop over the rows.
static Value asRows(Elaborator &e, Value value, int64_t rows, SMLoc loc) {
  OpBuilder &b = e.builder();
  auto type = cast<RankedTensorType>(value.getType());
  auto wanted = RankedTensorType::get({rows, type.getShape().back()},
                                      type.getElementType());
  SmallVector<Operation *> conversions;
  Value source = value;
  while (
      isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(source.getDefiningOp())) {
    conversions.push_back(source.getDefiningOp());
    source = conversions.back()->getOperand(0);
  }
  auto reshape = source.getDefiningOp<ReshapeOp>();
  if (!reshape || cast<ShapedType>(reshape.getInput().getType()).getShape() !=
                      wanted.getShape())
    return e.reshape(value, wanted.getShape(), loc);
  source = reshape.getInput();
  for (Operation *conversion : llvm::reverse(conversions)) {
    Operation *again = b.clone(*conversion);
    again->setOperand(0, source);
    source = again->getResult(0);
    source.setType(wanted.clone(
        cast<ShapedType>(conversion->getResult(0).getType()).getElementType()));
  }
  return source;
}

Val ff::frontend::emitCrossEntropy(Call &call) {
  Elaborator &e = call.e;
  if (!call.isFloatTensor(0) || !call.isTensor(1) ||
      (call.has(2) && !call.integer(2)))
    return Val::error();
  if (!call[1].isIntTensor())
    return call.failAt(1,
                       "the ids must be i64, not " + describeTensor(call[1]));
  ArrayRef<int64_t> shape = call[1].shape();
  if (call[0].rank() != call[1].rank() + 1 ||
      call[0].shape().drop_back() != shape) {
    e.error(call.loc, "cross_entropy: the logits are " +
                          describeTensor(call[0]) + " and the ids " +
                          describeTensor(call[1]))
        .note("the logits have the dims of the ids, and one more for the "
              "classes");
    return Val::error();
  }
  int64_t rows = call[1].type().getNumElements();
  int64_t classes = call[0].shape().back();
  Val logits = e.widened(
      Val::ofTensor(asRows(e, call[0].tensor, rows, call.loc)), call.loc);
  Val ids = e.reshaped(call[1], {rows}, {}, call.loc);
  OpBuilder &b = e.builder();
  Location at = e.location(call.loc);
  auto each = [&](const Val &row) {
    return Val::ofTensor(b.create<BroadcastOp>(
        at, logits.type().clone(row.type().getElementType()), row.tensor,
        b.getDenseI64ArrayAttr({0})));
  };
  auto reduce = [&](ReduceKind kind, const Val &value) {
    return e.reduce(kind, value, /*dims=*/1, /*keep=*/false, call.loc);
  };
  // log Σ exp(x) = max + log Σ exp(x - max), whatever is subtracted: it is a
  // constant of differentiation.
  Val largest = reduce(ReduceKind::Max, logits);
  largest.tensor = b.create<StopGradientOp>(at, largest.type(), largest.tensor);
  Val below = e.binary(Operator::Sub, logits, each(largest), call.loc);
  Val total = reduce(ReduceKind::Sum,
                     Val::ofTensor(b.create<math::ExpOp>(at, below.tensor)));
  // The logit of the id by a comparison, which fuses with the sum before.
  auto indices = RankedTensorType::get({classes}, b.getI64Type());
  Val index =
      Val::ofTensor(b.create<IotaOp>(at, indices, b.getI64IntegerAttr(0)));
  Val isTarget = e.binary(Operator::Eq, each(ids), index, call.loc);
  Value target = b.create<arith::SelectOp>(at, isTarget.tensor, below.tensor,
                                           e.splat(below.type(), 0, call.loc));
  Val loss = e.binary(Operator::Sub,
                      Val::ofTensor(b.create<math::LogOp>(at, total.tensor)),
                      reduce(ReduceKind::Sum, Val::ofTensor(target)), call.loc);
  Val factor = emitIdFactor(call, ids, classes, loss.type());
  loss = e.binary(Operator::Mul, loss, factor, call.loc);
  SmallVector<StringRef> names;
  for (size_t i = 0; i < shape.size(); ++i)
    names.push_back(call[1].dimName(i));
  return e.reshaped(loss, shape, names, call.loc);
}
