//===- Ranges.cpp - Which numbers a tensor can hold -------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interval arithmetic over what is emitted, so that a condition that can only
// have one value is known to have it: a schedule that never reaches a
// component.
//
//===----------------------------------------------------------------------===//

#include "frontend/Ranges.h"

#include "dialect/FF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace ff;
using namespace ff::frontend;

/// How many operations are looked at for one value.
static constexpr unsigned kBudget = 1000;

static std::optional<NumberRange> rangeAt(Value value, unsigned &budget);

static std::optional<NumberRange> ofConstant(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  double number = 0;
  if (isa<FloatType>(elements.getElementType()))
    number = elements.getSplatValue<APFloat>().convertToDouble();
  else
    number =
        static_cast<double>(elements.getSplatValue<APInt>().getSExtValue());
  return NumberRange{number, number, false, false};
}

static NumberRange product(const NumberRange &a, const NumberRange &b) {
  struct Corner {
    double value;
    bool open;
  };
  auto corner = [](double x, bool xOpen, double y, bool yOpen) {
    return Corner{x * y, (xOpen && y != 0) || (yOpen && x != 0)};
  };
  Corner corners[] = {corner(a.low, a.lowOpen, b.low, b.lowOpen),
                      corner(a.low, a.lowOpen, b.high, b.highOpen),
                      corner(a.high, a.highOpen, b.low, b.lowOpen),
                      corner(a.high, a.highOpen, b.high, b.highOpen)};
  // Of equal corners the closed one counts.
  Corner low = corners[0], high = corners[0];
  for (const Corner &c : corners) {
    if (c.value < low.value || (c.value == low.value && !c.open))
      low = c;
    if (c.value > high.value || (c.value == high.value && !c.open))
      high = c;
  }
  return {low.value, high.value, low.open, high.open};
}

/// What a rounded operation makes of a range: its ends are rounded as its
/// values are, and a value just inside an open end may round to the end.
static NumberRange rounded(NumberRange range, Operation *op) {
  Type element =
      cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (!element.isF64()) {
    range.low = static_cast<float>(range.low);
    range.high = static_cast<float>(range.high);
  }
  range.lowOpen = range.highOpen = false;
  return range;
}

/// The product of a constant and what is below 1 by a part in 2^24 at least, as
/// random values are, is below the constant.
static bool keepsOpenEnds(const NumberRange &a, const NumberRange &b) {
  auto isUniform = [](const NumberRange &range) {
    return (!range.lowOpen || range.low == -1) &&
           (!range.highOpen || range.high == 1);
  };
  return (a.low == a.high && isUniform(b)) || (b.low == b.high && isUniform(a));
}

static std::optional<NumberRange>
exactRange(Operation *op, const NumberRange &a, const NumberRange &b);

static std::optional<NumberRange> ofBinary(Operation *op, unsigned &budget) {
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
           arith::MaximumFOp, arith::MinimumFOp>(op))
    return std::nullopt;
  auto a = rangeAt(op->getOperand(0), budget);
  auto b = rangeAt(op->getOperand(1), budget);
  if (!a || !b)
    return std::nullopt;
  std::optional<NumberRange> range = exactRange(op, *a, *b);
  if (!range || isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return range;
  NumberRange result = rounded(*range, op);
  if (isa<arith::MulFOp>(op) && keepsOpenEnds(*a, *b)) {
    result.lowOpen = range->lowOpen;
    result.highOpen = range->highOpen;
  }
  return result;
}

static std::optional<NumberRange>
exactRange(Operation *op, const NumberRange &a, const NumberRange &b) {
  return llvm::TypeSwitch<Operation *, std::optional<NumberRange>>(op)
      .Case([&](arith::AddFOp) {
        return NumberRange{a.low + b.low, a.high + b.high, false, false};
      })
      .Case([&](arith::SubFOp) {
        return NumberRange{a.low - b.high, a.high - b.low, false, false};
      })
      .Case([&](arith::MulFOp) { return product(a, b); })
      .Case([&](arith::DivFOp) -> std::optional<NumberRange> {
        if (b.low != b.high || b.low == 0)
          return std::nullopt;
        double low = a.low / b.low, high = a.high / b.low;
        return NumberRange{std::min(low, high), std::max(low, high), false,
                           false};
      })
      // Of equal ends the closed one is reached.
      .Case([&](arith::MaximumFOp) {
        const NumberRange &l = a.low > b.low ? a : b;
        bool aIsHigher = a.high > b.high || (a.high == b.high && !a.highOpen);
        const NumberRange &h = aIsHigher ? a : b;
        return NumberRange{l.low, h.high, l.lowOpen, h.highOpen};
      })
      .Case([&](arith::MinimumFOp) {
        bool aIsLower = a.low < b.low || (a.low == b.low && !a.lowOpen);
        const NumberRange &l = aIsLower ? a : b;
        const NumberRange &h = a.high < b.high ? a : b;
        return NumberRange{l.low, h.high, l.lowOpen, h.highOpen};
      })
      .Default([](Operation *) { return std::nullopt; });
}

