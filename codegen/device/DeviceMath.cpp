//===- DeviceMath.cpp - Functions that the CPU takes from libm ------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x^y of f32 is exp(y · log |x|) in f64: an exponent of 100 multiplies the
// error of the logarithm by it, which f32 has no bits for. Polynomials of f64
// whose errors are far below the rounding of f32 are enough.
//
//===----------------------------------------------------------------------===//

#include "codegen/device/DeviceKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace ff;

namespace {
/// Emits functions of f64 scalars.
class Wide {
public:
  explicit Wide(KernelBuilder &k)
      : k(k), f64(k.b.getF64Type()), i64(k.b.getI64Type()) {}

  Value c(double value) { return k.constant(f64, value); }
  Value log(Value x);
  Value exp(Value x);
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return k.b.create<arith::CmpFOp>(k.loc, predicate, x, y);
  }

private:
  Value i(int64_t value) {
    return k.b.create<arith::ConstantOp>(k.loc, k.b.getI64IntegerAttr(value));
  }
  template <typename Op> Value make(Value x, Value y) {
    return k.b.create<Op>(k.loc, x, y);
  }
  Value bits(Value x) { return k.b.create<arith::BitcastOp>(k.loc, i64, x); }
  Value fromBits(Value x) {
    return k.b.create<arith::BitcastOp>(k.loc, f64, x);
  }

  KernelBuilder &k;
  Type f64, i64;
};
} // namespace

/// Of x ≥ 0 that is no subnormal number of f64.
Value Wide::log(Value x) {
  // x = 2^e · (1 + f), with 1 + f in [√½, √2).
  constexpr int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  Value shifted = make<arith::SubIOp>(bits(x), i(kSqrtHalf));
  Value exponent = make<arith::ShRSIOp>(shifted, i(52));
  Value mantissa = make<arith::AndIOp>(shifted, i(0xfffffffffffff));
  Value f = k.sub(fromBits(make<arith::AddIOp>(mantissa, i(kSqrtHalf))), c(1));
  Value e = k.b.create<arith::SIToFPOp>(k.loc, f64, exponent);
  // log(1 + f) = 2 artanh(s) = 2 Σ s^(2n+1) / (2n+1), with |s| < 0.172.
  Value s = k.div(f, k.add(f, c(2)));
  Value square = k.mul(s, s);
  Value sum = c(2.0 / 17);
  for (int n = 15; n > 0; n -= 2)
    sum = k.fma(sum, square, c(2.0 / n));
  Value result = k.fma(e, c(0.693147180559945309), k.mul(s, sum));
  double infinity = std::numeric_limits<double>::infinity();
  // Infinity and NaN are what they are.
  result =
      k.select(compare(arith::CmpFPredicate::OLT, x, c(infinity)), result, x);
  return k.select(compare(arith::CmpFPredicate::OEQ, x, c(0)), c(-infinity),
                  result);
}

/// Beyond the bounds the result is 0 or infinity as f32. NaN compares false.
Value Wide::exp(Value x) {
  x = k.select(compare(arith::CmpFPredicate::OLT, x, c(-200)), c(-200), x);
  x = k.select(compare(arith::CmpFPredicate::OGT, x, c(200)), c(200), x);
  // Adding 1.5 · 2⁵² rounds to an integer, which then stands in the low bits.
  constexpr double kRound = 6755399441055744.0;
  Value shifted = k.fma(x, c(1.44269504088896341), c(kRound));
  Value n = k.sub(shifted, c(kRound));
  Value r = k.fma(n, c(-0.693147180559945309), x);
  // Σ rⁿ / n!, with |r| < 0.35.
  Value sum = c(1);
  for (int n = 12; n > 0; --n)
    sum = k.fma(k.mul(sum, r), c(1.0 / n), c(1));
  Value exponent = make<arith::ShLIOp>(bits(shifted), i(52));
  return fromBits(make<arith::AddIOp>(bits(sum), exponent));
}

/// As pow of libm, but for pow(-1, ±∞), which is NaN.
Value DeviceKernel::power(Value x, Value y) {
  Wide wide(*k);
  Type f64 = k->b.getF64Type(), f32 = k->b.getF32Type();
  Value base = k->b.create<arith::ExtFOp>(k->loc, f64, x);
  Value exponent = k->b.create<arith::ExtFOp>(k->loc, f64, y);
  Value size = k->b.create<math::AbsFOp>(k->loc, base);
  Value result = wide.exp(k->mul(exponent, wide.log(size)));
  // Of negative numbers only whole powers are, and odd ones change the sign.
  auto isWhole = [&](Value value) {
    return wide.compare(arith::CmpFPredicate::OEQ, value,
                        k->b.create<math::FloorOp>(k->loc, value));
  };
  Value whole = k->select(isWhole(k->mul(exponent, wide.c(0.5))), result,
                          k->sub(wide.c(0), result));
  Value negative = k->select(isWhole(exponent), whole,
                             wide.c(std::numeric_limits<double>::quiet_NaN()));
  Value isNegative = wide.compare(arith::CmpFPredicate::OLT, base, wide.c(0));
  result = k->select(isNegative, negative, result);
  Value isOne = k->b.create<arith::OrIOp>(
      k->loc, wide.compare(arith::CmpFPredicate::OEQ, base, wide.c(1)),
      wide.compare(arith::CmpFPredicate::OEQ, exponent, wide.c(0)));
  result = k->select(isOne, wide.c(1), result);
  return k->b.create<arith::TruncFOp>(k->loc, f32, result);
}
