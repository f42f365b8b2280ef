//===- Optimizer.h - The optimizer step -----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CPU_OPTIMIZER_H
#define FF_RUNTIME_CPU_OPTIMIZER_H

#include "runtime/core/Device.h"
#include "runtime/train/Parameters.h"

namespace ff::rt {

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

#endif // FF_RUNTIME_CPU_OPTIMIZER_H
