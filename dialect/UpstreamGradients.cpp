//===- UpstreamGradients.cpp - Gradients of arith and math operations ----===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// External models of DifferentiableOpInterface for the elementwise operations
// that programs use on tensors. `g` is the gradient of the result.
//
//===----------------------------------------------------------------------===//

#include "dialect/FF.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace ff;

namespace {

/// The little algebra in which the gradients below are written.
struct Expr {
  OpBuilder &b;
  Location loc;

  Value mul(Value x, Value y) { return b.create<arith::MulFOp>(loc, x, y); }
  Value div(Value x, Value y) { return b.create<arith::DivFOp>(loc, x, y); }
  Value neg(Value x) { return b.create<arith::NegFOp>(loc, x); }
  Value sub(Value x, Value y) { return b.create<arith::SubFOp>(loc, x, y); }
  Value splat(Value like, double value) {
    return createSplat(b, loc, like.getType(), value);
  }
  Value where(Value condition, Value x, Value y) {
    return b.create<arith::SelectOp>(loc, condition, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return b.create<arith::CmpFOp>(loc, predicate, x, y);
  }
};

template <typename OpT>
using GradientFn = void (*)(Expr e, OpT op, Value g, ArrayRef<bool> wanted,
                            MutableArrayRef<Value> grads);

/// Wraps a gradient function as an external model.
template <typename OpT, GradientFn<OpT> fn>
struct Model : DifferentiableOpInterface::ExternalModel<Model<OpT, fn>, OpT> {
  void buildBackward(Operation *op, OpBuilder &builder, ArrayRef<Value> g,
                     ArrayRef<bool> wanted,
                     MutableArrayRef<Value> grads) const {
    fn(Expr{builder, op->getLoc()}, cast<OpT>(op), g[0], wanted, grads);
  }
};

template <typename OpT, GradientFn<OpT> fn> void attach(MLIRContext *context) {
  OpT::template attachInterface<Model<OpT, fn>>(*context);
}

} // namespace

//===----------------------------------------------------------------------===//
// arith
//===----------------------------------------------------------------------===//

static void addGrad(Expr e, arith::AddFOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  grads[0] = g;
  grads[1] = g;
}

static void subGrad(Expr e, arith::SubFOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  grads[0] = g;
  if (wanted[1])
    grads[1] = e.neg(g);
}

static void mulGrad(Expr e, arith::MulFOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  if (wanted[0])
    grads[0] = e.mul(g, op.getRhs());
  if (wanted[1])
    grads[1] = e.mul(g, op.getLhs());
}

static void divGrad(Expr e, arith::DivFOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  Value gOverRhs = e.div(g, op.getRhs());
  if (wanted[0])
    grads[0] = gOverRhs;
  if (wanted[1])
    grads[1] = e.neg(e.mul(gOverRhs, e.div(op.getLhs(), op.getRhs())));
}

static void negGrad(Expr e, arith::NegFOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  grads[0] = e.neg(g);
}

/// The gradient of a maximum or minimum goes to the operand that is the result,
/// to the left one where they are equal.
template <typename OpT, arith::CmpFPredicate leftWins>
static void extremumGrad(Expr e, OpT op, Value g, ArrayRef<bool> wanted,
                         MutableArrayRef<Value> grads) {
  Value left = e.compare(leftWins, op.getLhs(), op.getRhs());
  Value zero = e.splat(g, 0);
  if (wanted[0])
    grads[0] = e.where(left, g, zero);
  if (wanted[1])
    grads[1] = e.where(left, zero, g);
}

static void selectGrad(Expr e, arith::SelectOp op, Value g,
                       ArrayRef<bool> wanted, MutableArrayRef<Value> grads) {
  Value zero = e.splat(g, 0);
  if (wanted[1])
    grads[1] = e.where(op.getCondition(), g, zero);
  if (wanted[2])
    grads[2] = e.where(op.getCondition(), zero, g);
}

static void extGrad(Expr e, arith::ExtFOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  grads[0] = e.b.create<arith::TruncFOp>(e.loc, op.getIn().getType(), g);
}

static void truncGrad(Expr e, arith::TruncFOp op, Value g,
                      ArrayRef<bool> wanted, MutableArrayRef<Value> grads) {
  grads[0] = e.b.create<arith::ExtFOp>(e.loc, op.getIn().getType(), g);
}

//===----------------------------------------------------------------------===//
// math
//===----------------------------------------------------------------------===//

static void expGrad(Expr e, math::ExpOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  grads[0] = e.mul(g, op.getResult());
}

static void logGrad(Expr e, math::LogOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  grads[0] = e.div(g, op.getOperand());
}

static void sqrtGrad(Expr e, math::SqrtOp op, Value g, ArrayRef<bool> wanted,
                     MutableArrayRef<Value> grads) {
  grads[0] = e.div(e.mul(g, e.splat(g, 0.5)), op.getResult());
}

static void rsqrtGrad(Expr e, math::RsqrtOp op, Value g, ArrayRef<bool> wanted,
                      MutableArrayRef<Value> grads) {
  // -1/2 y³
  Value y = op.getResult();
  grads[0] = e.mul(e.mul(g, e.splat(g, -0.5)), e.mul(y, e.mul(y, y)));
}

static void tanhGrad(Expr e, math::TanhOp op, Value g, ArrayRef<bool> wanted,
                     MutableArrayRef<Value> grads) {
  Value y = op.getResult();
  grads[0] = e.mul(g, e.sub(e.splat(g, 1), e.mul(y, y)));
}

static void sinGrad(Expr e, math::SinOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  grads[0] = e.mul(g, e.b.create<math::CosOp>(e.loc, op.getOperand()));
}

static void cosGrad(Expr e, math::CosOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  grads[0] = e.neg(e.mul(g, e.b.create<math::SinOp>(e.loc, op.getOperand())));
}

static void absGrad(Expr e, math::AbsFOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  // Zero at zero, as in PyTorch.
  Value x = op.getOperand(), zero = e.splat(g, 0);
  Value positive = e.compare(arith::CmpFPredicate::OGT, x, zero);
  Value negative = e.compare(arith::CmpFPredicate::OLT, x, zero);
  grads[0] = e.where(positive, g, e.where(negative, e.neg(g), zero));
}

static void erfGrad(Expr e, math::ErfOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  Value x = op.getOperand();
  Value bell = e.b.create<math::ExpOp>(e.loc, e.neg(e.mul(x, x)));
  grads[0] = e.mul(g, e.mul(bell, e.splat(g, 2.0 / std::sqrt(M_PI))));
}

static void powGrad(Expr e, math::PowFOp op, Value g, ArrayRef<bool> wanted,
                    MutableArrayRef<Value> grads) {
  Value x = op.getLhs(), p = op.getRhs();
  if (wanted[0]) {
    Value less = e.b.create<math::PowFOp>(e.loc, x, e.sub(p, e.splat(p, 1)));
    grads[0] = e.mul(g, e.mul(p, less));
  }
  if (wanted[1])
    grads[1] =
        e.mul(g, e.mul(op.getResult(), e.b.create<math::LogOp>(e.loc, x)));
}

void ff::registerUpstreamGradients(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::AddFOp, addGrad>(context);
    attach<arith::SubFOp, subGrad>(context);
    attach<arith::MulFOp, mulGrad>(context);
    attach<arith::DivFOp, divGrad>(context);
    attach<arith::NegFOp, negGrad>(context);
    attach<arith::MaximumFOp,
           extremumGrad<arith::MaximumFOp, arith::CmpFPredicate::OGE>>(context);
    attach<arith::MinimumFOp,
           extremumGrad<arith::MinimumFOp, arith::CmpFPredicate::OLE>>(context);
    attach<arith::SelectOp, selectGrad>(context);
    attach<arith::ExtFOp, extGrad>(context);
    attach<arith::TruncFOp, truncGrad>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attach<math::ExpOp, expGrad>(context);
    attach<math::LogOp, logGrad>(context);
    attach<math::SqrtOp, sqrtGrad>(context);
    attach<math::RsqrtOp, rsqrtGrad>(context);
    attach<math::TanhOp, tanhGrad>(context);
    attach<math::SinOp, sinGrad>(context);
    attach<math::CosOp, cosGrad>(context);
    attach<math::AbsFOp, absGrad>(context);
    attach<math::ErfOp, erfGrad>(context);
    attach<math::PowFOp, powGrad>(context);
  });
}
