//===- TinyRun.h - Runs the tiny trainer ----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_TEST_UNIT_RUNTIME_TINYRUN_H
#define FF_TEST_UNIT_RUNTIME_TINYRUN_H

#include "TestSupport.h"

namespace ff::rt::test {

/// What a run printed and how it ended.
struct RunResult {
  int status; ///< exit status, or 128 + signal
  std::string out, err;
  double seconds;
};

/// A folder with the data, the metadata and the output of a tiny training.
class TinyRun {
public:
  TinyRun();

  nlohmann::json metadata = tinyMetadata();

  /// Runs the trainer with these arguments, e.g. "--ranks 2 --steps 5".
  /// `environment` is e.g. "TINY_FAULT=kill@0@3".
  RunResult run(const std::string &arguments,
                const std::string &environment = "") const;

  /// The shell command of the same.
  std::string command(const std::string &arguments,
                      const std::string &environment = "") const;

  std::string out(const std::string &name = "") const;
  std::string folder() const { return temp.path(); }

  /// A field of each line of metrics.jsonl.
  std::vector<double> metrics(const std::string &field) const;

private:
  TempFolder temp;
};

/// Runs a shell command with its output in files of `folder`.
RunResult runShell(const std::string &folder, const std::string &command);

/// max |a - b| / (|b| + 1e-6); infinity where the lengths differ.
double relativeError(const std::vector<double> &a,
                     const std::vector<double> &b);

} // namespace ff::rt::test

#endif // FF_TEST_UNIT_RUNTIME_TINYRUN_H
