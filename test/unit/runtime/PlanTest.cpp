//===- PlanTest.cpp - The plan of a run -----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Plan.h"
#include "TestSupport.h"
#include "runtime/train/CheckpointFiles.h"

#include <gtest/gtest.h>

using namespace ff::rt;
using namespace ff::rt::test;

namespace {

Plan planOf(const nlohmann::json &metadata, MeshShape mesh,
            std::optional<int64_t> samples = std::nullopt) {
  return computePlan(parseMetadata(metadata.dump()), {mesh, 1000, samples});
}

nlohmann::json withCollectives() {
  nlohmann::json json = tinyMetadata();
  json["programs"][0]["flops"] = 1000.0;
  json["programs"][0]["collectives"] = nlohmann::json::parse(
      R"([{"kind": "gather", "unit": 0}, {"kind": "gather", "unit": 1},
          {"kind": "reduce", "unit": 1}, {"kind": "gather", "unit": 0},
          {"kind": "reduce", "unit": 0}])");
  return json;
}

} // namespace

TEST(Plan, MemoryIsThatOfTheLayout) {
  Metadata metadata = parseMetadata(tinyMetadata().dump());
  for (MeshShape mesh : {MeshShape{1, 1}, {1, 2}, {2, 2}, {1, 5}}) {
    Plan plan = computePlan(metadata, {mesh, 1000, std::nullopt});
    Layout layout = computeLayout(metadata, {RunMode::Train, mesh, 1000});
    EXPECT_EQ(plan.peakDeviceBytes, layout.totalBytes);
    EXPECT_EQ(plan.peakHostBytes, layout.totalBytes + layout.hostBytes);
    ASSERT_EQ(plan.phases.size(), 4u);
    // The step uses all of the arena but its padding.
    size_t used = plan.phases[1].deviceBytes();
    EXPECT_LE(used, layout.totalBytes);
    EXPECT_GT(used + 64 * 30, layout.totalBytes);
    for (const PlanPhase &phase : plan.phases)
      EXPECT_LE(phase.deviceBytes(), used);
    EXPECT_EQ(plan.phases[3].host, layout.hostBytes);
  }
}

TEST(Plan, ComponentsAndGroups) {
  Plan plan = planOf(tinyMetadata(), {1, 2});
  ASSERT_EQ(plan.components.size(), 1u);
  EXPECT_EQ(plan.components[0].train, "full");
  EXPECT_EQ(plan.components[0].params, 35 + 7 + 7 + 7);
  EXPECT_EQ(plan.components[0].trainableParams, 35 + 7 + 7);
  EXPECT_EQ(plan.components[0].bytes, 4u * 56);
  ASSERT_EQ(plan.groups.size(), 3u);
  EXPECT_EQ(plan.groups[0].dtype, "fp32");
  EXPECT_EQ(plan.groups[0].params, 42);
  EXPECT_EQ(plan.groups[0].bytes, 168u);
  EXPECT_EQ(plan.groups[0].reduceDtype, "fp32");
  EXPECT_FALSE(plan.groups[2].trainable);
  EXPECT_EQ(plan.groups[2].reduceDtype, "");
}

TEST(Plan, NarrowMastersAndFiles) {
  nlohmann::json json = tinyMetadata();
  json["components"][0]["files"] = {"w.safetensors"};
  nlohmann::json &group = json["groups"][2];
  group["storage_dtype"] = group["dtype"] = group["master_dtype"] = "bf16";
  group["params"][0]["source"] = {
      {"file", 0}, {"tensor", "scale"}, {"dtype", "f32"}};
  Plan plan = planOf(json, {1, 1});
  EXPECT_EQ(plan.groups[2].dtype, "bf16");
  EXPECT_EQ(plan.groups[2].bytes, 14u);
  EXPECT_EQ(plan.components[0].fileBytes, 28u);
  EXPECT_EQ(plan.frozenBytes, 32u); // 16 elements of 2 bytes
}

TEST(Plan, NoCollectivesOnOneRank) {
  EXPECT_TRUE(planOf(withCollectives(), {1, 1}).collectives.empty());
}

TEST(Plan, CollectivesOfAStep) {
  // 3 micro-batches on 2 ranks: 2 rounds, of which one micro-batch is idle.
  Plan plan = planOf(withCollectives(), {1, 2});
  EXPECT_EQ(plan.batch.accumulation, 2);
  EXPECT_EQ(plan.batch.idleMicroBatches, 1);
  ASSERT_EQ(plan.collectives.size(), 4u);
  const PlanCollective &gather = plan.collectives[0];
  EXPECT_STREQ(gather.kind, "all_gather");
  EXPECT_EQ(gather.count, 2 * 2); // forward and backward, in each round
  EXPECT_EQ(gather.rankBytes, 4u * 32 * 4); // the slice of the other rank
  EXPECT_EQ(gather.totalBytes, 2 * gather.rankBytes);
  EXPECT_EQ(plan.collectives[1].count, 2); // unit 1: both of its groups
  EXPECT_EQ(plan.collectives[1].rankBytes, 2u * (16 + 16) * 4);
  // What is frozen is not reduced.
  EXPECT_STREQ(plan.collectives[2].kind, "reduce_scatter");
  EXPECT_EQ(plan.collectives[2].rankBytes, 2u * 16 * 4);
}

TEST(Plan, ReplicasReduceOnceInAStep) {
  Plan plan = planOf(withCollectives(), {2, 2});
  size_t allReduces = 0, bytes = 0;
  for (const PlanCollective &collective : plan.collectives)
    if (std::string(collective.kind) == "all_reduce") {
      EXPECT_STREQ(collective.axis, "replicate");
      EXPECT_EQ(collective.count, 1);
      ++allReduces;
      bytes += collective.rankBytes;
    }
  EXPECT_EQ(allReduces, 2u);
  EXPECT_EQ(bytes, 4u * (32 + 16)); // half of it twice
}

