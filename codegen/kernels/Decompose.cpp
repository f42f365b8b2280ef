//===- Decompose.cpp - Norms, softmax, activations into simpler operations -*-
// C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas are chosen so that no step cancels: a logistic function instead
// of 1 + tanh, a variance from centred values, a softmax from its maximum. They
// are computed in f32 or wider; a result of bf16 or f16 is rounded at the end.
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "dialect/FF.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ff {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "codegen/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
/// Short names for the operations that the formulas need.
class Formula {
public:
  Formula(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  /// The values of `x` as numbers to compute on.
  Value widen(Value x) {
    Type element = getElementTypeOrSelf(x.getType());
    if (!isNarrowFloat(element))
      return x;
    return b.create<arith::ExtFOp>(loc, numbers(x.getType()), x);
  }
  /// `x` rounded to `type`.
  Value narrow(Value x, Type type) {
    return x.getType() == type ? x : b.create<arith::TruncFOp>(loc, type, x);
  }
  static RankedTensorType numbers(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return RankedTensorType::get(tensor.getShape(),
                                 numberTypeOf(tensor.getElementType()));
  }

  Value constant(Value like, double value) {
    return createSplat(b, loc, like.getType(), value);
  }
  Value add(Value x, Value y) { return b.create<arith::AddFOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.create<arith::SubFOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.create<arith::MulFOp>(loc, x, y); }
  Value div(Value x, Value y) { return b.create<arith::DivFOp>(loc, x, y); }
  Value add(Value x, double y) { return add(x, constant(x, y)); }
  Value mul(Value x, double y) { return mul(x, constant(x, y)); }
  Value exp(Value x) { return b.create<math::ExpOp>(loc, x); }
  Value oneMinus(Value x) { return sub(constant(x, 1), x); }

  /// 1 / (1 + exp(-x))
  Value sigmoid(Value x) {
    Value e = exp(b.create<arith::NegFOp>(loc, x));
    return div(constant(x, 1), add(e, 1));
  }

  /// Sum or maximum over the last dim.
  Value reduce(ReduceKind kind, Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    auto rows = RankedTensorType::get(type.getShape().drop_back(),
                                      type.getElementType());
    return b.create<ReduceOp>(loc, rows, kind, x,
                              ArrayRef<int64_t>{type.getRank() - 1});
  }
  Value mean(Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    return mul(reduce(ReduceKind::Sum, x),
               1.0 / static_cast<double>(type.getShape().back()));
  }
  /// Repeats a value of the rows along the last dim of `like`.
  Value spread(Value rows, Value like) {
    int64_t rank = cast<RankedTensorType>(rows.getType()).getRank();
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    return b.create<BroadcastOp>(loc, like.getType(), rows, dims);
  }

  OpBuilder &b;
  Location loc;
};
} // namespace

static constexpr double kSqrt2OverPi = 0.79788456080286535588;
static constexpr double kSqrtHalf = 0.70710678118654752440;
static constexpr double kGeluCubic = 0.044715;

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// (1 + tanh(u)) / 2 = sigmoid(2u), with u the inner function of gelu_tanh.
static Value geluGate(Formula &f, Value x) {
  Value x2 = f.mul(x, x);
  Value inner = f.mul(f.add(f.mul(x2, kGeluCubic), 1), x);
  return f.sigmoid(f.mul(inner, 2 * kSqrt2OverPi));
}

/// (1 + erf(x/√2)) / 2
static Value normalCdf(Formula &f, Value x) {
  Value erf = f.b.create<math::ErfOp>(f.loc, f.mul(x, kSqrtHalf));
  return f.mul(f.add(erf, 1), 0.5);
}

static Value emitActivation(Formula &f, ActivationKind kind, Value x) {
  switch (kind) {
  case ActivationKind::GeluTanh:
    return f.mul(x, geluGate(f, x));
  case ActivationKind::Gelu:
    return f.mul(x, normalCdf(f, x));
  case ActivationKind::Silu:
    return f.mul(x, f.sigmoid(x));
  case ActivationKind::Relu:
    return f.b.create<arith::MaximumFOp>(f.loc, x, f.constant(x, 0));
  case ActivationKind::Sigmoid:
    return f.sigmoid(x);
  case ActivationKind::Tanh:
    return f.b.create<math::TanhOp>(f.loc, x);
  }
  llvm_unreachable("unknown activation");
}

