//===- Options.cpp - The command line of a trainer ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Options.h"
#include "runtime/core/Error.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace ff::rt {

bool parseOptions(int argc, char **argv, const Metadata &metadata,
                  Options &options, int &status) {
  options.out = metadata.checkpoint.dir;
  CLI::App app(fmt::format("Trains '{}', compiled from {}", metadata.name,
                           metadata.spec));
  app.add_option("--ranks", options.ranks,
                 "Start this many ranks on this machine (default: 1, or what "
                 "torchrun, SLURM or Open MPI set up)")
      ->check(CLI::Range(1, 4096));
  app.add_option(
         "--steps", options.steps,
         "Stop after this optimizer step, counted from the start of the "
         "run (default: what the spec says)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 50));
  app.add_option("--out", options.out,
                 "Folder of checkpoints, metrics.jsonl and samples")
      ->capture_default_str();
  app.add_option("--resume", options.resume,
                 "auto: continue from the newest complete checkpoint in --out, "
                 "if any; PATH: from this one; none: from the start, with what "
                 "--out holds set aside. Default: from the start, if --out "
                 "holds none; with --sample auto");
  app.add_option("--data", options.data,
                 "Files or folders to read in place of those of [data]: of "
                 "safetensors or Parquet, as docs/data.md says");
  app.add_flag("--sample", options.sample,
               "Do not train: draw the samples of [sample] from a checkpoint");
  app.add_option("--export", options.exportTo,
                 "Do not train: write the weights of a checkpoint to this new "
                 "folder, under the names of the files that they came from, as "
                 "diffusers and PEFT read them");
  app.add_option("--export-weights", options.exportWeights,
                 "Which weights of what is trained: model or ema")
      ->check(CLI::IsMember({"model", "ema"}))
      ->default_str("model");
  app.add_option("--export-dtype", options.exportDtype,
                 "Dtype of floats in the files; storage: as in checkpoints")
      ->check(CLI::IsMember({"storage", "fp32", "bf16", "fp16"}))
      ->default_str("storage");
  app.add_option("--export-shard", options.exportShard,
                 "Bytes of a file of weights, at most")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 50))
      ->default_str("10000000000");
  app.add_option(
         "--threads", options.threads,
         "Threads of each rank (default: cores / ranks on this machine)")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--profile", options.profile,
               "Print at the end where the time went, for each kernel and "
               "matmul as well; every call is waited for");
  app.add_flag("--print-layout", options.printLayout,
               "Print the memory of a rank, and stop");
  app.add_flag("--report-memory", options.reportMemory,
               "Print at the end the planned and the measured memory of rank "
               "0, as a line of JSON");
  std::string load = "per-rank";
  app.add_option("--load", load,
                 "Who reads weights and checkpoints. per-rank: every rank what "
                 "it needs; per-node: what several ranks of a machine need, as "
                 "with replicas, is read once there and shared in 16 MiB of "
                 "memory, for file systems that are slow")
      ->check(CLI::IsMember({"per-rank", "per-node"}))
      ->capture_default_str();
  app.add_flag("--report-loading", options.reportLoading,
               "Print how long the parameters took to load, and what each rank "
               "read and had in memory until then, as a line of JSON");
  app.add_option("--dump-gradients", options.dumpGradients,
                 "Write the gradients of the first optimizer step, before "
                 "clipping, to this safetensors file");
  app.add_flag("--dump-samples", options.dumpSamples,
               "Print the numbers of the samples that each rank reads");
  if (metadata.target) {
    app.add_flag("!--no-graphs", options.graphs,
                 "Launch every kernel anew instead of replaying CUDA graphs");
    app.add_option("--timeout", options.collectiveTimeout,
                   "Seconds without progress on the GPU after which all ranks "
                   "end, with the collective that did not")
        ->check(CLI::Range(1.0, 1e6))
        ->capture_default_str();
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    if (e.get_exit_code() == 0) {
      std::printf("%s", app.help().c_str());
      status = 0;
      return false;
    }
    std::fprintf(stderr, "error: %s; --help lists the options\n", e.what());
    status = 2;
    return false;
  }
  options.loadPerNode = load == "per-node";
  if (options.out.empty()) {
    std::fprintf(stderr, "error: --out is empty; fix: name a folder\n");
    status = 2;
    return false;
  }
  return true;
}

} // namespace ff::rt
