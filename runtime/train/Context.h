//===- Context.h - The state of one rank while it runs programs -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_CONTEXT_H
#define FF_RUNTIME_TRAIN_CONTEXT_H

#include "runtime/comm/UnitExchange.h"
#include "runtime/compute/Matmul.h"
#include "runtime/core/Arena.h"
#include "runtime/core/Profile.h"

/// What the C ABI calls ff_ctx.
struct ff_ctx {
  ff_ctx(const ff::rt::Metadata &metadata, ff::rt::RunMode mode,
         ff::rt::Communicator &comm);

  /// Runs one micro-batch. `inputs` holds them at Layout::inputOffsets; its
  /// rows are the global samples from `firstSample` on. `lossSeed` is what
  /// ff_rt_loss_seed gives.
  void run(const ff_entry &entry, const char *inputs, int64_t firstSample,
           double lossSeed);

  /// One line of JSON: planned and measured memory of this rank.
  std::string memoryReport() const;

  /// Result `index` of the last run.
  const void *output(size_t index) const;

  const ff::rt::Metadata &metadata;
  const ff::rt::Program &program;
  ff::rt::LayoutRequest request;
  ff::rt::Matmuls matmuls;
  ff::rt::Layout layout;
  size_t baselineRss; ///< before the arena is reserved
  ff::rt::Arena arena;
  ff::rt::Communicator &comm;
  ff::rt::UnitExchange units;
  ff::rt::Profile profile;

  // Of the micro-batch that runs.
  const char *inputs = nullptr;
  int64_t firstSample = 0;
  float lossSeedF32 = 0;
  double lossSeedF64 = 0;
  bool lossIsF64 = false;
};

#endif // FF_RUNTIME_TRAIN_CONTEXT_H
