//===- TestTensors.cpp - Arguments and results of kernel tests ------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/testing/TestTensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace ff;

Buffer::Buffer(RankedTensorType type) : type(type) {
  bytes.assign(type.getNumElements() * width() + kGuard, kFill);
}

size_t Buffer::width() const {
  return std::max(1u, type.getElementTypeBitWidth() / 8);
}

bool Buffer::guardIsIntact() const {
  return std::all_of(bytes.end() - kGuard, bytes.end(),
                     [](char c) { return c == kFill; });
}

Buffer ff::toBuffer(const HostTensor &tensor) {
  Buffer buffer(tensor.type);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    uint64_t bits = toBits(tensor.type.getElementType(), tensor.data[i]);
    // Little endian, as all machines that kernels are made for.
    std::memcpy(buffer.bytes.data() + i * buffer.width(), &bits,
                buffer.width());
  }
  return buffer;
}

HostTensor ff::toTensor(Buffer &buffer) {
  HostTensor tensor = filledTensor(buffer.type, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, buffer.bytes.data() + i * buffer.width(),
                buffer.width());
    tensor.data[i] = fromBits(buffer.type.getElementType(), bits);
  }
  return tensor;
}

static HostTensor randomTensor(func::FuncOp function, RankedTensorType type,
                               std::mt19937 &rng) {
  double lo = -2, hi = 2;
  if (auto range = function->getAttrOfType<ArrayAttr>("test.range")) {
    lo = cast<FloatAttr>(range[0]).getValueAsDouble();
    hi = cast<FloatAttr>(range[1]).getValueAsDouble();
  }
  HostTensor tensor = filledTensor(type, 0);
  bool isFloat = isa<FloatType>(type.getElementType());
  for (double &value : tensor.data) {
    if (type.getElementType().isInteger(1))
      value = rng() % 2;
    else if (!isFloat)
      value = rng() % (static_cast<int64_t>(hi) + 1);
    else
      value = std::uniform_real_distribution<double>(lo, hi)(rng);
    value =
        fromBits(type.getElementType(), toBits(type.getElementType(), value));
  }
  return tensor;
}

std::vector<HostTensor> ff::randomArguments(func::FuncOp function) {
  std::mt19937 rng(7);
  std::vector<HostTensor> args;
  for (Type type : function.getArgumentTypes())
    args.push_back(randomTensor(function, cast<RankedTensorType>(type), rng));
  return args;
}

double ff::toleranceOf(func::FuncOp function, Type element) {
  if (auto given = function->getAttrOfType<FloatAttr>("test.tolerance"))
    return given.getValueAsDouble();
  if (element.isF64())
    return 1e-12;
  if (element.isF32())
    return 1e-5;
  if (element.isBF16())
    return 0x1p-7;
  return element.isF16() ? 0x1p-10 : 0; // integers are exact
}

double ff::compareTensors(func::FuncOp function, const HostTensor &want,
                          const HostTensor &got) {
  double tolerance = toleranceOf(function, want.type.getElementType());
  double worst = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    double a = want.data[i], b = got.data[i];
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double error = std::fabs(a - b) / (tolerance * (1 + std::fabs(a)));
    worst = std::max(worst, std::isnan(error) ? 1e30 : error);
  }
  return worst;
}
