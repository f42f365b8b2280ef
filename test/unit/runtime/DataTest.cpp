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
#include <cmath>
#include <filesystem>
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
  for (int world : {1, 2, 3, 4, 5, 12, 13}) {
    StepPlan plan(24, 2, world);
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

TEST(Interleave, SharesHoldAtEveryPlace) {
  std::vector<std::vector<double>> cases = {{1},
                                            {1, 1},
                                            {3, 1},
                                            {2.5, 0.5},
                                            {0.1, 0.2, 0.7},
                                            {5, 0, 2},
                                            {1, 1, 1, 1, 1, 7, 9},
                                            {1e-9, 1},
                                            {1234567, 7654321, 3}};
  for (const std::vector<double> &shares : cases) {
    Interleave interleave(shares);
    double sum = 0;
    for (double share : shares)
      sum += share;
    std::vector<int64_t> taken(shares.size());
    for (int64_t i = 0; i < 3 * Interleave::maxPeriod; ++i) {
      auto [which, ordinal] = interleave.at(i);
      ASSERT_LT(which, shares.size());
      ASSERT_GT(shares[which], 0);
      ASSERT_EQ(ordinal, taken[which]++);
      // Shares that are not whole are rounded to a place of the period.
      bool rounded = shares[0] != std::floor(shares[0]) ||
                     sum > static_cast<double>(Interleave::maxPeriod);
      double bound = rounded ? 2 + static_cast<double>(i) / 65536 : 2;
      for (size_t c = 0; c < shares.size(); ++c)
        ASSERT_NEAR(static_cast<double>(taken[c]),
                    static_cast<double>(i + 1) * shares[c] / sum, bound)
            << "after " << i;
    }
  }
}

TEST(SampleOrder, OneListIsTheShuffledEpochs) {
  SampleOrder order({{11}}, {1.0}, 42, true, 8);
  for (int64_t p = 0; p < 40; ++p)
    EXPECT_EQ(order.at(p).element, shuffledIndex(42, p / 11, p % 11, 11));
}

TEST(SampleOrder, EachListIsReadLikeADataSet) {
  // Two sources, of which the small one is drawn from three times as often,
  // and three buckets, of which the last is empty in the second source.
  std::vector<std::vector<int64_t>> counts = {{40, 30, 30}, {5, 15, 0}};
  constexpr int64_t batch = 8, steps = 3000;
  SampleOrder order(counts, {1.0, 3.0}, 7, true, batch);
  EXPECT_EQ(order.size(), 120);
  std::map<std::pair<size_t, size_t>, std::vector<int64_t>> seen;
  std::vector<int64_t> ofSource(2), ofBucket(3);
  for (int64_t step = 0; step < steps; ++step) {
    size_t bucket = order.bucketAt(step * batch);
    ++ofBucket[bucket];
    for (int64_t i = 0; i < batch; ++i) {
      SampleOrder::Place place = order.at(step * batch + i);
      EXPECT_EQ(place.bucket, bucket); // one bucket in a step
      ++ofSource[place.source];
      seen[{place.source, place.bucket}].push_back(place.element);
    }
  }
  EXPECT_NEAR(static_cast<double>(ofSource[1]), 0.75 * batch * steps, 50);
  // w n(s, b) / N(s): 0.4 + 3 * 0.25, 0.3 + 3 * 0.75, 0.3, of 4.
  EXPECT_NEAR(static_cast<double>(ofBucket[0]), 1.15 / 4 * steps, 3);
  EXPECT_NEAR(static_cast<double>(ofBucket[1]), 2.55 / 4 * steps, 3);
  EXPECT_NEAR(static_cast<double>(ofBucket[2]), 0.3 / 4 * steps, 3);
  for (auto &[list, elements] : seen) {
    auto count = static_cast<size_t>(counts[list.first][list.second]);
    ASSERT_GT(count, 0u);
    for (size_t first = 0; first + count <= elements.size(); first += count)
      EXPECT_EQ(std::set<int64_t>(
                    elements.begin() + static_cast<ptrdiff_t>(first),
                    elements.begin() + static_cast<ptrdiff_t>(first + count))
                    .size(),
                count);
  }
  // Lists of equal size have orders of their own.
  EXPECT_NE((seen[{0, 1}]), (seen[{0, 2}]));
}

namespace {
std::string header(const std::string &tensors) {
  std::string text = "{" + tensors + "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

std::string tensorEntry(const std::string &name, const std::string &dtype,
                        const std::vector<int64_t> &shape, size_t begin,
                        size_t bytes) {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" +
         nlohmann::json(shape).dump() + R"(,"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(begin + bytes) + "]}";
}

/// A file of `count` rows of one i64 field "id", from `first` on.
void writeIds(const std::string &path, int64_t first, int64_t count) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(first + i);
  writeFile(path,
            safetensors(header(tensorEntry("id", "I64", {count}, 0,
                                           static_cast<size_t>(count) * 8)),
                        bytesOf(ids)));
}

/// A sample in a file: "text" [length, 2] in F32, all of `value`.
void writeText(const std::string &path, int64_t length, float value) {
  std::vector<float> text(static_cast<size_t>(length) * 2, value);
  writeFile(path, safetensors(header(tensorEntry("text", "F32", {length, 2}, 0,
                                                 text.size() * 4)),
                              bytesOf(text)));
}

/// What Data reads of metadata: programs of these inputs, one for each bucket.
Metadata dataMetadata(const nlohmann::json &data,
                      const std::vector<nlohmann::json> &inputs,
                      int64_t globalBatch,
                      const std::vector<int64_t> &microBatches) {
  nlohmann::json json = tinyMetadata();
  json["data"] = data;
  nlohmann::json program = json["programs"][0];
  nlohmann::json buckets = nlohmann::json::array();
  for (size_t i = 0; i < inputs.size(); ++i) {
    nlohmann::json own = program;
    own["name"] = i ? "train." + std::to_string(i) : "train";
    own["inputs"] = inputs[i];
    if (i)
      json["programs"].push_back(own);
    else
      json["programs"][0] = own;
    buckets.push_back(
        {{"program", own["name"]}, {"micro_batch", microBatches[i]}});
  }
  json["train"]["global_batch"] = globalBatch;
  json["train"]["micro_batch"] = microBatches[0];
  if (inputs.size() > 1)
    json["train"]["buckets"] = buckets;
  return parseMetadata(json.dump());
}

nlohmann::json input(const std::string &name, const std::string &dtype,
                     const std::vector<int64_t> &shape) {
  return {{"name", name}, {"dtype", dtype}, {"shape", shape}};
}

nlohmann::json source(const std::string &kind,
                      const std::vector<std::string> &paths,
                      double weight = 1) {
  return {{"kind", kind}, {"paths", paths}, {"weight", weight}};
}

Layout inputLayout(const Metadata &metadata) {
  return computeLayout(metadata, {RunMode::Train, {1, 1}, 0});
}
} // namespace

TEST(DataSet, RanksReadDisjointCompleteBatches) {
  TempFolder folder;
  writeIds(folder.path("a"), 0, 7);
  writeIds(folder.path("b"), 7, 4);
  Metadata metadata = dataMetadata(
      {{"sources", {source("shards", {folder.path("a"), folder.path("b")})}},
       {"fields", {{"id", "id"}}},
       {"shuffle", true}},
      {nlohmann::json::array({input("id", "i64", {2})})}, 8, {2});
  DataSet data(metadata);
  ASSERT_EQ(data.size(), 11);
  Layout layout = inputLayout(metadata);

  std::vector<int64_t> reference;
  for (int world : {1, 2, 3, 5}) {
    // Position in the stream -> sample, over 11 steps: 8 epochs.
    std::map<int64_t, int64_t> samples;
    for (int rank = 0; rank < world; ++rank) {
      std::vector<char> memory(layout.inputSetBytes * inputSets);
      Prefetcher prefetcher(data, metadata, layout, memory.data(), rank, world,
                            0, 11);
      StepPlan plan(8, 2, world);
      for (int64_t i = 0; i < 11 * plan.rounds; ++i) {
        Prefetcher::Batch batch = prefetcher.next();
        EXPECT_EQ(batch.endsStep, (i + 1) % plan.rounds == 0);
        const auto *ids = reinterpret_cast<const int64_t *>(batch.data);
        for (int64_t row = 0; row < 2; ++row) {
          EXPECT_EQ(ids[row],
                    data.numberOf(data.at(batch.firstPosition + row)));
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

TEST(DataSet, BucketsHaveTheirMicroBatchesAndPads) {
  TempFolder folder;
  std::filesystem::create_directories(folder.path("short"));
  std::filesystem::create_directories(folder.path("deep/er"));
  // Lengths 1 to 3 fill up to 3; sample i holds i + 1.
  for (int i = 0; i < 3; ++i)
    writeText(folder.path("short/" + std::to_string(i) + ".safetensors"), i + 1,
              static_cast<float>(i + 1));
  Metadata metadata = dataMetadata(
      {{"sources", {source("samples", {folder.path("short")})}},
       {"fields", {{"text", "text"}}},
       {"pad", {{{"input", "text"}, {"to", 3}, {"mask", "mask"}}}},
       {"shuffle", false}},
      {{input("text", "f32", {3, 3, 2}), input("mask", "i64", {3, 3})}}, 3,
      {3});
  DataSet data(metadata);
  Layout layout = inputLayout(metadata);
  std::vector<char> memory(layout.inputSetBytes * inputSets, 77);
  Prefetcher prefetcher(data, metadata, layout, memory.data(), 0, 1, 0, 1);
  Prefetcher::Batch batch = prefetcher.next();
  const auto *text =
      reinterpret_cast<const float *>(batch.data + layout.inputOffsets[0][0]);
  const auto *mask =
      reinterpret_cast<const int64_t *>(batch.data + layout.inputOffsets[0][1]);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t l = 0; l < 3; ++l) {
      EXPECT_EQ(mask[3 * i + l], l <= i);
      for (int64_t c = 0; c < 2; ++c)
        EXPECT_EQ(text[(3 * i + l) * 2 + c],
                  l <= i ? static_cast<float>(i + 1) : 0.0f);
    }
  // A longer sample is an error that names it.
  writeText(folder.path("short/3.safetensors"), 4, 1);
  std::string error = errorOf([&] { DataSet again(metadata); });
  EXPECT_NE(error.find("short/3.safetensors has the shape [4, 2], which is not "
                       "padded to 3"),
            std::string::npos)
      << error;

  // Without padding each length is a bucket, with micro-batches of its own.
  std::filesystem::remove(folder.path("short/3.safetensors"));
  Metadata buckets =
      dataMetadata({{"sources", {source("samples", {folder.path("short")})}},
                    {"fields", {{"text", "text"}}},
                    {"shuffle", true}},
                   {nlohmann::json::array({input("text", "f32", {1, 3, 2})}),
                    nlohmann::json::array({input("text", "f32", {2, 2, 2})}),
                    nlohmann::json::array({input("text", "f32", {4, 1, 2})})},
                   4, {1, 2, 4});
  DataSet three(buckets);
  Layout shared = inputLayout(buckets);
  EXPECT_EQ(shared.inputOffsets.size(), 3u);
  for (int world : {1, 2, 3}) {
    std::vector<int> steps(3);
    for (int rank = 0; rank < world; ++rank) {
      std::vector<char> set(shared.inputSetBytes * inputSets);
      Prefetcher batches(three, buckets, shared, set.data(), rank, world, 0, 9);
      for (int step = 0; step < 9; ++step) {
        Prefetcher::Batch next;
        while (!next.endsStep) {
          next = batches.next();
          EXPECT_EQ(next.samples, int64_t{1} << next.bucket);
          EXPECT_EQ(next.microBatches, 4 >> next.bucket);
          const auto *values = reinterpret_cast<const float *>(next.data);
          auto length = static_cast<float>(3 - next.bucket);
          for (int64_t i = 0;
               i < next.samples * (3 - static_cast<int64_t>(next.bucket)) * 2;
               ++i)
            EXPECT_EQ(values[i], length);
        }
        ++steps[next.bucket];
      }
    }
    EXPECT_EQ(steps, std::vector<int>(3, 3 * world));
  }
  // A shape that was not compiled.
  writeText(folder.path("short/9.safetensors"), 9, 1);
  error = errorOf([&] { DataSet again(buckets); });
  EXPECT_NE(error.find("9.safetensors has the shape [9, 2]; the input 'text' "
                       "needs [3, 2] or [2, 2] or [1, 2] for each sample; fix: "
                       "compile the spec again"),
            std::string::npos)
      << error;
}

TEST(DataSet, BadSamplesAreNamed) {
  TempFolder folder;
  std::filesystem::create_directories(folder.path("s"));
  writeText(folder.path("s/a.safetensors"), 2, 1);
  writeText(folder.path("s/b.safetensors"), 2, NAN);
  auto metadata = [&](const std::string &kind, const std::string &path) {
    return dataMetadata({{"sources", {source(kind, {path})}},
                         {"fields", {{"x", "text"}}},
                         {"shuffle", false}},
                        {nlohmann::json::array({input("x", "f32", {1, 2, 2})})},
                        1, {1});
  };
  DataSet data(metadata("samples", folder.path("s")));
  std::vector<char> scratch;
  float out[4];
  EXPECT_EQ(errorOf([&] { data.read(data.at(0), 0, out, scratch); }),
            "no error");
  std::string error = errorOf([&] { data.read(data.at(1), 0, out, scratch); });
  EXPECT_NE(error.find("'text' of " + folder.path("s/b.safetensors") +
                       " is not finite at element 0"),
            std::string::npos)
      << error;
  // A file that shrinks or goes while the run reads.
  std::filesystem::resize_file(folder.path("s/a.safetensors"), 80);
  error = errorOf([&] { data.read(data.at(0), 0, out, scratch); });
  EXPECT_NE(error.find("s/a.safetensors"), std::string::npos) << error;
  std::filesystem::remove(folder.path("s/a.safetensors"));
  error = errorOf([&] { data.read(data.at(0), 0, out, scratch); });
  EXPECT_NE(error.find("cannot open " + folder.path("s/a.safetensors")),
            std::string::npos)
      << error;
  // A row of a file with many.
  std::vector<float> rows(12, 1);
  rows[9] = INFINITY;
  writeFile(folder.path("rows"),
            safetensors(header(tensorEntry("text", "F32", {3, 2, 2}, 0, 48)),
                        bytesOf(rows)));
  DataSet shards(metadata("shards", folder.path("rows")));
  error = errorOf([&] { shards.read(shards.at(2), 0, out, scratch); });
  EXPECT_NE(error.find("rows, row 2 is not finite at element 1"),
            std::string::npos)
      << error;
  std::filesystem::create_directories(folder.path("none"));
  error =
      errorOf([&] { DataSet none(metadata("samples", folder.path("none"))); });
  EXPECT_NE(error.find("there is no file *.safetensors in"), std::string::npos)
      << error;
}

TEST(DataSet, AFileOfManySamplesThatIsCutEndsNoProcess) {
  TempFolder folder;
  writeIds(folder.path("a"), 0, 4096);
  DataSet data(
      dataMetadata({{"sources", {source("shards", {folder.path("a")})}},
                    {"fields", {{"id", "id"}}},
                    {"shuffle", false}},
                   {nlohmann::json::array({input("id", "i64", {2})})}, 2, {2}));
  std::filesystem::resize_file(folder.path("a"), 4096);
  std::vector<char> scratch;
  int64_t id = 0;
  std::string error =
      errorOf([&] { data.read(data.at(4095), 0, &id, scratch); });
  EXPECT_NE(error.find(folder.path("a")), std::string::npos) << error;
}

TEST(DataSet, ShapesThatNoBucketHasTogether) {
  TempFolder folder;
  std::filesystem::create_directories(folder.path("s"));
  // Each shape is known, their combination is not.
  std::vector<float> a(4, 1), b(2, 1);
  writeFile(folder.path("s/x.safetensors"),
            safetensors(header(tensorEntry("a", "F32", {4}, 0, 16) + "," +
                               tensorEntry("b", "F32", {2}, 16, 8)),
                        bytesOf(a) + bytesOf(b)));
  auto program = [](int64_t first, int64_t second) {
    return nlohmann::json::array(
        {input("a", "f32", {1, first}), input("b", "f32", {1, second})});
  };
  std::string error = errorOf([&] {
    DataSet data(
        dataMetadata({{"sources", {source("samples", {folder.path("s")})}},
                      {"fields", {{"a", "a"}, {"b", "b"}}},
                      {"shuffle", true}},
                     {program(4, 3), program(5, 2)}, 2, {1, 1}));
  });
  EXPECT_NE(error.find("x.safetensors fits no bucket: a [4], b [2]; fix: "
                       "compile the spec again"),
            std::string::npos)
      << error;
}

TEST(DataSet, BucketsGoOnFromWholeSteps) {
  TempFolder folder;
  std::filesystem::create_directories(folder.path("s"));
  writeText(folder.path("s/a.safetensors"), 1, 1);
  writeText(folder.path("s/b.safetensors"), 2, 1);
  Metadata metadata =
      dataMetadata({{"sources", {source("samples", {folder.path("s")})}},
                    {"fields", {{"text", "text"}}},
                    {"shuffle", true}},
                   {nlohmann::json::array({input("text", "f32", {2, 1, 2})}),
                    nlohmann::json::array({input("text", "f32", {2, 2, 2})})},
                   4, {2, 2});
  DataSet data(metadata);
  EXPECT_EQ(data.orderText(), "2 samples in buckets of 1 1, shuffled");
  Layout layout = inputLayout(metadata);
  std::vector<char> memory(layout.inputSetBytes * inputSets);
  std::string error = errorOf([&] {
    Prefetcher batches(data, metadata, layout, memory.data(), 0, 1, 6, 1);
  });
  EXPECT_NE(error.find("6 samples into the run, which is no whole number of "
                       "steps of global_batch = 4"),
            std::string::npos)
      << error;
}

TEST(SampleSource, WhatTheCommandLineNames) {
  TempFolder folder;
  std::filesystem::create_directories(folder.path("columns/deep"));
  std::filesystem::create_directories(folder.path("tensors"));
  writeFile(folder.path("columns/deep/a.parquet"), "");
  writeFile(folder.path("tensors/a.safetensors"), "");
  std::string columns = folder.path("columns"),
              tensors = folder.path("tensors"),
              file = folder.path("tensors/a.safetensors");
  SourcePolicy shards, samples, parquet;
  samples.kind = SourcePolicy::Samples;
  parquet.kind = SourcePolicy::Parquet;
  EXPECT_EQ(sourceOf({columns}, shards).kind, SourcePolicy::Parquet);
  EXPECT_EQ(sourceOf({tensors}, shards).kind, SourcePolicy::Shards);
  EXPECT_EQ(sourceOf({tensors}, parquet).kind, SourcePolicy::Shards);
  EXPECT_EQ(sourceOf({tensors}, samples).kind, SourcePolicy::Samples);
  EXPECT_EQ(sourceOf({file}, samples).kind, SourcePolicy::Shards);
  EXPECT_NE(errorOf([&] {
              sourceOf({columns, file}, shards);
            }).find("--data names Parquet and other files"),
            std::string::npos);
  EXPECT_NE(errorOf([&] {
              sourceOf({tensors, file}, samples);
            }).find("--data names files and folders"),
            std::string::npos);
}

TEST(DataSet, MisfitsAreErrors) {
  TempFolder folder;
  writeIds(folder.path("a"), 0, 7);
  auto error = [&](const std::string &dtype, const std::vector<int64_t> &shape,
                   const std::string &field) {
    return errorOf([&] {
      DataSet data(dataMetadata(
          {{"sources", {source("shards", {folder.path("a")})}},
           {"fields", {{"id", field}}},
           {"shuffle", true}},
          {nlohmann::json::array({input("id", dtype, shape)})}, 2, {2}));
    });
  };
  EXPECT_NE(error("i64", {2, 3}, "id").find("needs [3] for each"),
            std::string::npos);
  EXPECT_NE(error("f32", {2}, "id").find("without loss"), std::string::npos);
  EXPECT_NE(error("i64", {2}, "ids").find("has no tensor 'ids'"),
            std::string::npos);
}
