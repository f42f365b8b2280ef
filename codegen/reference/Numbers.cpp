//===- Numbers.cpp - Elements of tensors as doubles -------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/reference/Interpreter.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace ff;

double ff::roundTo(Type element, double value) {
  if (isNarrowFloat(element))
    return fromBits(element, toBits(element, value));
  if (!element.isIntOrIndex() || element.getIntOrFloatBitWidth() >= 64 ||
      !(std::fabs(value) < 0x1p63))
    return value;
  return fromBits(element, toBits(element, value));
}

uint64_t ff::toBits(Type element, double value) {
  unsigned width = element.getIntOrFloatBitWidth();
  if (auto type = dyn_cast<FloatType>(element)) {
    APFloat number(value);
    bool loses = false;
    number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &loses);
    return number.bitcastToAPInt().getZExtValue();
  }
  return static_cast<uint64_t>(static_cast<int64_t>(value)) &
         llvm::maskTrailingOnes<uint64_t>(width);
}

double ff::fromBits(Type element, uint64_t bits) {
  unsigned width = element.getIntOrFloatBitWidth();
  if (auto type = dyn_cast<FloatType>(element)) {
    APFloat number(type.getFloatSemantics(), APInt(width, bits));
    bool loses = false;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return number.convertToDouble();
  }
  if (width == 1)
    return static_cast<double>(bits);
  return static_cast<double>(llvm::SignExtend64(bits, width));
}
