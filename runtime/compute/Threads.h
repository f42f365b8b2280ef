//===- Threads.h - The worker threads of a rank ---------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and oneDNN share one pool, that of libgomp, which Debian's oneDNN is
// built on. Clang has no code generation for libgomp, so the pool is entered
// through GOMP_parallel, the stable entry point that GCC compiles to.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMPUTE_THREADS_H
#define FF_RUNTIME_COMPUTE_THREADS_H

#include <cstdint>
#include <type_traits>

namespace ff::rt {

/// Number of threads that parallelFor and oneDNN use when the calling thread
/// enters them. Call it on the step thread, once.
void setThreads(int count);
int threadCount();

using RangeFn = void (*)(void *data, int64_t begin, int64_t end);

/// Runs `fn(data, begin, end)` over contiguous pieces of [0, n) of at least
/// `grain` iterations, at most one per thread, and waits. The split is a
/// function of n, grain and the number of threads.
void parallelRange(int64_t n, int64_t grain, RangeFn fn, void *data);

/// The same for a callable `body(begin, end)`.
template <typename Body>
void parallelFor(int64_t n, int64_t grain, Body &&body) {
  using Plain = std::remove_reference_t<Body>;
  parallelRange(
      n, grain,
      [](void *data, int64_t begin, int64_t end) {
        (*static_cast<Plain *>(data))(begin, end);
      },
      const_cast<std::remove_const_t<Plain> *>(&body));
}

} // namespace ff::rt

#endif // FF_RUNTIME_COMPUTE_THREADS_H
