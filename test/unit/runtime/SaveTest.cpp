//===- SaveTest.cpp - Saved models: split files, adapters, merged ---------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelSupport.h"
#include "runtime/cpu/HostCommunicator.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Data.h"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>

using namespace ff::rt;
using namespace ff::rt::test;
namespace fs = std::filesystem;

namespace {
const std::string step = "step-00000004/";
const std::string adapterFile = step + "model/net/adapter_model.safetensors";
const std::string mergedModel =
    step + "merged/net/diffusion_pytorch_model.safetensors";

void train(TinyRun &run, const std::string &arguments) {
  RunResult result = run.run("--steps 4 " + arguments);
  EXPECT_EQ(result.status, 0) << arguments << ": " << result.err;
}

/// W + scale * B x A in f32, rounded to bf16.
std::vector<double> merged(TinyRun &run, const std::string &name, int64_t rank,
                           double scale) {
  auto w = readTensor(run.folder() + "/base.safetensors", name);
  auto state = run.out(step + "state/master.safetensors");
  auto a = readTensor(state, "net." + name + ".lora_A.weight");
  auto b = readTensor(state, "net." + name + ".lora_B.weight");
  size_t columns = a.size() / static_cast<size_t>(rank);
  std::vector<double> result;
  for (size_t i = 0; i < w.size(); ++i) {
    float sum = 0;
    for (size_t k = 0; k < static_cast<size_t>(rank); ++k)
      sum +=
          static_cast<float>(b[i / columns * static_cast<size_t>(rank) + k]) *
          static_cast<float>(a[k * columns + i % columns]);
    sum = static_cast<float>(w[i]) + static_cast<float>(scale) * sum;
    result.push_back(bf16ToFloat(floatToBf16(sum)));
  }
  return result;
}
} // namespace

TEST(Save, AdapterAsPeftReadsIt) {
  TinyRun run;
  makeLora(run);
  train(run, "--ranks 2");
  auto tensors = tensorsOf(run.out(adapterFile));
  EXPECT_EQ(tensors.size(), 7u);
  EXPECT_EQ(tensors["base_model.model.w.lora_A.weight"], "F32 [4, 40]");
  EXPECT_EQ(tensors["base_model.model.c.lora_B.weight"], "F32 [6, 2, 1, 1]");
  for (const char *name : {"w.lora_A.weight", "c.lora_B.weight"})
    EXPECT_EQ(tensorBytes(run.out(adapterFile),
                          std::string("base_model.model.") + name),
              tensorBytes(run.out(step + "state/master.safetensors"),
                          std::string("net.") + name));
  EXPECT_FALSE(fs::exists(run.out(step + "model/net/config.json")));
  EXPECT_EQ(nlohmann::json::parse(
                readFile(run.out(step + "model/net/adapter_config.json"))),
            nlohmann::json::parse(R"({
    "peft_type": "LORA", "task_type": null, "base_model_name_or_path": "base",
    "r": 4, "lora_alpha": 8, "lora_dropout": 0.0, "target_modules": ["w", "c"],
    "rank_pattern": {"c": 2}, "alpha_pattern": {"c": 3.5}, "bias": "none",
    "fan_in_fan_out": false, "use_rslora": false, "inference_mode": true,
    "init_lora_weights": true, "modules_to_save": null})"));
}

TEST(Save, AdapterRoundTrip) {
  TinyRun first;
  makeLora(first);
  train(first, "--ranks 3");
  TinyRun second;
  makeLora(second);
  second.metadata["optimizer"]["lr"] = 0.0;
  second.metadata["schedule"]["final_lr"] = 0.0;
  second.metadata["components"][0]["files"].push_back(first.out(adapterFile));
  for (int g : {0, 1, 4})
    for (auto &param : second.metadata["groups"][g]["params"])
      param["source"] = {
          {"file", 1}, {"tensor", param["save"]["name"]}, {"dtype", "f32"}};
  train(second, "--ranks 2");
  EXPECT_TRUE(readFile(second.out(adapterFile)) ==
              readFile(first.out(adapterFile)));
}

