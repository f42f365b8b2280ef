//===- Main.cpp - The entry point of a trainer ----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Threads.h"
#include "runtime/core/Backend.h"
#include "runtime/core/Error.h"
#include "runtime/launch/Launch.h"
#include "runtime/train/DurableFile.h"
#include "runtime/train/Export.h"
#include "runtime/train/Run.h"

#include <csignal>
#include <cstdio>

using namespace ff::rt;

namespace {

void printLayout(const Metadata &metadata, const Options &options,
                 Backend &backend) {
  int64_t world = options.ranks ? options.ranks : 1;
  // As runRank() does: the scratch of matmuls depends on it.
  setThreads(options.threads
                 ? options.threads
                 : std::max(availableCores() / static_cast<int>(world), 1));
  LayoutRequest request{options.sample ? RunMode::Sample : RunMode::Train,
                        resolveMesh(metadata.replicate, metadata.shard, world),
                        backend.matmulScratchBytes(metadata)};
  std::printf("%s",
              formatLayout(metadata, request, computeLayout(metadata, request))
                  .c_str());
}

/// What decides how collectives are launched must be the same on every rank: a
/// launcher may have started them with other flags.
void checkSameOptions(const Options &options, Communicator &comm) {
  std::string mine = fmt::format(
      "{}{}{}{}{}", options.graphs ? "" : " --no-graphs",
      options.profile ? " --profile" : "", options.sample ? " --sample" : "",
      options.loadPerNode ? " --load per-node" : "",
      options.reportLoading ? " --report-loading" : "");
  std::vector<std::string> all = comm.exchange(mine);
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      fail(
          "rank 0 was started with the flags '{}', rank {} with '{}'; fix: the "
          "same flags on every rank",
          all[0], rank, all[rank]);
}

void runRank(const Metadata &metadata, const Options &options,
             const LaunchInfo &info, const ff_entry *entries,
             int32_t numEntries, Backend &backend) {
  std::unique_ptr<RankStore> store;
  if (info.world > 1)
    store = std::make_unique<RankStore>(info);
  int share = std::max(availableCores() / info.localWorld, 1);
  setThreads(options.threads ? options.threads : share);
  // Here, where the store still is, so that an error reaches the other ranks.
  orFatal([&] {
    MeshShape mesh =
        resolveMesh(metadata.replicate, metadata.shard, info.world);
    backend.graphs = options.graphs;
    backend.profile = options.profile;
    backend.timeoutSeconds = options.collectiveTimeout;
    std::unique_ptr<Communicator> comm =
        backend.connect(info, mesh, store.get());
    checkSameOptions(options, *comm);
    RunSetup setup{metadata, options, backend, *comm, entries, numEntries};
    // Here, where the communicator still is: to destroy it waits for what runs.
    orFatal([&] {
      if (options.sample)
        runSampling(setup);
      else
        runTraining(setup);
      comm->barrier();
    });
  });
  if (store)
    store->leave();
}

} // namespace

int ff::rt::runMain(int argc, char **argv, const char *metadataText,
                    const ff_entry *entries, int32_t numEntries,
                    Backend &backend) {
  return orFatal([&] {
    Metadata metadata = parseMetadata(metadataText);
    Options options;
    int status = 0;
    if (!parseOptions(argc, argv, metadata, options, status))
      return status;
    if (options.printLayout) {
      printLayout(metadata, options, backend);
      return 0;
    }
    if (!options.exportTo.empty()) {
      exportWeights(metadata, options);
      return 0;
    }
    if (options.ranks) // before they start, where it can be known
      resolveMesh(metadata.replicate, metadata.shard, options.ranks);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN); // the write fails then, with a message
    auto info = launch(options.ranks, status);
    if (!info)
      return status;
    setErrorRank(info->rank);
    armFaults(info->rank);
    catchStopSignals();
    runRank(metadata, options, *info, entries, numEntries, backend);
    return 0;
  });
}
