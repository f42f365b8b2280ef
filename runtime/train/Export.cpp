//===- Export.cpp - Weights for other libraries ---------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Export.h"
#include "runtime/core/Error.h"
#include "runtime/core/Layout.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Merge.h"
#include "runtime/train/ModelText.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ff::rt {

namespace fs = std::filesystem;

namespace {

/// Elements of a tensor that come from one tensor of the checkpoint.
struct Part {
  const SafetensorsFile *file;
  const FileTensor *tensor;
  int64_t from;      ///< first element there
  int64_t to, count; ///< first element here
};

struct Exported {
  PlannedTensor tensor;
  std::vector<Part> parts;
};

class Exporter {
public:
  Exporter(const Metadata &metadata, const Options &options,
           const CheckpointInfo &checkpoint, const std::string &out)
      : metadata(metadata), options(options), checkpoint(checkpoint), out(out) {
  }

  void component(size_t index);

private:
  const SafetensorsFile &open(const std::string &name);
  /// The tensor of the checkpoint that holds a parameter; null where none does.
  std::pair<const SafetensorsFile *, const FileTensor *>
  valuesOf(const Component &owner, const Group &group, const Param &param);
  std::string dtypeOf(const FileTensor &tensor) const;
  std::vector<Exported> tensorsOf(size_t component, bool asInFiles);
  void write(const std::string &folder, const std::string &stem,
             std::vector<Exported> tensors, bool mayBeSplit,
             const std::string &adapter = "");
  void writeFile(const std::string &path, const std::vector<Exported> &tensors,
                 const std::string &adapter);
  void writeTexts(const Component &owner, size_t index);

  const Metadata &metadata;
  const Options &options;
  const CheckpointInfo &checkpoint;
  std::string out;
  std::map<std::string, std::unique_ptr<SafetensorsFile>> files;
};

void writeText(const std::string &path, const std::string &text) {
  DurableFile file(path, true);
  file.write(text.data(), text.size(), 0);
  file.sync();
}

} // namespace

const SafetensorsFile &Exporter::open(const std::string &name) {
  auto &file = files[name];
  if (!file)
    file = std::make_unique<SafetensorsFile>(checkpoint.path + "/" + name);
  return *file;
}

std::pair<const SafetensorsFile *, const FileTensor *>
Exporter::valuesOf(const Component &owner, const Group &group,
                   const Param &param) {
  if (!param.save)
    return {nullptr, nullptr};
  bool ema = options.exportWeights == "ema" && group.trainable;
  const SafetensorsFile &file =
      ema ? open("state/ema.safetensors")
          : open("model/" + owner.name + "/" +
                 owner.save->files[static_cast<size_t>(param.save->file)]);
  const FileTensor &tensor =
      file.tensor(ema ? metadata.fullName(group, param) : param.save->name);
  if (tensor.shape != param.shape)
    fail("'{}' in {} is {}, the spec has {}; fix: the trainer that made the "
         "checkpoint",
         metadata.fullName(group, param), file.path(), shapeText(tensor.shape),
         shapeText(param.shape));
  return {&file, &tensor};
}

/// In the files: what is asked for, or what a checkpoint's model has (its EMA
/// is wider).
std::string Exporter::dtypeOf(const FileTensor &tensor) const {
  DType dtype;
  if (options.exportDtype.empty() || options.exportDtype == "storage" ||
      !parseFileDtype(tensor.dtype, dtype) || !isFloat(dtype))
    return tensor.dtype;
  return options.exportDtype == "fp32"   ? "F32"
         : options.exportDtype == "bf16" ? "BF16"
                                         : "F16";
}

