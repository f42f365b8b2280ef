//===- TrainTest.cpp - Training on any number of ranks --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TinyRun.h"

#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace ff::rt::test;

namespace {
/// Trains on `ranks` ranks into an empty folder; its losses.
std::vector<double> losses(TinyRun &run, const std::string &arguments) {
  RunResult result = run.run(arguments);
  EXPECT_EQ(result.status, 0) << arguments << ": " << result.err;
  return run.metrics("loss");
}

void setDtypes(TinyRun &run, const char *dtype, const char *master,
               const char *reduce) {
  for (auto &group : run.metadata["groups"]) {
    group["dtype"] = dtype;
    group["storage_dtype"] = master;
    group["master_dtype"] = master;
    if (group["trainable"])
      group["reduce_dtype"] = reduce;
  }
}

/// Starts every parameter from the tensor of its name in a file of F32.
void takeWeightsFrom(TinyRun &run, const std::string &path) {
  run.metadata["components"][0]["files"] = {path};
  for (auto &group : run.metadata["groups"])
    for (auto &param : group["params"])
      param["source"] = {
          {"file", 0}, {"tensor", param["name"]}, {"dtype", "f32"}};
}
} // namespace

TEST(Train, AnyNumberOfRanksGivesTheSameLosses) {
  TinyRun reference;
  std::vector<double> expected = losses(reference, "--ranks 1");
  ASSERT_EQ(expected.size(), 12u);
  std::vector<double> norms = reference.metrics("grad_norm");
  for (int ranks : {2, 3, 4, 5}) {
    TinyRun run;
    EXPECT_LT(relativeError(losses(run, "--ranks " + std::to_string(ranks)),
                            expected),
              1e-5)
        << ranks << " ranks";
    EXPECT_LT(relativeError(run.metrics("grad_norm"), norms), 1e-5);
  }
}

TEST(Train, ReplicatedMeshesGiveTheSameLosses) {
  TinyRun reference;
  std::vector<double> expected = losses(reference, "--ranks 1");
  for (auto [replicate, ranks] :
       {std::pair<int, int>{2, 4}, {2, 2}, {3, 3}, {4, 4}}) {
    TinyRun run;
    run.metadata["mesh"]["replicate"] = replicate;
    EXPECT_LT(relativeError(losses(run, "--ranks " + std::to_string(ranks)),
                            expected),
              1e-5)
        << replicate << " of " << ranks;
    EXPECT_LT(
        relativeError(run.metrics("grad_norm"), reference.metrics("grad_norm")),
        1e-5);
  }
}

TEST(Train, F64AgreesTightly) {
  std::vector<double> expected;
  for (int ranks : {1, 3}) {
    TinyRun run;
    run.metadata["name"] = "tiny-f64";
    setDtypes(run, "f64", "f64", "f64");
    for (auto &input : run.metadata["programs"][0]["inputs"])
      input["dtype"] = "f64";
    run.metadata["programs"][0]["outputs"][0]["dtype"] = "f64";
    run.metadata["data"]["sources"][0]["paths"] = {run.folder() +
                                                   "/data64.safetensors"};
    auto result = losses(run, "--ranks " + std::to_string(ranks));
    if (expected.empty())
      expected = result;
    EXPECT_LT(relativeError(result, expected), 1e-12);
  }
}

TEST(Train, GathersBf16FromF32Masters) {
  std::vector<double> expected;
  for (int ranks : {1, 2, 3}) {
    TinyRun run;
    setDtypes(run, "bf16", "f32", "f32");
    auto result = losses(run, "--ranks " + std::to_string(ranks));
    if (expected.empty())
      expected = result;
    EXPECT_LT(relativeError(result, expected), 1e-3);
  }
  TinyRun plain;
  double error = relativeError(expected, losses(plain, ""));
  EXPECT_GT(error, 1e-6); // it did round
  EXPECT_LT(error, 5e-2);
}

TEST(Train, RunsAreBitwiseReproducible) {
  for (const char *arguments : {"--ranks 1", "--ranks 3"}) {
    TinyRun first, second;
    EXPECT_EQ(losses(first, arguments), losses(second, arguments));
    EXPECT_EQ(readFile(first.out("step-00000012/state/ema.safetensors")),
              readFile(second.out("step-00000012/state/ema.safetensors")));
  }
}

TEST(Train, GradientsAreThoseOfOneRank) {
  TinyRun one, four;
  std::string a = one.folder() + "/g", b = four.folder() + "/g";
  losses(one, "--steps 1 --dump-gradients " + a);
  losses(four, "--steps 1 --ranks 4 --dump-gradients " + b);
  for (const char *name : {"net.a.weight", "net.a.bias", "net.b.weight"})
    EXPECT_LT(relativeError(readTensor(b, name), readTensor(a, name)), 1e-4)
        << name;
  EXPECT_EQ(errorOf([&] { readTensor(a, "net.scale"); }).find(a + " has no "),
            0u);
}

