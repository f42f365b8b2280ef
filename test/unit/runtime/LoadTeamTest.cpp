//===- LoadTeamTest.cpp - Loading per rank and per node -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelSupport.h"
#include "runtime/train/TensorFile.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace ff::rt;
using namespace ff::rt::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string modelFile =
    "step-00000001/model/net/diffusion_pytorch_model.safetensors";

/// Parameters of several blocks from w.safetensors: sharded or not, cast or
/// not, of pieces of tensors, and with adapters from adapter.safetensors.
void makeLarge(TinyRun &run) {
  std::string weights = run.folder() + "/w.safetensors";
  std::string adapter = run.folder() + "/adapter.safetensors";
  writeTensors(weights, {{"plain", "BF16", {1500, 1000}},
                         {"q", "BF16", {700, 1000}},
                         {"k", "BF16", {500, 1000}},
                         {"wide", "F32", {600, 1000}},
                         {"raw", "U8", {1500, 1000}},
                         {"small", "BF16", {3}}});
  writeTensors(adapter, {{"q.A", "F32", {8, 1000}},
                         {"q.B", "BF16", {700, 8}},
                         {"k.A", "BF16", {4, 1000}},
                         {"k.B", "F32", {500, 4}},
                         {"d", "F32", {300, 1000}}});
  run.metadata["components"][0]["files"] = {weights, adapter};
  json whole = frozenGroup("bf16", "bf16", "bf16", true,
                           {{"plain", "BF16", {1500, 1000}},
                            {"small", "BF16", {3}},
                            {"qk", "BF16", {1200, 1000}}});
  json &source = whole["params"][2]["source"];
  source["tensor"] = "q";
  source["pieces"] = {{{"file", 0},
                       {"tensor", "q"},
                       {"shape", {700, 1000}},
                       {"first", 0},
                       {"count", 700000}},
                      {{"file", 0},
                       {"tensor", "k"},
                       {"shape", {500, 1000}},
                       {"first", 0},
                       {"count", 500000}}};
  auto product = [](const char *name, int64_t rows, int64_t rank, double scale,
                    int64_t first) {
    return json{{"file", 1},
                {"tensor", std::string(name) + ".B"},
                {"shape", {rows, rank}},
                {"down", std::string(name) + ".A"},
                {"scale", scale},
                {"first", first},
                {"count", rows * 1000}};
  };
  // The difference reaches over both pieces.
  whole["params"][2]["patches"] = {product("q", 700, 8, 2.0, 0),
                                   {{"file", 1},
                                    {"tensor", "d"},
                                    {"shape", {300, 1000}},
                                    {"down", ""},
                                    {"scale", 0.5},
                                    {"first", 500000},
                                    {"count", 300000}},
                                   product("k", 500, 4, 3.0, 700000)};
  addGroup(run.metadata, whole);
  addGroup(run.metadata, frozenGroup("bf16", "bf16", "bf16", false,
                                     {{"wide", "F32", {600, 1000}}}));
  addGroup(run.metadata,
           frozenGroup("i8", "i8", "i8", true, {{"raw", "U8", {1500, 1000}}}));
}

/// The line of --report-loading.
json reportOf(const RunResult &result) {
  EXPECT_EQ(result.status, 0) << result.err;
  size_t at = result.out.find("{\"load\"");
  if (at == std::string::npos) {
    ADD_FAILURE() << "no report in " << result.out;
    return {};
  }
  return json::parse(result.out.substr(at, result.out.find('\n', at) - at));
}

int64_t total(const json &report, const char *key) {
  int64_t sum = 0;
  for (const json &rank : report["ranks"])
    sum += rank[key].get<int64_t>();
  return sum;
}

int64_t fileBytes(const TinyRun &run, const std::string &name) {
  int64_t bytes = 0;
  SafetensorsFile file(run.folder() + "/" + name);
  for (const auto &entry : file.tensors())
    bytes += static_cast<int64_t>(entry.second.end - entry.second.begin);
  return bytes;
}

} // namespace

TEST(LoadTeam, PerNodeIsPerRankOnAnyMesh) {
  std::string expected;
  for (const MeshCase &mesh : meshes)
    for (const char *mode : {"per-rank", "per-node"}) {
      TinyRun run;
      makeLarge(run);
      run.metadata["optimizer"]["lr"] = 0.0; // the same on all meshes
      run.metadata["schedule"]["final_lr"] = 0.0;
      run.metadata["mesh"]["replicate"] = mesh.replicate;
      RunResult result =
          run.run(std::string("--steps 1 --load ") + mode + " " + mesh.ranks);
      ASSERT_EQ(result.status, 0) << result.err;
      std::string model = readFile(run.out(modelFile));
      if (expected.empty())
        expected = model;
      EXPECT_TRUE(model == expected) << mode << " " << mesh.ranks;
    }
}

