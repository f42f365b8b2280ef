//===- Optimizer.cpp - Kernels over all trained pieces --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AdamW, the statistics of gradients, and what else goes over all pieces. Each
// block has a chunk of one piece. All are bound by memory: one pass, 16-byte
// accesses, and no state between blocks but for partial sums that one block
// adds up in a fixed order.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Device.h"

namespace ff::rt::cuda {

namespace {

struct Chunk {
  const DevicePiece *piece;
  int64_t begin, end; ///< elements of the piece
};

inline Chunk updateChunkOf(const DevicePiece *pieces, int64_t count) {
  int64_t chunk = blockIndex() + pieces->firstUpdate;
  const DevicePiece *piece =
      pieces + findEntry(pieces, &DevicePiece::firstUpdate, count, chunk);
  int64_t begin = (chunk - piece->firstUpdate) * updateChunk;
  int64_t end = begin + updateChunk;
  return {piece, begin, end < piece->count ? end : piece->count};
}

/// The new weight of one element, and its moments.
template <typename T>
inline T adamwElement(const AdamWConstants<T> &c, T keep, T grad, T weight,
                      T &expAvg, T &expAvgSq) {
  T g = grad * c.scale;
  expAvg = expAvg * c.beta1 + g * c.oneMinusBeta1;
  expAvgSq = expAvgSq * c.beta2 + g * g * c.oneMinusBeta2;
  T root;
  if constexpr (sizeof(T) == 8)
    root = __builtin_sqrt(expAvgSq);
  else
    root = __builtin_sqrtf(expAvgSq);
  return weight * keep - c.stepSize * (expAvg / (root * c.correction + c.eps));
}

template <typename Master, typename Grad, typename T> struct AdamW {
  const AdamWConstants<T> &c;
  Master *master;
  const Grad *grad;
  T *expAvg, *expAvgSq, *ema;
  uint64_t copy;
  int copyDtype;
  T keep;

  /// The n elements from i on: a pack, or one.
  template <int n> void update(int64_t i) const {
    Master w[n];
    Grad g[n];
    T m[n], v[n], e[n];
    loadPack(master + i, w);
    loadPack(grad + i, g);
    loadPack(expAvg + i, m);
    loadPack(expAvgSq + i, v);
    if (ema)
      loadPack(ema + i, e);
#pragma unroll
    for (int j = 0; j < n; ++j) {
      T weight = adamwElement<T>(c, keep, static_cast<T>(load(g[j])),
                                 static_cast<T>(load(w[j])), m[j], v[j]);
      // The EMA is of the weight before it is rounded to the master's type.
      if (ema)
        e[j] = e[j] * c.emaDecay + weight * c.oneMinusEma;
      store(w[j], weight);
    }
    storePack(master + i, w);
    storePack(expAvg + i, m);
    storePack(expAvgSq + i, v);
    if (ema)
      storePack(ema + i, e);
    if (copy)
      dispatchFloat(copyDtype, [&](auto *tag) { storeCopy(tag, i, w); });
  }

  /// In the gathered dtype, what the master is now.
  template <typename To, int n>
  void storeCopy(To *tag, int64_t i, const Master (&w)[n]) const {
    To values[n];
#pragma unroll
    for (int j = 0; j < n; ++j)
      store(values[j], load(w[j]));
    storePack(global(copy, tag) + i, values);
  }
};

/// Calls `body` for each pack of a chunk, then for each element that is left.
template <typename Body>
inline void forEachPack(const Chunk &chunk, Body body) {
  int64_t packs = chunk.begin;
  if (chunk.piece->aligned)
    packs += (chunk.end - chunk.begin) / pack * pack;
#pragma unroll 2
  for (int64_t i = chunk.begin + threadIndex() * pack; i < packs;
       i += blockThreads * pack)
    body(i, Tag<pack>());
  for (int64_t i = packs + threadIndex(); i < chunk.end; i += blockThreads)
    body(i, Tag<1>());
}

template <typename Master, typename Grad, typename T>
inline void adamw(const DevicePiece *pieces, int64_t count,
                  const AdamWConstants<T> &c) {
  Chunk chunk = updateChunkOf(pieces, count);
  const DevicePiece &piece = *chunk.piece;
  AdamW<Master, Grad, T> state{c,
                               global<Master>(piece.master),
                               global<const Grad>(piece.grad),
                               global<T>(piece.expAvg),
                               global<T>(piece.expAvgSq),
                               piece.ema ? global<T>(piece.ema) : nullptr,
                               piece.copy,
                               piece.copyDtype,
                               piece.decay ? c.keepWithDecay : c.keep};
  forEachPack(chunk, [&](int64_t i, auto n) {
    state.template update<decltype(n)::value>(i);
  });
}

struct Stats {
  double sum;
  int64_t nonfinite;
};

template <typename Grad> inline Stats statsOf(const Chunk &chunk) {
  const Grad *grad = global<const Grad>(chunk.piece->grad);
  double sums[pack] = {};
  int64_t nonfinite = 0;
  forEachPack(chunk, [&](int64_t i, auto n) {
    Grad values[decltype(n)::value];
    loadPack(grad + i, values);
#pragma unroll
    for (int j = 0; j < decltype(n)::value; ++j) {
      double wide = static_cast<double>(values[j]);
      sums[j] += wide * wide;
      nonfinite += !(__builtin_fabs(wide) <= 1.7976931348623157e308);
    }
  });
  return {(sums[0] + sums[1]) + (sums[2] + sums[3]), nonfinite};
}

/// The sum over a block, for thread 0.
inline Stats blockSum(Stats stats) {
  constexpr int warps = blockThreads / 32;
  FF_SHARED double sums[warps];
  FF_SHARED int64_t counts[warps];
  for (int lanes = 16; lanes; lanes /= 2) {
    stats.sum += shuffleDown(stats.sum, lanes);
    stats.nonfinite += shuffleDown(stats.nonfinite, lanes);
  }
  if (threadIndex() % 32 == 0) {
    sums[threadIndex() / 32] = stats.sum;
    counts[threadIndex() / 32] = stats.nonfinite;
  }
  __syncthreads();
  if (threadIndex() == 0)
    for (int warp = 1; warp < warps; ++warp) {
      stats.sum += sums[warp];
      stats.nonfinite += counts[warp];
    }
  return stats;
}

/// to = master, converted.
inline void copyMaster(const Chunk &chunk, uint64_t to, int toDtype) {
  if (!to)
    return;
  dispatchFloat(chunk.piece->masterDtype, [&](auto *masterTag) {
    auto *master = global(chunk.piece->master, masterTag);
    dispatchFloat(toDtype, [&](auto *toTag) {
      auto *dst = global(to, toTag);
#pragma unroll 4
      for (int64_t i = chunk.begin + threadIndex(); i < chunk.end;
           i += blockThreads)
        store(dst[i], load(master[i]));
    });
  });
}

} // namespace

#define FF_ADAMW(name, Master, Grad, T)                                        \
  FF_KERNEL ff_adamw_##name(const DevicePiece *pieces, int64_t count,          \
                            AdamWConstants<T> constants) {                     \
    adamw<Master, Grad, T>(pieces, count, constants);                          \
  }