/// The tensors of a component, in the order of its parameters. `asInFiles`:
/// under the names, and with the pieces, of the files that they came from.
std::vector<Exported> Exporter::tensorsOf(size_t index, bool asInFiles) {
  const Component &owner = metadata.components[index];
  std::vector<Exported> all;
  std::map<std::string, size_t> byName;
  auto add = [&](const std::string &name, const std::vector<int64_t> &shape,
                 const std::string &dtype, Part part) {
    auto [it, fresh] = byName.try_emplace(name, all.size());
    if (fresh)
      all.push_back({{name, dtype, shape}, {}});
    Exported &own = all[it->second];
    if (own.tensor.dtype != dtype) // of parameters with dtypes of their own
      own.tensor.dtype =
          own.tensor.dtype == "F64" || dtype == "F64" ? "F64" : "F32";
    own.parts.push_back(part);
  };
  for (const Group &group : metadata.groups) {
    if (group.component != static_cast<int>(index))
      continue;
    for (const Param &param : group.params) {
      auto [file, tensor] = valuesOf(owner, group, param);
      if (!tensor)
        continue;
      std::string dtype =
          dtypeOf({param.savedDtype, param.shape, tensor->begin, tensor->end});
      if (!asInFiles || !param.source) {
        add(param.save->name, param.shape, dtype,
            {file, tensor, 0, 0, param.numel()});
        continue;
      }
      int64_t at = 0;
      bool isOne = param.source->pieces.size() == 1 &&
                   param.source->pieces[0].count == param.numel();
      for (const SourcePiece &piece : param.source->pieces) {
        // What an adapter has given has no name among weights.
        bool isWhole = isOne && piece.shape == param.shape;
        add(isWhole ? param.source->nameFor(param.name) : piece.tensor,
            piece.shape, dtype, {file, tensor, at, piece.first, piece.count});
        at += piece.count;
      }
    }
  }
  for (const Exported &own : all) {
    int64_t elements = 0, numel = 1;
    for (const Part &part : own.parts)
      elements += part.count;
    for (int64_t dim : own.tensor.shape)
      numel *= dim;
    if (elements != numel)
      fail("the parameters of '{}' have {} of the {} elements of '{}' in its "
           "files; fix: rules of 'keys' that no other parameter's name meets",
           owner.name, elements, numel, own.tensor.name);
  }
  return all;
}

void Exporter::writeFile(const std::string &path,
                         const std::vector<Exported> &tensors,
                         const std::string &adapter) {
  std::vector<PlannedTensor> planned;
  for (const Exported &own : tensors)
    planned.push_back(own.tensor);
  TensorFilePlan plan(std::move(planned), /*weights=*/true, adapter);
  plan.create(path);
  DurableFile file(path, false);
  std::vector<char> read, staging;
  for (size_t i = 0; i < tensors.size(); ++i)
    for (const Part &part : tensors[i].parts) {
      const std::string &to = tensors[i].tensor.dtype;
      size_t size = fileDtypeSize(to),
             fromSize = fileDtypeSize(part.tensor->dtype);
      constexpr int64_t chunk = 1 << 20;
      for (int64_t at = 0; at < part.count; at += chunk) {
        int64_t n = std::min(chunk, part.count - at);
        size_t offset =
            plan.offset(i) + static_cast<size_t>(part.to + at) * size;
        read.resize(static_cast<size_t>(n) * fromSize);
        part.file->read(*part.tensor,
                        static_cast<size_t>(part.from + at) * fromSize,
                        read.size(), read.data());
        DType from;
        if (to == part.tensor->dtype ||
            !parseFileDtype(part.tensor->dtype, from)) {
          file.write(read.data(), read.size(), offset);
          continue;
        }
        double overflow =
            writeElements(file, offset, to, from, read.data(), n, staging);
        if (overflow > 0)
          fail("'{}' has values up to {:g}, which are infinite in {}; fix: "
               "another --export-dtype",
               tensors[i].tensor.name, overflow, to);
      }
    }
  file.sync();
  plan.verify(path);
}

/// One file, or, where it may be split and is larger than a file may be,
/// several with an index.
void Exporter::write(const std::string &folder, const std::string &stem,
                     std::vector<Exported> tensors, bool mayBeSplit,
                     const std::string &adapter) {
  uint64_t most = options.exportShard ? options.exportShard : 10000000000;
  std::vector<std::vector<Exported>> shards(1);
  uint64_t bytes = 0, total = 0;
  for (Exported &own : tensors) {
    uint64_t size = own.tensor.bytes();
    if (mayBeSplit && bytes && bytes + size > most) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += size;
    total += size;
    shards.back().push_back(std::move(own));
  }
  if (shards.size() == 1)
    return writeFile(folder + "/" + stem + ".safetensors", shards[0], adapter);
  nlohmann::ordered_json places;
  for (size_t i = 0; i < shards.size(); ++i) {
    std::string name = fmt::format("{}-{:05}-of-{:05}.safetensors", stem, i + 1,
                                   shards.size());
    writeFile(folder + "/" + name, shards[i], adapter);
    for (const Exported &own : shards[i])
      places[own.tensor.name] = name;
  }
  nlohmann::ordered_json index{{"metadata", {{"total_size", total}}},
                               {"weight_map", places}};
  writeText(folder + "/" + stem + ".safetensors.index.json",
            index.dump(2) + "\n");
}

