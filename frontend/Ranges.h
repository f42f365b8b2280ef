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
#include <optional>
#include <string>

namespace ff::frontend {

struct NumberRange {
  double low, high;
  bool lowOpen, highOpen;
};

/// The numbers that all elements of `value` lie in; nothing where unknown.
std::optional<NumberRange> rangeOf(mlir::Value value);
/// The value of a comparison that holds for all elements alike, whatever the
/// data and random values.
std::optional<bool> foldComparison(mlir::Value condition);
std::string describeRange(const NumberRange &range);
/// Why a comparison that folds does: both ranges.
std::string describeComparison(mlir::Value condition);

} // namespace ff::frontend

#endif // FF_FRONTEND_RANGES_H
