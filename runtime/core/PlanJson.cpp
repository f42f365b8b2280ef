//===- PlanJson.cpp - A plan as JSON --------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The keys are what scripts rely on: docs/plan.md lists them, and
// test/tools/plan/json.test pins them.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Plan.h"

#include <nlohmann/json.hpp>

namespace ff::rt {

using json = nlohmann::ordered_json;

static json orNull(const std::string &text) {
  return text.empty() ? json(nullptr) : json(text);
}

static json orNull(std::optional<int64_t> number) {
  return number ? json(*number) : json(nullptr);
}

static json componentsOf(const Plan &plan) {
  json all = json::array();
  for (const PlanComponent &component : plan.components) {
    json adapters = nullptr;
    if (component.train == "lora")
      adapters = {{"layers", component.adaptedLayers},
                  {"of_layers", component.layers},
                  {"params", component.adapterParams},
                  {"adapted_params", component.adaptedParams}};
    all.push_back({{"name", component.name},
                   {"module", component.module},
                   {"train", component.train},
                   {"params", component.params},
                   {"trainable_params", component.trainableParams},
                   {"bytes", component.bytes},
                   {"bytes_per_rank", component.rankBytes},
                   {"file_bytes", component.fileBytes},
                   {"adapters", adapters}});
  }
  return all;
}

static json groupsOf(const Plan &plan) {
  json all = json::array();
  for (const PlanGroup &group : plan.groups)
    all.push_back({{"component", plan.components[group.component].name},
                   {"unit", plan.units[group.unit].name},
                   {"dtype", group.dtype},
                   {"gather_dtype", group.gatherDtype},
                   {"master_dtype", group.masterDtype},
                   {"trainable", group.trainable},
                   {"reduce_dtype", orNull(group.reduceDtype)},
                   {"tensors", group.tensors},
                   {"params", group.params},
                   {"bytes", group.bytes}});
  return all;
}

static json unitsOf(const Plan &plan) {
  json all = json::array();
  for (const Unit &unit : plan.units)
    all.push_back({{"name", unit.name},
                   {"component", plan.components[unit.component].name},
                   {"groups", unit.groups}});
  return all;
}

static json memoryOf(const Plan &plan) {
  json all;
  for (const PlanPhase &phase : plan.phases)
    all[phase.name] = {
        {"parameters", phase.parameters}, {"gradients", phase.gradients},
        {"optimizer", phase.optimizer},   {"activations", phase.activations},
        {"gather", phase.gather},         {"host", phase.host}};
  return all;
}

static json collectivesOf(const Plan &plan) {
  json all = json::array();
  for (const PlanCollective &collective : plan.collectives)
    all.push_back({{"kind", collective.kind},
                   {"axis", collective.axis},
                   {"unit", plan.units[collective.unit].name},
                   {"count", collective.count},
                   {"bytes_per_rank", collective.rankBytes},
                   {"total_bytes", collective.totalBytes}});
  return all;
}

static json bucketsOf(const Plan &plan) {
  json all = json::array();
  for (const PlanBucket &bucket : plan.buckets)
    all.push_back({{"inputs", bucket.inputs},
                   {"micro", bucket.micro},
                   {"accumulation", bucket.accumulation},
                   {"flops_per_step", bucket.flops}});
  return all;
}

static json saveOf(const Plan &plan) {
  json all = json::array();
  for (const PlanSave &save : plan.save) {
    json files = json::array();
    for (const PlanFile &file : save.files)
      files.push_back({{"name", file.name},
                       {"tensors", file.tensors},
                       {"bytes", file.bytes}});
    all.push_back({{"component", plan.components[save.component].name},
                   {"kind", save.kind},
                   {"files", files}});
  }
  return all;
}

std::string planToJson(const Plan &plan) {
  const PlanBatch &batch = plan.batch;
  const PlanSchedule &schedule = plan.schedule;
  const PlanCheckpoint &checkpoint = plan.checkpoint;
  json root = {{"name", plan.name},
               {"spec", plan.spec},
               {"mesh",
                {{"replicate", plan.mesh.replicate},
                 {"shard", plan.mesh.shard},
                 {"ranks", plan.mesh.world()}}},
               {"fits", plan.fits()},
               {"peak_device_bytes", plan.peakDeviceBytes},
               {"peak_host_bytes", plan.peakHostBytes},
               {"device_memory", orNull(plan.deviceMemory)},
               {"host_memory", orNull(plan.hostMemory)},
               {"trained_bytes_per_rank", plan.trainedBytes},
               {"frozen_bytes_per_rank", plan.frozenBytes},
               {"largest_buffer",
                {{"bytes", plan.largestBuffer.bytes},
                 {"what", plan.largestBuffer.what}}},
               {"memory", memoryOf(plan)},
               {"components", componentsOf(plan)},
               {"units", unitsOf(plan)},
               {"groups", groupsOf(plan)},
               {"collectives", collectivesOf(plan)},
               {"buckets", bucketsOf(plan)},
               {"batch",
                {{"micro", batch.micro},
                 {"accumulation", batch.accumulation},
                 {"data_parallel", batch.dataParallel},
                 {"global", batch.global},
                 {"idle_micro_batches", batch.idleMicroBatches}}},
               {"schedule",
                {{"kind", schedule.kind},
                 {"steps", schedule.steps},
                 {"warmup_steps", schedule.warmupSteps},
                 {"lr_first", schedule.lrFirst},
                 {"lr_after_warmup", schedule.lrAfterWarmup},
                 {"lr_last", schedule.lrLast},
                 {"samples", orNull(schedule.samples)},
                 {"samples_read", schedule.samplesRead},
                 {"samples_dropped", schedule.samplesDropped},
                 {"samples_repeated", schedule.samplesRepeated}}},
               {"save", saveOf(plan)},
               {"checkpoint_bytes",
                {{"model", checkpoint.model},
                 {"state", checkpoint.state},
                 {"merged", checkpoint.merged},
                 {"total", checkpoint.total},
                 {"keep", checkpoint.keep},
                 {"kept", checkpoint.kept},
                 {"peak", checkpoint.peak}}},
               {"flops_per_step", plan.flopsPerStep},
               {"flops_per_rank", plan.flopsPerRank},
               {"recompute", plan.recompute}};
  return root.dump(1) + "\n";
}

} // namespace ff::rt
