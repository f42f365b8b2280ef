//===- Plan.cpp - What a run takes, before it is started ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Plan.h"
#include "runtime/core/Error.h"
#include "runtime/launch/Launch.h"
#include "runtime/train/CheckpointFiles.h"
#include "runtime/train/Data.h"
#include "runtime/train/Schedule.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

namespace ff::rt {

namespace {

/// A dtype as the language writes it: "fp32" for "f32" and "F32".
std::string languageName(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  if (name == "f16" || name == "f32" || name == "f64")
    name.insert(1, "p");
  return name;
}

size_t storageBytes(const Param &param) {
  return static_cast<size_t>(param.numel()) * fileDtypeSize(param.savedDtype);
}

/// A weight that could have an adapter, as the frontend sees it.
bool isLayer(const Param &param) {
  constexpr std::string_view suffix = ".weight";
  return param.shape.size() == 2 && param.name.size() > suffix.size() &&
         param.name.compare(param.name.size() - suffix.size(), suffix.size(),
                            suffix) == 0;
}

/// The weights that have adapters, by component and name. Those of fp8 and int8
/// are not merged, so `merge` does not tell.
std::set<std::pair<int, std::string>> adaptedWeights(const Metadata &metadata) {
  const std::string suffix = ".lora_A.weight";
  std::set<std::pair<int, std::string>> names;
  for (const Group &group : metadata.groups)
    for (const Param &param : group.params) {
      size_t end = param.name.size();
      if (end > suffix.size() &&
          param.name.compare(end - suffix.size(), suffix.size(), suffix) == 0)
        names.insert({group.component,
                      param.name.substr(0, end - suffix.size()) + ".weight"});
    }
  return names;
}

void addModel(const Metadata &metadata, const Layout &layout, Plan &plan) {
  for (const Component &component : metadata.components) {
    PlanComponent own;
    own.name = component.name;
    own.module = component.module;
    own.train = component.lora ? "lora" : component.trained ? "full" : "frozen";
    plan.components.push_back(own);
  }
  plan.units = metadata.units;
  const auto adapted = adaptedWeights(metadata);
  for (size_t i = 0; i < metadata.groups.size(); ++i) {
    const Group &group = metadata.groups[i];
    PlanComponent &component = plan.components[group.component];
    PlanGroup own;
    own.component = group.component;
    own.unit = group.unit;
    own.dtype = languageName(group.storageDtype);
    own.gatherDtype = languageName(dtypeName(group.dtype));
    own.masterDtype = languageName(dtypeName(group.masterDtype));
    own.trainable = group.trainable;
    if (group.trainable)
      own.reduceDtype = languageName(dtypeName(group.reduceDtype));
    own.tensors = static_cast<int64_t>(group.params.size());
    bool lora = metadata.components[group.component].lora.has_value();
    for (const Param &param : group.params) {
      own.params += param.numel();
      own.bytes += storageBytes(param);
      if (param.source)
        component.fileBytes += static_cast<size_t>(param.numel()) *
                               fileDtypeSize(param.source->dtype);
      if (lora && !group.trainable && isLayer(param))
        ++component.layers;
      if (lora && !group.trainable &&
          adapted.count({group.component, param.name})) {
        ++component.adaptedLayers;
        component.adaptedParams += param.numel();
      }
    }
    component.params += own.params;
    component.bytes += own.bytes;
    component.rankBytes += layout.groups[i].master.bytes;
    if (group.trainable)
      component.trainableParams += own.params;
    if (group.trainable && lora)
      component.adapterParams += own.params;
    plan.groups.push_back(own);
  }
}

/// The arena is reserved for the whole run; a phase uses a part of it.
void addMemory(const Metadata &metadata, const Layout &layout, Plan &plan) {
  LayoutTotals totals = totalsOf(metadata, layout);
  plan.trainedBytes = totals.trained;
  plan.frozenBytes = totals.frozen;
  PlanPhase load{"load"}, step{"forward_backward"}, optimizer{"optimizer"},
      save{"save"};
  for (PlanPhase *phase : {&load, &step, &optimizer, &save}) {
    phase->parameters = totals.trained + totals.frozen;
    phase->optimizer = totals.moments + totals.ema;
  }
  load.host = stagingBytes;
  step.gradients = totals.gradients + totals.gradSlots;
  step.activations = layout.activations.bytes + layout.inputs.bytes +
                     layout.outputs.bytes + layout.matmulScratch.bytes +
                     layout.records.bytes;
  step.gather = totals.copies + totals.gatherSlots + layout.collectives.bytes;
  optimizer.gradients = totals.gradients;
  save.host = layout.hostBytes;
  plan.phases = {load, step, optimizer, save};
  plan.peakDeviceBytes = layout.totalBytes;
  plan.peakHostBytes = layout.peakHostBytes();
}

void addLargestBuffer(const Metadata &metadata, const Layout &layout,
                      Plan &plan) {
  auto consider = [&](size_t bytes, const char *what, DType dtype, int unit) {
    if (bytes > plan.largestBuffer.bytes)
      plan.largestBuffer = {
          bytes, fmt::format("{} {} of {}", languageName(dtypeName(dtype)),
                             what, metadata.units[unit].name)};
  };
  for (size_t i = 0; i < metadata.groups.size(); ++i) {
    const Group &group = metadata.groups[i];
    const GroupLayout &place = layout.groups[i];
    auto whole = static_cast<size_t>(place.whole());
    consider(whole * dtypeSize(group.dtype), "gathered parameters", group.dtype,
             group.unit);
    if (group.trainable)
      consider(whole * dtypeSize(group.reduceDtype), "gradients",
               group.reduceDtype, group.unit);
    consider(place.master.bytes, "slice of parameters", group.masterDtype,
             group.unit);
  }
}

/// Collectives of a step by kind, axis and unit, in the order of their first.
class Collectives {
public:
  explicit Collectives(std::vector<PlanCollective> &all) : all(all) {}