TEST(Train, FrozenStaysAndTrainedMoves) {
  TinyRun run;
  losses(run, "--ranks 2 --steps 4");
  std::string model = run.out("step-00000004/model/net/diffusion_pytorch_model"
                              ".safetensors");
  std::vector<double> scale = readTensor(model, "scale");
  TinyRun other;
  other.metadata["optimizer"]["lr"] = 0.0;
  losses(other, "--steps 4");
  std::string start = other.out("step-00000004/model/net/"
                                "diffusion_pytorch_model.safetensors");
  EXPECT_EQ(scale, readTensor(start, "scale"));
  for (const char *name : {"a.weight", "a.bias", "b.weight"})
    EXPECT_NE(readTensor(model, name), readTensor(start, name)) << name;
}

TEST(Train, SamplesOfAStepDoNotDependOnRanks) {
  auto samplesOf = [](const std::string &arguments) {
    TinyRun run;
    RunResult result = run.run(arguments + " --steps 5 --dump-samples");
    EXPECT_EQ(result.status, 0) << result.err;
    std::map<int, std::multiset<int>> steps;
    std::istringstream lines(result.out);
    std::string line, word;
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      int step, rank, sample;
      if (!(words >> word) || word != "samples")
        continue;
      words >> word >> step >> word >> rank >> word;
      std::istringstream ids(line.substr(line.find(':') + 1));
      while (ids >> sample)
        steps[step].insert(sample);
    }
    return steps;
  };
  auto expected = samplesOf("--ranks 1");
  ASSERT_EQ(expected.size(), 5u);
  for (const auto &step : expected)
    EXPECT_EQ(step.second.size(), 12u);
  EXPECT_EQ(samplesOf("--ranks 2"), expected);
  EXPECT_EQ(samplesOf("--ranks 5"), expected);
}

TEST(Train, AccumulationEqualsOneLargeBatch) {
  // One rank with three micro-batches, three ranks with one each.
  TinyRun accumulated, spread;
  EXPECT_LT(relativeError(losses(accumulated, "--ranks 1"),
                          losses(spread, "--ranks 3")),
            1e-5);
}

TEST(Train, WeightsOfAFile) {
  TinyRun first;
  losses(first, "--steps 4");
  std::string model = first.out("step-00000004/model/net/"
                                "diffusion_pytorch_model.safetensors");
  TinyRun second;
  takeWeightsFrom(second, model);
  second.metadata["optimizer"]["lr"] = 0.0;
  losses(second, "--steps 1 --ranks 3");
  std::string copy = second.out("step-00000001/model/net/"
                                "diffusion_pytorch_model.safetensors");
  for (const char *name : {"a.weight", "a.bias", "b.weight", "scale"})
    EXPECT_EQ(readTensor(copy, name), readTensor(model, name)) << name;
}

TEST(Train, WrongWeightsAreErrors) {
  TinyRun run;
  std::string path = run.folder() + "/w.safetensors";
  takeWeightsFrom(run, path);
  for (const char *ranks : {"", "--ranks 3"}) {
    RunResult result = run.run(ranks);
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find("cannot open " + path +
                              ": No such file or "
                              "directory; component 'net' was compiled "
                              "against this file; fix: put it back, or "
                              "compile tiny.toml again"),
              std::string::npos)
        << result.err;
  }
  writeFile(path, safetensors(R"({"a.weight":{"dtype":"BF16","shape":[1],)"
                              R"("data_offsets":[0,2]}})",
                              std::string(2, '\0')));
  RunResult result = run.run("");
  EXPECT_EQ(result.err, "error: [rank 0] 'a.weight' in " + path +
                            ", the start of 'net.a.weight', was F32 [7, 5] "
                            "when tiny.toml was compiled, the file now has "
                            "BF16 [1]; fix: compile the spec again, or put the "
                            "file back\n");
  writeFile(path, safetensors(R"({"a.weight":{"dtype":"F32","shape":[7,5],)"
                              R"("data_offsets":[0,140]}})",
                              std::string(140, '\0')));
  result = run.run("");
  EXPECT_NE(result.err.find("'a.bias' in " + path), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("the file now has no such tensor"),
            std::string::npos)
      << result.err;
  writeFile(path, safetensors(R"({"a.weight":{"dtype":"F32","shape":[7,5],)"
                              R"("data_offsets":[0,140]}})",
                              std::string(100, '\0')));
  result = run.run("");
  EXPECT_NE(result.err.find(path + " is truncated"), std::string::npos)
      << result.err;
}

TEST(Train, ProfileAndLayoutArePrinted) {
  TinyRun run;
  RunResult layout = run.run("--print-layout --ranks 4");
  EXPECT_NE(layout.out.find("replicate=1 shard=4"), std::string::npos);
  RunResult result = run.run("--profile --steps 2");
  EXPECT_NE(result.out.find("matmul 0"), std::string::npos) << result.out;
}

TEST(Train, BadFlagsAreNamed) {
  TinyRun run;
  RunResult result = run.run("--steps x");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("--steps"), std::string::npos) << result.err;
  result = run.run("--rank 2");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("--rank"), std::string::npos) << result.err;
  run.metadata["mesh"]["replicate"] = 2;
  result = run.run("--ranks 3");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err,
            "error: [mesh] replicate = 2, shard = auto does not fit "
            "3 ranks; fix: replicate x shard may be 1 x 3, 3 x "
            "1\n");
}
