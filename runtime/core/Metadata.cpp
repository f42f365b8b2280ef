//===- Metadata.cpp - Parses the metadata of a compiled spec --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Metadata.h"
#include "runtime/core/Error.h"

#include <nlohmann/json.hpp>

#include <set>

namespace ff::rt {

using nlohmann::json;

namespace {

/// One JSON object, which must hold the keys that are asked for and no others.
class Reader {
public:
  Reader(const json &value, std::string path)
      : value(value), path(std::move(path)) {
    if (!value.is_object())
      failInternal("metadata: {} is not an object", this->path);
  }

  /// Null where the key is absent or null.
  const json *find(const char *key) {
    seen.insert(key);
    auto it = value.find(key);
    return it == value.end() || it->is_null() ? nullptr : &*it;
  }

  const json &at(const char *key) {
    if (const json *found = find(key))
      return *found;
    failInternal("metadata: {} lacks '{}'", path, key);
  }

  std::string pathOf(const char *key) const { return path + "." + key; }

  template <typename T> T get(const char *key) {
    return convert<T>(at(key), key);
  }

  template <typename T> T get(const char *key, T fallback) {
    const json *found = find(key);
    return found ? convert<T>(*found, key) : fallback;
  }

  template <typename T> std::optional<T> maybe(const char *key) {
    const json *found = find(key);
    if (!found)
      return std::nullopt;
    return convert<T>(*found, key);
  }

  DType dtype(const char *key) {
    std::string name = get<std::string>(key);
    DType result;
    if (!parseDtype(name, result))
      failInternal("metadata: {} is '{}', not a dtype", pathOf(key), name);
    return result;
  }

  /// Calls `body(reader)` for each object of an array.
  template <typename Body> void each(const char *key, Body &&body) {
    const json &array = at(key);
    if (!array.is_array())
      failInternal("metadata: {} is not an array", pathOf(key));
    for (size_t i = 0; i < array.size(); ++i) {
      Reader element(array[i], fmt::format("{}[{}]", pathOf(key), i));
      body(element);
      element.finish();
    }
  }

  Reader object(const char *key) { return Reader(at(key), pathOf(key)); }

  /// Every key must have been asked for.
  void finish() {
    for (const auto &item : value.items())
      if (!seen.count(item.key()))
        failInternal("metadata: {} has the unknown key '{}'", path, item.key());
  }

private:
  template <typename T> T convert(const json &found, const char *key) {
    try {
      return found.get<T>();
    } catch (const json::exception &e) {
      failInternal("metadata: {}: {}", pathOf(key), e.what());
    }
  }