  void add(const char *kind, const char *axis, int unit, int64_t count,
           size_t rankBytes, size_t totalBytes) {
    if (totalBytes == 0)
      return;
    auto it = std::find_if(all.begin(), all.end(), [&](PlanCollective &other) {
      return other.unit == unit && !std::strcmp(other.kind, kind) &&
             !std::strcmp(other.axis, axis);
    });
    if (it == all.end())
      it = all.insert(all.end(), {kind, axis, unit, 0, 0, 0});
    it->count += count;
    it->rankBytes += rankBytes;
    it->totalBytes += totalBytes;
  }

private:
  std::vector<PlanCollective> &all;
};

/// What UnitExchange sends: in a gather or a reduce-scatter each rank receives
/// the slices of the others, or their parts of its own.
void addCollectives(const Metadata &metadata, const Program &program,
                    const Layout &layout, Plan &plan) {
  Collectives collectives(plan.collectives);
  auto world = static_cast<size_t>(plan.mesh.world());
  auto rounds = static_cast<size_t>(plan.batch.accumulation);
  // How often each unit is gathered and reduced in a micro-step.
  std::vector<std::pair<int, bool>> order;
  std::map<std::pair<int, bool>, size_t> counts;
  for (const Program::Collective &collective : program.collectives)
    if (counts[{collective.unit, collective.reduce}]++ == 0)
      order.emplace_back(collective.unit, collective.reduce);
  for (auto [unit, reduce] : order) {
    size_t bytes = 0;
    for (int index : metadata.units[unit].groups) {
      const Group &group = metadata.groups[index];
      const GroupLayout &place = layout.groups[index];
      if (place.shards > 1 && (!reduce || group.trainable))
        bytes += static_cast<size_t>(place.owned * (place.shards - 1)) *
                 dtypeSize(reduce ? group.reduceDtype : group.dtype);
    }
    size_t count = counts[{unit, reduce}] * rounds;
    collectives.add(reduce ? "reduce_scatter" : "all_gather", "shard", unit,
                    static_cast<int64_t>(count), bytes * count,
                    bytes * count * world);
  }
  for (size_t i = 0; i < metadata.groups.size(); ++i) {
    const Group &group = metadata.groups[i];
    const GroupLayout &place = layout.groups[i];
    if (!group.trainable)
      continue;
    // Rank 0 has a whole chunk: it receives it from each other rank, and then
    // all other chunks.
    auto allReduce = [&](const char *axis, int64_t ranks) {
      int64_t chunk = std::min((place.owned + ranks - 1) / ranks, place.owned);
      size_t size = dtypeSize(place.gradDtype);
      auto most =
          static_cast<size_t>((ranks - 1) * chunk + place.owned - chunk);
      auto all = static_cast<size_t>(2 * (ranks - 1) * place.owned);
      if (ranks > 1)
        collectives.add("all_reduce", axis, group.unit, 1, most * size,
                        all * size * (world / static_cast<size_t>(ranks)));
    };
    if (place.shards == 1)
      allReduce("shard", plan.mesh.shard);
    allReduce("replicate", plan.mesh.replicate);
  }
}

void addSchedule(const Metadata &metadata, std::optional<int64_t> samples,
                 Plan &plan) {
  const TrainPolicy &train = *metadata.train;
  SchedulePolicy policy = metadata.schedule.value_or(SchedulePolicy{});
  PlanSchedule &schedule = plan.schedule;
  schedule.kind = policy.cosine ? "cosine" : "constant";
  schedule.steps = train.steps;
  schedule.warmupSteps = policy.warmupSteps;
  auto lr = [&](int64_t step) {
    return learningRate(*metadata.optimizer, policy, step);
  };
  schedule.lrFirst = lr(1); // the trainer counts steps from 1
  schedule.lrAfterWarmup = lr(std::max<int64_t>(policy.warmupSteps, 1));
  schedule.lrLast = lr(train.steps);
  schedule.samples = samples;
  schedule.samplesRead = train.steps * train.globalBatch;
  if (samples)
    schedule.samplesDropped =
        std::max<int64_t>(*samples - schedule.samplesRead, 0);
}

void addCheckpoint(const Metadata &metadata, const Layout &layout, Plan &plan) {
  CheckpointFiles files(metadata, layout);
  PlanCheckpoint &checkpoint = plan.checkpoint;
  std::string prefix;
  for (size_t i = 0; i < files.files.size(); ++i) {
    const ParameterFile &file = files.files[i];
    size_t bytes = file.plan.totalBytes();
    bool merged = i >= files.firstMerged;
    bool state = i >= files.firstState && !merged;
    (merged  ? checkpoint.merged
     : state ? checkpoint.state
             : checkpoint.model) += bytes;
    if (state)
      continue;
    int component = metadata.groups[file.params.front().first].component;
    if (plan.save.empty() || plan.save.back().component != component ||
        merged != !std::strcmp(plan.save.back().kind, "merged")) {
      const auto &save = metadata.components[component].save;
      plan.save.push_back({component,
                           merged                  ? "merged"
                           : save && save->adapter ? "adapter"
                                                   : "full",
                           {}});
    }
    plan.save.back().files.push_back(
        {file.path, file.plan.tensors().size(), bytes});
  }
  checkpoint.total = files.bytes();
  checkpoint.keep = std::max<int64_t>(metadata.checkpoint.keep, 1);
  checkpoint.kept = checkpoint.total * static_cast<size_t>(checkpoint.keep);
  checkpoint.peak = checkpoint.kept + checkpoint.total;
  plan.checkpointDir = metadata.checkpoint.dir;
}

void addBuckets(const Metadata &metadata, int world, Plan &plan) {
  for (const BucketPolicy &bucket : metadata.train->buckets) {
    const Program &program = metadata.program(bucket.program);
    StepPlan step(metadata.train->globalBatch, bucket.microBatch, world);
    PlanBucket entry;
    for (const TensorType &input : program.inputs)
      entry.inputs += fmt::format("{}{} {}", entry.inputs.empty() ? "" : ", ",
                                  input.name, shapeText(input.shape));
    entry.micro = bucket.microBatch;
    entry.accumulation = step.rounds;
    entry.flops = program.flops * static_cast<double>(step.microBatches);
    plan.buckets.push_back(std::move(entry));
  }
}

} // namespace

Plan computePlan(const Metadata &metadata, const PlanRequest &request) {
  const Program &program = programOf(metadata, RunMode::Train);
  const TrainPolicy &train = *metadata.train;
  LayoutRequest layoutRequest{RunMode::Train, request.mesh,
                              request.matmulScratchBytes};
  Layout layout = computeLayout(metadata, layoutRequest);
  Plan plan;
  plan.name = metadata.name;
  plan.spec = metadata.spec;
  plan.mesh = request.mesh;
  int64_t world = plan.mesh.world();
  const BucketPolicy &bucket = train.buckets.front();
  StepPlan step(train.globalBatch, bucket.microBatch, static_cast<int>(world));
  plan.batch = {bucket.microBatch, step.rounds, world, train.globalBatch,
                step.rounds * world - step.microBatches};
  if (train.buckets.size() > 1)
    addBuckets(metadata, static_cast<int>(world), plan);
  addModel(metadata, layout, plan);
  addMemory(metadata, layout, plan);
  addLargestBuffer(metadata, layout, plan);
  addCollectives(metadata, program, layout, plan);
  addSchedule(metadata, request.samples, plan);
  addCheckpoint(metadata, layout, plan);
  plan.flopsPerStep = program.flops * static_cast<double>(step.microBatches);
  plan.flopsPerRank = program.flops * static_cast<double>(step.rounds);
  plan.recompute = program.recompute;
  plan.deviceMemory = metadata.deviceMemory;
  plan.hostMemory = metadata.hostMemory;
  return plan;
}

std::string diskWarning(const Plan &plan) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = fs::absolute(plan.checkpointDir, error);
  while (!fs::exists(folder, error) && folder.has_relative_path())
    folder = folder.parent_path();
  std::optional<uint64_t> free = freeBytes(folder.string());
  if (!free || plan.checkpoint.peak <= *free)
    return "";
  return fmt::format(
      "checkpoints will need {} in {} ({} of {}, one of them while it is "
      "written), which has {} free; fix: a smaller checkpoint.keep ({}), or "
      "another checkpoint.dir",
      bytesText(plan.checkpoint.peak), plan.checkpointDir,
      plan.checkpoint.keep + 1, bytesText(plan.checkpoint.total),
      bytesText(*free), plan.checkpoint.keep);
}

} // namespace ff::rt
