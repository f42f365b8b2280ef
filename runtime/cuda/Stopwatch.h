//===- Stopwatch.h - Times of work on a GPU -------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_STOPWATCH_H
#define FF_RUNTIME_CUDA_STOPWATCH_H

#include "runtime/cuda/Driver.h"

#include <atomic>
#include <functional>

namespace ff::rt::cuda {

/// Times work by events of the GPU. Launches take longer to arrive than small
/// kernels run, so the stream is held until all of the work is on it.
class Stopwatch {
public:
  Stopwatch() : start(true), end(true) {}

  /// Puts the work of `calls` on `stream`; the stream must be idle.
  void time(Stream &stream, const std::function<void()> &calls);
  /// Seconds that it took; once the stream is synchronized.
  double seconds() const { return end.since(start) * 1e-3; }

private:
  static void hold(void *stopwatch);

  Event start, end;
  std::atomic<bool> released = false;
};

/// Bytes that a copy of `bytes` bytes reads and writes in a second, the best of
/// some. An Error where the GPU has no such memory left.
double copyRate(Stream &stream, size_t bytes);

/// More than any cache holds.
constexpr size_t copyRateBytes = size_t{256} << 20;

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_STOPWATCH_H