static std::optional<NumberRange> rangeAt(Value value, unsigned &budget) {
  Operation *op = value.getDefiningOp();
  if (!op || budget == 0)
    return std::nullopt;
  if (auto constant = ofConstant(value))
    return constant;
  --budget;
  if (auto random = dyn_cast<RandomOp>(op)) {
    if (random.getDistribution() == Distribution::Uniform)
      return NumberRange{0, 1, false, true};
    return std::nullopt;
  }
  if (auto activation = dyn_cast<ActivationOp>(op)) {
    switch (activation.getKind()) {
    case ActivationKind::Sigmoid:
      return NumberRange{0, 1, false, false}; // rounding reaches both ends
    case ActivationKind::Tanh:
      return NumberRange{-1, 1, false, false};
    default:
      return std::nullopt;
    }
  }
  if (isa<ReshapeOp, BroadcastOp, SliceOp, TransposeOp, StopGradientOp,
          arith::ExtFOp>(op))
    return rangeAt(op->getOperand(0), budget);
  // A rounded value may reach an end that the exact one does not.
  if (isa<arith::TruncFOp>(op)) {
    auto range = rangeAt(op->getOperand(0), budget);
    if (range)
      range->lowOpen = range->highOpen = false;
    return range;
  }
  if (isa<arith::NegFOp>(op)) {
    auto range = rangeAt(op->getOperand(0), budget);
    if (!range)
      return range;
    return NumberRange{-range->high, -range->low, range->highOpen,
                       range->lowOpen};
  }
  if (op->getNumOperands() == 2)
    return ofBinary(op, budget);
  return std::nullopt;
}

/// The numbers of both; nothing where there are none.
static std::optional<NumberRange> intersect(NumberRange a,
                                            const NumberRange &b) {
  if (b.low > a.low || (b.low == a.low && b.lowOpen)) {
    a.low = b.low;
    a.lowOpen = b.lowOpen;
  }
  if (b.high < a.high || (b.high == a.high && b.highOpen)) {
    a.high = b.high;
    a.highOpen = b.highOpen;
  }
  bool isEmpty =
      a.low > a.high || (a.low == a.high && (a.lowOpen || a.highOpen));
  return isEmpty ? std::nullopt : std::optional(a);
}

std::optional<NumberRange>
ff::frontend::rangeOf(Value value, llvm::ArrayRef<RangeFact> facts) {
  unsigned budget = kBudget;
  std::optional<NumberRange> range = rangeAt(value, budget);
  for (const RangeFact &fact : facts)
    if (range && fact.value == value)
      range = intersect(*range, fact.range);
  return range;
}

std::optional<RangeFact> ff::frontend::factOf(Value condition, bool holds,
                                              llvm::ArrayRef<RangeFact> facts) {
  using P = arith::CmpFPredicate;
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return std::nullopt;
  auto a = rangeOf(compare.getLhs(), facts),
       b = rangeOf(compare.getRhs(), facts);
  if (!a || !b)
    return std::nullopt;
  P predicate = compare.getPredicate();
  bool isUpper = predicate == P::OGE || predicate == P::OGT;
  if (!isUpper && predicate != P::OLE && predicate != P::OLT)
    return std::nullopt;
  bool orEqual = predicate == P::OGE || predicate == P::OLE;
  Value value = compare.getLhs();
  double bound = b->low;
  if (b->low != b->high) { // 0.5 <= t is t >= 0.5
    if (a->low != a->high)
      return std::nullopt;
    value = compare.getRhs();
    bound = a->low;
    isUpper = !isUpper;
  }
  if (!holds) {
    isUpper = !isUpper;
    orEqual = !orEqual;
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  NumberRange range = isUpper ? NumberRange{bound, infinity, !orEqual, false}
                              : NumberRange{-infinity, bound, false, !orEqual};
  return RangeFact{value, range};
}

/// Whether every number of `a` is above (or equal to) every number of `b`.
static bool isAbove(const NumberRange &a, const NumberRange &b, bool orEqual) {
  if (a.low != b.high)
    return a.low > b.high;
  return orEqual || a.lowOpen || b.highOpen;
}

std::optional<bool>
ff::frontend::foldComparison(Value condition, llvm::ArrayRef<RangeFact> facts) {
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return std::nullopt;
  auto a = rangeOf(compare.getLhs(), facts),
       b = rangeOf(compare.getRhs(), facts);
  if (!a || !b)
    return std::nullopt;
  using P = arith::CmpFPredicate;
  P predicate = compare.getPredicate();
  if (predicate == P::OLE || predicate == P::OLT) // a <= b is b >= a
    std::swap(a, b);
  else if (predicate != P::OGE && predicate != P::OGT)
    return std::nullopt;
  bool orEqual = predicate == P::OGE || predicate == P::OLE;
  if (isAbove(*a, *b, orEqual))
    return true;
  if (isAbove(*b, *a, !orEqual))
    return false;
  return std::nullopt;
}

std::string ff::frontend::describeRange(const NumberRange &range) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (range.low == range.high)
    os << llvm::format("%g", range.low);
  else
    os << (range.lowOpen ? "(" : "[") << llvm::format("%g", range.low) << ", "
       << llvm::format("%g", range.high) << (range.highOpen ? ")" : "]");
  return text;
}

std::string ff::frontend::describeComparison(Value condition,
                                             llvm::ArrayRef<RangeFact> facts) {
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  auto a = rangeOf(compare.getLhs(), facts),
       b = rangeOf(compare.getRhs(), facts);
  return "the left side is in " + describeRange(*a) + ", the right side is " +
         describeRange(*b);
}
