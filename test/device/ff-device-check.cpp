//===- ff-device-check.cpp - What run.sh asks of a GPU --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   ff-device-check device                 the GPU and the versions of its
//   libraries ff-device-check copy                   bytes per second of a copy
//   ff-device-check kernels FILE           recorded launches against their
//   results ff-device-check time FILE COPY         times of launches; COPY:
//   GB/s of a copy ff-device-check metrics A B STEPS RTOL losses and norms of
//   two metrics.jsonl
//
// Exits with 1 where something differs. It needs no compiler and no Python,
// only glibc and CUDA's libraries; `metrics` needs those neither.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "test/device/Launches.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>

using namespace ff::rt;
using namespace ff::rt::cuda;

namespace {

bool checkKernels(const std::string &path) {
  Recording recording(path);
  Module module(recording.ptx().c_str(), nullptr);
  Stream stream;
  double worst = 0;
  size_t wrong = 0;
  for (const RecordedLaunch &recorded : recording.launches) {
    Launch launch(recorded, module);
    launch.run(stream);
    stream.synchronize();
    double error = launch.compare();
    worst = std::max(worst, error);
    if (error <= 1)
      continue;
    ++wrong;
    fmt::print("  WRONG: {} in @{}: {:.3g} of the tolerance\n", recorded.kernel,
               recorded.function, error);
  }
  fmt::print("{} launches, {} wrong, worst {:.2g} of the tolerance\n",
             recording.launches.size(), wrong, worst);
  return wrong == 0 && !recording.launches.empty();
}

/// Microseconds of one of `repetitions` launches in a row: what lies between
/// them is time in which a kernel that is alone would have to wait too.
double timeOf(Launch &launch, Stream &stream, int repetitions) {
  Stopwatch stopwatch;
  stopwatch.time(stream, [&] {
    for (int i = 0; i < repetitions; ++i)
      launch.run(stream);
  });
  stream.synchronize();
  return 1e6 * stopwatch.seconds() / repetitions;
}

void timeKernels(const std::string &path, double copyRate) {
  Recording recording(path);
  Module module(recording.ptx().c_str(), nullptr);
  Stream stream;
  for (const RecordedLaunch &recorded : recording.launches) {
    Launch launch(recorded, module);
    double once = timeOf(launch, stream, 1); // also loads the kernel
    once = timeOf(launch, stream, 1);
    int repetitions = std::clamp(static_cast<int>(2e4 / once), 1, 50);
    std::vector<double> times;
    for (int i = 0; i < 5; ++i)
      times.push_back(timeOf(launch, stream, repetitions));
    std::nth_element(times.begin(), times.begin() + 2, times.end());
    double bytes = 0;
    for (const RecordedBuffer &buffer : recorded.buffers)
      bytes += static_cast<double>(buffer.bytes());
    double rate = 1e-3 * bytes / times[2];
    fmt::print("{} {} {:.2f} {:.1f} {:.1f} {:.2f}\n", recorded.function,
               recorded.kernel, times[2], rate, 100 * rate / copyRate,
               1e-6 * recorded.flops / times[2]);
  }
}

std::vector<nlohmann::json> readMetrics(const std::string &path, size_t steps) {
  std::ifstream file(path);
  if (!file)
    fail("cannot read {}", path);
  std::vector<nlohmann::json> lines;
  for (std::string line; lines.size() < steps && std::getline(file, line);)
    lines.push_back(nlohmann::json::parse(line));
  if (lines.size() < steps)
    fail("{} has {} steps of {}", path, lines.size(), steps);
  return lines;
}

bool compareMetrics(const std::string &a, const std::string &b, size_t steps,
                    double tolerance) {
  auto want = readMetrics(a, steps), have = readMetrics(b, steps);
  double worst = 0;
  for (size_t i = 0; i < steps; ++i)
    for (const char *key : {"step", "lr", "loss", "grad_norm"}) {
      // What is not finite is null.
      if (!want[i].at(key).is_number() || !have[i].at(key).is_number())
        fail("{} of line {}: {} and {}", key, i + 1, want[i].at(key).dump(),
             have[i].at(key).dump());
      double x = want[i].at(key), y = have[i].at(key);
      double difference =
          std::fabs(x - y) / std::max({std::fabs(x), std::fabs(y), 1e-30});
      if (difference > tolerance)
        fmt::print("  WRONG: step {}: {} is {} here, {} on the CPU\n", i + 1,
                   key, y, x);
      worst = std::max(worst, difference);
    }
  fmt::print("{} steps, worst relative difference {:.2g} of {:g}\n", steps,
             worst, tolerance);
  return worst <= tolerance;
}

int run(const std::vector<std::string> &words) {
  const std::string &command = words[0];
  if (command == "metrics" && words.size() == 5)
    return !compareMetrics(words[1], words[2], std::stoul(words[3]),
                           std::stod(words[4]));
  openLibraries(/*collectives=*/false);
  Context context(0);
  if (command == "device") {
    fmt::print("{}, sm_{}{}; {}\n", context.name, context.capability / 10,
               context.capability % 10, libraries().versions);
  } else if (command == "copy") {
    Stream stream;
    fmt::print("{:.1f}\n", 1e-9 * copyRate(stream, copyRateBytes));
  } else if (command == "kernels" && words.size() == 2) {
    return !checkKernels(words[1]);
  } else if (command == "time" && words.size() == 3) {
    timeKernels(words[1], std::stod(words[2]));
  } else {
    fail("no such command: {}; the head of ff-device-check.cpp lists them",
         command);
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: ff-device-check COMMAND ...\n");
    return 2;
  }
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
