//===- Attention.h - What the attention kernels share -----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp has 16 · M rows of scores, all columns of a tile: nothing is reduced
// across warps. Tiles of the other dim are in shared memory twice: one is
// worked on while the next arrives.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_LIBRARY_ATTENTION_H
#define FF_CODEGEN_DEVICE_LIBRARY_ATTENTION_H

#include "codegen/device/library/Product.h"
#include "codegen/device/library/Tile.h"

namespace ff {

constexpr float kLog2E = 1.44269504088896340736f;
constexpr float kLn2 = 0.69314718055994530942f;
constexpr float kInfinity = __builtin_inff();

/// The batch, the head and the tile of a block.
struct Place {
  int64_t batch, head;
  int tile;
};

FF_INLINE Place placeOf(const AttentionSizes &s, int tiles) {
  int block = blockId(), heads = static_cast<int>(s.heads);
  Place place;
  place.tile = block % tiles;
  place.head = block / tiles % heads;
  place.batch = block / tiles / heads;
  return place;
}

template <class E>
FF_INLINE Rows operandRows(const AttentionSizes &s, int operand,
                           const char *start, const Place &place) {
  bool isKey =
      operand == AttentionSizes::Key || operand == AttentionSizes::Value;
  int64_t offset =
      place.batch * s.batchStride[operand] + place.head * s.headStride[operand];
  return {const_cast<char *>(start) + offset * E::kBytes,
          s.rowStride[operand] * E::kBytes,
          static_cast<int>(isKey ? s.keys : s.queries),
          static_cast<int>(s.dim) * E::kBytes,
          static_cast<int>(s.alignment[operand])};
}

/// Results are row-major.
template <class E>
FF_INLINE Rows resultRows(const AttentionSizes &s, char *start, int64_t count,
                          const Place &place) {
  int64_t row = s.heads * s.dim * E::kBytes;
  return {start + place.batch * count * row + place.head * s.dim * E::kBytes,
          row, static_cast<int>(count), static_cast<int>(s.dim) * E::kBytes,
          static_cast<int>(s.resultAlignment)};
}

/// Where query 0 of a [B, H, Sq] result is.
FF_INLINE float *statisticsOf(const AttentionSizes &s, float *start,
                              const Place &place) {
  return start + (place.batch * s.heads + place.head) * s.queries;
}

/// One past the last key that query `query` sees.
FF_INLINE int visibleKeys(const AttentionSizes &s, int query) {
  int keys = static_cast<int>(s.keys);
  if (!s.causal)
    return keys;
  return most(0, least(keys, query + 1 + keys - static_cast<int>(s.queries)));
}

/// Whether a query of those from `query` on may not see all of the `count` keys
/// from `key` on, a multiple of `count`.
FF_INLINE bool isMasked(const AttentionSizes &s, int query, int key,
                        int count) {
  return (s.causal || s.keys % count != 0) &&
         key + count > visibleKeys(s, query);
}

/// The mask at a batch; null where there is none.
FF_INLINE const unsigned char *maskOf(const AttentionSizes &s,
                                      const unsigned char *start,
                                      const Place &place) {
  return s.masked ? start + place.batch * s.keys : nullptr;
}

/// Whether key `key` counts, as far as the mask says. There may be no such key.
FF_INLINE bool counts(const AttentionSizes &s, const unsigned char *mask,
                      int key) {
  return !s.masked || key >= s.keys || mask[key] != 0;
}

/// Buffers of a loop over tiles of two tensors.
template <int rowBytes, int columns> struct Buffers {
  uint32_t start;
  static constexpr int kTile = columns * rowBytes;
  FF_INLINE uint32_t first(int i) const { return start + i % 2 * 2 * kTile; }
  FF_INLINE uint32_t second(int i) const { return first(i) + kTile; }
};

// Name a kernel for each type and padded head dim.
#define FF_FOR_DIMS(DEFINE, E, type)                                           \
  DEFINE(E, type, 16)                                                          \
  DEFINE(E, type, 32)                                                          \
  DEFINE(E, type, 48)                                                          \
  DEFINE(E, type, 64)                                                          \
  DEFINE(E, type, 80)                                                          \
  DEFINE(E, type, 96)                                                          \
  DEFINE(E, type, 112)                                                         \
  DEFINE(E, type, 128)
#define FF_FOR_TYPES(DEFINE)                                                   \
  FF_FOR_DIMS(DEFINE, BF16, bf16)                                              \
  FF_FOR_DIMS(DEFINE, F16, f16)                                                \
  FF_FOR_DIMS(DEFINE, F32, f32)

} // namespace ff

#endif // FF_CODEGEN_DEVICE_LIBRARY_ATTENTION_H
