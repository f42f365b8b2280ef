//===- Threads.cpp - The worker threads of a rank -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Threads.h"

#include <algorithm>

extern "C" {
void GOMP_parallel(void (*fn)(void *), void *data, unsigned numThreads,
                   unsigned flags);
int omp_get_thread_num(void);
void omp_set_num_threads(int count);
void omp_set_dynamic(int dynamic);
}

namespace ff::rt {

namespace {
int threads = 1;

struct Work {
  RangeFn fn;
  void *data;
  int64_t n;
  int64_t pieces;
};

void runPiece(void *argument) {
  const Work &work = *static_cast<const Work *>(argument);
  int64_t piece = omp_get_thread_num();
  if (piece >= work.pieces)
    return;
  int64_t size = work.n / work.pieces, rest = work.n % work.pieces;
  int64_t begin = piece * size + std::min(piece, rest);
  work.fn(work.data, begin, begin + size + (piece < rest));
}
} // namespace

void setThreads(int count) {
  threads = std::max(count, 1);
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

int threadCount() { return threads; }

void parallelRange(int64_t n, int64_t grain, RangeFn fn, void *data) {
  if (n <= 0)
    return;
  int64_t pieces =
      std::clamp<int64_t>(n / std::max<int64_t>(grain, 1), 1, threads);
  if (pieces == 1)
    return fn(data, 0, n);
  Work work{fn, data, n, pieces};
  // All threads enter, even where fewer have work: libgomp ends and restarts
  // its threads when the team changes its size.
  GOMP_parallel(runPiece, &work, static_cast<unsigned>(threads), 0);
}

} // namespace ff::rt
