//===- Parameters.cpp - The parameters that a rank owns -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Parameters.h"
#include "runtime/compute/Random.h"
#include "runtime/core/Error.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace ff::rt {

namespace fs = std::filesystem;

namespace {

char *masterAt(const Metadata &metadata, const Layout &layout,
               const Arena &arena, const OwnedPiece &piece) {
  size_t size = dtypeSize(metadata.groups[piece.group].masterDtype);
  return arena.at<char>(layout.groups[piece.group].master) +
         static_cast<size_t>(piece.sliceBegin) * size;
}

/// The tensors of the files of one component.
class WeightSet {
public:
  WeightSet(const Component &component) : component(component) {
    for (const std::string &path : weightFiles(component.weights)) {
      files.push_back(std::make_unique<SafetensorsFile>(path));
      for (const auto &entry : files.back()->tensors()) {
        auto inserted = where.emplace(entry.first, files.back().get());
        if (!inserted.second)
          fail("duplicate tensor '{}': it is in {} and in {}", entry.first,
               inserted.first->second->path(), path);
      }
    }
  }

  /// Names in the files and names in the model must be the same set.
  void checkNames(const std::set<std::string> &names) const {
    std::vector<std::string> missing, unknown;
    for (const std::string &name : names)
      if (!where.count(name))
        missing.push_back(name);
    for (const auto &entry : where)
      if (!names.count(entry.first))
        unknown.push_back(entry.first);
    if (missing.empty() && unknown.empty())
      return;
    fail("the weights of '{}' ({}) do not match the model: {} of {} parameters "
         "are missing{}, {} tensors are unknown{}; fix: weights of module {}, "
         "with the names of its parameters",
         component.name, component.weights, missing.size(), names.size(),
         some(missing), unknown.size(), some(unknown), component.module);
  }

  /// Converts the elements [begin, begin + count) of a parameter.
  void read(const Param &param, int64_t begin, int64_t count, DType dtype,
            void *out) const {
    const SafetensorsFile &file = *where.at(param.name);
    const FileTensor &tensor = file.tensor(param.name);
    if (tensor.shape != param.shape)
      fail("'{}' in {} has the shape {}, the model needs {}", param.name,
           file.path(), shapeText(tensor.shape), shapeText(param.shape));
    bool known = tensor.dtype == "F32" || tensor.dtype == "F64" ||
                 tensor.dtype == "BF16" || tensor.dtype == "F16";
    if (!known)
      fail("'{}' in {} has dtype {}; weights may be F32, F64, BF16 or F16",
           param.name, file.path(), tensor.dtype);
    const char *from = file.data(tensor) +
                       static_cast<size_t>(begin) * fileDtypeSize(tensor.dtype);
    convertFromFile(tensor.dtype, from, dtype, out, count, false);
    // The host peak is the own slices and one tensor.
    file.forget(tensor);
  }

private:
  static std::string some(const std::vector<std::string> &names) {
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(names.size(), 3); ++i)
      text += fmt::format("{}'{}'", i ? ", " : " (", names[i]);
    return text.empty() ? text : text + (names.size() > 3 ? ", ...)" : ")");
  }

  const Component &component;
  std::vector<std::unique_ptr<SafetensorsFile>> files;
  std::map<std::string, const SafetensorsFile *> where;
};

std::vector<std::string> filesOfIndex(const fs::path &index) {
  std::ifstream stream(index);
  if (!stream)
    fail("cannot open {}", index.string());
  std::set<std::string> paths;
  try {
    nlohmann::json document = nlohmann::json::parse(stream);
    for (const auto &item : document.at("weight_map").items())
      paths.insert(
          (index.parent_path() / item.value().get<std::string>()).string());
  } catch (const nlohmann::json::exception &e) {
    fail("{} is not an index of safetensors files: {}", index.string(),
         e.what());
  }
  std::string absent;
  for (const std::string &path : paths)
    if (!fs::exists(path))
      absent += (absent.empty() ? "" : ", ") + path;
  if (!absent.empty())
    fail("{} names files that do not exist: {}", index.string(), absent);
  return {paths.begin(), paths.end()};
}

} // namespace

std::vector<std::string> weightFiles(const std::string &weights) {
  fs::path path(weights);
  if (!fs::is_directory(path))
    return path.extension() == ".json" ? filesOfIndex(path)
                                       : std::vector<std::string>{weights};
  std::vector<std::string> files, indexes;
  for (const fs::directory_entry &entry : fs::directory_iterator(path)) {
    std::string name = entry.path().filename().string();
    const std::string suffix = ".safetensors.index.json";
    if (entry.path().extension() == ".safetensors")
      files.push_back(entry.path().string());
    else if (name.size() > suffix.size() &&
             name.compare(name.size() - suffix.size(), suffix.size(), suffix) ==
                 0)
      indexes.push_back(entry.path().string());
  }
  if (indexes.size() == 1)
    return filesOfIndex(indexes[0]);
  if (files.size() != 1)
    fail("the folder {} has {} safetensors files and {} indexes; fix: name the "
         "file or the index",
         weights, files.size(), indexes.size());
  return files;
}

std::vector<OwnedPiece> ownedPieces(const Metadata &metadata,
                                    const Layout &layout, int shardIndex) {
  std::vector<OwnedPiece> pieces;
  for (size_t g = 0; g < metadata.groups.size(); ++g) {
    const Group &group = metadata.groups[g];
    int64_t begin = layout.groups[g].owned * shardIndex;
    int64_t end = begin + layout.groups[g].owned;
    for (size_t p = 0; p < group.params.size(); ++p) {
      const Param &param = group.params[p];
      int64_t from = std::max(begin, param.offset);
      int64_t to = std::min(end, param.offset + param.numel());
      if (from < to)
        pieces.push_back({g, p, from - begin, from - param.offset, to - from});
    }
  }
  return pieces;
}

void loadParameters(const Metadata &metadata, const Layout &layout,
                    const Arena &arena, int shardIndex) {
  std::vector<std::set<std::string>> names(metadata.components.size());
  for (const Group &group : metadata.groups)
    for (const Param &param : group.params)
      names[group.component].insert(param.name);
  std::vector<std::unique_ptr<WeightSet>> weights(metadata.components.size());
  // All headers are checked before anything is read.
  for (size_t i = 0; i < weights.size(); ++i) {
    const Component &component = metadata.components[i];
    if (component.weights.empty())
      continue;
    weights[i] = std::make_unique<WeightSet>(component);
    weights[i]->checkNames(names[i]);
  }
  for (const OwnedPiece &piece : ownedPieces(metadata, layout, shardIndex)) {
    const Group &group = metadata.groups[piece.group];
    const Param &param = group.params[piece.param];
    char *to = masterAt(metadata, layout, arena, piece);
    if (weights[group.component])
      weights[group.component]->read(param, piece.paramBegin, piece.count,
                                     group.masterDtype, to);
    else
      initialize(metadata.seed, metadata.fullName(group, param), param.init,
                 group.masterDtype, piece.paramBegin,
                 piece.paramBegin + piece.count, to);
  }
}

} // namespace ff::rt
