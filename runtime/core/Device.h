//===- Device.h - What computes the programs of a rank --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The calls of generated code, the memory of a rank and its optimizer, for one
// target: the cores of the host (runtime/cpu) or a GPU (runtime/cuda). A device
// may work behind the host's back: what the host reads says so, and waits.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_DEVICE_H
#define FF_RUNTIME_CORE_DEVICE_H

#include "runtime/comm/UnitExchange.h"

#include <functional>

namespace ff::rt {

struct MicroBatch {
  /// Host memory: the inputs at Layout::inputOffsets, in one of the input sets.
  const char *inputs = nullptr;
  int64_t firstSample = 0; ///< global number of the first row
  double lossSeed = 0;     ///< what ff_rt_loss_seed gives
  bool counts = false;     ///< its loss is added to StepSums
  size_t bucket = 0;       ///< which of Layout::inputOffsets is its own
};

/// Over the micro-batches of a step that count, of one rank.
struct StepSums {
  double loss = 0;
  double weight = 0; ///< of a program with sum and count
};

/// What a rank knows about its gradient slices.
struct GradientStats {
  double sumOfSquares = 0; ///< in f64, in an order that threads don't change
  int64_t nonfinite = 0;   ///< elements that are infinite or NaN
  int64_t firstNonfinite = -1; ///< index in ownedPieces of the first of them
};

class Device {
public:
  virtual ~Device() = default;

  /// An Error about an id in input row `row` of a lookup.
  [[noreturn]] void failId(int64_t row, int64_t id, int64_t rows) const;

  virtual const Arena &arena() const = 0;
  virtual UnitExchange &units() = 0;

  // What generated code calls: see ff_rt.h. Addresses are the device's.
  virtual void parallelFor(ff_kernel_fn kernel, void *const *buffers, int64_t n,
                           int64_t grain);
  virtual void launch(int32_t kernel, void *const *buffers);
  virtual void matmul(size_t matmul, const void *a, const void *b,
                      const void *bias, void *c) = 0;
  virtual void random(int32_t site, ff_distribution distribution, DType dtype,
                      void *out, int64_t batch, int64_t perSample) = 0;
  virtual void embedding(DType dtype, const void *table, const int64_t *ids,
                         void *out, int64_t n, int64_t rows, int64_t width) = 0;
  virtual void embeddingGrad(DType dtype, const void *dout, const int64_t *ids,
                             void *grad, int64_t n, int64_t rows,
                             int64_t width) = 0;
  virtual const void *input(size_t index) = 0;
  virtual void *output(size_t index) = 0;
  virtual const void *lossSeed() = 0;

  // Micro-batches.
  /// Memory of the host for the input sets of the layout.
  virtual char *inputMemory() = 0;
  virtual void run(ff_ctx *ctx, const ff_entry &entry,
                   const MicroBatch &batch) = 0;
  /// Returns when the inputs of the last run may be overwritten.
  virtual void finishInputs() {}
  /// A result of the last run, in memory of the host, until the next call.
  virtual const void *result(size_t index) = 0;
  /// Returns when all work is done; an Error where some of it failed.
  virtual void settle() {}

  // An optimizer step.
  virtual void beginStep() = 0;
  /// Sums gradients over the replicas. The gradients are complete after it.
  virtual StepSums finishStep() = 0;
  virtual GradientStats gradientStats() = 0;
  /// Optimizer step number `step` (from 1), with gradients times `gradScale`.
  virtual void update(int64_t step, double lr, double gradScale) = 0;

  /// Says which sample has an id that no table has: "; 'ids' of ... has it", or
  /// "".
  std::function<std::string(int64_t id)> findId;

  /// The masters were written by the host: what is derived from them is stale.
  virtual void mastersChanged() {}
  /// Copies the master weights to the EMA: the start of a run.
  virtual void startEma() = 0;

  // Profiles.
  /// Runs `calls` to the end of their work: the seconds it took, where the
  /// device can tell without what the host needs to start it.
  virtual double timed(const std::function<void()> &calls);
  /// Bytes that a large copy reads and writes in a second; 0: not measured.
  virtual double copyRate() { return 0; }
  /// How a matmul is computed; may be empty.
  virtual std::string implementation(size_t) const { return ""; }
};

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_DEVICE_H
