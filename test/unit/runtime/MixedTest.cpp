//===- MixedTest.cpp - Groups of all kinds on any number of ranks ---------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelSupport.h"
#include "runtime/train/Safetensors.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace ff::rt;
using namespace ff::rt::test;

namespace {
std::vector<double> losses(TinyRun &run, const MeshCase &mesh,
                           const std::string &arguments = "") {
  run.metadata["mesh"]["replicate"] = mesh.replicate;
  run.metadata["checkpoint"]["every"] = 0; // the one at the end is enough
  RunResult result = run.run(mesh.ranks + (" " + arguments));
  EXPECT_EQ(result.status, 0) << mesh.ranks << ": " << result.err;
  return run.metrics("loss");
}

const char *const modelFile =
    "step-00000012/model/net/diffusion_pytorch_model.safetensors";
} // namespace

TEST(Mixed, ReplicatedGroupsTrainAsShardedOnes) {
  TinyRun reference;
  std::vector<double> expected = losses(reference, meshes[0]);
  for (std::vector<int> replicated : {std::vector<int>{0, 1, 2}, {0}, {1}})
    for (const MeshCase &mesh : meshes) {
      TinyRun run;
      for (int group : replicated)
        run.metadata["groups"][group]["sharded"] = false;
      EXPECT_LT(relativeError(losses(run, mesh), expected), 1e-5)
          << mesh.ranks << " replicate " << mesh.replicate;
      EXPECT_LT(relativeError(run.metrics("grad_norm"),
                              reference.metrics("grad_norm")),
                1e-5);
      EXPECT_LT(relativeError(readTensor(run.out(modelFile), "a.weight"),
                              readTensor(reference.out(modelFile), "a.weight")),
                1e-3);
    }
}

TEST(Mixed, GradientsOfReplicatedGroups) {
  TinyRun one;
  std::string a = one.folder() + "/g";
  losses(one, meshes[0], "--steps 1 --dump-gradients " + a);
  for (int mesh : {1, 3, 4}) {
    TinyRun run;
    run.metadata["groups"][0]["sharded"] = false;
    std::string b = run.folder() + "/g";
    losses(run, meshes[mesh], "--steps 1 --dump-gradients " + b);
    for (const char *name : {"net.a.weight", "net.a.bias", "net.b.weight"})
      EXPECT_LT(relativeError(readTensor(b, name), readTensor(a, name)), 1e-4)
          << name;
  }
}

TEST(Mixed, AllKindsInOneUnit) {
  std::vector<double> expected, norms;
  for (const MeshCase &mesh : meshes) {
    TinyRun run;
    makeMixed(run);
    std::vector<double> result = losses(run, mesh);
    if (expected.empty()) {
      expected = result;
      norms = run.metrics("grad_norm");
    }
    EXPECT_LT(relativeError(result, expected), 1e-3) << mesh.ranks;
    EXPECT_LT(relativeError(run.metrics("grad_norm"), norms), 1e-3);
    // What is frozen leaves as it came, in its own types.
    std::string source = run.folder() + "/mixed.safetensors";
    auto types = tensorsOf(run.out(modelFile)), before = tensorsOf(source);
    EXPECT_EQ(types.size(), before.size() + 4);
    for (const MadeTensor &tensor : mixedTensors()) {
      EXPECT_EQ(types[tensor.name], before[tensor.name]);
      EXPECT_EQ(tensorBytes(run.out(modelFile), tensor.name),
                tensorBytes(source, tensor.name))
          << tensor.name << " with " << mesh.ranks;
    }
    EXPECT_EQ(types["a.weight"], "F32 [7, 5]");
  }
}

TEST(Mixed, GatheredFrozenGroupsHaveTheBytesOfTheFile) {
  for (const MeshCase &mesh : meshes) {
    TinyRun run;
    makeMixed(run);
    std::string dump = run.folder() + "/dump";
    std::filesystem::create_directories(dump);
    run.metadata["mesh"]["replicate"] = mesh.replicate;
    RunResult result =
        run.run(mesh.ranks + std::string(" --steps 1"), "TINY_DUMP=" + dump);
    ASSERT_EQ(result.status, 0) << result.err;
    int ranks = mesh.ranks[8] - '0';
    for (int rank = 0; rank < ranks; ++rank)
      for (int g : {3, 5, 6}) {
        std::string bytes = readFile(dump + "/" + std::to_string(rank) + "-" +
                                     std::to_string(g));
        for (const auto &param : run.metadata["groups"][g]["params"]) {
          std::string expected =
              tensorBytes(run.folder() + "/mixed.safetensors", param["name"]);
          size_t size = g == 3 ? 2 : g == 5 ? 8 : 1;
          EXPECT_EQ(bytes.substr(param["offset"].get<size_t>() * size,
                                 expected.size()),
                    expected)
              << param["name"] << " on rank " << rank << " of " << mesh.ranks;
        }
      }
  }
}

TEST(Mixed, ResumesOnAnotherNumberOfRanks) {
  TinyRun whole;
  makeMixed(whole);
  std::vector<double> expected = losses(whole, meshes[0]);
  for (auto [before, after] :
       {std::pair<int, int>{0, 3}, {3, 4}, {4, 1}, {2, 0}}) {
    TinyRun run;
    makeMixed(run);
    losses(run, meshes[before], "--steps 5");
    EXPECT_LT(
        relativeError(losses(run, meshes[after], "--resume auto"), expected),
        1e-3)
        << before << " then " << after;
  }
}

TEST(Mixed, NarrowMastersKeepTheirStateInF32) {
  TinyRun run;
  for (auto &group : run.metadata["groups"])
    group["dtype"] = group["master_dtype"] = group["storage_dtype"] = "bf16";
  losses(run, meshes[2]);
  EXPECT_EQ(tensorsOf(run.out(modelFile))["a.weight"], "BF16 [7, 5]");
  EXPECT_EQ(tensorsOf(run.out(
                "step-00000012/state/exp_avg.safetensors"))["net.a.weight"],
            "F32 [7, 5]");
  EXPECT_EQ(tensorsOf(run.out(
                "step-00000012/state/master.safetensors"))["net.a.weight"],
            "BF16 [7, 5]");
}

TEST(Mixed, AComponentWithNothingTrained) {
  TinyRun run;
  auto &metadata = run.metadata;
  metadata["components"].push_back({{"name", "vae"},
                                    {"module", "Vae"},
                                    {"train", "frozen"},
                                    {"files", nlohmann::json::array()},
                                    {"config", nullptr},
                                    {"lora", nullptr},
                                    {"save", nullptr}});
  auto group = metadata["groups"][2];
  group["unit"] = 2;
  group["component"] = 1;
  group["params"][0]["save"] = nullptr;
  metadata["units"].push_back(
      {{"name", "vae"}, {"component", 1}, {"groups", {3}}});
  metadata["groups"].push_back(group);
  losses(run, meshes[3]);
  EXPECT_FALSE(std::filesystem::exists(run.out("step-00000012/model/vae")));
}