static Value emitDerivative(Formula &f, ActivationKind kind, Value x) {
  switch (kind) {
  case ActivationKind::GeluTanh: {
    // s + x s (1 - s) d(2u)/dx
    Value s = geluGate(f, x);
    Value du = f.add(f.mul(f.mul(x, x), 6 * kGeluCubic * kSqrt2OverPi),
                     2 * kSqrt2OverPi);
    Value slope = f.mul(f.mul(s, f.oneMinus(s)), f.mul(x, du));
    return f.add(s, slope);
  }
  case ActivationKind::Gelu: {
    Value pdf = f.mul(f.exp(f.mul(f.mul(x, x), -0.5)), 0.5 * kSqrt2OverPi);
    return f.add(normalCdf(f, x), f.mul(x, pdf));
  }
  case ActivationKind::Silu: {
    Value s = f.sigmoid(x);
    return f.mul(s, f.add(f.mul(x, f.oneMinus(s)), 1));
  }
  case ActivationKind::Relu: {
    Value positive = f.b.create<arith::CmpFOp>(f.loc, arith::CmpFPredicate::OGT,
                                               x, f.constant(x, 0));
    return f.b.create<arith::SelectOp>(f.loc, positive, f.constant(x, 1),
                                       f.constant(x, 0));
  }
  case ActivationKind::Sigmoid: {
    Value s = f.sigmoid(x);
    return f.mul(s, f.oneMinus(s));
  }
  case ActivationKind::Tanh: {
    Value t = f.b.create<math::TanhOp>(f.loc, x);
    return f.oneMinus(f.mul(t, t));
  }
  }
  llvm_unreachable("unknown activation");
}

//===----------------------------------------------------------------------===//
// Norms and softmax
//===----------------------------------------------------------------------===//

/// The normalised value and the factor 1/√(var + eps) of each row.
static std::pair<Value, Value> emitNorm(Formula &f, Value x, double eps,
                                        bool center) {
  if (center)
    x = f.sub(x, f.spread(f.mean(x), x));
  Value var = f.mean(f.mul(x, x));
  Value r = f.b.create<math::RsqrtOp>(f.loc, f.add(var, eps));
  return {f.mul(x, f.spread(r, x)), r};
}

static Value emitNormBackward(Formula &f, Value x, Value g, double eps,
                              bool center) {
  auto [n, r] = emitNorm(f, x, eps, center);
  Value inner = f.sub(g, f.mul(n, f.spread(f.mean(f.mul(g, n)), n)));
  if (center)
    inner = f.sub(inner, f.spread(f.mean(g), g));
  return f.mul(inner, f.spread(r, x));
}

static Value emitSoftmax(Formula &f, Value x) {
  Value e = f.exp(f.sub(x, f.spread(f.reduce(ReduceKind::Max, x), x)));
  Value sum = f.reduce(ReduceKind::Sum, e);
  return f.mul(e, f.spread(f.div(f.constant(sum, 1), sum), e));
}

static Value emitSoftmaxBackward(Formula &f, Value y, Value g) {
  Value dot = f.reduce(ReduceKind::Sum, f.mul(g, y));
  return f.mul(y, f.sub(g, f.spread(dot, g)));
}

//===----------------------------------------------------------------------===//
// Matmul in f64
//===----------------------------------------------------------------------===//

/// A view of a matmul operand as [batch..., M, N, K]. With `swap` the operand's
/// matrix dims are first swapped, so that K comes last.
static Value spreadOperand(Formula &f, Value operand, bool swap, bool isLhs,
                           RankedTensorType space) {
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t rank = type.getRank(), full = space.getRank();
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (swap) {
    std::swap(order[rank - 1], order[rank - 2]);
    SmallVector<int64_t> shape(type.getShape());
    std::swap(shape[rank - 1], shape[rank - 2]);
    operand = f.b.create<TransposeOp>(
        f.loc, RankedTensorType::get(shape, type.getElementType()), operand,
        order);
  }
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  dims.push_back(isLhs ? full - 3 : full - 2);
  dims.push_back(full - 1);
  return f.b.create<BroadcastOp>(f.loc, space, operand, dims);
}

