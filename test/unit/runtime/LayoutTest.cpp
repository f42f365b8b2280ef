//===- LayoutTest.cpp - Memory layout and mesh ----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Layout.h"
#include "TestSupport.h"
#include "runtime/core/Error.h"
#include "runtime/train/Parameters.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

using namespace ff::rt;
using namespace ff::rt::test;

namespace {
Metadata tiny() { return parseMetadata(tinyMetadata().dump()); }

std::vector<Region> regionsOf(const Layout &layout) {
  std::vector<Region> all = {layout.activations,   layout.inputs,
                             layout.outputs,       layout.collectives,
                             layout.matmulScratch, layout.records};
  for (const GroupLayout &group : layout.groups)
    for (const Region &region : {group.master, group.copy, group.grad,
                                 group.expAvg, group.expAvgSq, group.ema})
      all.push_back(region);
  all.insert(all.end(), layout.gatherSlots.begin(), layout.gatherSlots.end());
  all.insert(all.end(), layout.gradSlots.begin(), layout.gradSlots.end());
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const Region &region) { return !region.bytes; }),
            all.end());
  std::sort(all.begin(), all.end(), [](const Region &a, const Region &b) {
    return a.offset < b.offset;
  });
  return all;
}
} // namespace

TEST(Layout, OwnedElements) {
  EXPECT_EQ(ownedElements(196608, 1), 196608);
  EXPECT_EQ(ownedElements(55, 1), 64);
  EXPECT_EQ(ownedElements(55, 5), 16);
  EXPECT_EQ(ownedElements(1000, 3), 336);
  EXPECT_EQ(ownedElements(1, 64), 16);
}

TEST(Layout, RegionsAreAlignedAndDisjoint) {
  Metadata metadata = tiny();
  for (int64_t shard : {1, 2, 3, 5})
    for (int64_t replicate : {1, 2}) {
      Layout layout =
          computeLayout(metadata, {RunMode::Train, {replicate, shard}, 1000});
      size_t end = 0;
      for (const Region &region : regionsOf(layout)) {
        EXPECT_EQ(region.offset % arenaAlignment, 0u);
        EXPECT_GE(region.offset, end);
        end = region.offset + region.bytes;
      }
      EXPECT_LE(end, layout.totalBytes);
    }
}

TEST(Layout, OnAGpu) {
  Metadata metadata = tiny();
  metadata.target.emplace();
  Group &group = metadata.groups[0];
  ASSERT_TRUE(group.trainable);
  group.dtype = FF_BF16;
  for (int64_t shard : {1, 2, 3}) {
    Layout layout = computeLayout(
        metadata, {RunMode::Train, {2, shard}, deviceMatmulScratch});
    size_t end = 0;
    for (const Region &region : regionsOf(layout)) {
      EXPECT_EQ(region.offset % arenaAlignment, 0u);
      EXPECT_GE(region.offset, end);
      end = region.offset + region.bytes;
    }
    EXPECT_LE(end, layout.totalBytes);
    EXPECT_EQ(layout.matmulScratch.offset % deviceScratchAlignment, 0u);
    const GroupLayout &place = layout.groups[0];
    EXPECT_EQ(place.copy.bytes, static_cast<size_t>(place.owned) * 2);
    EXPECT_EQ(layout.groups[2].copy.bytes, 0u) << "of what is frozen";
    EXPECT_EQ(layout.inputs.bytes, deviceInputSets * layout.inputSetBytes);
    EXPECT_EQ(layout.peakHostBytes(), layout.hostBytes);
  }
}

TEST(Layout, OneRankUsesItsSliceAsTheGatheredBuffer) {
  Metadata metadata = tiny();
  Layout layout = computeLayout(metadata, {RunMode::Train, {1, 1}, 0});
  EXPECT_TRUE(layout.groups[0].resident);
  EXPECT_EQ(layout.gatherSlots[0].bytes, 0u);
  Layout two = computeLayout(metadata, {RunMode::Train, {1, 2}, 0});
  EXPECT_FALSE(two.groups[0].resident);
  EXPECT_EQ(two.gatherSlots[0].bytes, 2 * 32 * sizeof(float));
}

TEST(Layout, FrozenGroupsHaveOnlyTheirSlice) {
  Layout layout = computeLayout(tiny(), {RunMode::Train, {1, 2}, 0});
  const GroupLayout &frozen = layout.groups[2];
  EXPECT_GT(frozen.master.bytes, 0u);
  EXPECT_EQ(frozen.grad.bytes + frozen.expAvg.bytes + frozen.expAvgSq.bytes +
                frozen.ema.bytes,
            0u);
}