TEST(Save, MergedWeightsOnAnyMesh) {
  std::string expected;
  for (const MeshCase &mesh : meshes) {
    TinyRun run;
    makeLora(run);
    run.metadata["optimizer"]["lr"] = 0.0; // the same adapters on all
    run.metadata["schedule"]["final_lr"] = 0.0;
    run.metadata["mesh"]["replicate"] = mesh.replicate;
    if (mesh.replicate == 2)
      run.metadata["groups"][3]["sharded"] =
          run.metadata["groups"][4]["sharded"] = false;
    train(run, mesh.ranks);
    if (expected.empty()) {
      expected = readFile(run.out(mergedModel));
      // All weights, the adapters are gone. "scale" is a buffer that is not
      // kept.
      EXPECT_EQ(
          tensorsOf(run.out(mergedModel)),
          (std::map<std::string, std::string>{{"w", "BF16 [30, 40]"},
                                              {"c", "BF16 [6, 3, 2, 2]"},
                                              {"a.weight", "F32 [7, 5]"},
                                              {"a.bias", "F32 [7]"},
                                              {"b.weight", "F32 [1, 7]"}}));
      EXPECT_LT(relativeError(readTensor(run.out(mergedModel), "w"),
                              merged(run, "w", 4, 2.0)),
                1e-2); // one rounding to bf16 may differ
      EXPECT_LT(relativeError(readTensor(run.out(mergedModel), "c"),
                              merged(run, "c", 2, 1.75)),
                1e-2);
      EXPECT_NE(tensorBytes(run.out(mergedModel), "w"),
                tensorBytes(run.folder() + "/base.safetensors", "w"));
      EXPECT_TRUE(fs::exists(run.out(step + "merged/net/config.json")));
    }
    EXPECT_TRUE(readFile(run.out(mergedModel)) == expected) << mesh.ranks;
  }
}

TEST(Save, MergeIsAnOption) {
  TinyRun run;
  makeLora(run);
  run.metadata["components"][0]["lora"]["merge"] = false;
  train(run, "");
  EXPECT_FALSE(fs::exists(run.out(step + "merged")));
  TinyRun other;
  makeLora(other);
  train(other, "");
  EXPECT_TRUE(fs::exists(other.out(mergedModel)));
}

TEST(Save, SplitFilesHaveAnIndex) {
  TinyRun run;
  run.metadata["components"][0]["save"]["files"] = {
      "diffusion_pytorch_model-00001-of-00002.safetensors",
      "diffusion_pytorch_model-00002-of-00002.safetensors"};
  run.metadata["groups"][1]["params"][0]["save"]["file"] = 1;
  run.metadata["groups"][1]["params"][0]["save"]["name"] = "renamed";
  run.metadata["groups"][0]["storage_dtype"] = "f16";
  train(run, "--ranks 3");
  auto index = nlohmann::json::parse(readFile(run.out(
      step + "model/net/diffusion_pytorch_model.safetensors.index.json")));
  EXPECT_EQ(index["metadata"]["total_size"], 35 * 2 + 7 * 2 + 7 * 4 + 7 * 4);
  EXPECT_EQ(index["weight_map"]["renamed"],
            "diffusion_pytorch_model-00002-of-00002.safetensors");
  for (const auto &entry : index["weight_map"].items())
    EXPECT_EQ(tensorsOf(run.out(step + "model/net/" +
                                entry.value().get<std::string>()))
                  .count(entry.key()),
              1u);
  // Saved from the masters, in the storage type.
  auto saved = readTensor(
      run.out(step + "model/net/diffusion_pytorch_model-00001-of-00002."
                     "safetensors"),
      "a.weight");
  auto masters =
      readTensor(run.out(step + "state/master.safetensors"), "net.a.weight");
  for (size_t i = 0; i < saved.size(); ++i)
    EXPECT_EQ(saved[i], f16ToFloat(floatToF16(static_cast<float>(masters[i]))));
}

TEST(Save, LoadAndSaveAgainIsTheSameBytes) {
  TinyRun run;
  makeLora(run);
  train(run, "--ranks 2");
  Metadata metadata = parseMetadata(run.metadata.dump());
  Layout layout = computeLayout(metadata, {RunMode::Train, {1, 1}, 0});
  HostArena arena(layout.totalBytes);
  auto comm = makeSoloCommunicator();
  std::string again = run.folder() + "/again";
  Checkpointer checkpointer(metadata, layout, arena, *comm, again,
                            metadata.data->sources[0].paths);
  checkpointer.setDataOrder(DataSet(metadata).orderText());
  loadParameters(metadata, layout, arena, LoadTeam::alone(0));
  CheckpointInfo info = verifyCheckpoint(run.out("step-00000004"));
  EXPECT_TRUE(checkpointer.load(info, LoadTeam::alone(0)).empty());
  EXPECT_EQ(checkpointer.save(info.step, info.samples), "");
  size_t files = 0;
  for (const auto &entry :
       fs::recursive_directory_iterator(run.out("step-00000004"))) {
    if (!entry.is_regular_file())
      continue;
    std::string name =
        fs::relative(entry.path(), run.out("step-00000004")).string();
    EXPECT_EQ(readFile(again + "/step-00000004/" + name),
              readFile(entry.path().string()))
        << name;
    ++files;
  }
  EXPECT_EQ(files, 9u);
}

