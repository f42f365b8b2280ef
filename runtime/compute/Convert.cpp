//===- Convert.cpp - Views of 16-bit floats to f32 and back ---------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Convert.h"
#include "runtime/compute/Threads.h"

#include <algorithm>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ff::rt {

namespace {

/// Elements that a line without gaps is cut into, and that are worth a thread.
constexpr int64_t pieceElements = 16384;

#if defined(__x86_64__)
// The instructions are older than all machines that this is fast on, but not in
// the baseline that the runtime is compiled for. Both return how far they came.
__attribute__((target("avx,f16c"))) int64_t widenF16Vectors(const uint16_t *src,
                                                            float *dst,
                                                            int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128(
                                  reinterpret_cast<const __m128i *>(src + i))));
  return i;
}

__attribute__((target("avx,f16c"))) int64_t narrowF16Vectors(const float *src,
                                                             uint16_t *dst,
                                                             int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(
        reinterpret_cast<__m128i *>(dst + i),
        _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}

const bool hasF16Vectors =
    __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
#else
constexpr bool hasF16Vectors = false;
int64_t widenF16Vectors(const uint16_t *, float *, int64_t) { return 0; }
int64_t narrowF16Vectors(const float *, uint16_t *, int64_t) { return 0; }
#endif

void widenLine(DType dtype, const uint16_t *src, int64_t step, float *dst,
               int64_t n) {
  if (dtype == FF_F16) {
    int64_t i = step == 1 && hasF16Vectors ? widenF16Vectors(src, dst, n) : 0;
    for (; i < n; ++i)
      dst[i] = f16ToFloat(src[i * step]);
  } else if (step == 1) { // apart, for the vectoriser
    for (int64_t i = 0; i < n; ++i)
      dst[i] = bf16ToFloat(src[i]);
  } else {
    for (int64_t i = 0; i < n; ++i)
      dst[i] = bf16ToFloat(src[i * step]);
  }
}

void narrowLine(DType dtype, const float *src, uint16_t *dst, int64_t step,
                int64_t n) {
  if (dtype == FF_F16) {
    int64_t i = step == 1 && hasF16Vectors ? narrowF16Vectors(src, dst, n) : 0;
    for (; i < n; ++i)
      dst[i * step] = floatToF16(src[i]);
  } else if (step == 1) {
    for (int64_t i = 0; i < n; ++i)
      dst[i] = floatToBf16(src[i]);
  } else {
    for (int64_t i = 0; i < n; ++i)
      dst[i * step] = floatToBf16(src[i]);
  }
}

} // namespace

void widenElements(DType srcType, const void *src, float *dst, int64_t n) {
  widenLine(srcType, static_cast<const uint16_t *>(src), /*step=*/1, dst, n);
}

DenseCopy::DenseCopy(DType dtype, std::vector<int64_t> sizes,
                     std::vector<int64_t> strides)
    : dtype(dtype), dense(sizes.size(), 0) {
  // The order of the dims in memory: row-major, but for the last two.
  std::vector<size_t> order;
  for (size_t d = 0; d < sizes.size(); ++d)
    order.push_back(d);
  if (size_t rank = sizes.size();
      rank >= 2 && strides[rank - 2] == 1 && strides[rank - 1] != 1)
    std::swap(order[rank - 2], order[rank - 1]);
  int64_t numel = 1;
  bool isDense = true;
  for (size_t i = order.size(); i-- > 0;) {
    size_t d = order[i];
    if (strides[d] == 0)
      continue;
    dense[d] = numel;
    isDense &= sizes[d] == 1 || strides[d] == numel;
    numel *= sizes[d];
  }
  if (isDense) {
    // One line, in pieces; the last of them may be shorter.
    total = numel;
    length = std::min(numel, pieceElements);
    lines = length > 0 ? (numel + length - 1) / length : 0;
    outerSizes = {lines};
    outerStrides = {length};
    return;
  }
  bool hasLine = false;
  for (size_t i = order.size(); i-- > 0;) {
    size_t d = order[i];
    if (strides[d] == 0)
      continue;
    if (!hasLine) {
      length = sizes[d];
      step = strides[d];
      hasLine = true;
      continue;
    }
    outerSizes.insert(outerSizes.begin(), sizes[d]);
    outerStrides.insert(outerStrides.begin(), strides[d]);
  }
  total = hasLine ? numel : 0;
  lines = length > 0 ? total / length : 0;
}

int64_t DenseCopy::lineLength(int64_t line) const {
  return std::min(length, total - line * length);
}

int64_t DenseCopy::lineStart(int64_t line) const {
  int64_t start = 0;
  for (size_t d = outerSizes.size(); d-- > 0; line /= outerSizes[d])
    start += line % outerSizes[d] * outerStrides[d];
  return start;
}

int64_t DenseCopy::grain() const {
  return std::max<int64_t>(1, pieceElements / std::max<int64_t>(length, 1));
}

void DenseCopy::widen(const void *view, float *copy) const {
  auto *src = static_cast<const uint16_t *>(view);
  parallelFor(lines, grain(), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      widenLine(dtype, src + lineStart(line), step, copy + line * length,
                lineLength(line));
  });
}

void DenseCopy::narrow(const float *copy, void *view) const {
  auto *dst = static_cast<uint16_t *>(view);
  parallelFor(lines, grain(), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      narrowLine(dtype, copy + line * length, dst + lineStart(line), step,
                 lineLength(line));
  });
}

} // namespace ff::rt
