//===- MetadataTest.cpp - Strict parsing of metadata ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Metadata.h"
#include "TestSupport.h"
#include "runtime/core/Error.h"

#include <gtest/gtest.h>

using namespace ff::rt;
using namespace ff::rt::test;

namespace {
std::string errorWith(const std::function<void(nlohmann::json &)> &change) {
  nlohmann::json json = tinyMetadata();
  change(json);
  return errorOf([&] { parseMetadata(json.dump()); });
}
} // namespace

TEST(Metadata, ParsesAllParts) {
  Metadata metadata = parseMetadata(tinyMetadata().dump());
  EXPECT_EQ(metadata.groups.size(), 3u);
  EXPECT_EQ(metadata.fullName(metadata.groups[0], metadata.groups[0].params[1]),
            "net.a.bias");
  EXPECT_EQ(metadata.train->clipNorm, 1.0);
  EXPECT_TRUE(metadata.schedule->cosine);
  EXPECT_EQ(metadata.sample->image->columns, 5);
}

TEST(Metadata, NullMeansNotAskedFor) {
  nlohmann::json json = tinyMetadata();
  json["train"]["clip_norm"] = nullptr;
  json["train"].erase("ema_decay");
  json["sample"] = nullptr;
  Metadata metadata = parseMetadata(json.dump());
  EXPECT_FALSE(metadata.train->clipNorm);
  EXPECT_FALSE(metadata.train->emaDecay);
  EXPECT_FALSE(metadata.sample);
}

TEST(Metadata, UnknownKeyIsNamed) {
  EXPECT_EQ(errorWith([](auto &j) { j["groups"][0]["params"][1]["x"] = 1; }),
            "internal error: metadata: metadata.groups[0].params[1] has the "
            "unknown key 'x'");
  EXPECT_EQ(errorWith([](auto &j) { j["train"]["lr"] = 1; }),
            "internal error: metadata: metadata.train has the unknown key "
            "'lr'");
}

TEST(Metadata, MissingKeyIsNamed) {
  EXPECT_EQ(errorWith([](auto &j) { j["groups"][1].erase("numel"); }),
            "internal error: metadata: metadata.groups[1] lacks 'numel'");
}

TEST(Metadata, WrongTypeIsNamed) {
  EXPECT_NE(errorWith([](auto &j) { j["seed"] = "x"; }).find("metadata.seed"),
            std::string::npos);
  EXPECT_NE(errorWith([](auto &j) {
              j["groups"][0]["dtype"] = "f33";
            }).find("'f33', not a dtype"),
            std::string::npos);
}

TEST(Metadata, InconsistencyIsFound) {
  EXPECT_NE(errorWith([](auto &j) {
              j["groups"][0]["params"][1]["offset"] = 32;
            }).find("parameter 'a.bias' lies at [32, 39)"),
            std::string::npos);
  EXPECT_NE(errorWith([](auto &j) {
              j["programs"][0]["gather_slots"] = {{9}};
            }).find("names unit 9"),
            std::string::npos);
  EXPECT_NE(errorWith([](auto &j) {
              j["train"]["micro_batch"] = 5;
            }).find("does not divide"),
            std::string::npos);
}

TEST(Metadata, ResultsOfMatmulsMayBeWider) {
  nlohmann::json json = tinyMetadata();
  json["matmuls"][0]["dtype"] = "bf16";
  json["matmuls"][1]["dtype"] = "bf16";
  json["matmuls"][1]["c_dtype"] = "f32";
  Metadata metadata = parseMetadata(json.dump());
  EXPECT_EQ(metadata.matmuls[0].resultDtype(), FF_BF16);
  EXPECT_EQ(metadata.matmuls[1].dtype, FF_BF16);
  EXPECT_EQ(metadata.matmuls[1].resultDtype(), FF_F32);
}
