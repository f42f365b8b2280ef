//===- Metrics.cpp - Metrics and progress of a run ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Metrics.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

namespace ff::rt {

namespace {

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

/// The step of a line of metrics, or -1.
int64_t stepOfLine(const std::string &line) {
  long long step;
  return std::sscanf(line.c_str(), "{\"step\":%lld", &step) == 1 ? step : -1;
}

/// The lines of `path` up to `lastStep`; a last line without its end was cut by
/// a crash.
std::string keptLines(const std::string &path, int64_t lastStep) {
  std::ifstream stream(path);
  std::string kept, line;
  while (std::getline(stream, line) && !stream.eof()) {
    int64_t step = stepOfLine(line);
    if (step >= 0 && step <= lastStep)
      kept += line + "\n";
  }
  return kept;
}

std::string duration(double seconds) {
  auto total = static_cast<int64_t>(std::min(seconds, 1e9));
  if (total >= 3600)
    return fmt::format("{}h{:02}m", total / 3600, total / 60 % 60);
  return fmt::format("{}m{:02}s", total / 60, total % 60);
}

void writeAll(int fd, const std::string &text, const std::string &path) {
  size_t done = 0;
  while (done < text.size()) {
    ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      fail("cannot write {} bytes to {}: {}", text.size() - done, path,
           std::strerror(errno));
    done += static_cast<size_t>(n);
  }
}

} // namespace

std::string metricsLine(const StepMetrics &m, double unixSeconds) {
  return fmt::format("{{\"step\":{},\"loss\":{},\"lr\":{},\"grad_norm\":{},"
                     "\"samples\":{},\"samples_per_s\":{:.1f},\"time\":{:.3f}{}"
                     "}}\n",
                     m.step, number(m.loss), number(m.lr), number(m.gradNorm),
                     m.samples, m.samplesPerSecond, unixSeconds,
                     m.skipped ? ",\"skipped\":true" : "");
}

MetricsLog::MetricsLog(const std::string &folder, int64_t resumedStep,
                       int64_t lastStep, int64_t every)
    : path(folder + "/metrics.jsonl"), firstStep(resumedStep),
      lastStep(lastStep), every(std::max<int64_t>(every, 1)),
      terminal(isatty(STDOUT_FILENO)), start(std::chrono::steady_clock::now()) {
  std::string kept = keptLines(path, resumedStep);
  std::string temporary = path + ".tmp";
  int out =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (out < 0)
    fail("cannot create {}: {}", temporary, std::strerror(errno));
  writeAll(out, kept, temporary);
  close(out);
  if (rename(temporary.c_str(), path.c_str()) != 0)
    fail("cannot rename {} to {}: {}", temporary, path, std::strerror(errno));
  fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0)
    fail("cannot open {}: {}", path, std::strerror(errno));
}

MetricsLog::~MetricsLog() {
  if (lineOpen)
    std::printf("\n");
  std::fflush(stdout);
  close(fd);
}

void MetricsLog::record(const StepMetrics &m) {
  double now = std::chrono::duration<double>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count();
  writeAll(fd, metricsLine(m, now), path);
  bool last = m.step == lastStep;
  if (!terminal && m.step % every && !last)
    return;
  double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  int64_t doneSteps = std::max<int64_t>(m.step - firstStep, 1);
  double left = elapsed / static_cast<double>(doneSteps) *
                static_cast<double>(lastStep - m.step);
  std::string line = fmt::format(
      "step {:>{}}/{}  loss {:.6g}  lr {:.3g}  grad norm {:.4g}  {:.1f} "
      "samples/s  ETA {}{}",
      m.step, std::to_string(lastStep).size(), lastStep, m.loss, m.lr,
      m.gradNorm, m.samplesPerSecond, duration(left),
      m.skipped ? "  skipped: gradients are not finite" : "");
  // Erasing to the end of the line removes what a longer line left.
  if (terminal)
    std::printf("\r%s\x1b[K", line.c_str());
  else
    std::printf("%s\n", line.c_str());
  lineOpen = terminal;
  std::fflush(stdout);
}

void MetricsLog::note(const std::string &text) {
  if (lineOpen)
    std::printf("\n");
  lineOpen = false;
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

} // namespace ff::rt
