//===- Ranges.h - Which numbers a tensor can hold ---------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_RANGES_H
#define FF_FRONTEND_RANGES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>

namespace ff::frontend {

struct NumberRange {
  double low, high;
  bool lowOpen, highOpen;
};

/// What the branches around a place say of a value: where it runs for a sample,
/// the value lies in the range.
struct RangeFact {
  mlir::Value value;
  NumberRange range;
};

/// The numbers that all elements of `value` lie in; nothing where unknown.
std::optional<NumberRange> rangeOf(mlir::Value value,
                                   llvm::ArrayRef<RangeFact> facts);
/// The value of a comparison that holds for all elements alike, whatever the
/// data and random values.
std::optional<bool> foldComparison(mlir::Value condition,
                                   llvm::ArrayRef<RangeFact> facts);
/// What a comparison with one number says of its other side where it `holds`,
/// or does not; nothing where the range of that side is not known anyway, as it
/// could then be no number at all.
std::optional<RangeFact> factOf(mlir::Value condition, bool holds,
                                llvm::ArrayRef<RangeFact> facts);
std::string describeRange(const NumberRange &range);
/// Why a comparison that folds does: both ranges.
std::string describeComparison(mlir::Value condition,
                               llvm::ArrayRef<RangeFact> facts);

} // namespace ff::frontend

#endif // FF_FRONTEND_RANGES_H
