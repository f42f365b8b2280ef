//===- VectorMath.cpp - Functions of math as polynomials --------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For f32, scalars or vectors. Each function reduces its argument to a short
// interval and takes a minimax polynomial there, whose error is below the
// rounding of f32. No branches: both sides of a case are computed and selected.
// In f64, which serves gradient checks, the functions of libm are used.
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace ff;

namespace {
/// Emits one function of `x`.
class Expansion {
public:
  Expansion(KernelBuilder &k, Type type) : k(k), type(type) {
    auto vector = dyn_cast<VectorType>(type);
    intType = vectorOf(k.b.getI32Type(), vector ? vector.getNumElements() : 1);
  }

  Value exp(Value x);
  Value log(Value x);
  Value tanh(Value x);
  Value erf(Value x);
  /// sin(x + quarters · π/2)
  Value sine(Value x, int64_t quarters);

private:
  Value c(double value) { return k.constant(type, value); }
  Value i(int64_t value) { return k.constant(intType, value); }
  Value bits(Value x) {
    return k.b.create<arith::BitcastOp>(k.loc, intType, x);
  }
  Value fromBits(Value x) {
    return k.b.create<arith::BitcastOp>(k.loc, type, x);
  }
  template <typename Op> Value make(Value x, Value y) {
    return k.b.create<Op>(k.loc, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return k.b.create<arith::CmpFOp>(k.loc, predicate, x, y);
  }
  Value less(Value x, Value y) {
    return compare(arith::CmpFPredicate::OLT, x, y);
  }
  Value abs(Value x) {
    return fromBits(make<arith::AndIOp>(bits(x), i(0x7fffffff)));
  }
  /// `x` ≥ 0 with the sign of `y`.
  Value withSign(Value x, Value y) {
    Value sign = make<arith::AndIOp>(bits(y), i(-0x80000000LL));
    return fromBits(make<arith::OrIOp>(bits(x), sign));
  }
  /// Σ coefficients[n] xⁿ
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = c(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = k.fma(sum, x, c(coefficient));
    return sum;
  }
  /// Adding 1.5 · 2²³ rounds to an integer, which then stands in the low bits.
  static constexpr double kRound = 12582912.0;

  KernelBuilder &k;
  Type type, intType;
};
} // namespace

Value Expansion::exp(Value x) {
  // Outside of these bounds the result is 0 or infinity. NaN compares false.
  x = k.select(less(x, c(-87.0)), c(-87.0), x);
  x = k.select(less(c(88.8), x), c(88.8), x);
  Value shifted = k.fma(x, c(1.44269504088896341), c(kRound));
  Value n = k.sub(shifted, c(kRound));
  // ln 2 in two parts, the first with few bits: n · part is exact.
  Value r = k.fma(n, c(-0.693359375), x);
  r = k.fma(n, c(2.12194440e-4), r);
  Value q = polynomial(r, {0.50000000951, 0.16666518897, 0.04166620601,
                           0.00836888243, 0.00139504768});
  Value p = k.add(k.fma(k.mul(r, r), q, r), c(1));
  // 2^(n-1), since 2^128 is no number; for n = -126 its bits are 0.
  Value exponent = make<arith::ShLIOp>(bits(shifted), i(23));
  Value scale = fromBits(make<arith::AddIOp>(exponent, i(126LL << 23)));
  return k.mul(k.mul(p, scale), c(2));
}

Value Expansion::log(Value x) {
  // x = 2^e · (1 + f), with 1 + f in [√½, √2).
  constexpr int64_t kSqrtHalf = 0x3f3504f3;
  Value shifted = make<arith::SubIOp>(bits(x), i(kSqrtHalf));
  Value exponent = make<arith::ShRSIOp>(shifted, i(23));
  Value mantissa = make<arith::AndIOp>(shifted, i(0x7fffff));
  Value f = k.sub(fromBits(make<arith::AddIOp>(mantissa, i(kSqrtHalf))), c(1));
  Value e = k.b.create<arith::SIToFPOp>(k.loc, type, exponent);
  Value q = polynomial(f, {0.33333312603, -0.25000009604, 0.20002118732,
                           -0.16667995667, 0.14219550906, -0.12405591425,
                           0.11888174619, -0.11675641268, 0.06746601242});
  Value square = k.mul(f, f);
  Value tail = k.fma(k.mul(square, f), q, k.mul(e, c(-2.12194440e-4)));
  tail = k.fma(square, c(-0.5), tail);
  Value result = k.fma(e, c(0.693359375), k.add(tail, f));
  double infinity = std::numeric_limits<double>::infinity();
  result = k.select(less(x, c(infinity)), result, x);
  result = k.select(compare(arith::CmpFPredicate::OEQ, x, c(0)), c(-infinity),
                    result);
  return k.select(less(x, c(0)), c(std::numeric_limits<double>::quiet_NaN()),
                  result);
}

Value Expansion::tanh(Value x) {
  Value square = k.mul(x, x);
  Value q = polynomial(square, {-0.33333283924, 0.13331491248, -0.05374349526,
                                0.02065057899, -0.00571703655});
  Value small = k.fma(k.mul(square, x), q, x);
  Value size = abs(x);
  Value e = exp(k.add(size, size));
  Value large = k.sub(c(1), k.div(c(2), k.add(e, c(1))));
  return k.select(less(c(0.625), size), withSign(large, x), small);
}

Value Expansion::erf(Value x) {
  Value square = k.mul(x, x);
  Value small =
      k.mul(x, polynomial(square, {1.12837916706, -3.76126384838e-01,
                                   1.12837827472e-01, -2.68654458204e-02,
                                   5.22107487514e-03, -8.48471140531e-04,
                                   1.12705441687e-04, -9.68013547143e-06}));
  Value size = abs(x);
  // log(1 - erf); at 4 the result is 1 up to rounding.
  Value bounded = k.select(less(c(4), size), c(4), size);
  Value q = polynomial(bounded,
                       {-3.53708910974e-04, -1.12704008005, -6.38225602246e-01,
                        -1.03037435627e-01, 2.18053512095e-02,
                        -2.93961574950e-03, 1.85574894676e-04});
  Value large = k.sub(c(1), exp(q));
  return k.select(less(c(1), size), withSign(large, x), small);
}

Value Expansion::sine(Value x, int64_t quarters) {
  Value shifted = k.fma(x, c(0.63661977236758134), c(kRound));
  Value n = k.sub(shifted, c(kRound));
  // π/2 in three parts, the first two with few bits: exact up to n = 2¹².
  Value r = k.fma(n, c(-1.5703125), x);
  r = k.fma(n, c(-4.837512969970703125e-4), r);
  r = k.fma(n, c(-7.54978995489188216e-8), r);
  Value square = k.mul(r, r);
  Value s = polynomial(square, {-1.66666666416e-01, 8.33332938590e-03,
                                -1.98393348421e-04, 2.71831157220e-06});
  s = k.fma(k.mul(square, r), s, r);
  Value q = polynomial(
      square, {-0.5, 4.16666468660e-02, -1.38873674967e-03, 2.44384496766e-05});
  Value cosine = k.fma(square, q, c(1));
  Value quadrant = make<arith::AddIOp>(bits(shifted), i(quarters));
  Value odd =
      k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::ne,
                                make<arith::AndIOp>(quadrant, i(1)), i(0));
  Value result = k.select(odd, cosine, s);
  // The third and fourth quadrant change the sign.
  Value sign = make<arith::ShLIOp>(make<arith::AndIOp>(quadrant, i(2)), i(30));
  return fromBits(make<arith::XOrIOp>(bits(result), sign));
}

Value ff::expandMath(KernelBuilder &k, Operation *op, ValueRange operands) {
  if (operands.empty() || !getElementTypeOrSelf(operands[0].getType()).isF32())
    return {};
  Value x = operands[0];
  Expansion e(k, x.getType());
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::ExpOp>([&](auto) { return e.exp(x); })
      .Case<math::LogOp>([&](auto) { return e.log(x); })
      .Case<math::TanhOp>([&](auto) { return e.tanh(x); })
      .Case<math::ErfOp>([&](auto) { return e.erf(x); })
      .Case<math::SinOp>([&](auto) { return e.sine(x, 0); })
      .Case<math::CosOp>([&](auto) { return e.sine(x, 1); })
      .Default(Value());
}