FF_ADAMW(f32_f32, float, float, float)
FF_ADAMW(bf16_f32, Bf16, float, float)
FF_ADAMW(f16_f32, F16, float, float)
FF_ADAMW(f32_f64, float, double, float)
FF_ADAMW(bf16_f64, Bf16, double, float)
FF_ADAMW(f16_f64, F16, double, float)
FF_ADAMW(f64_f64, double, double, double)

FF_KERNEL ff_start_ema(const DevicePiece *pieces, int64_t count) {
  Chunk chunk = updateChunkOf(pieces, count);
  copyMaster(chunk, chunk.piece->ema, chunk.piece->stateDtype);
}

FF_KERNEL ff_gradient_stats(const DevicePiece *pieces, int64_t count,
                            PartialStats *partials) {
  int64_t chunk = blockIndex();
  const DevicePiece &piece =
      pieces[findEntry(pieces, &DevicePiece::firstStats, count, chunk)];
  int64_t begin = (chunk - piece.firstStats) * statsChunk;
  int64_t end = begin + statsChunk;
  Chunk part{&piece, begin, end < piece.count ? end : piece.count};
  Stats stats =
      piece.gradDtype == FF_F64 ? statsOf<double>(part) : statsOf<float>(part);
  stats = blockSum(stats);
  if (threadIndex() == 0)
    partials[chunk] = {stats.sum, stats.nonfinite,
                       stats.nonfinite ? piece.index + 1 : 0};
}

/// One block: each thread sums neighbouring partials, thread 0 the threads.
FF_KERNEL ff_finish_stats(const PartialStats *partials, int64_t count,
                          StepRecord *record) {
  FF_SHARED double sums[finishThreads];
  FF_SHARED int64_t counts[finishThreads];
  FF_SHARED int64_t firsts[finishThreads];
  int64_t each = (count + finishThreads - 1) / finishThreads;
  int64_t begin = threadIndex() * each;
  double sum = 0;
  int64_t nonfinite = 0, first = 0;
  for (int64_t i = begin; i < begin + each && i < count; ++i) {
    sum += partials[i].sum;
    nonfinite += partials[i].nonfinite;
    int64_t here = partials[i].first;
    first = here && (!first || here < first) ? here : first;
  }
  sums[threadIndex()] = sum;
  counts[threadIndex()] = nonfinite;
  firsts[threadIndex()] = first;
  __syncthreads();
  if (threadIndex() != 0)
    return;
  for (int i = 1; i < finishThreads; ++i) {
    sum += sums[i];
    nonfinite += counts[i];
    first = firsts[i] && (!first || firsts[i] < first) ? firsts[i] : first;
  }
  record->sumOfSquares = sum;
  record->nonfinite = nonfinite;
  record->firstNonfinite = first;
}

} // namespace ff::rt::cuda
