//===- Plan.h - What a run takes, before it is started --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pure function of the metadata and the mesh. Memory comes from the Layout
// that the trainer reserves by, files from the CheckpointFiles that it writes,
// so the numbers are the trainer's, to the byte. docs/plan.md explains them.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_PLAN_H
#define FF_RUNTIME_CORE_PLAN_H

#include "runtime/core/Layout.h"

#include <optional>
#include <string>
#include <vector>

namespace ff::rt {

struct PlanRequest {
  MeshShape mesh;
  size_t matmulScratchBytes = 0;  ///< see LayoutRequest
  std::optional<int64_t> samples; ///< in the data, where its headers say it
};

struct PlanComponent {
  std::string name, module;
  std::string train; ///< full, lora or frozen
  int64_t params = 0, trainableParams = 0;
  size_t bytes = 0;     ///< in the storage dtypes, over all ranks
  size_t rankBytes = 0; ///< slices of one rank, in the master dtypes
  size_t fileBytes = 0; ///< of the tensors in weight files
  // Of adapters: layers that have one, of all weights of rank 2.
  int64_t adaptedLayers = 0, layers = 0;
  int64_t adapterParams = 0, adaptedParams = 0;
};

/// A group as a user knows it; dtypes are those of the language ("bf16").
struct PlanGroup {
  int component = 0, unit = 0;
  std::string dtype, gatherDtype, masterDtype;
  std::string reduceDtype; ///< empty where nothing is trained
  bool trainable = false;
  int64_t tensors = 0, params = 0;
  size_t bytes = 0; ///< of the whole group in `dtype`, without padding
};

/// What of the arena is in use in a phase, and what is taken besides.
struct PlanPhase {
  const char *name;
  size_t parameters = 0, gradients = 0, optimizer = 0, activations = 0,
         gather = 0, host = 0;

  size_t deviceBytes() const {
    return parameters + gradients + optimizer + activations + gather;
  }
};

/// One kind of collective of one unit, in one optimizer step.
struct PlanCollective {
  const char *kind; ///< all_gather, reduce_scatter or all_reduce
  const char *axis; ///< shard or replicate
  int unit = 0;
  int64_t count = 0;
  size_t rankBytes = 0;  ///< that the busiest rank receives, in all of them
  size_t totalBytes = 0; ///< that all ranks receive
};

struct PlanFile {
  std::string name; ///< below the folder of the checkpoint
  size_t tensors = 0, bytes = 0;
};

struct PlanSave {
  int component = 0;
  const char *kind; ///< full, adapter or merged
  std::vector<PlanFile> files;
};

struct PlanBatch {
  int64_t micro = 0, accumulation = 0, dataParallel = 0, global = 0;
  int64_t idleMicroBatches = 0; ///< of a step, that count nothing
};

/// The step for samples of one shape; there are several or none.
struct PlanBucket {
  std::string inputs; ///< "image [8, 3, 64, 64]", with the micro-batch
  int64_t micro = 0, accumulation = 0;
  double flops = 0; ///< of a step
};

struct PlanSchedule {
  std::string kind;
  int64_t steps = 0, warmupSteps = 0;
  double lrFirst = 0, lrAfterWarmup = 0, lrLast = 0;
  std::optional<int64_t> samples; ///< in the data
  int64_t samplesRead = 0;        ///< in the whole run
  /// Of an epoch. Epochs follow each other without a seam, so only a run that
  /// ends inside its first epoch leaves samples out, and none comes twice.
  int64_t samplesDropped = 0, samplesRepeated = 0;
};

struct PlanCheckpoint {
  size_t model = 0, state = 0, merged = 0, total = 0;
  int64_t keep = 0;
  size_t kept = 0; ///< on disk after the run
  size_t peak = 0; ///< while the newest is written and none is removed yet
};

struct PlanBuffer {
  size_t bytes = 0;
  std::string what; ///< "gathered bf16 parameters of net.root"
};

struct Plan {
  std::string name, spec;
  MeshShape mesh;
  std::vector<PlanComponent> components;
  std::vector<Unit> units;
  std::vector<PlanGroup> groups;
  std::vector<PlanPhase> phases; ///< load, forward_backward, optimizer, save
  size_t trainedBytes = 0, frozenBytes = 0; ///< parameters of one rank
  size_t peakDeviceBytes = 0, peakHostBytes = 0;
  PlanBuffer largestBuffer;
  std::vector<PlanCollective> collectives;
  PlanBatch batch; ///< of the first bucket
  std::vector<PlanBucket> buckets;
  PlanSchedule schedule;
  std::vector<PlanSave> save;
  PlanCheckpoint checkpoint;
  std::string checkpointDir;
  double flopsPerStep = 0, flopsPerRank = 0;
  std::vector<std::string> recompute;
  std::optional<int64_t> deviceMemory, hostMemory;

  bool fitsDevice() const {
    return !deviceMemory ||
           peakDeviceBytes <= static_cast<size_t>(*deviceMemory);
  }
  bool fitsHost() const {
    return !hostMemory || peakHostBytes <= static_cast<size_t>(*hostMemory);
  }
  bool fits() const { return fitsDevice() && fitsHost(); }
};

Plan computePlan(const Metadata &metadata, const PlanRequest &request);

/// One JSON object, with the keys in docs/plan.md.
std::string planToJson(const Plan &plan);

/// A table to read.
std::string planToText(const Plan &plan);

/// "12.34 GiB".
std::string bytesText(size_t bytes);

/// For a compiler, which has no exceptions: plans a metadata text for `ranks`
/// ranks (0: as many as the mesh of the spec says, or one) on this machine. On
/// an Error the result is nothing and `error` says why.
class Planner {
public:
  static std::optional<Planner> create(const std::string &metadataText,
                                       std::string &error);
  std::optional<Plan> plan(int64_t ranks, std::string &error) const;
  /// The same with another size of the shard axis, as if the spec said so.
  std::optional<Plan> planOnMesh(MeshShape mesh, std::string &error) const;

  const Metadata &metadata() const { return data; }
  /// How many ranks the spec asks for; one where it does not say.
  int64_t defaultRanks() const;

private:
  Metadata data;
};

/// The warning about the free space of the folder of the checkpoints, or "".
std::string diskWarning(const Plan &plan);

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_PLAN_H