TEST(Plan, ReplicatedGroupsAreAllReducedOverTheShardAxis) {
  nlohmann::json json = withCollectives();
  json["groups"][0]["sharded"] = false;
  Plan plan = planOf(json, {1, 4});
  for (const PlanCollective &collective : plan.collectives)
    if (collective.unit == 0) {
      EXPECT_STREQ(collective.kind, "all_reduce");
      EXPECT_STREQ(collective.axis, "shard");
    }
}

TEST(Plan, ScheduleBatchesAndFlops) {
  Plan plan = planOf(withCollectives(), {1, 1}, 1000);
  EXPECT_EQ(plan.batch.micro, 4);
  EXPECT_EQ(plan.batch.accumulation, 3);
  EXPECT_EQ(plan.batch.idleMicroBatches, 0);
  EXPECT_NEAR(plan.schedule.lrFirst, 0.02 / 3, 1e-12);
  EXPECT_NEAR(plan.schedule.lrAfterWarmup, 0.02, 1e-12);
  EXPECT_NEAR(plan.schedule.lrLast, 0.001, 1e-12);
  EXPECT_EQ(plan.schedule.samplesRead, 144);
  EXPECT_EQ(plan.schedule.samplesDropped, 1000 - 144);
  EXPECT_EQ(planOf(withCollectives(), {1, 1}, 100).schedule.samplesDropped, 0);
  EXPECT_EQ(plan.flopsPerStep, 3000);
  EXPECT_EQ(planOf(withCollectives(), {1, 2}).flopsPerRank, 2000);
}

TEST(Plan, CheckpointsAreThoseThatTheTrainerWrites) {
  Metadata metadata = parseMetadata(tinyMetadata().dump());
  Plan plan = computePlan(metadata, {{1, 2}, 0, std::nullopt});
  CheckpointFiles files(metadata,
                        computeLayout(metadata, {RunMode::Train, {1, 2}, 0}));
  EXPECT_EQ(plan.checkpoint.total, files.bytes());
  EXPECT_EQ(plan.checkpoint.kept, 2 * files.bytes());
  EXPECT_EQ(plan.checkpoint.peak, 3 * files.bytes());
  ASSERT_EQ(plan.save.size(), 1u);
  EXPECT_STREQ(plan.save[0].kind, "full");
  ASSERT_EQ(plan.save[0].files.size(), 1u);
  EXPECT_EQ(plan.save[0].files[0].tensors, 4u);
  EXPECT_EQ(plan.save[0].files[0].bytes, plan.checkpoint.model);
}

TEST(Plan, LimitsAndTheTrainersCheck) {
  nlohmann::json json = tinyMetadata();
  Plan plan = planOf(json, {1, 1});
  auto limited = [&](const char *key, size_t bytes) {
    nlohmann::json copy = json;
    copy[key] = bytes;
    Metadata metadata = parseMetadata(copy.dump());
    EXPECT_EQ(computePlan(metadata, {{1, 1}, 1000, std::nullopt}).fits(),
              bytes >= (std::string(key) == "host_memory"
                            ? plan.peakHostBytes
                            : plan.peakDeviceBytes));
    return errorOf([&] {
      checkLimits(metadata,
                  computeLayout(metadata, {RunMode::Train, {1, 1}, 1000}));
    });
  };
  EXPECT_EQ(limited("device_memory", plan.peakDeviceBytes), "no error");
  EXPECT_EQ(limited("device_memory", plan.peakDeviceBytes - 1),
            "a rank takes " + std::to_string(plan.peakDeviceBytes) +
                " bytes, and device_memory of [mesh] in tiny.toml is " +
                std::to_string(plan.peakDeviceBytes - 1) +
                " bytes; fix: more ranks on the shard axis, or what "
                "ff-compile --plan proposes");
  EXPECT_NE(limited("host_memory", plan.peakHostBytes - 1), "no error");
}

TEST(Plan, PlannerReportsErrors) {
  std::string error;
  EXPECT_FALSE(Planner::create("{", error));
  EXPECT_NE(error.find("metadata"), std::string::npos);
  nlohmann::json json = tinyMetadata();
  json["data"]["sources"][0]["paths"] = {"/no/such/file.safetensors"};
  auto planner = Planner::create(json.dump(), error);
  ASSERT_TRUE(planner);
  EXPECT_FALSE(planner->plan(1, error));
  EXPECT_NE(error.find("/no/such/file.safetensors"), std::string::npos);
}

TEST(Plan, JsonAndTextAreTheSameEveryTime) {
  Plan plan = planOf(withCollectives(), {2, 2});
  EXPECT_EQ(planToJson(plan), planToJson(planOf(withCollectives(), {2, 2})));
  nlohmann::json json = nlohmann::json::parse(planToJson(plan));
  EXPECT_EQ(json["mesh"]["ranks"], 4);
  EXPECT_EQ(json["groups"][2]["reduce_dtype"], nullptr);
  std::string text = planToText(plan);
  EXPECT_NE(text.find("plan of tiny: 4 ranks (replicate 2 x shard 2)"),
            std::string::npos);
  EXPECT_EQ(text.find(" \n"), std::string::npos);
}

TEST(Plan, SizesHaveUnits) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1024), "1.00 KiB");
  EXPECT_EQ(bytesText((size_t{1} << 20) - 1), "1.00 MiB");
  EXPECT_EQ(bytesText(size_t{80} << 30), "80.00 GiB");
}
