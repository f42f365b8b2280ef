//===- AttentionBackward.cpp - Gradients of attention ---------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two kernels, of tiles of queries and of tiles of keys, each of which computes
// the probabilities again: two products more than one kernel would need, which
// would have to add to the gradients of queries in the order in which blocks
// happen to run.
//
//===----------------------------------------------------------------------===//

#include "codegen/device/library/Attention.h"

namespace ff {

/// What one thread has of a row's Σ_d x[d] · y[d]: every fourth word.
template <class E, int bytes>
FF_INLINE float partialDot(const char *x, uint32_t y, int rowBytes) {
  using Type = typename Words<bytes>::Type;
  using Element = typename Words<E::kBytes>::Type;
  float sum = 0;
  for (int at = laneId() % 4 * bytes; at < rowBytes; at += 4 * bytes) {
    Type word = *reinterpret_cast<const Type *>(x + at);
    Element left[bytes / E::kBytes];
    __builtin_memcpy(left, &word, bytes);
#pragma unroll
    for (int i = 0; i < bytes / E::kBytes; ++i) {
      auto right = loadShared<Element>(y + at + i * E::kBytes);
      if constexpr (E::kBytes == 4)
        sum += __builtin_bit_cast(float, left[i]) *
               __builtin_bit_cast(float, right);
      else
        sum += E::widen(left[i]) * E::widen(right);
    }
  }
  return sum;
}

/// Weights of keys from products of queries and keys.
FF_INLINE float probability(const AttentionSizes &s, float product,
                            float logSum) {
  return exp2(product * (static_cast<float>(s.scale) * kLog2E) - logSum);
}

template <int M, int N>
FF_INLINE void scaleAll(float (&sums)[M][N][4], double scale) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[m][n][i] *= static_cast<float>(scale);
}

/// The arguments of both kernels.
struct Backward {
  const char *q, *k, *v, *o;
  const float *lse;
  const char *grad;
  const unsigned char *mask;
  const AttentionSizes &s;

  FF_INLINE const float *statistics(const Place &place) const {
    return lse + place.batch * s.batchStride[AttentionSizes::Lse] +
           place.head * s.headStride[AttentionSizes::Lse];
  }
};

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

template <class E, int D> struct QueryGrad {
  static constexpr AttentionTiles kTiles =
      attentionTiles(AttentionKernel::QueryGrad, E::kBytes, D);
  static constexpr int M = kTiles.rows, N = kTiles.columns, kKeys = 8 * N;
  static constexpr int kStride = D * E::kBytes + 16;
  using Scores = Product<E, D, M, N>;

  const AttentionSizes &s;
  const unsigned char *mask;
  int first, row;
  float logSum[M][2], delta[M][2];
  float sums[M][D / 8][4];

  FF_INLINE QueryGrad(const AttentionSizes &s, const unsigned char *mask,
                      int first, int warpRow)
      : s(s), mask(mask), first(first), row(first + warpRow + laneId() / 4) {
    clear(sums);
  }

  /// The statistics of the thread's rows. `grads` are those of the warp.
  FF_INLINE void prepare(const Rows &output, uint32_t grads, const float *lse,
                         float *deltas) {
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        int query = row + m * 16 + i * 8;
        bool some = query < output.count;
        float dot = 0;
        if (some)
          withAccess(output.alignment, [&](auto words) {
            constexpr int kBytes = sizeof(typename decltype(words)::Type);
            if constexpr (kBytes >= E::kBytes)
              dot = partialDot<E, kBytes>(
                  output.start + query * output.stride,
                  grads + (laneId() / 4 + m * 16 + i * 8) * kStride,
                  output.bytes);
          });
        dot += shuffleAcross(dot, 1);
        dot += shuffleAcross(dot, 2);
        delta[m][i] = dot;
        logSum[m][i] =
            some ? lse[query * s.rowStride[AttentionSizes::Lse]] * kLog2E : 0;
        if (some && laneId() % 4 == 0)
          deltas[query] = dot;
      }
  }

  FF_INLINE void tile(uint32_t queries, uint32_t grads, uint32_t keys,
                      uint32_t values, int key) {
    float weights[M][N][4], slopes[M][N][4];
    clear(weights);
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          slopes[m][n][i] = -delta[m][i / 2];
    Scores::rows(weights, queries, keys);
    Scores::rows(slopes, grads, values);
    const bool isHidden = isMasked(s, first, key, kKeys);
    const int column = key + laneId() % 4 * 2;
    bool seen[N][2];
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int j = 0; j < 2; ++j)
        seen[n][j] = counts(s, mask, column + n * 8 + j);
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        int end = visibleKeys(s, row + m * 16 + i * 8);
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            float p = probability(s, weights[m][n][i * 2 + j], logSum[m][i]);
            if ((isHidden && column + n * 8 + j >= end) || !seen[n][j])
              p = 0;
            slopes[m][n][i * 2 + j] *= p;
          }
      }
    Scores::weighted(sums, slopes, keys);
  }
};