TEST(Save, KillAtAnyWriteOfAnAdapter) {
  TinyRun base;
  makeLora(base);
  train(base, "");
  for (int n = 1, status = -1; status != 0; n += 2) {
    ASSERT_LT(n, 500);
    TinyRun run;
    makeLora(run);
    fs::copy(base.out(), run.out(), fs::copy_options::recursive);
    status = run.run("--steps 5 --resume auto",
                     "FF_FAULT_WRITE=" + std::to_string(n))
                 .status;
    ASSERT_TRUE(status == 0 || status == 128 + SIGKILL);
    std::vector<std::string> warnings;
    auto found = findCheckpoint(run.out(), "auto", warnings);
    ASSERT_TRUE(found) << "after a kill at operation " << n;
    EXPECT_TRUE(found->step == 4 || found->step == 5);
    EXPECT_TRUE(warnings.empty()) << warnings[0];
  }
}

TEST(Save, AFullDiskOfOneRankEndsTheSaveOfAll) {
  TinyRun base;
  makeLora(base);
  train(base, "--ranks 2");
  for (int n = 1; n <= 12; ++n) {
    TinyRun run;
    makeLora(run);
    fs::copy(base.out(), run.out(), fs::copy_options::recursive);
    RunResult result = run.run("--steps 5 --resume auto --ranks 2",
                               "FF_FULL_DISK=" + std::to_string(n) + "@1");
    EXPECT_LT(result.seconds, 15) << n;
    if (result.status == 0)
      continue; // rank 1 has fewer writes
    EXPECT_NE(result.err.find("No space left on device"), std::string::npos)
        << result.err;
    EXPECT_EQ(checkpointFolders(run.out()).size(), 1u);
  }
}

TEST(Save, OverflowOfTheStorageTypeFailsTheSave) {
  TinyRun run;
  run.metadata["groups"][2]["storage_dtype"] = "f16";
  run.metadata["groups"][2]["params"][0]["init"] = {{"kind", "constant"},
                                                    {"value", 1e5}};
  run.metadata["train"]["on_nonfinite"] = "skip";
  RunResult result = run.run("--steps 1");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("'scale' has values up to 100000, which are "
                            "infinite in the F16 of "),
            std::string::npos)
      << result.err;
}

TEST(Resume, AnotherTrainableSetIsListed) {
  TinyRun run;
  makeLora(run);
  train(run, "");
  auto &params = run.metadata["groups"][4]["params"];
  for (auto &param : params) {
    std::string name = param["name"];
    if (name[0] == 'c')
      param["name"] = "d" + name.substr(1);
  }
  auto &merge = run.metadata["groups"][3]["params"][1]["merge"];
  merge["a"] = "d.lora_A.weight";
  merge["b"] = "d.lora_B.weight";
  run.metadata["groups"][1]["master_dtype"] = "bf16";
  RunResult result = run.run("--resume auto --ranks 2");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(
      result.err.find(
          "was made by a run that trained other parameters: 3 of the 7 there "
          "are not trained now: 'net.b.weight' (f32 [1, 7]), "
          "'net.c.lora_A.weight' (f32 [2, 3, 2, 2]), 'net.c.lora_B.weight' "
          "(f32 [6, 2, 1, 1]); 3 of the 7 now are not there: 'net.b.weight' "
          "(bf16 [1, 7]), 'net.d.lora_A.weight' (f32 [2, 3, 2, 2]), "
          "'net.d.lora_B.weight' (f32 [6, 2, 1, 1]); fix: the spec that made "
          "the checkpoint, or --resume none to start over"),
      std::string::npos)
      << result.err;
}

TEST(Resume, OtherDifferencesAreWarnings) {
  TinyRun run;
  train(run, "");
  run.metadata["optimizer"]["lr"] = 0.01;
  run.metadata["train"]["global_batch"] = 8;
  run.metadata["groups"][0]["dtype"] = "bf16";
  fs::copy(run.folder() + "/data.safetensors", run.folder() + "/more");
  RunResult result =
      run.run("--steps 5 --resume auto --data " + run.folder() + "/more");
  EXPECT_EQ(result.status, 0) << result.err;
  for (const std::string &text :
       {std::string("lr 0.02, the run goes on with 0.01"),
        std::string("global_batch 12, the run goes on with 8"),
        "the data " + run.folder() +
            "/data.safetensors, the run goes on with " + run.folder() + "/more",
        std::string("the precision f32 gathered from f32, reduced in f32, the "
                    "run goes on with bf16 gathered from f32, reduced in f32; "
                    "f32 gathered from f32, reduced in f32")})
    EXPECT_NE(result.err.find(text), std::string::npos)
        << text << " in " << result.err;
}
