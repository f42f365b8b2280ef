//===- Trainer.h - The training loop --------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_TRAINER_H
#define FF_RUNTIME_TRAIN_TRAINER_H

#include "runtime/train/Checkpoint.h"
#include "runtime/train/Context.h"
#include "runtime/train/Data.h"
#include "runtime/train/Metrics.h"
#include "runtime/train/Run.h"

#include <memory>

namespace ff::rt {

/// The training of one rank.
class Trainer {
public:
  explicit Trainer(const RunSetup &setup);

  void run();

private:
  /// What a rank contributes to the decisions of a step; plain bytes on the
  /// wire.
  struct Report {
    double lossSum;      ///< over the micro-batches of the rank
    double weightSum;    ///< likewise, of a program with sum and count
    double sumOfSquares; ///< of its gradient slices
    int64_t nonfinite;
    int64_t firstNonfinite;
    int64_t stop;         ///< a signal asked to stop
    int64_t microBatches; ///< of the step, over all ranks: of its bucket
  };
  struct StepResult {
    StepMetrics metrics;
    bool stop = false;
  };

  void restore();
  /// An Error where no checkpoint fits on the disk, a warning where few do.
  void checkSpace() const;
  StepResult step();
  /// Runs the matmuls of the last step again, alone, and says how long a step
  /// takes in comparison.
  std::string replayMatmuls();
  /// Adds up losses (and counts) and gradients of this rank's micro-batches.
  void computeGradients(Report &report);
  /// What the sums over all micro-batches of a step are divided by: their
  /// number, or, where the program returns a sum and a count, the total count.
  double divisor(const Report &total) const;
  Report gatherReports(const Report &mine, int &nonfiniteRank);
  void failNonfinite(const Report &total, int rank) const;
  void dumpGradients(double scale);
  void printSamples(const Prefetcher::Batch &batch) const;
  void saveCheckpoint(bool last);
  void warn(const std::string &text) const;

  bool weighted = false; ///< the program returns a sum and a count
  const RunSetup &setup;
  const Metadata &metadata;
  const TrainPolicy &train;
  Communicator &comm;
  std::vector<const ff_entry *> entries; ///< of each bucket
  ff_ctx ctx;
  Checkpointer checkpointer;
  DataSet data;
  std::unique_ptr<Prefetcher> prefetcher;
  std::unique_ptr<MetricsLog> log; ///< rank 0 alone
  int64_t lastStep;
  int64_t doneSteps = 0;
  int64_t doneSamples = 0;
  int64_t savedStep = -1;
  bool firstStep = true; ///< of this process
  std::string saveError; ///< of the newest save
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_TRAINER_H
