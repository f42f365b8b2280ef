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

TEST(Metadata, ReadsSourcesSavesAndThePlan) {
  nlohmann::json json = tinyMetadata();
  json["components"][0]["files"] = {"w.safetensors"};
  json["groups"][2]["params"][0]["source"] = {
      {"file", 0}, {"tensor", "module.scale"}, {"dtype", "bf16"}};
  json["programs"][0]["flops"] = 1e9;
  json["programs"][0]["collectives"] = {{{"kind", "gather"}, {"unit", 0}},
                                        {{"kind", "reduce"}, {"unit", 1}}};
  json["programs"][0]["recompute"] = {"net.a"};
  json["device_memory"] = nullptr;
  json["host_memory"] = 1 << 30;
  Metadata metadata = parseMetadata(json.dump());
  const Param &param = metadata.groups[2].params[0];
  EXPECT_EQ(param.source->tensor, "module.scale");
  EXPECT_EQ(param.source->dtype, "BF16");
  EXPECT_EQ(param.save->name, "scale");
  EXPECT_EQ(param.savedDtype, "F32");
  EXPECT_TRUE(metadata.programs[0].collectives[1].reduce);
  EXPECT_EQ(metadata.programs[0].flops, 1e9);
  EXPECT_FALSE(metadata.deviceMemory);
  EXPECT_EQ(metadata.hostMemory, 1 << 30);
}

TEST(Metadata, BytesOfOtherTypesSpanTheirBytes) {
  nlohmann::json json = tinyMetadata();
  auto &group = json["groups"][2];
  group["storage_dtype"] = "i16";
  group["dtype"] = group["master_dtype"] = "i8";
  group["params"][0]["init"] = {{"kind", "constant"}, {"value", 0}};
  EXPECT_NE(errorOf([&] {
              parseMetadata(json.dump());
            }).find("'scale' lies at [0, 14) of group 2 with 7 elements"),
            std::string::npos);
  group["numel"] = 14;
  for (const char *name : {"f8e4m3", "f8_e4m3"}) {
    group["storage_dtype"] = name;
    EXPECT_EQ(parseMetadata(json.dump()).groups[2].params[0].savedDtype,
              "F8_E4M3");
  }
  group["storage_dtype"] = "i16";
  EXPECT_EQ(parseMetadata(json.dump()).groups[2].params[0].savedDtype, "I16");
}

TEST(Metadata, DtypesThatDoNotGoTogether) {
  EXPECT_EQ(errorWith([](auto &j) { j["groups"][0]["master_dtype"] = "i32"; }),
            "internal error: metadata: group 0 is trainable and has a dtype "
            "that is not a float");
  EXPECT_EQ(errorWith([](auto &j) { j["groups"][2]["master_dtype"] = "i32"; }),
            "internal error: metadata: group 2 has dtype f32 and master_dtype "
            "i32; integers are not converted");
  EXPECT_EQ(
      errorWith([](auto &j) { j["groups"][2]["storage_dtype"] = "f8e4m3"; }),
      "internal error: metadata: group 2 has master_dtype f32 and "
      "storage_dtype F8_E4M3");
  EXPECT_EQ(errorWith([](auto &j) {
              j["components"][0]["files"] = {"f"};
              j["groups"][2]["params"][0]["source"] = {
                  {"file", 0}, {"tensor", "t"}, {"dtype", "i64"}};
            }),
            "internal error: metadata: 'net.scale' has source dtype I64, "
            "master_dtype f32 and storage_dtype F32");
}

TEST(Metadata, WhatIsTrainedMustBeSaved) {
  EXPECT_EQ(errorWith([](auto &j) { j["components"][0]["save"] = nullptr; }),
            "internal error: metadata: 'net.a.weight' is saved in file 0 of 0");
  EXPECT_EQ(
      errorWith([](auto &j) { j["groups"][1]["params"][0]["save"] = nullptr; }),
      "internal error: metadata: 'net.b.weight' is trained but not "
      "saved");
  EXPECT_EQ(errorWith([](auto &j) {
              for (auto &group : j["groups"]) {
                group["trainable"] = false;
                for (auto &param : group["params"])
                  param["save"] = nullptr;
              }
              j["components"][0]["save"] = nullptr;
            }),
            "internal error: metadata: component 'net' is trained, but nothing "
            "of it is saved");
  EXPECT_EQ(errorWith([](auto &j) {
              j["groups"][1]["params"][0]["save"]["name"] = "a.bias";
            }),
            "internal error: metadata: 'a.bias' is saved twice in "
            "diffusion_pytorch_model.safetensors of component 'net'");
  EXPECT_EQ(errorWith([](auto &j) {
              j["components"][0]["save"]["files"].push_back("more");
            }),
            "internal error: metadata: more of component 'net' would have no "
            "tensor");
  EXPECT_EQ(
      errorWith([](auto &j) { j["groups"][2]["params"][0]["init"] = nullptr; }),
      "internal error: metadata: 'net.scale' has neither a source nor an "
      "initialiser");
}

TEST(Metadata, AdaptersNeedLora) {
  EXPECT_EQ(errorWith([](auto &j) {
              j["components"][0]["save"]["kind"] = "adapter";
            }),
            "internal error: metadata: component 'net' is saved as an adapter, "
            "but has no lora");
  EXPECT_EQ(errorWith([](auto &j) { j["components"][0]["train"] = "lora"; }),
            "internal error: metadata: component 'net' has train 'lora' "
            "without lora");
}

TEST(Metadata, MergesMustFit) {
  auto merge = [](nlohmann::json &j, const char *b) {
    j["groups"][2]["params"][0]["shape"] = {1, 7};
    j["groups"][2]["params"][0]["merge"] = {
        {"a", "a.weight"}, {"b", b}, {"scale", 2.0}};
  };
  EXPECT_EQ(errorWith([&](auto &j) { merge(j, "zzz"); }),
            "internal error: metadata: 'net.scale' is merged with 'a.weight' "
            "and 'zzz', of which one does not exist");
  EXPECT_EQ(errorWith([&](auto &j) { merge(j, "b.weight"); }),
            "internal error: metadata: 'net.scale' with 7 elements is merged "
            "with 'a.weight' of 35 and 'b.weight' of 7");
  EXPECT_EQ(errorWith([](auto &j) {
              auto &param = j["groups"][2]["params"][0];
              param["shape"] = {1, 5};
              param["merge"] = {
                  {"a", "a.weight"}, {"b", "b.weight"}, {"scale", 2.0}};
            }),
            "internal error: metadata: 'a.weight' has the rank 7, which is not "
            "one of component 'net'");
}
