//===- Metrics.h - Metrics and progress of a run --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_METRICS_H
#define FF_RUNTIME_TRAIN_METRICS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace ff::rt {

/// One optimizer step.
struct StepMetrics {
  int64_t step = 0;
  double loss = 0;
  double lr = 0;
  double gradNorm = 0;
  int64_t samples = 0; ///< since the start of the run
  double samplesPerSecond = 0;
  bool skipped = false; ///< gradients were not finite, nothing was updated
};

/// One JSON line, with the shortest digits that read back the same double; a
/// number that is not finite is null.
std::string metricsLine(const StepMetrics &metrics, double unixSeconds);

/// Writes `metrics.jsonl` and shows progress. Only rank 0 has one.
class MetricsLog {
public:
  /// Opens the file in `folder` and drops the lines of steps after
  /// `resumedStep`. A plain progress line appears every `every` steps, on a
  /// terminal a line that is rewritten.
  MetricsLog(const std::string &folder, int64_t resumedStep, int64_t lastStep,
             int64_t every);
  ~MetricsLog();
  MetricsLog(const MetricsLog &) = delete;
  MetricsLog &operator=(const MetricsLog &) = delete;

  void record(const StepMetrics &metrics);

  /// Prints a line of its own, not mixed with the progress line.
  void note(const std::string &text);

private:
  std::string path;
  int fd = -1;
  int64_t firstStep, lastStep, every;
  bool terminal;
  bool lineOpen = false;
  std::chrono::steady_clock::time_point start;
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_METRICS_H