/// config.json or adapter_config.json, as in checkpoints.
void Exporter::writeTexts(const Component &owner, size_t index) {
  for (const TextFile &text : modelTexts(owner, modelFiles(metadata, index))) {
    std::string name = fs::path(text.path).filename().string();
    if (name.find(".index.") == std::string::npos)
      writeText(out + "/" + owner.name + "/" + name, text.text);
  }
}

void Exporter::component(size_t index) {
  const Component &owner = metadata.components[index];
  if (!owner.save)
    return;
  // That of another spec is an Error.
  for (const ParameterFile &file : modelFiles(metadata, index))
    file.plan.verify(checkpoint.path + "/" + file.path);
  std::string folder = out + "/" + owner.name;
  makeFolder(folder);
  writeTexts(owner, index);
  if (!owner.lora)
    return write(folder, weightsStem(owner), tensorsOf(index, true), true);
  std::vector<Exported> adapters = tensorsOf(index, false);
  write(folder, "adapter_model", adapters, false);
  // One file for a pipeline of diffusers: the component, then the layer. Alphas
  // are in the header, as diffusers has them: it passes tensors of them over.
  const std::string prefix = "base_model.model.";
  for (Exported &own : adapters)
    if (own.tensor.name.compare(0, prefix.size(), prefix) == 0)
      own.tensor.name =
          owner.name + "." + own.tensor.name.substr(prefix.size());
  write(folder, "pytorch_lora_weights", std::move(adapters), false,
        adapterMetadata(owner));
  if (!metadata.merges(owner))
    return;
  if (options.exportWeights == "ema") {
    std::fprintf(stderr,
                 "warning: the merged weights of '%s' are not exported: those "
                 "of a checkpoint are not of its EMA; fix: fold the adapters "
                 "that are exported\n",
                 owner.name.c_str());
    return;
  }
  std::vector<Exported> merged;
  const SafetensorsFile &file = open(mergedFile(metadata, index).path);
  for (const auto &[name, tensor] : file.tensors())
    merged.push_back({{name, dtypeOf(tensor), tensor.shape},
                      {{&file, &tensor, 0, 0, tensor.numel()}}});
  makeFolder(out + "/" + owner.name + "-merged");
  fs::path from = fs::path(file.path()).parent_path();
  for (const fs::directory_entry &entry : fs::directory_iterator(from))
    if (entry.path().extension() == ".json")
      fs::copy_file(entry.path(), fs::path(out) / (owner.name + "-merged") /
                                      entry.path().filename());
  write(out + "/" + owner.name + "-merged", weightsStem(owner),
        std::move(merged), true);
}

void exportWeights(const Metadata &metadata, const Options &options) {
  std::string target = fs::path(options.exportTo).lexically_normal().string();
  if (target.size() > 1 && target.back() == '/')
    target.pop_back();
  std::string name = fs::path(target).filename().string();
  if (stepOfName(name) >= 0)
    fail("--export {}: '{}' is the name of a checkpoint; fix: another name",
         target, name);
  if (fs::exists(target))
    fail("--export {}: it exists; fix: name a new folder", target);
  std::vector<std::string> warnings;
  std::string resume = options.resume.empty() ? "auto" : options.resume;
  if (resume == "none")
    fail("--export needs a checkpoint; fix: --resume auto or --resume PATH");
  auto found = findCheckpoint(options.out, resume, warnings);
  for (const std::string &text : warnings)
    std::fprintf(stderr, "warning: %s\n", text.c_str());
  if (!found)
    fail("there is no checkpoint in {}; fix: train first, or --out or --resume "
         "with the folder of a checkpoint",
         options.out);
  if (options.exportWeights == "ema" && !found->hasEma)
    fail("{} has no EMA; fix: --export-weights model, or train with ema_decay",
         found->path);
  // Under another name until all of it is there.
  std::string temporary =
      (fs::path(target).parent_path() /
       fmt::format(".{}.{}.tmp", name, static_cast<long>(getpid())))
          .string();
  if (fs::path parent = fs::path(target).parent_path(); !parent.empty())
    fs::create_directories(parent);
  makeFolder(temporary);
  try {
    Exporter exporter(metadata, options, *found, temporary);
    for (size_t i = 0; i < metadata.components.size(); ++i)
      exporter.component(i);
    moveFolder(temporary, target);
  } catch (...) {
    removeFolder(temporary);
    throw;
  }
  std::printf("exported %s to %s\n", found->path.c_str(), target.c_str());
}

} // namespace ff::rt
