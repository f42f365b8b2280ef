//===- Tile.h - Tiles of rows in shared memory ------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_LIBRARY_TILE_H
#define FF_CODEGEN_DEVICE_LIBRARY_TILE_H

#include "codegen/device/library/AttentionSizes.h"
#include "codegen/device/library/Device.h"

namespace ff {

/// Rows of a [B, S, H, D] tensor at one batch and head.
struct Rows {
  char *start;
  int64_t stride; ///< in bytes
  int count;
  int bytes;     ///< of one row
  int alignment; ///< of all rows, in bytes
};

/// `body` with the widest access that `alignment` allows, as a constant.
template <class Body> FF_INLINE void withAccess(int alignment, Body body) {
  if (alignment >= 16)
    body(Words<16>());
  else if (alignment >= 8)
    body(Words<8>());
  else if (alignment >= 4)
    body(Words<4>());
  else
    body(Words<2>());
}

/// The same value, of which the optimizer knows nothing: what is added to it
/// becomes a part of an instruction. It would otherwise hold each sum in a
/// register of its own over a loop.
FF_INLINE const char *opaque(const char *address) {
  asm volatile("" : "+l"(address));
  return address;
}
FF_INLINE uint32_t opaque(uint32_t address) {
  asm volatile("" : "+r"(address));
  return address;
}

/// A thread stays in its columns: the words of a row divide the threads.
template <int rowBytes, int bytes>
FF_INLINE void copyColumns(uint32_t to, const Rows &rows, int first, int count,
                           int threads) {
  constexpr int kStride = rowBytes + 16, kPerRow = rowBytes / bytes;
  const int step = threads / kPerRow, row = threadId() / kPerRow;
  const int column = threadId() % kPerRow * bytes;
  const bool isWhole = rows.count % count == 0;
  const bool isColumn = rows.bytes == rowBytes || column < rows.bytes;
  const char *from = opaque(rows.start + (first + row) * rows.stride + column);
  to = opaque(to + row * kStride + column);
#pragma unroll 8
  for (int i = 0; i < (count + step - 1) / step; ++i) {
    if (count % step != 0 && row + i * step >= count)
      break;
    bool some = isColumn && (isWhole || first + row + i * step < rows.count);
    copyAsync<bytes>(to + i * step * kStride, from + i * step * rows.stride,
                     some);
  }
}

template <int rowBytes, int bytes>
FF_INLINE void copyIn(uint32_t to, const Rows &rows, int first, int count,
                      int threads) {
  constexpr int kStride = rowBytes + 16, kPerRow = rowBytes / bytes;
  if (threads % kPerRow == 0)
    return copyColumns<rowBytes, bytes>(to, rows, first, count, threads);
  const int total = count * kPerRow;
#pragma unroll 4
  for (int i = 0; i < (total + threads - 1) / threads; ++i) {
    int at = threadId() + i * threads;
    if (total % threads != 0 && at >= total)
      break;
    int row = at / kPerRow, column = at % kPerRow * bytes;
    bool some = first + row < rows.count && column < rows.bytes;
    int64_t offset = some ? (first + row) * rows.stride + column : 0;
    copyAsync<bytes>(to + row * kStride + column, rows.start + offset, some);
  }
}

/// Rows [first, first + count), `first` a multiple of `count`, for the whole
/// block; zeros behind the last row
/// and behind the head dim. They arrive with waitForCopies and a barrier.
template <class E, int D>
FF_INLINE void loadRows(uint32_t to, const Rows &rows, int first, int count,
                        int threads) {
  withAccess(rows.alignment, [&](auto words) {
    constexpr int kBytes = sizeof(typename decltype(words)::Type);
    if constexpr (kBytes >= E::kBytes)
      copyIn<D * E::kBytes, kBytes>(to, rows, first, count, threads);
  });
}

template <int rowBytes, int bytes>
FF_INLINE void copyOut(uint32_t from, const Rows &rows, int first, int count,
                       bool isWhole) {
  using Type = typename Words<bytes>::Type;
  constexpr int kStride = rowBytes + 16, kPerRow = rowBytes / bytes;
#pragma unroll 4
  for (int i = 0; i < count * kPerRow / 32; ++i) {
    int at = laneId() + i * 32, row = at / kPerRow;
    int column = at % kPerRow * bytes;
    if ((isWhole || first + row < rows.count) &&
        (rows.bytes == rowBytes || column < rows.bytes))
      *reinterpret_cast<Type *>(rows.start + (first + row) * rows.stride +
                                column) =
          loadShared<Type>(from + row * kStride + column);
  }
}

/// The sums of a warp, of which a thread has those of rows g and g + 8 and of
/// columns 2t and 2t + 1 in each 16 x 8, to rows [first, ...), row by row in
/// whole words. They go through `scratch`, which no other warp may use. With
/// `isWhole` no row of any warp is behind the last.
template <class E, int D, int M>
FF_INLINE void storeSums(const float (&sums)[M][D / 8][4], uint32_t scratch,
                         const Rows &rows, int first, bool isWhole) {
  constexpr int kStride = D * E::kBytes + 16;
  uint32_t at = scratch + laneId() / 4 * kStride + laneId() % 4 * 2 * E::kBytes;
  warpBarrier();
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int d = 0; d < D / 8; ++d)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint32_t to = at + (m * 16 + half * 8) * kStride + d * 8 * E::kBytes;
        float x = sums[m][d][half * 2], y = sums[m][d][half * 2 + 1];
        if constexpr (E::kBytes == 4)
          storeShared(to, Float2{x, y});
        else
          storeShared(to, E::pack(x, y));
      }
  warpBarrier();
  withAccess(rows.alignment, [&](auto words) {
    constexpr int kBytes = sizeof(typename decltype(words)::Type);
    if constexpr (kBytes >= E::kBytes)
      copyOut<D * E::kBytes, kBytes>(scratch, rows, first, M * 16, isWhole);
  });
}

} // namespace ff

#endif // FF_CODEGEN_DEVICE_LIBRARY_TILE_H
