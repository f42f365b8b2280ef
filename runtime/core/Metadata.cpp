//===- Metadata.cpp - Parses the metadata of a compiled spec --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Metadata.h"
#include "runtime/core/JsonReader.h"

#include <algorithm>
#include <utility>

namespace ff::rt {

namespace {

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

/// The type of a parameter in model/: in a group of bytes, the type that the
/// bytes have in the weight file.
std::string savedDtype(const Group &group, const Param &param) {
  if (group.masterDtype == FF_I8 && group.storageDtype == "I8" && param.source)
    return param.source->dtype;
  return group.storageDtype;
}

Param parseParam(Reader &r, const Group &group) {
  Param param;
  param.name = r.get<std::string>("name");
  param.shape = r.get<std::vector<int64_t>>("shape");
  param.offset = r.get<int64_t>("offset");
  param.decay = r.get<bool>("decay", false);
  if (r.find("init"))
    param.init = parseInitializer(r.object("init"));
  if (r.find("source")) {
    Reader source = r.object("source");
    param.source = {source.get<int>("file"),
                    source.get<std::string>("tensor"),
                    source.fileDtype("dtype"),
                    {}};
    if (source.find("pieces"))
      source.each("pieces", [&](Reader &r) {
        param.source->pieces.push_back(
            {r.get<int>("file"), r.get<std::string>("tensor"),
             r.get<std::vector<int64_t>>("shape"), r.get<int64_t>("first"),
             r.get<int64_t>("count")});
      });
    else
      param.source->pieces.push_back({param.source->file, param.source->tensor,
                                      param.shape, 0, param.numel()});
    source.finish();
  }
  if (r.find("patches"))
    r.each("patches", [&](Reader &patch) {
      param.patches.push_back(
          {patch.get<int>("file"), patch.get<std::string>("tensor"),
           patch.get<std::vector<int64_t>>("shape"),
           patch.get<std::string>("down"), patch.get<double>("scale"),
           patch.get<int64_t>("first"), patch.get<int64_t>("count")});
    });
  if (r.find("save")) {
    Reader save = r.object("save");
    param.save = {save.get<int>("file"), save.get<std::string>("name")};
    save.finish();
  }
  if (r.find("merge")) {
    Reader merge = r.object("merge");
    param.merge = {merge.get<std::string>("a"), merge.get<std::string>("b"),
                   merge.get<double>("scale")};
    merge.finish();
  }
  param.savedDtype = savedDtype(group, param);
  param.span = param.numel();
  if (group.masterDtype == FF_I8)
    param.span *= static_cast<int64_t>(fileDtypeSize(param.savedDtype));
  return param;
}

Group parseGroup(Reader &reader) {
  Group group;
  group.unit = reader.get<int>("unit");
  group.component = reader.get<int>("component");
  group.trainable = reader.get<bool>("trainable");
  group.storageDtype = reader.fileDtype("storage_dtype");
  group.dtype = reader.dtype("dtype");
  group.masterDtype = reader.dtype("master_dtype");
  // A frozen group has no gradient, so its reduction may have no type.
  group.reduceDtype = group.trainable || reader.find("reduce_dtype")
                          ? reader.dtype("reduce_dtype")
                          : FF_F32;
  group.sharded = reader.get<bool>("sharded");
  group.numel = reader.get<int64_t>("numel");
  reader.each("params",
              [&](Reader &r) { group.params.push_back(parseParam(r, group)); });
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
  program.flops = reader.get<double>("flops", 0.0);
  if (reader.find("collectives"))
    reader.each("collectives", [&](Reader &r) {
      std::string kind = r.get<std::string>("kind");
      if (kind != "gather" && kind != "reduce")
        failInternal("metadata: unknown collective '{}'", kind);
      program.collectives.push_back({kind == "reduce", r.get<int>("unit")});
    });
  program.recompute = reader.get<std::vector<std::string>>("recompute", {});
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

int64_t product(const std::vector<int64_t> &shape) {
  int64_t result = 1;
  for (int64_t dim : shape)
    result *= dim;
  return result;
}

LoraPolicy parseLora(Reader reader) {
  LoraPolicy lora;
  lora.rank = reader.get<int64_t>("rank");
  lora.alpha = reader.get<double>("alpha");
  lora.dropout = reader.get<double>("dropout", 0.0);
  lora.merge = reader.get<bool>("merge", false);
  lora.targetModules = reader.get<std::vector<std::string>>("target_modules");
  lora.rankPattern =
      reader.get<std::map<std::string, int64_t>>("rank_pattern", {});
  lora.alphaPattern =
      reader.get<std::map<std::string, double>>("alpha_pattern", {});
  lora.baseModel = reader.get<std::string>("base_model", "");
  reader.finish();
  return lora;
}

SaveFiles parseSave(Reader reader) {
  SaveFiles save;
  std::string kind = reader.get<std::string>("kind");
  if (kind != "full" && kind != "adapter")
    failInternal("metadata: unknown kind of saved files '{}'", kind);
  save.adapter = kind == "adapter";
  save.files = reader.get<std::vector<std::string>>("files");
  reader.finish();
  return save;
}

Component parseComponent(Reader &r) {
  Component component;
  component.name = r.get<std::string>("name");
  component.module = r.get<std::string>("module");
  std::string train = r.get<std::string>("train");
  if (train != "full" && train != "lora" && train != "frozen")
    failInternal("metadata: component '{}' has train '{}'", component.name,
                 train);
  component.trained = train != "frozen";
  component.files = r.get<std::vector<std::string>>("files");
  const json *config = r.find("config");
  component.config = config ? config->dump(2) : "{}";
  // The text of a file that gave it.
  if (config && config->contains("config.json"))
    component.config = config->at("config.json").get<std::string>();
  component.reshardAfterForward = r.get<bool>("reshard_after_forward", true);
  if (r.find("lora"))
    component.lora = parseLora(r.object("lora"));
  if (r.find("save"))
    component.save = parseSave(r.object("save"));
  if ((train == "lora") != component.lora.has_value())
    failInternal("metadata: component '{}' has train '{}' {} lora",
                 component.name, train, component.lora ? "with" : "without");
  return component;
}

void parseModel(Reader &root, Metadata &metadata) {
  root.each("components", [&](Reader &r) {
    metadata.components.push_back(parseComponent(r));
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

void parseTarget(Reader &root, Metadata &metadata) {
  if (!root.find("target"))
    return;
  Reader target = root.object("target");
  auto kind = target.get<std::string>("kind");
  if (kind != "cuda")
    failInternal("metadata: unknown target '{}'", kind);
  metadata.target = {target.get<std::string>("chip"),
                     target.get<bool>("tf32", false)};
  target.finish();
  if (root.find("kernels"))
    root.each("kernels", [&](Reader &r) {
      KernelType kernel;
      kernel.name = r.get<std::string>("name");
      kernel.blocks = r.get<int64_t>("blocks");
      kernel.threads = r.get<int>("threads");
      kernel.sharedBytes = r.get<int>("shared_bytes");
      kernel.buffers = r.get<int>("buffers");
      kernel.bytes = r.get<int64_t>("bytes");
      kernel.flops = r.get<double>("flops", 0.0);
      metadata.kernels.push_back(std::move(kernel));
    });
}

} // namespace

const std::string &ParamSource::nameFor(const std::string &param) const {
  const SourcePiece &first = pieces.at(0);
  const std::string end = ".set_weight";
  bool isAdapter = first.tensor.size() > end.size() &&
                   first.tensor.compare(first.tensor.size() - end.size(),
                                        end.size(), end) == 0;
  bool isWhole = pieces.size() == 1 && first.count == product(first.shape);
  return isWhole && !isAdapter ? first.tensor : param;
}

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

std::optional<std::pair<size_t, size_t>>
Metadata::findParam(int component, const std::string &paramName) const {
  for (size_t g = 0; g < groups.size(); ++g)
    if (groups[g].component == component)
      for (size_t p = 0; p < groups[g].params.size(); ++p)
        if (groups[g].params[p].name == paramName)
          return std::make_pair(g, p);
  return std::nullopt;
}

/// The buckets of the train program share one layout: each slot holds what any
/// of them puts there, and the arena is as large as the largest.
static void unifyBuckets(Metadata &metadata) {
  std::vector<Program *> programs;
  for (const BucketPolicy &bucket : metadata.train->buckets)
    for (Program &program : metadata.programs)
      if (program.name == bucket.program)
        programs.push_back(&program);
  auto merge = [&](std::vector<std::vector<int>> Program::*slots) {
    std::vector<std::set<int>> all;
    for (Program *program : programs) {
      all.resize(std::max(all.size(), (program->*slots).size()));
      for (size_t i = 0; i < (program->*slots).size(); ++i)
        all[i].insert((program->*slots)[i].begin(), (program->*slots)[i].end());
    }
    for (Program *program : programs) {
      (program->*slots).clear();
      for (const std::set<int> &units : all)
        (program->*slots).emplace_back(units.begin(), units.end());
    }
  };
  merge(&Program::gatherSlots);
  merge(&Program::gradSlots);
  size_t arenaBytes = 0;
  for (Program *program : programs)
    arenaBytes = std::max(arenaBytes, program->arenaBytes);
  for (Program *program : programs)
    program->arenaBytes = arenaBytes;
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
  if (version != 2)
    failInternal("metadata has version {}, this runtime reads version 2",
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
  parseTarget(root, metadata);
  metadata.deviceMemory = root.maybe<int64_t>("device_memory");
  metadata.hostMemory = root.maybe<int64_t>("host_memory");
  root.finish();
  checkMetadata(metadata);
  if (metadata.train && metadata.train->buckets.size() > 1)
    unifyBuckets(metadata);
  return metadata;
}

} // namespace ff::rt
