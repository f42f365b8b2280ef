//===- Context.h - The state of one rank while it runs programs -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_CONTEXT_H
#define FF_RUNTIME_TRAIN_CONTEXT_H

#include "runtime/core/Backend.h"
#include "runtime/core/Profile.h"

/// What the C ABI calls ff_ctx.
struct ff_ctx {
  ff_ctx(const ff::rt::Metadata &metadata, ff::rt::RunMode mode,
         ff::rt::Backend &backend, ff::rt::Communicator &comm);

  /// Runs one micro-batch.
  void run(const ff_entry &entry, const ff::rt::MicroBatch &batch) {
    device->run(this, entry, batch);
  }

  /// Where the time went, of `totalSeconds`, for --profile.
  std::string profileReport(double totalSeconds);

  /// One line of JSON: planned and measured memory of this rank.
  std::string memoryReport() const;

  const ff::rt::Metadata &metadata;
  const ff::rt::Program &program;
  ff::rt::Communicator &comm;
  ff::rt::Layout layout;
  size_t baselineRss; ///< before the arena is reserved
  std::unique_ptr<ff::rt::Device> device;
  const ff::rt::Arena &arena;
  ff::rt::UnitExchange &units;
  ff::rt::Profile profile;
};

#endif // FF_RUNTIME_TRAIN_CONTEXT_H