TEST(Layout, SamplingHasNoOptimizerState) {
  Layout layout = computeLayout(tiny(), {RunMode::Sample, {1, 2}, 0});
  for (const GroupLayout &group : layout.groups)
    EXPECT_EQ(group.grad.bytes + group.expAvg.bytes + group.ema.bytes, 0u);
  EXPECT_TRUE(layout.gradSlots.empty());
}

TEST(Layout, PiecesCoverEachParameterOnce) {
  Metadata metadata = tiny();
  for (int shard : {1, 2, 3, 4, 5, 8}) {
    Layout layout = computeLayout(metadata, {RunMode::Train, {1, shard}, 0});
    std::vector<std::vector<std::vector<int>>> seen;
    for (const Group &group : metadata.groups) {
      seen.emplace_back();
      for (const Param &param : group.params)
        seen.back().emplace_back(param.numel(), 0);
    }
    for (int rank = 0; rank < shard; ++rank)
      for (const OwnedPiece &piece : ownedPieces(metadata, layout, rank)) {
        EXPECT_LE(piece.sliceBegin + piece.count,
                  layout.groups[piece.group].owned);
        for (int64_t i = 0; i < piece.count; ++i)
          ++seen[piece.group][piece.param][piece.paramBegin + i];
      }
    for (const auto &group : seen)
      for (const auto &param : group)
        EXPECT_TRUE(std::all_of(param.begin(), param.end(),
                                [](int count) { return count == 1; }));
  }
}

TEST(Layout, AllRanksTogetherWriteEachElementOnce) {
  nlohmann::json json = tinyMetadata();
  json["groups"][1]["sharded"] = false;
  Metadata metadata = parseMetadata(json.dump());
  for (MeshShape mesh : {MeshShape{1, 1}, {1, 3}, {2, 2}, {3, 1}, {4, 5}}) {
    Layout layout = computeLayout(metadata, {RunMode::Train, mesh, 0});
    std::map<std::pair<size_t, size_t>, std::vector<int>> seen;
    for (int rank = 0; rank < mesh.world(); ++rank)
      for (const OwnedPiece &piece :
           writtenPieces(metadata, layout, mesh, rank)) {
        auto &counts = seen[{piece.group, piece.param}];
        counts.resize(metadata.groups[piece.group].params[piece.param].numel());
        for (int64_t i = 0; i < piece.count; ++i)
          ++counts.at(piece.paramBegin + i);
      }
    EXPECT_EQ(seen.size(), 4u);
    for (const auto &entry : seen)
      EXPECT_TRUE(std::all_of(entry.second.begin(), entry.second.end(),
                              [](int count) { return count == 1; }));
  }
}

TEST(Layout, ReplicatedGroupsAreWholeOnEveryRank) {
  nlohmann::json json = tinyMetadata();
  json["groups"][0]["sharded"] = false;
  Layout layout =
      computeLayout(parseMetadata(json.dump()), {RunMode::Train, {1, 4}, 0});
  EXPECT_EQ(layout.groups[0].owned, 64);
  EXPECT_EQ(layout.groups[0].whole(), 64);
  EXPECT_TRUE(layout.groups[0].resident);
  EXPECT_EQ(layout.gatherSlots[0].bytes, 0u);
  EXPECT_EQ(layout.groups[1].owned, 16);
  // Two of the larger: a quarter of an all-reduce, a slice of group 1.
  EXPECT_EQ(layout.collectives.bytes, 2 * 16 * sizeof(float));
}

TEST(Mesh, AutoTakesWhatIsLeft) {
  MeshShape mesh = resolveMesh(2, 0, 8);
  EXPECT_EQ(mesh.shard, 4);
  EXPECT_EQ(resolveMesh(0, 4, 8).replicate, 2);
  EXPECT_EQ(resolveMesh(0, 0, 6).shard, 6);
}

TEST(Mesh, MisfitListsTheFactorisations) {
  EXPECT_EQ(errorOf([] { resolveMesh(2, 8, 6); }),
            "[mesh] replicate = 2, shard = 8 does not fit 6 ranks; fix: "
            "replicate x shard may be 1 x 6, 2 x 3, 3 x 2, 6 x 1");
  EXPECT_EQ(errorOf([] { resolveMesh(2, 0, 1); }),
            "[mesh] replicate = 2, shard = auto does not fit 1 rank; fix: "
            "replicate x shard may be 1 x 1");
}
