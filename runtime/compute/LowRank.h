//===- LowRank.h - Weights with low-rank adapters -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMPUTE_LOWRANK_H
#define FF_RUNTIME_COMPUTE_LOWRANK_H

#include "runtime/compute/Threads.h"

#include <algorithm>
#include <vector>

namespace ff::rt {

/// sum[i] = (b x a) for `N` columns of one row of b, in the order of k.
template <int N, typename T>
void sumProducts(const T *a, const T *b, int64_t rank, int64_t columns,
                 T *sum) {
  T own[N] = {}; // in registers
  for (int64_t k = 0; k < rank; ++k)
    for (int i = 0; i < N; ++i)
      own[i] += b[k] * a[k * columns + i];
  std::copy_n(own, N, sum);
}

/// out[e] = w[e] + scale * (b x a)[e] for the elements from `first` on; out may
/// be w.
template <typename T>
void addProduct(const std::vector<T> &a, const std::vector<T> &b, int64_t rank,
                int64_t columns, T scale, int64_t first, int64_t count,
                const T *w, T *out) {
  constexpr int tile = 128 / sizeof(T);
  parallelFor(count, 1 << 12, [&](int64_t begin, int64_t end) {
    T sum[tile];
    while (begin < end) {
      int64_t row = (first + begin) / columns;
      int64_t column = (first + begin) % columns;
      int64_t n = std::min({columns - column, end - begin, int64_t{tile}});
      const T *up = b.data() + row * rank, *down = a.data() + column;
      if (n == tile)
        sumProducts<tile>(down, up, rank, columns, sum);
      else
        for (int64_t i = 0; i < n; ++i)
          sumProducts<1>(down + i, up, rank, columns, sum + i);
      for (int64_t i = 0; i < n; ++i)
        out[begin + i] = w[begin + i] + scale * sum[i];
      begin += n;
    }
  });
}

} // namespace ff::rt

#endif // FF_RUNTIME_COMPUTE_LOWRANK_H
