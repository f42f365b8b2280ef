//===- MatmulCalls.cpp - Matmuls as calls of cuBLASLt ---------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/MatmulCalls.h"
#include "runtime/core/Error.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ff::rt::cuda {

namespace {

/// A row-major matrix whose columns lie together, as the column-major matrix
/// that is its transpose. The stride of a dim of size 1 means nothing.
std::optional<ColumnMajor> asTranspose(int64_t rows, int64_t columns,
                                       int64_t rowStride,
                                       int64_t columnStride) {
  if (columns != 1 && columnStride != 1)
    return std::nullopt;
  if (rows != 1 && rowStride < columns)
    return std::nullopt;
  ColumnMajor matrix;
  matrix.rows = columns;
  matrix.columns = rows;
  matrix.ld = rows == 1 ? columns : rowStride;
  return matrix;
}

/// The transpose of a row-major operand, for cuBLASLt.
std::optional<ColumnMajor> operand(int64_t rows, int64_t columns,
                                   int64_t rowStride, int64_t columnStride) {
  auto plain = asTranspose(rows, columns, rowStride, columnStride);
  auto turned = asTranspose(columns, rows, columnStride, rowStride);
  if (turned)
    turned->transposed = true;
  // A vector is both: take the one whose columns are long.
  if (plain && turned)
    return plain->rows >= turned->rows ? plain : turned;
  return plain ? plain : turned;
}

const char *activationName(Activation activation) {
  switch (activation) {
  case Activation::None:
    return "none";
  case Activation::GeluTanh:
    return "gelu_tanh";
  case Activation::Gelu:
    return "gelu";
  case Activation::Silu:
    return "silu";
  case Activation::Relu:
    return "relu";
  case Activation::Tanh:
    return "tanh";
  case Activation::Sigmoid:
    return "sigmoid";
  }
  return "unknown";
}

} // namespace

std::string matmulText(const MatmulType &type, size_t index) {
  auto list = [](const std::vector<int64_t> &values) {
    return fmt::format("[{}]", fmt::join(values, ", "));
  };
  std::string text = fmt::format(
      "matmul {} (m {}, n {}, k {}, batch {}, strides of a {}, of b {}, of c "
      "{}, {} to {}",
      index, type.m, type.n, type.k, list(type.batch), list(type.aStrides),
      list(type.bStrides), list(type.cStrides), dtypeName(type.dtype),
      dtypeName(type.resultDtype()));
  if (type.bias)
    text += ", bias";
  if (type.activation != Activation::None)
    text += fmt::format(", {}", activationName(type.activation));
  return text + ")";
}

MatmulCalls matmulCalls(const MatmulType &type, size_t index) {
  MatmulCalls calls;
  if (type.m <= 0 || type.n <= 0 || type.k <= 0 ||
      std::any_of(type.batch.begin(), type.batch.end(),
                  [](int64_t dim) { return dim <= 0; }))
    failInternal("{} is empty", matmulText(type, index));
  FoldedMatmul folded = foldMatmul(type);
  calls.type = std::move(folded.type);
  calls.swapped = folded.swapped;
  const MatmulType &t = calls.type;
  size_t row = t.batch.size(), column = row + 1;
  auto a = operand(t.m, t.k, t.aStrides[row], t.aStrides[column]);
  auto b = operand(t.k, t.n, t.bStrides[row], t.bStrides[column]);
  auto c = asTranspose(t.m, t.n, t.cStrides[row], t.cStrides[column]);
  if (!a || !b || !c)
    fail(
        "cuBLASLt cannot do {}: of each matrix one dim needs the stride 1, and "
        "the other at least the size of that; {} has none",
        matmulText(type, index),
        !a   ? "a"
        : !b ? "b"
             : "c");
  calls.a = *a;
  calls.b = *b;
  calls.c = *c;
  calls.offsets = {{0, 0, 0}};
  if (t.batch.empty())
    return calls;
  // The longest batch dim in the calls, the others as calls.
  size_t inner = static_cast<size_t>(
      std::max_element(t.batch.begin(), t.batch.end()) - t.batch.begin());
  calls.batch = t.batch[inner];
  calls.a.batchStride = t.aStrides[inner];
  calls.b.batchStride = t.bStrides[inner];
  calls.c.batchStride = t.cStrides[inner];
  for (size_t dim = 0; dim < t.batch.size(); ++dim) {
    if (dim == inner)
      continue;
    std::vector<std::array<int64_t, 3>> all;
    for (const auto &offset : calls.offsets)
      for (int64_t i = 0; i < t.batch[dim]; ++i)
        all.push_back({offset[0] + i * t.aStrides[dim],
                       offset[1] + i * t.bStrides[dim],
                       offset[2] + i * t.cStrides[dim]});
    calls.offsets = std::move(all);
  }
  return calls;
}

} // namespace ff::rt::cuda
