//===- Elementwise.cpp - Elementwise rules of the interpreter ---*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/reference/Rules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace ff;

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static constexpr double kSqrt2OverPi = 0.79788456080286535588;
static constexpr double kGeluCubic = 0.044715;

double ff::activate(ActivationKind kind, double x) {
  switch (kind) {
  case ActivationKind::GeluTanh:
    return 0.5 * x *
           (1 + std::tanh(kSqrt2OverPi * (x + kGeluCubic * x * x * x)));
  case ActivationKind::Gelu:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case ActivationKind::Silu:
    return x / (1 + std::exp(-x));
  case ActivationKind::Relu:
    return x > 0 ? x : 0;
  case ActivationKind::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case ActivationKind::Tanh:
    return std::tanh(x);
  }
  llvm_unreachable("unknown activation");
}

double ff::activateDerivative(ActivationKind kind, double x) {
  switch (kind) {
  case ActivationKind::GeluTanh: {
    double t = std::tanh(kSqrt2OverPi * (x + kGeluCubic * x * x * x));
    return 0.5 * (1 + t) +
           0.5 * x * (1 - t * t) * kSqrt2OverPi * (1 + 3 * kGeluCubic * x * x);
  }
  case ActivationKind::Gelu:
    return 0.5 * (1 + std::erf(x / std::sqrt(2.0))) +
           0.5 * kSqrt2OverPi * x * std::exp(-0.5 * x * x);
  case ActivationKind::Silu: {
    double s = 1 / (1 + std::exp(-x));
    return s * (1 + x * (1 - s));
  }
  case ActivationKind::Relu:
    return x > 0 ? 1 : 0;
  case ActivationKind::Sigmoid: {
    double s = 1 / (1 + std::exp(-x));
    return s * (1 - s);
  }
  case ActivationKind::Tanh: {
    double t = std::tanh(x);
    return 1 - t * t;
  }
  }
  llvm_unreachable("unknown activation");
}

//===----------------------------------------------------------------------===//
// Scalar functions of arith and math
//===----------------------------------------------------------------------===//

namespace {
using Unary = double (*)(double);
using Binary = double (*)(double, double);
} // namespace

static Unary unaryRule(Operation *op) {
  return llvm::TypeSwitch<Operation *, Unary>(op)
      .Case<arith::NegFOp>([](auto) { return +[](double x) { return -x; }; })
      .Case<math::ExpOp>([](auto) { return Unary(std::exp); })
      .Case<math::Exp2Op>([](auto) { return Unary(std::exp2); })
      .Case<math::ExpM1Op>([](auto) { return Unary(std::expm1); })
      .Case<math::LogOp>([](auto) { return Unary(std::log); })
      .Case<math::Log2Op>([](auto) { return Unary(std::log2); })
      .Case<math::Log10Op>([](auto) { return Unary(std::log10); })
      .Case<math::Log1pOp>([](auto) { return Unary(std::log1p); })
      .Case<math::SqrtOp>([](auto) { return Unary(std::sqrt); })
      .Case<math::RsqrtOp>(
          [](auto) { return +[](double x) { return 1 / std::sqrt(x); }; })
      .Case<math::CbrtOp>([](auto) { return Unary(std::cbrt); })
      .Case<math::SinOp>([](auto) { return Unary(std::sin); })
      .Case<math::CosOp>([](auto) { return Unary(std::cos); })
      .Case<math::TanOp>([](auto) { return Unary(std::tan); })
      .Case<math::AtanOp>([](auto) { return Unary(std::atan); })
      .Case<math::TanhOp>([](auto) { return Unary(std::tanh); })
      .Case<math::ErfOp>([](auto) { return Unary(std::erf); })
      .Case<math::AbsFOp>([](auto) { return Unary(std::fabs); })
      .Case<math::FloorOp>([](auto) { return Unary(std::floor); })
      .Case<math::CeilOp>([](auto) { return Unary(std::ceil); })
      .Case<math::TruncOp>([](auto) { return Unary(std::trunc); })
      .Case<math::RoundOp>([](auto) { return Unary(std::round); })
      .Case<math::RoundEvenOp>([](auto) { return Unary(std::nearbyint); })
      .Case<arith::FPToSIOp, arith::FPToUIOp>(
          [](auto) { return Unary(std::trunc); })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::TruncIOp, StopGradientOp>(
          [](auto) { return +[](double x) { return x; }; })
      .Default([](auto) { return Unary(nullptr); });
}