static Value emitMatmul(Formula &f, MatmulOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  ArrayRef<int64_t> lhs =
      cast<RankedTensorType>(op.getLhs().getType()).getShape().take_back(2);
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(op.getTransposeLhs() ? lhs[0] : lhs[1]);
  auto space = RankedTensorType::get(shape, type.getElementType());
  Value x = spreadOperand(f, op.getLhs(), op.getTransposeLhs(), true, space);
  Value y = spreadOperand(f, op.getRhs(), !op.getTransposeRhs(), false, space);
  Value sum = f.reduce(ReduceKind::Sum, f.mul(x, y));
  if (Value bias = op.getBias())
    sum = f.add(sum,
                f.b.create<BroadcastOp>(f.loc, type, bias,
                                        ArrayRef<int64_t>{type.getRank() - 1}));
  if (auto kind = op.getActivation())
    sum = emitActivation(f, *kind, sum);
  return sum;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Random values and sums over the rows of a table: the runtime makes f32 and
/// f64.
static Value roundAfter(Formula &f, Operation *op) {
  Operation *wide = f.b.clone(*op);
  Type type = op->getResult(0).getType();
  wide->getResult(0).setType(Formula::numbers(type));
  return f.narrow(wide->getResult(0), type);
}

/// What `op` is in simpler operations, perhaps in a wider type, or null.
static Value expand(Formula &f, Operation *op) {
  auto eps = [](auto norm) { return norm.getEps().convertToDouble(); };
  bool isNarrow =
      op->getNumResults() == 1 &&
      isNarrowFloat(getElementTypeOrSelf(op->getResult(0).getType()));
  auto in = [&](unsigned i) { return f.widen(op->getOperand(i)); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case(
          [&](ActivationOp a) { return emitActivation(f, a.getKind(), in(0)); })
      .Case([&](ActivationBackwardOp a) {
        return f.mul(in(1), emitDerivative(f, a.getKind(), in(0)));
      })
      .Case([&](StopGradientOp stop) { return stop.getInput(); })
      .Case(
          [&](LayerNormOp n) { return emitNorm(f, in(0), eps(n), true).first; })
      .Case(
          [&](RmsNormOp n) { return emitNorm(f, in(0), eps(n), false).first; })
      .Case([&](LayerNormBackwardOp n) {
        return emitNormBackward(f, in(0), in(1), eps(n), true);
      })
      .Case([&](RmsNormBackwardOp n) {
        return emitNormBackward(f, in(0), in(1), eps(n), false);
      })
      .Case([&](SoftmaxOp) { return emitSoftmax(f, in(0)); })
      .Case([&](SoftmaxBackwardOp) {
        return emitSoftmaxBackward(f, in(0), in(1));
      })
      .Case([&](ReduceOp r) -> Value {
        if (!isNarrow)
          return {};
        return f.b.create<ReduceOp>(f.loc, Formula::numbers(r.getType()),
                                    r.getKind(), in(0), r.getDims());
      })
      .Case<RandomOp, EmbeddingBackwardOp>([&](Operation *made) {
        return isNarrow ? roundAfter(f, made) : Value();
      })
      .Case([&](MatmulOp m) {
        bool wide = getElementTypeOrSelf(m.getType()).isF64();
        return wide ? emitMatmul(f, m) : Value();
      })
      .Default(Value());
}

static void decompose(Operation *op) {
  OpBuilder builder(op);
  Formula f(builder, op->getLoc());
  Value value = expand(f, op);
  if (!value)
    return;
  value = f.narrow(value, op->getResult(0).getType());
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

namespace {
struct Decompose : ff::impl::DecomposePassBase<Decompose> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      decompose(op);
  }
};
} // namespace
