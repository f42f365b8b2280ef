//===- ModelSupport.cpp - Tiny models with many kinds of groups -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelSupport.h"
#include "runtime/train/Safetensors.h"
#include "runtime/train/TensorFile.h"

namespace ff::rt::test {

using nlohmann::json;

const std::vector<MeshCase> meshes = {{1, "--ranks 1"},
                                      {1, "--ranks 2"},
                                      {1, "--ranks 3"},
                                      {1, "--ranks 4"},
                                      {2, "--ranks 4"}};

void writeTensors(const std::string &path,
                  const std::vector<MadeTensor> &tensors) {
  std::vector<PlannedTensor> planned;
  for (const MadeTensor &tensor : tensors)
    planned.push_back({tensor.name, tensor.dtype, tensor.shape});
  TensorFilePlan plan(planned);
  plan.create(path);
  DurableFile file(path, false);
  unsigned state = 1;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string bytes(planned[i].bytes(), '\0');
    size_t size = fileDtypeSize(planned[i].dtype);
    for (size_t at = 0; at < bytes.size(); ++at) {
      state = state * 1664525u + 1013904223u;
      bytes[at] = static_cast<char>(state >> 24);
      // The last byte has the exponent: about 1 in all floats.
      if (at % size == size - 1)
        bytes[at] = static_cast<char>((bytes[at] & 0x80) | 0x3b);
    }
    file.write(bytes.data(), bytes.size(), plan.offset(i));
  }
}

std::string tensorBytes(const std::string &path, const std::string &name) {
  SafetensorsFile file(path);
  const FileTensor &tensor = file.tensor(name);
  return std::string(file.data(tensor), tensor.end - tensor.begin);
}

std::map<std::string, std::string> tensorsOf(const std::string &path) {
  SafetensorsFile file(path);
  std::map<std::string, std::string> result;
  for (const auto &entry : file.tensors())
    result[entry.first] =
        entry.second.dtype + " " + shapeText(entry.second.shape);
  return result;
}

static std::string lower(std::string name) {
  if (name == "F8_E4M3")
    return "f8e4m3";
  for (char &c : name)
    c = static_cast<char>(std::tolower(c));
  return name;
}

json frozenGroup(const std::string &dtype, const std::string &master,
                 const std::string &storage, bool sharded,
                 const std::vector<MadeTensor> &tensors) {
  json group = {{"unit", 1},
                {"component", 0},
                {"trainable", false},
                {"storage_dtype", storage},
                {"dtype", dtype},
                {"master_dtype", master},
                {"sharded", sharded},
                {"reduce_dtype", nullptr},
                {"params", json::array()}};
  int64_t end = 0;
  for (const MadeTensor &tensor : tensors) {
    int64_t offset = (end + 15) / 16 * 16;
    end = offset;
    int64_t numel = 1;
    for (int64_t dim : tensor.shape)
      numel *= dim;
    if (master == "i8")
      numel *= static_cast<int64_t>(fileDtypeSize(tensor.dtype));
    end += numel;
    group["params"].push_back({{"name", tensor.name},
                               {"shape", tensor.shape},
                               {"offset", offset},
                               {"source",
                                {{"file", 0},
                                 {"tensor", tensor.name},
                                 {"dtype", lower(tensor.dtype)}}},
                               {"save", {{"file", 0}, {"name", tensor.name}}}});
  }
  group["numel"] = end;
  return group;
}

void addGroup(json &metadata, json group) {
  metadata["units"][1]["groups"].push_back(metadata["groups"].size());
  metadata["groups"].push_back(std::move(group));
}

static const std::vector<MadeTensor> halves = {{"m.w", "BF16", {5, 9}},
                                               {"m.v", "BF16", {3}}};
static const std::vector<MadeTensor> floats = {{"f.w", "F16", {40}}};
static const std::vector<MadeTensor> integers = {{"i.ids", "I64", {3}}};
static const std::vector<MadeTensor> raw = {
    {"r.u8", "U8", {6}}, {"r.f8", "F8_E4M3", {4, 5}}, {"r.i16", "I16", {25}}};

std::vector<MadeTensor> mixedTensors() {
  std::vector<MadeTensor> all;
  for (const auto *part : {&halves, &floats, &integers, &raw})
    all.insert(all.end(), part->begin(), part->end());
  return all;
}

void makeMixed(TinyRun &run) {
  std::string path = run.folder() + "/mixed.safetensors";
  writeTensors(path, mixedTensors());
  json &metadata = run.metadata;
  metadata["components"][0]["files"] = {path};
  metadata["groups"][0]["dtype"] = "bf16";
  metadata["groups"][1]["sharded"] = false;
  addGroup(metadata, frozenGroup("bf16", "bf16", "bf16", true, halves));
  addGroup(metadata, frozenGroup("bf16", "f32", "f16", false, floats));
  addGroup(metadata, frozenGroup("i64", "i64", "i64", true, integers));
  addGroup(metadata, frozenGroup("i8", "i8", "i8", true, raw));
}

void makeLora(TinyRun &run) {
  std::string path = run.folder() + "/base.safetensors";
  const std::vector<MadeTensor> base = {{"w", "BF16", {30, 40}},
                                        {"c", "BF16", {6, 3, 2, 2}}};
  writeTensors(path, base);
  json &metadata = run.metadata;
  json &component = metadata["components"][0];
  component["files"] = {path};
  component["train"] = "lora";
  component["lora"] = {{"rank", 4},
                       {"alpha", 8.0},
                       {"dropout", 0.0},
                       {"merge", true},
                       {"target_modules", {"w", "c"}},
                       {"rank_pattern", {{"c", 2}}},
                       {"alpha_pattern", {{"c", 3.5}}},
                       {"base_model", "base"}};
  component["save"] = {{"kind", "adapter"},
                       {"files", {"adapter_model.safetensors"}}};
  for (auto &group : metadata["groups"])
    for (auto &param : group["params"])
      if (!group["trainable"])
        param["save"] = nullptr;
  json frozen = frozenGroup("bf16", "bf16", "bf16", true, base);
  const char *names[] = {"w", "c"};
  for (int i = 0; i < 2; ++i) {
    json &param = frozen["params"][i];
    std::string name = names[i];
    param["save"] = nullptr;
    param["source"]["tensor"] = param["name"];
    param["merge"] = {{"a", name + ".lora_A.weight"},
                      {"b", name + ".lora_B.weight"},
                      {"scale", i ? 1.75 : 2.0}};
  }
  json adapters = metadata["groups"][0];
  adapters["unit"] = 1;
  adapters["dtype"] = "bf16";
  adapters["numel"] = 0;
  adapters["params"] = json::array();
  auto add = [&](const std::string &name, std::vector<int64_t> shape) {
    int64_t numel = 1,
            offset = (adapters["numel"].get<int64_t>() + 15) / 16 * 16;
    for (int64_t dim : shape)
      numel *= dim;
    adapters["params"].push_back(
        {{"name", name},
         {"shape", shape},
         {"offset", offset},
         {"decay", false},
         {"init", {{"kind", "normal"}, {"mean", 0.0}, {"std", 0.5}}},
         {"save", {{"file", 0}, {"name", "base_model.model." + name}}}});
    adapters["numel"] = offset + numel;
  };
  add("w.lora_A.weight", {4, 40});
  add("w.lora_B.weight", {30, 4});
  add("c.lora_A.weight", {2, 3, 2, 2});
  add("c.lora_B.weight", {6, 2, 1, 1});
  addGroup(metadata, frozen);
  addGroup(metadata, adapters);
}

} // namespace ff::rt::test