template <class E, int D>
FF_INLINE void attentionQueryGrad(const Backward &in, char *dq, float *deltas) {
  using Kernel = QueryGrad<E, D>;
  constexpr int kKeys = Kernel::kKeys, kStride = Kernel::kStride;
  const AttentionSizes &s = in.s;
  const int warps = static_cast<int>(s.warps), threads = warps * 32;
  const int rows = attentionBlockRows(Kernel::kTiles, warps);
  const int tiles = static_cast<int>((s.queries + rows - 1) / rows);
  Place place = placeOf(s, tiles);
  place.tile = tiles - 1 - place.tile;
  Rows query = operandRows<E>(s, AttentionSizes::Query, in.q, place);
  Rows key = operandRows<E>(s, AttentionSizes::Key, in.k, place);
  Rows value = operandRows<E>(s, AttentionSizes::Value, in.v, place);
  Rows grad = operandRows<E>(s, AttentionSizes::Grad, in.grad, place);
  const uint32_t queries = sharedStart(), grads = queries + rows * kStride;
  const Buffers<kStride, kKeys> buffers{grads + rows * kStride};

  const int warpRow = threadId() / 32 * Kernel::M * 16;
  Kernel kernel(s, maskOf(s, in.mask, place), place.tile * rows, warpRow);
  const int end = visibleKeys(s, kernel.first + rows - 1);
  auto load = [&](int i) {
    loadRows<E, D>(buffers.first(i), key, i * kKeys, kKeys, threads);
    loadRows<E, D>(buffers.second(i), value, i * kKeys, kKeys, threads);
    commitCopies();
  };
  loadRows<E, D>(queries, query, kernel.first, rows, threads);
  loadRows<E, D>(grads, grad, kernel.first, rows, threads);
  load(0);
  const uint32_t warpQueries = queries + warpRow * kStride;
  const uint32_t warpGrads = grads + warpRow * kStride;
  waitForCopies();
  blockBarrier();
  kernel.prepare(operandRows<E>(s, AttentionSizes::Output, in.o, place),
                 warpGrads, in.statistics(place),
                 statisticsOf(s, deltas, place));
#pragma unroll 1
  for (int i = 0; i * kKeys < end; ++i) {
    waitForCopies();
    blockBarrier();
    if ((i + 1) * kKeys < end)
      load(i + 1);
    kernel.tile(warpQueries, warpGrads, buffers.first(i), buffers.second(i),
                i * kKeys);
  }
  scaleAll(kernel.sums, s.scale);
  const bool isWhole = s.queries % rows == 0;
  storeSums<E, D, Kernel::M>(kernel.sums, warpQueries,
                             resultRows<E>(s, dq, s.queries, place),
                             kernel.first + warpRow, isWhole);
}

//===----------------------------------------------------------------------===//
// Keys and values
//===----------------------------------------------------------------------===//

/// Scores are transposed: rows are keys. Keys behind the last have zeros and
/// sums that nobody writes, queries behind the last a weight of 0.
template <class E, int D> struct KeyGrad {
  static constexpr AttentionTiles kTiles =
      attentionTiles(AttentionKernel::KeyGrad, E::kBytes, D);
  static constexpr int M = kTiles.rows, N = kTiles.columns, kQueries = 8 * N;
  static constexpr int kStride = D * E::kBytes + 16;
  using Scores = Product<E, D, M, N>;

  const AttentionSizes &s;
  const unsigned char *mask;
  int first, row;
  float keySums[M][D / 8][4], valueSums[M][D / 8][4];

  FF_INLINE KeyGrad(const AttentionSizes &s, const unsigned char *mask,
                    int first, int warpRow)
      : s(s), mask(mask), first(first), row(first + warpRow + laneId() / 4) {
    clear(keySums);
    clear(valueSums);
  }

  FF_INLINE void tile(uint32_t keys, uint32_t values, uint32_t queries,
                      uint32_t grads, int query, const float *lse,
                      const float *deltas) {
    float logSum[N][2];
    forEachQuery(query, [&](int n, int j, int at, bool some) {
      logSum[n][j] = some ? lse[at * s.rowStride[AttentionSizes::Lse]] * kLog2E
                          : kInfinity;
    });
    float weights[M][N][4], slopes[M][N][4];
    clear(weights);
    Scores::rows(weights, keys, queries);
    const bool isHidden = s.causal && visibleKeys(s, query) < lastKey();
    bool seen[M][2];
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        seen[m][i] = counts(s, mask, row + m * 16 + i * 8);
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float &weight = weights[m][n][i];
          weight = probability(s, weight, logSum[n][i % 2]);
          const int column = query + laneId() % 4 * 2;
          if (!seen[m][i / 2] ||
              (isHidden && row + m * 16 + i / 2 * 8 >=
                               visibleKeys(s, column + n * 8 + i % 2)))
            weight = 0;
        }
    Scores::weighted(valueSums, weights, grads);
    forEachQuery(query, [&](int n, int j, int at, bool some) {
      float delta = some ? deltas[at] : 0;
#pragma unroll
      for (int m = 0; m < M; ++m)
        slopes[m][n][j] = slopes[m][n][2 + j] = -delta;
    });
    Scores::rows(slopes, values, grads);
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          slopes[m][n][i] *= weights[m][n][i];
    Scores::weighted(keySums, slopes, queries);
  }

