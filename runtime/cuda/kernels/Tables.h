//===- Tables.h - Structures of host and device ---------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Structures that the host writes and the kernels read, or the other way round.
// Compiled for both: no header of the C++ library.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_KERNELS_TABLES_H
#define FF_RUNTIME_CUDA_KERNELS_TABLES_H

#include <stdint.h>

namespace ff::rt::cuda {

/// What changes from one micro-batch to the next, in device memory, so that a
/// captured graph stays valid.
struct BatchScalars {
  int64_t firstSample = 0;
  double lossSeedF64 = 0;
  float lossSeedF32 = 0;
  int32_t counts = 0; ///< 0: a rank without a micro-batch in this round
};

/// What the host reads after a step; zero before it.
struct StepRecord {
  double lossSum = 0;   ///< over the micro-batches of the rank that count
  double weightSum = 0; ///< likewise, of a program with sum and count
  double sumOfSquares = 0;
  int64_t nonfinite = 0;
  int64_t firstNonfinite = 0; ///< 1 + index of the piece; 0: none
  int64_t badIdRow = 0; ///< 1 + input row of an id outside its table; 0: none
  int64_t badId = 0, badIdRows = 0; ///< that id, and the rows of the table
};

/// Elements whose statistics are one partial sum, which never spans pieces.
constexpr int64_t statsChunk = 16384;

/// A TrainedPiece on the device. Pieces with the same dtypes lie together.
struct DevicePiece {
  uint64_t master, grad, expAvg, expAvgSq, ema, copy;
  int64_t count, index;
  int64_t firstUpdate; ///< updateChunks of the pieces before it
  int64_t firstStats;  ///< statsChunks of the pieces before it in the norm
  int32_t masterDtype, gradDtype, stateDtype, copyDtype;
  int32_t decay, inNorm;
  int32_t aligned; ///< all of it to 16 bytes
  int32_t unused;
};

/// The statistics of one statsChunk.
struct PartialStats {
  double sum;
  int64_t nonfinite;
  int64_t first; ///< 1 + index of its piece where something is not finite
};

/// A ZeroRange on the device.
struct ZeroEntry {
  uint64_t begin;
  int64_t bytes;
  int64_t firstChunk; ///< zeroChunks of the ranges before it
};

/// Constants of one AdamW step, in the type of the math.
template <typename T> struct AdamWConstants {
  T beta1, beta2, oneMinusBeta1, oneMinusBeta2, eps;
  T stepSize, correction, keep, keepWithDecay, scale, emaDecay, oneMinusEma;
};

/// Threads of a block of every kernel, but for finishThreads.
constexpr int blockThreads = 256;
/// Of the one block that adds up partial statistics: with more, a thread might
/// have too few registers.
constexpr int finishThreads = 512;
/// Elements that a block of the optimizer has.
constexpr int64_t updateChunk = 8192;
/// Elements that a block of a conversion has.
constexpr int64_t mapChunk = 4096;
/// Bytes that a block sets to zero.
constexpr int64_t zeroChunk = 65536;
/// Columns of a gradient of a table that one warp sums.
constexpr int64_t gradColumns = 256;

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_KERNELS_TABLES_H
