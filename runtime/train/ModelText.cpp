//===- ModelText.cpp - The JSON files beside saved weights ----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/ModelText.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace ff::rt {

using nlohmann::ordered_json;

/// PEFT counts alpha in integers, where it is one.
static ordered_json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15)
    return static_cast<int64_t>(value);
  return value;
}

static ordered_json adapterConfig(const LoraPolicy &lora) {
  ordered_json config;
  config["peft_type"] = "LORA";
  config["task_type"] = nullptr;
  config["base_model_name_or_path"] = nullptr;
  if (!lora.baseModel.empty())
    config["base_model_name_or_path"] = lora.baseModel;
  config["r"] = lora.rank;
  config["lora_alpha"] = number(lora.alpha);
  config["lora_dropout"] = lora.dropout;
  config["target_modules"] = lora.targetModules;
  config["rank_pattern"] = ordered_json::object();
  for (const auto &entry : lora.rankPattern)
    config["rank_pattern"][entry.first] = entry.second;
  config["alpha_pattern"] = ordered_json::object();
  for (const auto &entry : lora.alphaPattern)
    config["alpha_pattern"][entry.first] = number(entry.second);
  config["bias"] = "none";
  config["fan_in_fan_out"] = false;
  config["use_rslora"] = false;
  config["inference_mode"] = true;
  config["init_lora_weights"] = true;
  config["modules_to_save"] = nullptr;
  return config;
}

std::string weightsStem(const Component &component) {
  // As the frontend decides: a config of transformers lists its classes.
  auto config = nlohmann::json::parse(component.config);
  auto classes = config.find("architectures");
  bool isTransformers = classes != config.end() && classes->is_array();
  return isTransformers ? "model" : "diffusion_pytorch_model";
}

std::string adapterMetadata(const Component &component) {
  ordered_json config = adapterConfig(*component.lora), fields;
  for (const auto &[key, value] : config.items())
    fields[component.name + "." + key] = value;
  return fields.dump();
}

static std::string indexOf(const std::vector<ParameterFile> &files) {
  ordered_json index;
  size_t bytes = 0;
  std::map<std::string, std::string> where; // by name, as others write it
  for (const ParameterFile &file : files) {
    bytes += file.plan.dataBytes();
    std::string name = std::filesystem::path(file.path).filename().string();
    for (const PlannedTensor &tensor : file.plan.tensors())
      where[tensor.name] = name;
  }
  index["metadata"]["total_size"] = bytes;
  index["weight_map"] = where;
  return index.dump(2) + "\n";
}

std::vector<TextFile> modelTexts(const Component &component,
                                 const std::vector<ParameterFile> &files) {
  std::string folder =
      std::filesystem::path(files.at(0).path).parent_path().string();
  bool adapter = component.save && component.save->adapter;
  // Merged weights are no adapter any more.
  if (adapter && folder.compare(0, 6, "model/") == 0)
    return {{folder + "/adapter_config.json",
             adapterConfig(*component.lora).dump(2) + "\n"}};
  std::vector<TextFile> texts = {
      {folder + "/config.json", component.config + "\n"}};
  if (files.size() > 1)
    texts.push_back(
        {folder + "/" + weightsStem(component) + ".safetensors.index.json",
         indexOf(files)});
  return texts;
}

} // namespace ff::rt
