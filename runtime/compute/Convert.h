//===- Convert.h - Views of 16-bit floats to f32 and back -----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMPUTE_CONVERT_H
#define FF_RUNTIME_COMPUTE_CONVERT_H

#include "runtime/core/Dtype.h"

#include <vector>

namespace ff::rt {

/// dst[i] = src[i], for bf16 or f16 and with vector instructions for both.
void widenElements(DType srcType, const void *src, float *dst, int64_t n);

/// Conversion between a strided view of bf16 or f16 and a dense copy of it in
/// f32. The copy keeps the order in which the last two dims lie in memory, so
/// that both sides are walked in lines.
class DenseCopy {
public:
  DenseCopy() = default;
  /// `sizes` and `strides` are of the view; a dim with stride 0, which repeats,
  /// is in the copy once.
  DenseCopy(DType dtype, std::vector<int64_t> sizes,
            std::vector<int64_t> strides);

  /// Strides of the dense copy; 0 in dims that repeat.
  const std::vector<int64_t> &strides() const { return dense; }
  /// Elements of the dense copy.
  int64_t numel() const { return total; }

  /// Both allocate nothing and use the worker threads. Rounds to nearest even.
  void widen(const void *view, float *copy) const;
  void narrow(const float *copy, void *view) const;

private:
  /// Where line number `line` begins in the view, in elements.
  int64_t lineStart(int64_t line) const;
  int64_t lineLength(int64_t line) const;
  int64_t grain() const;

  DType dtype = FF_BF16;
  std::vector<int64_t> dense;
  std::vector<int64_t> outerSizes, outerStrides; ///< of the lines in the view
  int64_t total = 0, lines = 0, length = 0, step = 1;
};

} // namespace ff::rt

#endif // FF_RUNTIME_COMPUTE_CONVERT_H
