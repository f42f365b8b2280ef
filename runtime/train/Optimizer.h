//===- Optimizer.h - The optimizer step -----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_OPTIMIZER_H
#define FF_RUNTIME_TRAIN_OPTIMIZER_H

#include "runtime/train/Parameters.h"

namespace ff::rt {

/// The learning rate of optimizer step `step`, which counts from 1 and never
/// depends on ranks or accumulation.
///
/// Warmup is linear from 0 before the first step: step s of W warmup steps has
/// lr * s / W, so step W is the first at the full rate. After it, "constant"
/// stays at lr; "cosine" falls to final_lr, which it reaches at total_steps:
/// final_lr + (lr - final_lr) * (1 + cos(pi * (s - W) / (total - W))) / 2.
double learningRate(const OptimizerPolicy &optimizer,
                    const SchedulePolicy &schedule, int64_t step);

/// What a rank knows about its gradient slices.
struct GradientStats {
  double sumOfSquares = 0; ///< in f64, in an order that threads don't change
  int64_t nonfinite = 0;   ///< elements that are infinite or NaN
  int64_t firstNonfinite = -1; ///< index in ownedPieces of the first of them
};

/// AdamW with decoupled decay, and the EMA, over the slices of one rank. Math
/// is f32, or f64 where the master dtype is f64.
class Optimizer {
public:
  Optimizer(const Metadata &metadata, const Layout &layout, const Arena &arena,
            int shardIndex);

  /// Copies the master weights to the EMA: the start of a run.
  void startEma();

  /// Of the gradients that this rank counts: all shards of one replica count
  /// together, and shard 0 alone counts what is not sharded.
  GradientStats gradientStats() const;
  void scaleGradients(double scale);

  /// Optimizer step number `step` (from 1), with gradients times `gradScale`.
  void update(int64_t step, double lr, double gradScale);

  /// The parameters of this rank, all groups.
  const std::vector<OwnedPiece> &pieces() const { return owned; }

private:
  template <typename T> T *at(const Region &region, int64_t element) const {
    return arena.at<T>(region) + element;
  }
  template <typename T>
  void updatePiece(const OwnedPiece &piece, int64_t step, double lr,
                   double gradScale);

  const Metadata &metadata;
  const Layout &layout;
  const Arena &arena;
  int shardIndex;
  std::vector<OwnedPiece> owned;
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_OPTIMIZER_H
