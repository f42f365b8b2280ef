//===- DeviceKernels.h - The runtime's own kernels ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is the same in every program and so is no part of its device image: the
// optimizer, random values, lookups, conversions. They are written in C++ for
// the device (runtime/cuda/kernels) and compiled to PTX with the runtime.
// All addresses are device addresses; all calls return at once and may be
// captured in a graph. No result depends on the order in which blocks run.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_DEVICEKERNELS_H
#define FF_RUNTIME_CUDA_DEVICEKERNELS_H

#include "runtime/core/Layout.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/kernels/Tables.h"

#include <memory>
#include <vector>

namespace ff::rt::cuda {

/// A trainable parameter, or what this rank has of it. Addresses of its first
/// element, 0 where it is not there. A piece with all of them aligned to 16
/// bytes is faster.
struct TrainedPiece {
  CUdeviceptr master, grad, expAvg, expAvgSq, ema;
  CUdeviceptr copy; ///< in the gathered dtype, where that is not the master's
  int64_t count;
  int64_t index; ///< in ownedPieces(), for StepRecord::firstNonfinite
  bool decay;
  bool inNorm; ///< this rank counts it in the norm
  DType masterDtype, gradDtype, stateDtype, copyDtype;
};

/// The scalars of one AdamW step, as in runtime/cpu/Optimizer.cpp.
struct AdamWScalars {
  double beta1, beta2, eps;
  double stepSize;   ///< lr / (1 - beta1^step)
  double correction; ///< 1 / sqrt(1 - beta2^step)
  double lr, weightDecay;
  double gradScale; ///< clipping, and 1 / count
  double emaDecay;
};

/// A run of zeros.
struct ZeroRange {
  CUdeviceptr begin;
  int64_t bytes; ///< both multiples of 2
};

class DeviceKernels {
public:
  /// `pieces` may be empty (sampling). `tables` is aligned to 64 bytes and has
  /// deviceTableBytes(pieces, their elements, all ranges of addZeroTable()).
  DeviceKernels(const std::vector<TrainedPiece> &pieces, CUdeviceptr tables,
                size_t tableBytes);
  ~DeviceKernels();

  /// As ff_rt_random: the same bits, but for about one normal value of f32 in
  /// 10^8 (and more of f64) where the logarithm or the sine of the device and
  /// of the CPU's library differ in their last bit.
  void random(uint64_t seed, int32_t site, ff_distribution distribution,
              DType dtype, CUdeviceptr scalars, int64_t batch,
              int64_t perSample, CUdeviceptr out, const Stream &stream);
  /// As ff_rt_embedding; an id outside the table reads row 0 and is noted in
  /// `record`, the first row of them all.
  void embedding(DType dtype, CUdeviceptr table, CUdeviceptr ids,
                 CUdeviceptr out, int64_t n, int64_t rows, int64_t width,
                 CUdeviceptr record, const Stream &stream);
  /// As ff_rt_embedding_grad: sums in the order of rows.
  void embeddingGrad(DType dtype, CUdeviceptr dout, CUdeviceptr ids,
                     CUdeviceptr grad, int64_t n, int64_t rows, int64_t width,
                     const Stream &stream);
  /// As convertElements, with any alignment of elements.
  void convert(DType from, CUdeviceptr src, DType to, CUdeviceptr dst,
               int64_t n, const Stream &stream);
  /// As addElements: dst += src.
  void add(DType from, CUdeviceptr src, DType to, CUdeviceptr dst, int64_t n,
           const Stream &stream);
  /// A table of ranges for zero(), made once; empty tables are allowed.
  int addZeroTable(const std::vector<ZeroRange> &ranges);
  void zero(int table, const Stream &stream);
  /// Adds the results of a micro-batch that counts (scalars->counts) to the
  /// record: the loss, and the weight where `weight` is not 0. f32 or f64.
  void recordLoss(DType dtype, CUdeviceptr loss, CUdeviceptr weight,
                  CUdeviceptr scalars, CUdeviceptr record,
                  const Stream &stream);
  /// Sum of squares and non-finite elements of all pieces in the norm.
  void gradientStats(CUdeviceptr record, const Stream &stream);
  /// One AdamW step of all pieces, with EMA and copy: one launch for each
  /// combination of dtypes.
  void adamw(const AdamWScalars &scalars, const Stream &stream);
  /// ema = master: after loading.
  void startEma(const Stream &stream);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_DEVICEKERNELS_H
