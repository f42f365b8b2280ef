//===- Elements.cpp - Kernels over plain arrays ---------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Device.h"

namespace ff::rt::cuda {

namespace {

template <bool add, typename From, typename To>
inline void apply(To &dst, From src) {
  if constexpr (add)
    dst += static_cast<To>(load(src));
  else
    store(dst, load(src));
}

/// dst = src or dst += src; a block has mapChunk elements. Views may begin at
/// any element: packs where both are aligned.
template <bool add, typename From, typename To>
inline void map(const From *src, To *dst, int64_t n) {
  constexpr int packs = mapChunk / (blockThreads * pack);
  int64_t begin = blockIndex() * mapChunk;
  bool aligned = reinterpret_cast<uint64_t>(src) % packAlignment<From> == 0 &&
                 reinterpret_cast<uint64_t>(dst) % packAlignment<To> == 0;
  if (!aligned || begin + mapChunk > n) {
    int64_t end = begin + mapChunk < n ? begin + mapChunk : n;
#pragma unroll 4
    for (int64_t i = begin + threadIndex(); i < end; i += blockThreads)
      apply<add>(dst[i], src[i]);
    return;
  }
  begin += threadIndex() * pack;
  From in[packs][pack];
  To out[packs][pack];
  for (int i = 0; i < packs; ++i) {
    loadPack(src + begin + i * blockThreads * pack, in[i]);
    if constexpr (add)
      loadPack(dst + begin + i * blockThreads * pack, out[i]);
  }
  for (int i = 0; i < packs; ++i) {
    for (int j = 0; j < pack; ++j)
      apply<add>(out[i][j], in[i][j]);
    storePack(dst + begin + i * blockThreads * pack, out[i]);
  }
}

inline int64_t loadInteger(int dtype, const void *src, int64_t i) {
  switch (dtype) {
  case FF_I64:
    return static_cast<const int64_t *>(src)[i];
  case FF_I32:
    return static_cast<const int32_t *>(src)[i];
  case FF_I8:
    return static_cast<const int8_t *>(src)[i];
  default:
    return static_cast<const uint8_t *>(src)[i] != 0;
  }
}

} // namespace

#define FF_CONVERT(name, From, To)                                             \
  FF_KERNEL ff_convert_##name(const From *src, To *dst, int64_t n) {           \
    map<false>(src, dst, n);                                                   \
  }
FF_CONVERT(f32_f64, float, double)
FF_CONVERT(f32_bf16, float, Bf16)
FF_CONVERT(f32_f16, float, F16)
FF_CONVERT(f64_f32, double, float)
FF_CONVERT(f64_bf16, double, Bf16)
FF_CONVERT(f64_f16, double, F16)
FF_CONVERT(bf16_f32, Bf16, float)
FF_CONVERT(bf16_f64, Bf16, double)
FF_CONVERT(bf16_f16, Bf16, F16)
FF_CONVERT(f16_f32, F16, float)
FF_CONVERT(f16_f64, F16, double)
FF_CONVERT(f16_bf16, F16, Bf16)

#define FF_ADD(name, From, To)                                                 \
  FF_KERNEL ff_add_##name(const From *src, To *dst, int64_t n) {               \
    map<true>(src, dst, n);                                                    \
  }
FF_ADD(f32_f32, float, float)
FF_ADD(f32_f64, float, double)
FF_ADD(f64_f32, double, float)
FF_ADD(f64_f64, double, double)
FF_ADD(bf16_f32, Bf16, float)
FF_ADD(bf16_f64, Bf16, double)
FF_ADD(f16_f32, F16, float)
FF_ADD(f16_f64, F16, double)

/// From an integer type to any. Rare and small: no kernel of its own for each.
FF_KERNEL ff_convert_integers(int32_t from, const void *src, int32_t to,
                              void *dst, int64_t n) {
  int64_t i = globalThread();
  if (i >= n)
    return;
  int64_t value = loadInteger(from, src, i);
  switch (to) {
  case FF_F32:
    return store(static_cast<float *>(dst)[i], value);
  case FF_F64:
    return store(static_cast<double *>(dst)[i], value);
  case FF_BF16:
    return store(static_cast<Bf16 *>(dst)[i], value);
  case FF_F16:
    return store(static_cast<F16 *>(dst)[i], value);
  case FF_I64:
    static_cast<int64_t *>(dst)[i] = value;
    return;
  case FF_I32:
    static_cast<int32_t *>(dst)[i] = static_cast<int32_t>(value);
    return;
  case FF_I8:
    static_cast<int8_t *>(dst)[i] = static_cast<int8_t>(value);
    return;
  default:
    static_cast<uint8_t *>(dst)[i] = value != 0;
  }
}

/// A block has a zeroChunk of a range, which may begin at any even address.
FF_KERNEL ff_zero(const ZeroEntry *entries, int64_t count) {
  int64_t chunk = blockIndex();
  const ZeroEntry &entry =
      entries[findEntry(entries, &ZeroEntry::firstChunk, count, chunk)];
  int64_t offset = (chunk - entry.firstChunk) * zeroChunk;
  int64_t bytes = entry.bytes - offset;
  bytes = bytes < zeroChunk ? bytes : zeroChunk;
  uint64_t begin = entry.begin + static_cast<uint64_t>(offset);
  uint64_t end = begin + static_cast<uint64_t>(bytes);
  uint64_t first = (begin + 15) / 16 * 16, last = end / 16 * 16;
  auto halves = [](uint64_t from, uint64_t to) {
    for (uint64_t at = from + 2 * threadIndex(); at < to;
         at += 2 * blockThreads)
      *global<uint16_t>(at) = 0;
  };
  if (first >= last)
    return halves(begin, end);
  halves(begin, first);
  halves(last, end);
#pragma unroll 4
  for (uint64_t at = first + 16 * threadIndex(); at < last;
       at += 16 * blockThreads)
    *global<Words4>(at) = Words4(0);
}

/// One thread: the results of a micro-batch that counts.
FF_KERNEL ff_record_loss(int32_t dtype, uint64_t loss, uint64_t weight,
                         const BatchScalars *scalars, StepRecord *record) {
  if (threadIndex() != 0 || !scalars->counts)
    return;
  auto value = [&](uint64_t address) {
    return dtype == FF_F64 ? *global<double>(address)
                           : static_cast<double>(*global<float>(address));
  };
  record->lossSum += value(loss);
  if (weight)
    record->weightSum += value(weight);
}

} // namespace ff::rt::cuda