TEST(LoadTeam, AdaptersAreAddedOnce) {
  TinyRun run;
  makeLarge(run);
  ASSERT_EQ(run.run("--steps 1 --ranks 2 --load per-node").status, 0);
  auto loaded = readTensor(run.out(modelFile), "qk");
  std::string w = run.folder() + "/w.safetensors";
  std::string adapter = run.folder() + "/adapter.safetensors";
  auto base = readTensor(w, "q"), k = readTensor(w, "k");
  base.insert(base.end(), k.begin(), k.end());
  auto d = readTensor(adapter, "d");
  auto product = [&](const std::string &name, size_t rank, size_t at) {
    static std::map<std::string, std::vector<double>> factors;
    auto &a = factors[name + ".A"], &b = factors[name + ".B"];
    if (a.empty()) {
      a = readTensor(adapter, name + ".A");
      b = readTensor(adapter, name + ".B");
    }
    float sum = 0;
    for (size_t r = 0; r < rank; ++r)
      sum += static_cast<float>(b[at / 1000 * rank + r]) *
             static_cast<float>(a[r * 1000 + at % 1000]);
    return sum;
  };
  size_t wrong = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    float value = static_cast<float>(base[i]);
    if (i < 700000)
      value = value + 2.0f * product("q", 8, i);
    if (i >= 500000 && i < 800000)
      value += 0.5f * static_cast<float>(d[i - 500000]);
    if (i >= 700000)
      value = value + 3.0f * product("k", 4, i - 700000);
    wrong += loaded[i] != bf16ToFloat(floatToBf16(value));
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(LoadTeam, BytesAreReadOnceOnANode) {
  for (const MeshCase &mesh : meshes)
    for (const char *mode : {"per-rank", "per-node"}) {
      TinyRun run;
      makeLarge(run);
      run.metadata["mesh"]["replicate"] = mesh.replicate;
      json report =
          reportOf(run.run(std::string("--steps 0 --report-loading --load ") +
                           mode + " " + mesh.ranks));
      int64_t ranks = static_cast<int64_t>(report["ranks"].size());
      int64_t weights = fileBytes(run, "w.safetensors");
      int64_t adapters = fileBytes(run, "adapter.safetensors");
      int64_t read = total(report, "read_bytes");
      if (mode == std::string("per-node")) {
        EXPECT_EQ(read, weights + adapters) << mesh.ranks;
      } else {
        // What every rank needs; factors are whole on each, but for rows.
        int64_t whole = 600 * 1000 * 4, sharded = weights - whole;
        EXPECT_LE(read, whole * ranks + sharded * mesh.replicate +
                            adapters * mesh.replicate + 4 * 48000 + 4 * 64)
            << mesh.ranks;
        EXPECT_GE(read, whole * ranks + sharded * mesh.replicate) << mesh.ranks;
      }
      // What the system counted: besides, the ranks' messages of the barriers.
      int64_t counted = total(report, "system_read_bytes");
      EXPECT_GE(counted, read) << mode << " " << mesh.ranks;
      EXPECT_LE(counted, read + 65536 * ranks) << mode << " " << mesh.ranks;
    }
}

TEST(LoadTeam, ResumeReadsThroughTheRing) {
  for (const char *ranks : {"--ranks 1", "--ranks 3", "--ranks 4"}) {
    TinyRun whole, parts;
    for (TinyRun *run : {&whole, &parts})
      makeLora(*run);
    for (TinyRun *run : {&whole, &parts})
      run->metadata["mesh"]["replicate"] = ranks[8] == '4' ? 2 : 1;
    std::string arguments = std::string(" ") + ranks;
    ASSERT_EQ(whole.run("--steps 8" + arguments).status, 0);
    ASSERT_EQ(parts.run("--steps 4" + arguments).status, 0);
    RunResult rest =
        parts.run("--steps 8 --resume auto --load per-node" + arguments);
    ASSERT_EQ(rest.status, 0) << rest.err;
    for (const char *name : {"master", "exp_avg", "exp_avg_sq", "ema"}) {
      std::string file =
          std::string("step-00000008/state/") + name + ".safetensors";
      EXPECT_TRUE(readFile(parts.out(file)) == readFile(whole.out(file)))
          << name << arguments;
    }
  }
}

TEST(LoadTeam, AReaderThatFailsEndsAllRanks) {
  for (const char *at : {"1@0", "2@1", "3@3"}) {
    TinyRun run;
    makeLarge(run);
    run.metadata["mesh"]["replicate"] = 4;
    RunResult result = run.run("--steps 1 --ranks 4 --load per-node",
                               std::string("FF_FAULT_READ=") + at);
    EXPECT_EQ(result.status, 1);
    EXPECT_LT(result.seconds, 15);
    EXPECT_EQ(result.err.find("error: [rank " + std::string(1, at[2]) +
                              "] cannot read "),
              0u)
        << result.err;
    EXPECT_NE(result.err.find(".safetensors: Input/output error\n"),
              std::string::npos)
        << result.err;
  }
  // One that takes, and fails for what it has taken.
  TinyRun run;
  makeLarge(run);
  json group = frozenGroup("f16", "f16", "f16", false, {{"f", "F32", {3}}});
  std::string path = run.folder() + "/f.safetensors";
  writeFile(path, "");
  TensorFilePlan plan({{"f", "F32", {3}}});
  plan.create(path);
  std::vector<float> values{1, 1e6f, -2};
  DurableFile(path, false).write(values.data(), 12, plan.offset(0));
  run.metadata["components"][0]["files"].push_back(path);
  group["params"][0]["source"]["file"] = 2;
  addGroup(run.metadata, group);
  RunResult result = run.run("--steps 1 --ranks 3 --load per-node");
  EXPECT_EQ(result.status, 1);
  EXPECT_LT(result.seconds, 15);
  EXPECT_NE(result.err.find("'f' in " + path + " has F32 values up to 1e+06"),
            std::string::npos)
      << result.err;
}

TEST(LoadTeam, RanksLoadAlike) {
  TinyRun run;
  std::string alone = run.command("--steps 1 --load per-node");
  std::string environment = "WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR="
                            "127.0.0.1 MASTER_PORT=29617 ";
  RunResult result = runShell(
      run.folder(), "export " + environment + "; (RANK=0 LOCAL_RANK=0 " +
                        run.command("--steps 1") +
                        ") & export RANK=1 LOCAL_RANK=1; " + alone + "; wait");
  EXPECT_NE(result.err.find("rank 0 was started with the flags '', rank 1 with "
                            "' --load per-node'; fix: the same flags on every "
                            "rank"),
            std::string::npos)
      << result.err;
}

TEST(LoadTeam, EachRankTakesItsSliceAndBlocks) {
#ifdef FF_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer takes memory of its own";
#endif
  // 200 MB, one tensor of 120 MB among others, to which a low-rank adapter and
  // a whole one, of 240 MB, are added. The files have no blocks on disk.
  TinyRun run;
  std::vector<PlannedTensor> weights;
  std::vector<MadeTensor> tensors;
  for (int i = 0; i < 6; ++i) {
    int64_t rows = i == 3 ? 60000 : 8000;
    tensors.push_back({"t" + std::to_string(i), "BF16", {rows, 1000}});
    weights.push_back({tensors.back().name, "BF16", tensors.back().shape});
  }
  std::vector<PlannedTensor> adapters = {{"A", "BF16", {16, 1000}},
                                         {"B", "BF16", {60000, 16}},
                                         {"d", "F32", {60000, 1000}}};
  std::string base = run.folder() + "/big.safetensors";
  std::string adapter = run.folder() + "/adapter.safetensors";
  TensorFilePlan(weights).create(base);
  TensorFilePlan(adapters).create(adapter);
  run.metadata["components"][0]["files"] = {base, adapter};
  json group = frozenGroup("bf16", "bf16", "bf16", true, tensors);
  group["unit"] = 2; // never gathered
  for (auto &param : group["params"])
    param["save"] = nullptr;
  group["params"][3]["patches"] = {{{"file", 1},
                                    {"tensor", "B"},
                                    {"shape", {60000, 16}},
                                    {"down", "A"},
                                    {"scale", 2.0},
                                    {"first", 0},
                                    {"count", 60000000}},
                                   {{"file", 1},
                                    {"tensor", "d"},
                                    {"shape", {60000, 1000}},
                                    {"down", ""},
                                    {"scale", 1.0},
                                    {"first", 0},
                                    {"count", 60000000}}};
  run.metadata["units"].push_back(
      {{"name", "net.big"}, {"component", 0}, {"groups", {3}}});
  run.metadata["groups"].push_back(group);
  for (const char *arguments :
       {"--ranks 2 --load per-rank", "--ranks 4 --load per-rank",
        "--ranks 4 --load per-node"}) {
    json report = reportOf(run.run(
        std::string("--steps 0 --report-loading --resume none ") + arguments));
    EXPECT_EQ(report["largest_tensor_bytes"], 120'000'000);
    for (const json &rank : report["ranks"]) {
      auto slice = rank["slice_bytes"].get<double>();
      double taken =
          rank["peak_rss"].get<double>() - rank["baseline_rss"].get<double>();
      // The largest tensor is not needed as a whole.
      EXPECT_LT(taken, slice + 64e6) << arguments << " " << rank;
      EXPECT_GE(taken, slice * 0.95) << arguments << " " << rank;
    }
  }
}
