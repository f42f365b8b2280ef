//===- Options.h - The command line of a trainer --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_OPTIONS_H
#define FF_RUNTIME_TRAIN_OPTIONS_H

#include "runtime/core/Metadata.h"

#include <string>
#include <vector>

namespace ff::rt {

struct Options {
  int ranks = 0;      ///< 0: not given
  int64_t steps = -1; ///< stop after this step; -1: what the spec says
  std::string out;    ///< folder of checkpoints, metrics and samples
  std::string resume; ///< "auto", "none", a checkpoint, or "" where not given
  std::vector<std::string> data; ///< empty: the files of the spec
  std::string dumpGradients;     ///< empty: none
  int threads = 0;               ///< 0: cores / local ranks
  bool sample = false;
  std::string exportTo;      ///< folder; empty: no export
  std::string exportWeights; ///< "model" or "ema"
  std::string exportDtype;   ///< of floats: "storage", "fp32", "bf16" or "fp16"
  uint64_t exportShard = 0;  ///< bytes of a file of weights, at most
  bool profile = false;
  bool dumpSamples = false;
  bool printLayout = false;
  bool reportMemory = false;
  bool reportLoading = false;
  bool loadPerNode = false;
  bool graphs = true;             ///< on a GPU: replay captured graphs
  double collectiveTimeout = 600; ///< on a GPU, in seconds
};

/// Parses the command line, with the spec's values as defaults. Returns true
/// where the process should go on; else it has printed the help, or an error
/// that names the flag and its value, and `status` is the exit status.
bool parseOptions(int argc, char **argv, const Metadata &metadata,
                  Options &options, int &status);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_OPTIONS_H