private:
  /// The columns of the thread.
  template <class Visit> FF_INLINE void forEachQuery(int query, Visit visit) {
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        int at = query + laneId() % 4 * 2 + n * 8 + j;
        visit(n, j, at, s.queries % kQueries == 0 || at < s.queries);
      }
  }

  /// One past the last key of the block.
  FF_INLINE int lastKey() const {
    return first + attentionBlockRows(kTiles, static_cast<int>(s.warps));
  }
};

template <class E, int D>
FF_INLINE void attentionKeyGrad(const Backward &in, const float *deltas,
                                char *dk, char *dv) {
  using Kernel = KeyGrad<E, D>;
  constexpr int kQueries = Kernel::kQueries, kStride = Kernel::kStride;
  const AttentionSizes &s = in.s;
  const int warps = static_cast<int>(s.warps), threads = warps * 32;
  const int rows = attentionBlockRows(Kernel::kTiles, warps);
  Place place = placeOf(s, static_cast<int>((s.keys + rows - 1) / rows));
  Rows query = operandRows<E>(s, AttentionSizes::Query, in.q, place);
  Rows key = operandRows<E>(s, AttentionSizes::Key, in.k, place);
  Rows value = operandRows<E>(s, AttentionSizes::Value, in.v, place);
  Rows grad = operandRows<E>(s, AttentionSizes::Grad, in.grad, place);
  const uint32_t keys = sharedStart(), values = keys + rows * kStride;
  const Buffers<kStride, kQueries> buffers{values + rows * kStride};

  const int warpRow = threadId() / 32 * Kernel::M * 16;
  Kernel kernel(s, maskOf(s, in.mask, place), place.tile * rows, warpRow);
  // From the first query that sees the block's first key: there is one.
  const int64_t start = s.causal ? kernel.first - s.keys + s.queries : 0;
  const int begin = static_cast<int>(most<int64_t>(0, start)) / kQueries;
  const int end = static_cast<int>((s.queries + kQueries - 1) / kQueries);
  auto load = [&](int i) {
    loadRows<E, D>(buffers.first(i), query, i * kQueries, kQueries, threads);
    loadRows<E, D>(buffers.second(i), grad, i * kQueries, kQueries, threads);
    commitCopies();
  };
  loadRows<E, D>(keys, key, kernel.first, rows, threads);
  loadRows<E, D>(values, value, kernel.first, rows, threads);
  load(begin);
  const float *lse = in.statistics(place);
  deltas = statisticsOf(s, const_cast<float *>(deltas), place);
  const uint32_t warpKeys = keys + warpRow * kStride;
  const uint32_t warpValues = values + warpRow * kStride;
#pragma unroll 1
  for (int i = begin; i < end; ++i) {
    waitForCopies();
    blockBarrier();
    if (i + 1 < end)
      load(i + 1);
    kernel.tile(warpKeys, warpValues, buffers.first(i), buffers.second(i),
                i * kQueries, lse, deltas);
  }
  scaleAll(kernel.keySums, s.scale);
  const bool isWhole = s.keys % rows == 0;
  storeSums<E, D, Kernel::M>(kernel.keySums, warpKeys,
                             resultRows<E>(s, dk, s.keys, place),
                             kernel.first + warpRow, isWhole);
  storeSums<E, D, Kernel::M>(kernel.valueSums, warpValues,
                             resultRows<E>(s, dv, s.keys, place),
                             kernel.first + warpRow, isWhole);
}

} // namespace ff

#define FF_DEFINE(E, type, dim)                                                \
  extern "C" __attribute__((always_inline)) void                               \
      ff_attention_query_grad_##type##_##dim(                                  \
          const char *q, const char *k, const char *v, const char *o,          \
          const float *l, const char *g, char *dq, float *deltas,              \
          const unsigned char *m, const ff::AttentionSizes *s) {               \
    ff::attentionQueryGrad<ff::E, dim>({q, k, v, o, l, g, m, *s}, dq, deltas); \
  }                                                                            \
  extern "C" __attribute__((always_inline)) void                               \
      ff_attention_key_grad_##type##_##dim(                                    \
          const char *q, const char *k, const char *v, const float *l,         \
          const char *g, const float *deltas, char *dk, char *dv,              \
          const unsigned char *m, const ff::AttentionSizes *s) {               \
    ff::attentionKeyGrad<ff::E, dim>({q, k, v, nullptr, l, g, m, *s}, deltas,  \
                                     dk, dv);                                  \
  }
FF_FOR_TYPES(FF_DEFINE)
