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

/// out[e] = w[e] + scale * (b x a)[e] for the elements from `first` on.
template <typename T>
void addProduct(const std::vector<T> &a, const std::vector<T> &b, int64_t rank,
                int64_t columns, T scale, int64_t first, int64_t count,
                const T *w, T *out) {
  parallelFor(count, 1 << 12, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      int64_t row = (first + begin) / columns;
      int64_t column = (first + begin) % columns;
      int64_t n = std::min(columns - column, end - begin);
      T *sum = out + begin;
      std::fill_n(sum, n, T(0));
      for (int64_t k = 0; k < rank; ++k) {
        T factor = b[static_cast<size_t>(row * rank + k)];
        const T *from = a.data() + k * columns + column;
        for (int64_t i = 0; i < n; ++i)
          sum[i] += factor * from[i];
      }
      for (int64_t i = 0; i < n; ++i)
        sum[i] = w[begin + i] + scale * sum[i];
      begin += n;
    }
  });
}

} // namespace ff::rt

#endif // FF_RUNTIME_COMPUTE_LOWRANK_H
