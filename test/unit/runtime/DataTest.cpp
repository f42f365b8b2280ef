//===- DataTest.cpp - Data order ------------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Data.h"
#include "TestSupport.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace ff::rt;
using namespace ff::rt::test;

TEST(Shuffle, EachEpochIsAPermutation) {
  for (int64_t count : {1, 2, 3, 5, 16, 17, 1797, 5000}) {
    std::set<int64_t> first, second;
    int64_t equal = 0;
    for (int64_t i = 0; i < count; ++i) {
      int64_t a = shuffledIndex(42, 0, i, count);
      int64_t b = shuffledIndex(42, 1, i, count);
      first.insert(a);
      second.insert(b);
      equal += a == b;
      EXPECT_TRUE(a >= 0 && a < count);
    }
    EXPECT_EQ(first.size(), static_cast<size_t>(count));
    EXPECT_EQ(second.size(), static_cast<size_t>(count));
    // Two permutations agree in one place on average.
    EXPECT_TRUE(count < 1000 || equal < 10) << equal;
  }
}

TEST(Shuffle, LooksUniform) {
  // Where does element 0 of an epoch go? A chi-square over 16 places, whose
  // 99.99 % quantile with 15 degrees of freedom is 44.3.
  for (int64_t index : {0, 7, 15}) {
    int counts[16] = {};
    for (int64_t epoch = 0; epoch < 16000; ++epoch)
      ++counts[shuffledIndex(1, epoch, index, 16)];
    double chi = 0;
    for (int count : counts)
      chi += (count - 1000.0) * (count - 1000.0) / 1000.0;
    EXPECT_LT(chi, 44.3);
  }
}

TEST(StepPlan, EveryMicroBatchIsDealtOnce) {
  TrainPolicy train;
  train.globalBatch = 24;
  train.microBatch = 2;
  for (int world : {1, 2, 3, 4, 5, 12, 13}) {
    StepPlan plan(train, world);
    std::vector<int> seen(12, 0);
    for (int64_t round = 0; round < plan.rounds; ++round)
      for (int rank = 0; rank < world; ++rank) {
        auto [index, counts] = plan.microBatch(round, rank, world);
        EXPECT_LT(index, 12);
        if (counts)
          ++seen[index];
      }
    EXPECT_EQ(seen, std::vector<int>(12, 1)) << world << " ranks";
  }
}

namespace {
/// A file of `count` rows of one i64 field "id", from `first` on.
void writeIds(const std::string &path, int64_t first, int64_t count) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(first + i);
  std::string header = R"({"id":{"dtype":"I64","shape":[)" +
                       std::to_string(count) + R"(],"data_offsets":[0,)" +
                       std::to_string(count * 8) + "]}}";
  writeFile(path, safetensors(header, bytesOf(ids)));
}
} // namespace

TEST(DataSet, RanksReadDisjointCompleteBatches) {
  TempFolder folder;
  writeIds(folder.path("a"), 0, 7);
  writeIds(folder.path("b"), 7, 4);
  std::vector<TensorType> inputs = {{"id", FF_I64, {2}}};
  DataSet data({folder.path("a"), folder.path("b")}, {{"id", "id"}}, inputs);
  ASSERT_EQ(data.size(), 11);
  nlohmann::json json = tinyMetadata();
  json["train"]["global_batch"] = 8;
  json["train"]["micro_batch"] = 2;
  Metadata metadata = parseMetadata(json.dump());

  std::vector<int64_t> reference;
  for (int world : {1, 2, 3, 5}) {
    // Position in the stream -> sample, over 11 steps: 8 epochs.
    std::map<int64_t, int64_t> samples;
    for (int rank = 0; rank < world; ++rank) {
      std::vector<char> memory(64 * inputSets);
      std::vector<size_t> offsets = {0};
      Prefetcher prefetcher(data, metadata, inputs, offsets, memory.data(), 64,
                            rank, world, 0, 11);
      StepPlan plan(*metadata.train, world);
      for (int64_t i = 0; i < 11 * plan.rounds; ++i) {
        Prefetcher::Batch batch = prefetcher.next();
        const auto *ids = reinterpret_cast<const int64_t *>(batch.data);
        for (int64_t row = 0; row < 2; ++row) {
          EXPECT_EQ(ids[row], prefetcher.sampleAt(batch.firstPosition + row));
          bool inserted =
              !batch.counts ||
              samples.emplace(batch.firstPosition + row, ids[row]).second;
          EXPECT_TRUE(inserted);
        }
      }
    }
    ASSERT_EQ(samples.size(), 88u);
    std::vector<int64_t> order;
    for (int64_t epoch = 0; epoch < 8; ++epoch) {
      std::set<int64_t> distinct;
      for (int64_t i = 0; i < 11; ++i) {
        order.push_back(samples.at(epoch * 11 + i));
        distinct.insert(order.back());
      }
      EXPECT_EQ(distinct.size(), 11u);
    }
    if (reference.empty())
      reference = order;
    EXPECT_EQ(order, reference) << world << " ranks";
  }
}

TEST(DataSet, MisfitsAreErrors) {
  TempFolder folder;
  writeIds(folder.path("a"), 0, 7);
  std::string a = folder.path("a");
  auto error = [&](const TensorType &input, const std::string &field) {
    return errorOf([&] { DataSet({a}, {{input.name, field}}, {input}); });
  };
  EXPECT_NE(error({"id", FF_I64, {2, 3}}, "id").find("needs [3] for each"),
            std::string::npos);
  EXPECT_NE(error({"id", FF_F32, {2}}, "id").find("without loss"),
            std::string::npos);
  EXPECT_NE(error({"id", FF_I64, {2}}, "ids").find("has no tensor 'ids'"),
            std::string::npos);
}
