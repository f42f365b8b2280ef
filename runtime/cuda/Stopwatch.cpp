//===- Stopwatch.cpp - Times of work on a GPU -----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Stopwatch.h"

#include <algorithm>
#include <chrono>

namespace ff::rt::cuda {

void Stopwatch::hold(void *stopwatch) {
  // The first launch of a kernel may load it, for which the driver may wait for
  // the stream: nothing is held for long.
  auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (!static_cast<Stopwatch *>(stopwatch)->released.load() &&
         std::chrono::steady_clock::now() < limit) {
  }
}

void Stopwatch::time(Stream &stream, const std::function<void()> &calls) {
  released = false;
  check(libraries().cuda->launchHostFunc(stream.handle, hold, this),
        "cuLaunchHostFunc");
  stream.record(start);
  calls();
  stream.record(end);
  released = true;
}

double copyRate(Stream &stream, size_t bytes) {
  const CudaApi &api = *libraries().cuda;
  DeviceMemory from(bytes), to(bytes);
  check(api.memsetD8Async(from.address, 0, bytes, stream.handle),
        "cuMemsetD8Async");
  stream.synchronize();
  Stopwatch stopwatch;
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    stopwatch.time(stream, [&] {
      check(api.memcpyDtoDAsync(to.address, from.address, bytes, stream.handle),
            "cuMemcpyDtoDAsync");
    });
    stream.synchronize();
    best = std::max(best, 2 * static_cast<double>(bytes) /
                              std::max(stopwatch.seconds(), 1e-9));
  }
  return best;
}

} // namespace ff::rt::cuda