  const json &value;
  std::string path;
  std::set<std::string> seen;
};

Initializer parseInitializer(Reader reader) {
  Initializer init;
  std::string kind = reader.get<std::string>("kind");
  if (kind == "normal") {
    init.kind = Initializer::Kind::Normal;
    init.first = reader.get<double>("mean");
    init.second = reader.get<double>("std");
  } else if (kind == "uniform") {
    init.kind = Initializer::Kind::Uniform;
    init.first = reader.get<double>("low");
    init.second = reader.get<double>("high");
  } else if (kind == "constant") {
    init.kind = Initializer::Kind::Constant;
    init.first = reader.get<double>("value");
  } else {
    failInternal("metadata: unknown initialiser '{}'", kind);
  }
  reader.finish();
  return init;
}

Group parseGroup(Reader &reader) {
  Group group;
  group.unit = reader.get<int>("unit");
  group.component = reader.get<int>("component");
  group.trainable = reader.get<bool>("trainable");
  group.dtype = reader.dtype("dtype");
  group.masterDtype = reader.dtype("master_dtype");
  // A frozen group has no gradient, so its reduction may have no type.
  group.reduceDtype = group.trainable || reader.find("reduce_dtype")
                          ? reader.dtype("reduce_dtype")
                          : FF_F32;
  group.numel = reader.get<int64_t>("numel");
  reader.each("params", [&](Reader &r) {
    Param param;
    param.name = r.get<std::string>("name");
    param.shape = r.get<std::vector<int64_t>>("shape");
    param.offset = r.get<int64_t>("offset");
    param.decay = r.get<bool>("decay", false);
    // Parameters that come from a weight file need no initialiser.
    if (r.find("init"))
      param.init = parseInitializer(r.object("init"));
    group.params.push_back(std::move(param));
  });
  return group;
}

std::vector<TensorType> parseTensors(Reader &reader, const char *key) {
  std::vector<TensorType> tensors;
  reader.each(key, [&](Reader &r) {
    tensors.push_back({r.get<std::string>("name"), r.dtype("dtype"),
                       r.get<std::vector<int64_t>>("shape")});
  });
  return tensors;
}

Program parseProgram(Reader &reader) {
  using Slots = std::vector<std::vector<int>>;
  Program program;
  program.name = reader.get<std::string>("name");
  program.inputs = parseTensors(reader, "inputs");
  program.outputs = parseTensors(reader, "outputs");
  program.arenaBytes = reader.get<size_t>("arena_bytes");
  program.gatherSlots = reader.get<Slots>("gather_slots", {});
  program.gradSlots = reader.get<Slots>("grad_slots", {});
  return program;
}

Activation parseActivation(const std::string &name) {
  static const std::pair<const char *, Activation> names[] = {
      {"gelu_tanh", Activation::GeluTanh}, {"gelu", Activation::Gelu},
      {"silu", Activation::Silu},          {"relu", Activation::Relu},
      {"tanh", Activation::Tanh},          {"sigmoid", Activation::Sigmoid}};
  for (const auto &entry : names)
    if (name == entry.first)
      return entry.second;
  failInternal("metadata: unknown activation '{}'", name);
}

MatmulType parseMatmul(Reader &reader) {
  using Dims = std::vector<int64_t>;
  MatmulType matmul;
  matmul.dtype = reader.dtype("dtype");
  if (reader.find("c_dtype"))
    matmul.cDtype = reader.dtype("c_dtype");
  matmul.batch = reader.get<Dims>("batch", {});
  matmul.m = reader.get<int64_t>("m");
  matmul.n = reader.get<int64_t>("n");
  matmul.k = reader.get<int64_t>("k");
  matmul.aStrides = reader.get<Dims>("a_strides");
  matmul.bStrides = reader.get<Dims>("b_strides");
  matmul.cStrides = reader.get<Dims>("c_strides");
  matmul.bias = reader.get<bool>("bias", false);
  if (auto activation = reader.maybe<std::string>("activation"))
    matmul.activation = parseActivation(*activation);
  return matmul;
}

DataPolicy parseData(Reader reader) {
  DataPolicy data;
  data.files = reader.get<std::vector<std::string>>("files");
  const json &fields = reader.at("fields");
  if (!fields.is_object())
    failInternal("metadata: data.fields is not an object");
  for (const auto &item : fields.items()) {
    if (!item.value().is_string())
      failInternal("metadata: data.fields.{} is not a string", item.key());
    data.fields.emplace_back(item.key(), item.value().get<std::string>());
  }
  data.shuffle = reader.get<bool>("shuffle");
  reader.finish();
  return data;
}

TrainPolicy parseTrain(Reader reader) {
  TrainPolicy train;
  train.program = reader.get<std::string>("program");
  train.steps = reader.get<int64_t>("steps");
  train.globalBatch = reader.get<int64_t>("global_batch");
  train.microBatch = reader.get<int64_t>("micro_batch");
  train.clipNorm = reader.maybe<double>("clip_norm");
  train.emaDecay = reader.maybe<double>("ema_decay");
  std::string policy = reader.get<std::string>("on_nonfinite", "stop");
  if (policy != "stop" && policy != "skip")
    failInternal("metadata: train.on_nonfinite is '{}'", policy);
  train.skipNonfinite = policy == "skip";
  if (train.microBatch <= 0 || train.globalBatch <= 0 ||
      train.globalBatch % train.microBatch)
    failInternal("metadata: train.micro_batch ({}) does not divide "
                 "train.global_batch ({})",
                 train.microBatch, train.globalBatch);
  reader.finish();
  return train;
}

OptimizerPolicy parseOptimizer(Reader reader) {
  std::string kind = reader.get<std::string>("kind");
  if (kind != "adamw")
    failInternal("metadata: unknown optimizer '{}'", kind);
  OptimizerPolicy optimizer;
  optimizer.lr = reader.get<double>("lr");
  optimizer.beta1 = reader.get<double>("beta1");
  optimizer.beta2 = reader.get<double>("beta2");
  optimizer.eps = reader.get<double>("eps");
  optimizer.weightDecay = reader.get<double>("weight_decay");
  reader.finish();
  return optimizer;
}

SchedulePolicy parseSchedule(Reader reader) {
  SchedulePolicy schedule;
  std::string kind = reader.get<std::string>("kind");
  if (kind != "constant" && kind != "cosine")
    failInternal("metadata: unknown schedule '{}'", kind);
  schedule.cosine = kind == "cosine";
  schedule.warmupSteps = reader.get<int64_t>("warmup_steps", 0);
  schedule.totalSteps = schedule.cosine ? reader.get<int64_t>("total_steps")
                                        : reader.get<int64_t>("total_steps", 0);
  schedule.finalLr = reader.get<double>("final_lr", 0.0);
  reader.finish();
  return schedule;
}

CheckpointPolicy parseCheckpoint(Reader reader) {
  CheckpointPolicy checkpoint;
  checkpoint.dir = reader.get<std::string>("dir");
  checkpoint.every = reader.get<int64_t>("every", 0);
  checkpoint.keep = reader.get<int64_t>("keep", 1);
  checkpoint.atEnd = reader.get<bool>("at_end", true);
  reader.finish();
  return checkpoint;
}

SampleInput parseSampleInput(const std::string &name, Reader reader) {
  SampleInput input;
  input.name = name;
  input.cycle = reader.get<int64_t>("cycle", 0);
  input.file = reader.get<std::string>("file", "");
  input.tensor = reader.get<std::string>("tensor", "");
  if (input.cycle <= 0 && (input.file.empty() || input.tensor.empty()))
    failInternal("metadata: sample.inputs.{} has neither 'cycle' nor 'file' "
                 "with 'tensor'",
                 name);
  reader.finish();
  return input;
}

ImagePolicy parseImage(Reader reader) {
  ImagePolicy image;
  image.output = reader.get<std::string>("output");
  image.file = reader.get<std::string>("file");
  image.columns = reader.get<int64_t>("columns");
  image.low = reader.get<double>("low");
  image.high = reader.get<double>("high");
  image.scale = reader.get<int64_t>("scale", 1);
  if (image.columns <= 0 || image.scale <= 0 || !(image.low < image.high))
    failInternal("metadata: sample.image has columns {}, scale {}, low {}, "
                 "high {}",
                 image.columns, image.scale, image.low, image.high);
  reader.finish();
  return image;
}

SamplePolicy parseSample(Reader reader) {
  SamplePolicy sample;
  sample.program = reader.get<std::string>("program");
  sample.count = reader.get<int64_t>("count");
  std::string weights = reader.get<std::string>("weights", "model");
  if (weights != "ema" && weights != "model")
    failInternal("metadata: sample.weights is '{}'", weights);
  sample.ema = weights == "ema";
  if (const json *inputs = reader.find("inputs"))
    for (const auto &item : inputs->items())
      sample.inputs.push_back(parseSampleInput(
          item.key(),
          Reader(item.value(), reader.pathOf("inputs") + "." + item.key())));
  if (reader.find("image"))
    sample.image = parseImage(reader.object("image"));
  reader.finish();
  return sample;
}

void checkGroup(const Metadata &metadata, size_t index) {
  const Group &group = metadata.groups[index];
  if (group.unit < 0 || size_t(group.unit) >= metadata.units.size() ||
      group.component < 0 ||
      size_t(group.component) >= metadata.components.size())
    failInternal("metadata: group {} names unit {} and component {}", index,
                 group.unit, group.component);
  if (!isFloat(group.dtype) || !isFloat(group.masterDtype) ||
      !isFloat(group.reduceDtype))
    failInternal("metadata: group {} has a dtype that is not a float", index);
  int64_t end = 0;
  for (const Param &param : group.params) {
    if (param.offset % 16 || param.offset < end ||
        param.offset + param.numel() > group.numel)
      failInternal("metadata: parameter '{}' lies at [{}, {}) of group {} with "
                   "{} elements, after {}",
                   param.name, param.offset, param.offset + param.numel(),
                   index, group.numel, end);
    end = param.offset + param.numel();
  }
}

void checkReferences(const Metadata &metadata) {
  for (size_t i = 0; i < metadata.groups.size(); ++i)
    checkGroup(metadata, i);
  for (size_t i = 0; i < metadata.units.size(); ++i)
    for (int group : metadata.units[i].groups)
      if (group < 0 || size_t(group) >= metadata.groups.size() ||
          metadata.groups[group].unit != int(i))
        failInternal("metadata: unit {} names group {}", i, group);
  for (const Program &program : metadata.programs)
    for (const auto *slots : {&program.gatherSlots, &program.gradSlots})
      for (const auto &slot : *slots)
        for (int unit : slot)
          if (unit < 0 || size_t(unit) >= metadata.units.size())
            failInternal("metadata: a slot of program '{}' names unit {}",
                         program.name, unit);
  for (size_t i = 0; i < metadata.matmuls.size(); ++i) {
    const MatmulType &matmul = metadata.matmuls[i];
    size_t rank = matmul.batch.size() + 2;
    if (matmul.aStrides.size() != rank || matmul.bStrides.size() != rank ||
        matmul.cStrides.size() != rank)
      failInternal("metadata: matmul {} does not have {} strides", i, rank);
  }
}

int64_t product(const std::vector<int64_t> &shape) {
  int64_t result = 1;
  for (int64_t dim : shape)
    result *= dim;
  return result;
}

void parseModel(Reader &root, Metadata &metadata) {
  root.each("components", [&](Reader &r) {
    Component component;
    component.name = r.get<std::string>("name");
    component.module = r.get<std::string>("module");
    component.trained = r.get<std::string>("train") != "frozen";
    component.weights = r.get<std::string>("weights", "");
    const json *config = r.find("config");
    component.config = config ? config->dump(2) : "{}";
    component.reshardAfterForward = r.get<bool>("reshard_after_forward", true);
    metadata.components.push_back(std::move(component));
  });
  root.each("groups",
            [&](Reader &r) { metadata.groups.push_back(parseGroup(r)); });
  root.each("units", [&](Reader &r) {
    metadata.units.push_back({r.get<std::string>("name"),
                              r.get<int>("component"),
                              r.get<std::vector<int>>("groups")});
  });
  root.each("programs",
            [&](Reader &r) { metadata.programs.push_back(parseProgram(r)); });
  root.each("matmuls",
            [&](Reader &r) { metadata.matmuls.push_back(parseMatmul(r)); });
}

void parsePolicies(Reader &root, Metadata &metadata) {
  if (root.find("data"))
    metadata.data = parseData(root.object("data"));
  if (root.find("train"))
    metadata.train = parseTrain(root.object("train"));
  if (root.find("optimizer"))
    metadata.optimizer = parseOptimizer(root.object("optimizer"));
  if (root.find("schedule"))
    metadata.schedule = parseSchedule(root.object("schedule"));
  metadata.checkpoint = parseCheckpoint(root.object("checkpoint"));
  if (root.find("log")) {
    Reader log = root.object("log");
    metadata.logEvery = log.get<int64_t>("every", 1);
    log.finish();
  }
  if (root.find("sample"))
    metadata.sample = parseSample(root.object("sample"));
}

} // namespace

int64_t Param::numel() const { return product(shape); }
int64_t TensorType::numel() const { return product(shape); }
size_t TensorType::bytes() const {
  return static_cast<size_t>(numel()) * dtypeSize(dtype);
}

const Program &Metadata::program(const std::string &programName) const {
  for (const Program &candidate : programs)
    if (candidate.name == programName)
      return candidate;
  failInternal("metadata: there is no program '{}'", programName);
}

std::string Metadata::fullName(const Group &group, const Param &param) const {
  return components[group.component].name + "." + param.name;
}

Metadata parseMetadata(const std::string &text) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::exception &e) {
    failInternal("metadata: {}", e.what());
  }
  Metadata metadata;
  Reader root(document, "metadata");
  int64_t version = root.get<int64_t>("version");
  if (version != 1)
    failInternal("metadata has version {}, this runtime reads version 1",
                 version);
  metadata.name = root.get<std::string>("name");
  metadata.spec = root.get<std::string>("spec");
  metadata.seed = root.get<uint64_t>("seed");
  Reader mesh = root.object("mesh");
  metadata.replicate = mesh.get<int64_t>("replicate");
  metadata.shard = mesh.get<int64_t>("shard");
  mesh.finish();
  parseModel(root, metadata);
  parsePolicies(root, metadata);
  root.finish();
  checkReferences(metadata);
  return metadata;
}

} // namespace ff::rt