static Binary binaryRule(Operation *op) {
  return llvm::TypeSwitch<Operation *, Binary>(op)
      .Case<arith::AddFOp, arith::AddIOp>(
          [](auto) { return +[](double a, double b) { return a + b; }; })
      .Case<arith::SubFOp, arith::SubIOp>(
          [](auto) { return +[](double a, double b) { return a - b; }; })
      .Case<arith::MulFOp, arith::MulIOp>(
          [](auto) { return +[](double a, double b) { return a * b; }; })
      .Case<arith::DivFOp>(
          [](auto) { return +[](double a, double b) { return a / b; }; })
      .Case<arith::DivSIOp>([](auto) {
        return +[](double a, double b) { return std::trunc(a / b); };
      })
      .Case<arith::RemFOp, arith::RemSIOp>(
          [](auto) { return Binary(std::fmod); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>([](auto) {
        return +[](double a, double b) { return a < b ? b : a; };
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>([](auto) {
        return +[](double a, double b) { return b < a ? b : a; };
      })
      .Case<math::PowFOp, math::FPowIOp>([](auto) { return Binary(std::pow); })
      .Case<math::Atan2Op>([](auto) { return Binary(std::atan2); })
      .Case<math::CopySignOp>([](auto) { return Binary(std::copysign); })
      .Default([](auto) { return Binary(nullptr); });
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::ORD:
    return !unordered;
  case P::UNO:
    return unordered;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return a != b;
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

namespace {
/// The operands of an operation on integers at one element.
struct Integers {
  Type type; ///< of all of them
  double a, b;

  int64_t sa() const { return signedOf(a); }
  int64_t sb() const { return signedOf(b); }
  uint64_t ua() const { return toBits(type, a); }
  uint64_t ub() const { return toBits(type, b); }

private:
  // i1 is held as 0 and 1, but -1 is what its bit means as a sign.
  int64_t signedOf(double x) const {
    auto value = static_cast<int64_t>(x);
    return type.isInteger(1) ? -value : value;
  }
};
using IntegerRule = double (*)(Integers);
} // namespace

static bool compare(arith::CmpIPredicate predicate, Integers x) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return x.a == x.b;
  case P::ne:
    return x.a != x.b;
  case P::slt:
    return x.sa() < x.sb();
  case P::ult:
    return x.ua() < x.ub();
  case P::sle:
    return x.sa() <= x.sb();
  case P::ule:
    return x.ua() <= x.ub();
  case P::sgt:
    return x.sa() > x.sb();
  case P::ugt:
    return x.ua() > x.ub();
  case P::sge:
    return x.sa() >= x.sb();
  case P::uge:
    return x.ua() >= x.ub();
  }
  llvm_unreachable("unknown predicate");
}

/// Operations for which the bits or the sign of the operands matter. Results
/// are wrapped to their type afterwards.
static IntegerRule integerRule(Operation *op) {
  auto rule = [](IntegerRule r) { return r; };
  return llvm::TypeSwitch<Operation *, IntegerRule>(op)
      .Case<arith::ExtSIOp, arith::SIToFPOp>(
          [&](auto) { return rule([](Integers x) { return double(x.sa()); }); })
      .Case<arith::ExtUIOp, arith::UIToFPOp>(
          [&](auto) { return rule([](Integers x) { return double(x.ua()); }); })
      .Case<arith::ShLIOp>([&](auto) {
        return rule(
            [](Integers x) { return double(int64_t(x.ua() << x.ub())); });
      })
      .Case<arith::ShRUIOp>([&](auto) {
        return rule([](Integers x) { return double(x.ua() >> x.ub()); });
      })
      .Case<arith::ShRSIOp>([&](auto) {
        return rule([](Integers x) { return double(x.sa() >> x.ub()); });
      })
      .Case<arith::AndIOp>([&](auto) {
        return rule([](Integers x) { return double(x.sa() & x.sb()); });
      })
      .Case<arith::OrIOp>([&](auto) {
        return rule([](Integers x) { return double(x.sa() | x.sb()); });
      })
      .Case<arith::XOrIOp>([&](auto) {
        return rule([](Integers x) { return double(x.sa() ^ x.sb()); });
      })
      .Case<arith::DivUIOp>([&](auto) {
        return rule([](Integers x) { return double(x.ua() / x.ub()); });
      })
      .Case<arith::RemUIOp>([&](auto) {
        return rule([](Integers x) { return double(x.ua() % x.ub()); });
      })
      .Case<arith::MaxUIOp>([&](auto) {
        return rule([](Integers x) { return x.ua() < x.ub() ? x.b : x.a; });
      })
      .Case<arith::MinUIOp>([&](auto) {
        return rule([](Integers x) { return x.ua() < x.ub() ? x.a : x.b; });
      })
      .Default([](auto) { return IntegerRule(nullptr); });
}

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

template <typename F>
static HostTensor mapElements(RankedTensorType type, F element) {
  HostTensor out = filledTensor(type, 0);
  for (int64_t i = 0; i < out.size(); ++i)
    out.data[i] = element(i);
  return out;
}

static std::optional<HostTensor> constantTensor(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!elements || !type)
    return std::nullopt;
  HostTensor out = filledTensor(type, 0);
  int64_t i = 0;
  if (isa<FloatType>(type.getElementType())) {
    for (const APFloat &value : elements.getValues<APFloat>()) {
      APFloat wide = value;
      bool loses = false;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
      out.data[i++] = wide.convertToDouble();
    }
  } else {
    bool isBool = type.getElementType().isInteger(1);
    for (const APInt &value : elements.getValues<APInt>())
      out.data[i++] = isBool ? static_cast<double>(value.getZExtValue())
                             : static_cast<double>(value.getSExtValue());
  }
  return out;
}

std::optional<HostTensor> ff::evaluateElementwise(Operation *op,
                                                  ArrayRef<HostTensor> in) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type)
    return std::nullopt;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return constantTensor(constant);
  if (Unary rule = unaryRule(op))
    return mapElements(type, [&](int64_t i) { return rule(in[0].data[i]); });
  if (Binary rule = binaryRule(op))
    return mapElements(
        type, [&](int64_t i) { return rule(in[0].data[i], in[1].data[i]); });
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return mapElements(type, [&](int64_t i) {
      return compare(cmp.getPredicate(), in[0].data[i], in[1].data[i]);
    });
  auto integers = [&](int64_t i) {
    return Integers{in[0].type.getElementType(), in[0].data[i],
                    in.size() > 1 ? in[1].data[i] : 0};
  };
  if (IntegerRule rule = integerRule(op))
    return mapElements(type, [&](int64_t i) { return rule(integers(i)); });
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return mapElements(type, [&](int64_t i) {
      return compare(cmp.getPredicate(), integers(i));
    });
  if (isa<arith::BitcastOp>(op))
    return mapElements(type, [&](int64_t i) {
      return fromBits(type.getElementType(),
                      toBits(in[0].type.getElementType(), in[0].data[i]));
    });
  if (isa<arith::SelectOp>(op))
    return mapElements(type, [&](int64_t i) {
      // The condition may be one value for the whole tensor.
      double condition = in[0].data[in[0].size() == 1 ? 0 : i];
      return condition != 0 ? in[1].data[i] : in[2].data[i];
    });
  if (isa<math::FmaOp>(op))
    return mapElements(type, [&](int64_t i) {
      return in[0].data[i] * in[1].data[i] + in[2].data[i];
    });
  if (auto act = dyn_cast<ActivationOp>(op))
    return mapElements(type, [&](int64_t i) {
      return activate(act.getKind(), in[0].data[i]);
    });
  if (auto act = dyn_cast<ActivationBackwardOp>(op))
    return mapElements(type, [&](int64_t i) {
      return in[1].data[i] * activateDerivative(act.getKind(), in[0].data[i]);
    });
  return std::nullopt;
}
