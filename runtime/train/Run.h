//===- Run.h - What a rank runs -------------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_RUN_H
#define FF_RUNTIME_TRAIN_RUN_H

#include "runtime/core/Backend.h"
#include "runtime/train/Options.h"

namespace ff::rt {

/// Everything that a run depends on. It outlives the run.
struct RunSetup {
  const Metadata &metadata;
  const Options &options;
  Backend &backend;
  Communicator &comm;
  const ff_entry *entries;
  int32_t numEntries;

  /// The compiled program of that name; an internal Error where there is none.
  const ff_entry &entry(const std::string &name) const;
};

/// Trains to the last step, or until a signal asks to stop. An Error ends it.
void runTraining(const RunSetup &setup);

/// Draws the samples of [sample] from a checkpoint.
void runSampling(const RunSetup &setup);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_RUN_H
