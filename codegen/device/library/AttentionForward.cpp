//===- AttentionForward.cpp - Attention, tiles of queries -----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Online softmax over tiles of keys. Maxima are of scores before the scale: an
// exponent is then one multiply-add.
//
//===----------------------------------------------------------------------===//

#include "codegen/device/library/Attention.h"

namespace ff {

/// Below every score, but still a number: the difference of two is 0.
constexpr float kLowest = -1e30f;

template <class E, int D> struct Forward {
  static constexpr AttentionTiles kTiles =
      attentionTiles(AttentionKernel::Forward, E::kBytes, D);
  static constexpr int M = kTiles.rows, N = kTiles.columns, kKeys = 8 * N;
  static constexpr int kStride = D * E::kBytes + 16;
  using Scores = Product<E, D, M, N>;

  const AttentionSizes &s;
  const unsigned char *mask;
  int first; ///< query of the block
  int row;   ///< of the thread, its first
  float factor;
  float max[M][2], sum[M][2]; ///< sums are of the columns of the thread
  float output[M][D / 8][4];

  FF_INLINE Forward(const AttentionSizes &s, const unsigned char *mask,
                    int first, int warpRow)
      : s(s), mask(mask), first(first), row(first + warpRow + laneId() / 4),
        factor(s.scale > 0 ? static_cast<float>(s.scale) * kLog2E : kLog2E) {
    clear(output);
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        max[m][i] = kLowest;
        sum[m][i] = 0;
      }
  }

  /// -inf where a query does not see a key.
  FF_INLINE void hide(float (&scores)[M][N][4], int key) const {
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
          for (int j = 0; j < 2; ++j)
            if (column + n * 8 + j >= end || !seen[n][j])
              scores[m][n][i * 2 + j] = -kInfinity;
      }
  }

  /// Scores become weights, relative to the new maximum, to which the sums and
  /// the output are brought.
  FF_INLINE void weigh(float (&scores)[M][N][4]) {
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float top = max[m][i];
#pragma unroll
        for (int n = 0; n < N; ++n)
          top =
              larger(top, larger(scores[m][n][i * 2], scores[m][n][i * 2 + 1]));
        top = larger(top, shuffleAcross(top, 1));
        top = larger(top, shuffleAcross(top, 2));
        float decay = exp2((max[m][i] - top) * factor);
        float shift = top * factor, total = sum[m][i] * decay;
        max[m][i] = top;
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            float &score = scores[m][n][i * 2 + j];
            score = exp2(score * factor - shift);
            total += score;
          }
        sum[m][i] = total;
#pragma unroll
        for (int d = 0; d < D / 8; ++d)
#pragma unroll
          for (int j = 0; j < 2; ++j)
            output[m][d][i * 2 + j] *= decay;
      }
  }

  FF_INLINE void tile(uint32_t queries, uint32_t keys, uint32_t values,
                      int key) {
    float scores[M][N][4];
    clear(scores);
    Scores::rows(scores, queries, keys);
    if (s.scale <= 0) {
      // A maximum of scores has to know their sign.
#pragma unroll
      for (int m = 0; m < M; ++m)
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            scores[m][n][i] *= static_cast<float>(s.scale);
    }
    if (s.masked || isMasked(s, first, key, kKeys))
      hide(scores, key);
    weigh(scores);
    Scores::weighted(output, scores, values);
  }

  FF_INLINE void finish(uint32_t scratch, const Rows &result, float *lse,
                        int warpRow) {
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float total = sum[m][i];
        total += shuffleAcross(total, 1);
        total += shuffleAcross(total, 2);
        int query = row + m * 16 + i * 8;
        if (laneId() % 4 == 0 && query < s.queries)
          lse[query] = (max[m][i] * factor + log2(total)) * kLn2;
        // A query that sees no key gets 0.
        float part = total > 0 ? reciprocal(total) : 0;
#pragma unroll
        for (int d = 0; d < D / 8; ++d)
#pragma unroll
          for (int j = 0; j < 2; ++j)
            output[m][d][i * 2 + j] *= part;
      }
    storeSums<E, D, M>(output, scratch, result, first + warpRow,
                       result.count % attentionBlockRows(kTiles, s.warps) == 0);
  }
};

template <class E, int D>
FF_INLINE void attentionForward(const char *q, const char *k, const char *v,
                                char *o, float *l, const unsigned char *m,
                                const AttentionSizes &s) {
  using Kernel = Forward<E, D>;
  constexpr int kKeys = Kernel::kKeys, kStride = Kernel::kStride;
  const int warps = static_cast<int>(s.warps), threads = warps * 32;
  const int rows = attentionBlockRows(Kernel::kTiles, warps);
  const int tiles = static_cast<int>((s.queries + rows - 1) / rows);
  Place place = placeOf(s, tiles);
  // Those that see the most keys first: what is left at the end is short.
  place.tile = tiles - 1 - place.tile;
  Rows query = operandRows<E>(s, AttentionSizes::Query, q, place);
  Rows key = operandRows<E>(s, AttentionSizes::Key, k, place);
  Rows value = operandRows<E>(s, AttentionSizes::Value, v, place);
  const uint32_t queries = sharedStart();
  const Buffers<kStride, kKeys> buffers{queries + rows * kStride};

  const int warpRow = threadId() / 32 * Kernel::M * 16;
  Kernel kernel(s, maskOf(s, m, place), place.tile * rows, warpRow);
  const int end = visibleKeys(s, kernel.first + rows - 1);
  auto load = [&](int i) {
    loadRows<E, D>(buffers.first(i), key, i * kKeys, kKeys, threads);
    loadRows<E, D>(buffers.second(i), value, i * kKeys, kKeys, threads);
  };
  loadRows<E, D>(queries, query, kernel.first, rows, threads);
  load(0);
  commitCopies();
  const uint32_t warpQueries = queries + warpRow * kStride;
#pragma unroll 1
  for (int i = 0; i * kKeys < end; ++i) {
    waitForCopies();
    blockBarrier();
    if ((i + 1) * kKeys < end) {
      load(i + 1);
      commitCopies();
    }
    kernel.tile(warpQueries, buffers.first(i), buffers.second(i), i * kKeys);
  }
  if (end == 0) {
    // The queries arrive where the output is about to be.
    waitForCopies();
    blockBarrier();
  }
  kernel.finish(warpQueries, resultRows<E>(s, o, s.queries, place),
                statisticsOf(s, l, place), warpRow);
}

} // namespace ff

#define FF_DEFINE(E, type, dim)                                                \
  extern "C"                                                                   \
      __attribute__((always_inline)) void ff_attention_forward_##type##_##dim( \
          const char *q, const char *k, const char *v, char *o, float *l,      \
          const unsigned char *m, const ff::AttentionSizes *s) {               \
    ff::attentionForward<ff::E, dim>(q, k, v, o, l, m, *s);                    \
  }
FF_FOR_TYPES(FF_DEFINE)
