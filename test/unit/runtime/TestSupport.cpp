//===- TestSupport.cpp - What several tests of the runtime use ------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"
#include "runtime/train/Safetensors.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ff::rt::test {

TempFolder::TempFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "ff-rt-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    std::abort();
  folder = pattern;
}

TempFolder::~TempFolder() { std::filesystem::remove_all(folder); }

std::string TempFolder::path(const std::string &name) const {
  return name.empty() ? folder : folder + "/" + name;
}

void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string readFile(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string safetensors(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header +
         data;
}

std::vector<double> readTensor(const std::string &path,
                               const std::string &name) {
  SafetensorsFile file(path);
  const FileTensor &tensor = file.tensor(name);
  std::vector<double> values(static_cast<size_t>(tensor.numel()));
  convertFromFile(tensor.dtype, file.data(tensor), FF_F64, values.data(),
                  tensor.numel(), false);
  return values;
}

nlohmann::json tinyMetadata() {
  return nlohmann::json::parse(R"json({
    "version": 2, "name": "tiny", "spec": "tiny.toml", "seed": 7,
    "mesh": {"replicate": 1, "shard": 0},
    "components": [{"name": "net", "module": "Tiny", "train": "full",
      "files": [], "config": {"hidden": 7},
      "reshard_after_forward": true, "lora": null,
      "save": {"kind": "full",
               "files": ["diffusion_pytorch_model.safetensors"]}}],
    "groups": [
      {"unit": 0, "component": 0, "trainable": true, "sharded": true,
       "storage_dtype": "f32", "dtype": "f32", "master_dtype": "f32", "reduce_dtype": "f32", "numel": 55, "params": [
        {"name": "a.weight", "save": {"file": 0, "name": "a.weight"},
          "shape": [7, 5], "offset": 0, "decay": true,
         "init": {"kind": "normal", "mean": 0.0, "std": 0.5}},
        {"name": "a.bias", "save": {"file": 0, "name": "a.bias"},
          "shape": [7], "offset": 48, "decay": false,
         "init": {"kind": "constant", "value": 0.0}}]},
      {"unit": 1, "component": 0, "trainable": true, "sharded": true,
       "storage_dtype": "f32", "dtype": "f32", "master_dtype": "f32", "reduce_dtype": "f32", "numel": 7, "params": [
        {"name": "b.weight", "save": {"file": 0, "name": "b.weight"},
          "shape": [1, 7], "offset": 0, "decay": true,
         "init": {"kind": "uniform", "low": -0.5, "high": 0.5}}]},
      {"unit": 1, "component": 0, "trainable": false, "sharded": true,
       "storage_dtype": "f32", "dtype": "f32", "master_dtype": "f32", "reduce_dtype": null, "numel": 7, "params": [
        {"name": "scale", "save": {"file": 0, "name": "scale"},
          "shape": [7], "offset": 0, "decay": false,
         "init": {"kind": "uniform", "low": 0.5, "high": 1.5}}]}],
    "units": [{"name": "net.a", "component": 0, "groups": [0]},
              {"name": "net.b", "component": 0, "groups": [1, 2]}],
    "programs": [
      {"name": "train",
       "inputs": [{"name": "x", "dtype": "f32", "shape": [4, 5]},
                  {"name": "y", "dtype": "f32", "shape": [4, 1]}],
       "outputs": [{"name": "loss", "dtype": "f32", "shape": []}],
       "arena_bytes": 4096,
       "gather_slots": [[0], [1]], "grad_slots": [[0, 1]]},
      {"name": "sample",
       "inputs": [{"name": "label", "dtype": "i64", "shape": [4]}],
       "outputs": [{"name": "image", "dtype": "f32", "shape": [4, 1, 2, 2]}],
       "arena_bytes": 1024,
       "gather_slots": [[0]], "grad_slots": []}],
    "matmuls": [
      {"dtype": "f32", "batch": [], "m": 4, "n": 7, "k": 5,
       "a_strides": [5, 1], "b_strides": [1, 5], "c_strides": [7, 1],
       "bias": true, "activation": null},
      {"dtype": "f32", "batch": [], "m": 7, "n": 5, "k": 4,
       "a_strides": [1, 7], "b_strides": [5, 1], "c_strides": [5, 1],
       "bias": false, "activation": null}],
    "data": {"sources": [{"kind": "shards", "paths": ["data.safetensors"]}],
             "fields": {"x": "x", "y": "target"}, "shuffle": true},
    "train": {"program": "train", "steps": 12, "global_batch": 12,
              "micro_batch": 4, "clip_norm": 1.0, "ema_decay": 0.9,
              "on_nonfinite": "stop"},
    "optimizer": {"kind": "adamw", "lr": 0.02, "beta1": 0.9, "beta2": 0.99,
                  "eps": 1e-8, "weight_decay": 0.1},
    "schedule": {"kind": "cosine", "warmup_steps": 3, "total_steps": 12,
                 "final_lr": 0.001},
    "checkpoint": {"dir": "out", "every": 4, "keep": 2, "at_end": true},
    "log": {"every": 5},
    "sample": {"program": "sample", "count": 10, "weights": "ema",
               "inputs": {"label": {"cycle": 3}},
               "image": {"output": "image", "file": "samples.png",
                         "columns": 5, "low": -1.0, "high": 1.0, "scale": 2}}
  })json");
}

} // namespace ff::rt::test
