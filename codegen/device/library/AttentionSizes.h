//===- AttentionSizes.h - What attention kernels are made for ---*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read by the compiler, which writes an AttentionSizes into the program and
// sizes its launches, and by the device library, which finds it there.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_LIBRARY_ATTENTIONSIZES_H
#define FF_CODEGEN_DEVICE_LIBRARY_ATTENTIONSIZES_H

#include <stdint.h>

namespace ff {

/// Nothing but 64-bit fields: the compiler writes it as an array of them.
struct AttentionSizes {
  /// In the order of the operands of ff.attention_backward.
  enum Operand { Query, Key, Value, Output, Lse, Grad, NumOperands };

  int64_t heads, queries, keys, dim;
  double scale;
  int64_t causal;
  int64_t masked; ///< whether a mask [B, Sk] of bytes says what keys count
  int64_t warps;  ///< of a block
  int64_t resultAlignment; ///< in bytes, of the rows of results
  int64_t alignment[NumOperands];
  /// In elements, from one batch, row and head to the next.
  int64_t batchStride[NumOperands];
  int64_t rowStride[NumOperands];
  int64_t headStride[NumOperands];
};

/// Which dim falls on the warps of blocks: queries, queries, keys. The other
/// one is looped over in tiles.
enum class AttentionKernel { Forward, QueryGrad, KeyGrad };

/// A warp has 16 · `rows` rows; a tile of the loop 8 · `columns`.
struct AttentionTiles {
  int rows, columns;
};

/// Two times 16 rows halve what a warp reads of shared memory for a product.
/// They are taken as long as 255 registers hold all sums.
constexpr AttentionTiles attentionTiles(AttentionKernel kernel, int bytes,
                                        int dim) {
  if (bytes == 4)
    return {1, dim <= 64 ? 4 : 2};
  if (kernel == AttentionKernel::Forward)
    return {2, dim <= 64 ? 8 : 4};
  return {dim <= 64 ? 2 : 1, 4};
}

/// Head dims in shared memory, padded with zeros to those of an instruction.
constexpr int attentionPaddedDim(int dim) { return (dim + 15) / 16 * 16; }

/// An odd number of 16 bytes: eight rows lie in different banks.
constexpr int attentionRowBytes(int bytes, int paddedDim) {
  return paddedDim * bytes + 16;
}

constexpr int attentionBlockRows(AttentionTiles tiles, int warps) {
  return warps * tiles.rows * 16;
}

/// Of shared memory: rows of a block of one tensor or two, then two buffers of
/// tiles of two tensors.
constexpr int attentionSharedBytes(AttentionKernel kernel, int bytes,
                                   int paddedDim, int warps) {
  AttentionTiles tiles = attentionTiles(kernel, bytes, paddedDim);
  int tensors = kernel == AttentionKernel::Forward ? 1 : 2;
  int rows = tensors * attentionBlockRows(tiles, warps) + 4 * 8 * tiles.columns;
  return rows * attentionRowBytes(bytes, paddedDim);
}

} // namespace ff

#endif // FF_CODEGEN_DEVICE_LIBRARY_ATTENTIONSIZES_H
