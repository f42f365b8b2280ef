//===- Embedding.cpp - Rows of a table by number --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Embedding.h"
#include "runtime/compute/Convert.h"
#include "runtime/compute/Threads.h"
#include "runtime/core/Error.h"

#include <algorithm>

namespace ff::rt {

namespace {

/// to[j] += from[j]
void addRow(DType dtype, const char *from, DType wide, char *to, int64_t n) {
  if (dtype == wide)
    return addElements(dtype, from, wide, to, n);
  constexpr int64_t piece = 256;
  float numbers[piece];
  for (int64_t j = 0; j < n; j += piece) {
    int64_t count = std::min(piece, n - j);
    auto at = static_cast<size_t>(j);
    widenElements(dtype, from + at * dtypeSize(dtype), numbers, count);
    addElements(FF_F32, numbers, wide, to + at * sizeof(float), count);
  }
}

} // namespace

int64_t firstBadId(const int64_t *ids, int64_t n, int64_t rows) {
  for (int64_t i = 0; i < n; ++i)
    if (ids[i] < 0 || ids[i] >= rows)
      return i;
  return -1;
}

void embeddingLookup(DType dtype, const void *table, const int64_t *ids,
                     void *out, int64_t n, int64_t width) {
  size_t rowBytes = static_cast<size_t>(width) * dtypeSize(dtype);
  const char *from = static_cast<const char *>(table);
  char *to = static_cast<char *>(out);
  int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(width, 1));
  parallelFor(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(to + static_cast<size_t>(i) * rowBytes,
                  from + static_cast<size_t>(ids[i]) * rowBytes, rowBytes);
  });
}

void embeddingGrad(DType dtype, const void *dout, const int64_t *ids,
                   void *grad, int64_t n, int64_t rows, int64_t width) {
  const char *from = static_cast<const char *>(dout);
  size_t rowBytes = static_cast<size_t>(width) * dtypeSize(dtype);
  DType wide = wideDtype(dtype);
  char *to = static_cast<char *>(grad);
  size_t wideBytes = static_cast<size_t>(width) * dtypeSize(wide);
  // Each thread owns a range of rows and reads all ids, so that the order of
  // the sum does not depend on the threads.
  int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(width, 1));
  parallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    fillElements(wide, to + static_cast<size_t>(begin) * wideBytes, 0,
                 (end - begin) * width);
    for (int64_t i = 0; i < n; ++i)
      if (ids[i] >= begin && ids[i] < end)
        addRow(dtype, from + static_cast<size_t>(i) * rowBytes, wide,
               to + static_cast<size_t>(ids[i]) * wideBytes, width);
  });
}

} // namespace ff::rt
