//===- HeaderTarget.cpp - Weight files that are broken ----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Weights.h"
#include "test/fuzz/Fuzz.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <set>

using namespace ff::frontend;
using namespace ff::fuzz;
namespace json = llvm::json;

static constexpr StringRef words[] = {"\"__metadata__\"",
                                      "\"dtype\"",
                                      "\"shape\"",
                                      "\"data_offsets\"",
                                      "\"F32\"",
                                      "\"BF16\"",
                                      "\"F4\"",
                                      "\"F8_E8M0\"",
                                      "\"\"",
                                      "\"\\u0000\"",
                                      "\"\\ud800\"",
                                      "null",
                                      "[]",
                                      "{}",
                                      "[0,0]",
                                      "\"a._extra_state\":",
                                      "\"module.",
                                      "\"../x.safetensors\"",
                                      "\"weight_map\":",
                                      ",",
                                      ":"};

static std::string imageOf(StringRef header, uint64_t size) {
  char length[8];
  llvm::support::endian::write64le(length, header.size());
  return std::string(length, 8) + header.str() + std::string(size, '\0');
}

namespace {
struct Seed {
  std::string name, text;
  std::vector<ExpectedTensor> expected;
  uint64_t size = 0; ///< of the data
};

class HeaderTarget : public Target {
public:
  explicit HeaderTarget(StringRef folder) {
    for (auto &[name, text] : readFolder(folder, ".header.json"))
      addSeed(name, text);
  }
  size_t seeds() const override { return all.size() + 1; }
  Files make(uint64_t seed, uint64_t index) const override;
  Verdict run(StringRef folder, const Files &files,
              std::string &fault) override;

private:
  void addSeed(StringRef name, StringRef text);
  /// The first seed in two shards with an index.
  Files sharded() const;

  std::vector<Seed> all;
};
} // namespace

void HeaderTarget::addSeed(StringRef name, StringRef text) {
  Seed seed{name.str(), text.rtrim().str(), {}, 0};
  json::Value value = llvm::cantFail(json::parse(text));
  for (auto &[key, info] : *value.getAsObject()) {
    if (key == "__metadata__")
      continue;
    ExpectedTensor tensor;
    tensor.name = StringRef(key).str();
    for (const json::Value &dim : *info.getAsObject()->getArray("shape"))
      tensor.shape.push_back(*dim.getAsInteger());
    auto end = (*info.getAsObject()->getArray("data_offsets"))[1];
    seed.size = std::max<uint64_t>(seed.size, *end.getAsInteger());
    seed.expected.push_back(std::move(tensor));
  }
  all.push_back(std::move(seed));
}

Files HeaderTarget::sharded() const {
  Files files;
  std::string map;
  for (int i = 1; i <= 2; ++i) {
    std::string name =
        "model-0000" + std::to_string(i) + "-of-00002.safetensors";
    std::string header;
    uint64_t size = 0;
    for (size_t t = 0; t < all.front().expected.size(); ++t) {
      if (t % 2 != static_cast<size_t>(i - 1))
        continue;
      const ExpectedTensor &tensor = all.front().expected[t];
      uint64_t bytes = 2;
      std::string shape;
      for (int64_t dim : tensor.shape) {
        bytes *= static_cast<uint64_t>(dim);
        shape += (shape.empty() ? "" : ",") + std::to_string(dim);
      }
      header += (header.empty() ? "{\"" : ",\n\"") + tensor.name +
                "\":{\"dtype\":\"BF16\",\"shape\":[" + shape +
                "],\"data_offsets\":[" + std::to_string(size) + "," +
                std::to_string(size + bytes) + "]}";
      map += (map.empty() ? "" : ",\n") + ("\"" + tensor.name) + "\":\"" +
             name + "\"";
      size += bytes;
    }
    files.push_back({name, imageOf(header + "}", size)});
  }
  files.push_back({"model.safetensors.index.json",
                   "{\"metadata\":{},\"weight_map\":{" + map + "}}"});
  return files;
}

Files HeaderTarget::make(uint64_t seed, uint64_t index) const {
  if (index < all.size())
    return {{"model.safetensors", imageOf(all[index].text, all[index].size)}};
  if (index == all.size())
    return sharded();
  Random random(seed * 0x51ED2701 + index);
  if (random.oneIn(6)) { // the index, or a shard
    Files files = sharded();
    auto &[name, text] = random.pick(files);
    if (StringRef(name).ends_with(".json")) {
      mutate(text, random, words);
      return files;
    }
    uint64_t length = llvm::support::endian::read64le(text.data());
    std::string header = text.substr(8, length);
    size_t size = text.size() - 8 - length;
    mutate(header, random, words);
    text = imageOf(header, size);
    return files;
  }
  const Seed &from = random.pick(all);
  std::string text = from.text;
  // Mostly the header alone with its right length, so that what comes after
  // the length is reached.
  if (random.oneIn(4)) {
    text = imageOf(text, from.size);
    mutate(text, random, words);
    return {{"model.safetensors", text}};
  }
  mutate(text, random, words);
  uint64_t size = from.size;
  if (random.oneIn(16))
    size = random.below(2 * size + 1);
  return {{"model.safetensors", imageOf(text, size)}};
}

//===----------------------------------------------------------------------===//
// What a valid file is, by other means than those of the frontend
//===----------------------------------------------------------------------===//

/// The keys of the outermost object, as they are written.
static std::vector<std::string> keysOf(StringRef text) {
  std::vector<std::string> keys;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '{' || text[i] == '[';
    depth -= text[i] == '}' || text[i] == ']';
    if (text[i] != '"')
      continue;
    size_t begin = i++;
    while (i < text.size() && text[i] != '"')
      i += text[i] == '\\' ? 2 : 1;
    StringRef after = text.drop_front(std::min(i + 1, text.size())).ltrim();
    if (depth != 1 || !after.starts_with(":"))
      continue;
    if (auto key = json::parse(text.slice(begin, i + 1)))
      keys.push_back(key->getAsString()->str());
    else
      llvm::consumeError(key.takeError());
  }
  return keys;
}

/// Empty, or what is wrong with the file. `names` are those of its tensors.
static std::string checkFile(StringRef image, std::set<std::string> &names) {
  uint64_t length = llvm::support::endian::read64le(image.data());
  StringRef text = image.substr(8, length);
  auto value = json::parse(text);
  if (!value)
    return "no JSON: " + llvm::toString(value.takeError());
  for (const std::string &key : keysOf(text))
    if (!names.insert(key).second)
      return "'" + key + "' stands twice";
  names.erase("__metadata__");
  std::map<uint64_t, uint64_t> ranges;
  uint64_t total = 0;
  for (const std::string &name : names) {
    const json::Object *info = value->getAsObject()->getObject(name);
    if (!info || name.empty())
      return "'" + name + "' is no tensor";
    unsigned bits = llvm::StringSwitch<unsigned>(*info->getString("dtype"))
                        .Cases("F64", "I64", "U64", "C64", 64)
                        .Cases("F32", "I32", "U32", 32)
                        .Cases("F16", "BF16", "I16", "U16", 16)
                        .Cases("F6_E2M3", "F6_E3M2", 6)
                        .Case("F4", 4)
                        .Default(8);
    double size = bits / 8.0;
    for (const json::Value &dim : *info->getArray("shape"))
      size *= static_cast<double>(*dim.getAsInteger());
    const json::Array &offsets = *info->getArray("data_offsets");
    auto begin = static_cast<uint64_t>(*offsets[0].getAsInteger());
    auto end = static_cast<uint64_t>(*offsets[1].getAsInteger());
    if (static_cast<double>(end - begin) != size)
      return "'" + name + "' has the wrong size";
    total += end - begin;
    if (end > begin && !ranges.try_emplace(begin, end).second)
      return "two tensors begin at " + std::to_string(begin);
  }
  uint64_t at = 0;
  for (auto [begin, end] : ranges) {
    if (begin != at)
      return "there is a hole or an overlap at " + std::to_string(begin);
    at = end;
  }
  if (total != image.size() - 8 - length)
    return "the tensors do not fill the file";
  return "";
}

static std::string checkAll(const WeightFiles &weights, const Files &files) {
  std::set<std::string> all;
  for (const std::string &path : weights.files)
    for (auto &[name, text] : files) {
      if (!StringRef(path).ends_with(name))
        continue;
      std::set<std::string> names;
      if (std::string wrong = checkFile(text, names); !wrong.empty())
        return wrong;
      for (const std::string &tensor : names)
        if (!all.insert(tensor).second)
          return "'" + tensor + "' is in two files";
    }
  for (const WeightFiles::Tensor &tensor : weights.tensors)
    if (!all.erase(tensor.key))
      return "'" + tensor.key + "' is in no file";
  for (const std::string &name : all)
    if (!StringRef(name).ends_with("_extra_state"))
      return "'" + name + "' was lost";
  return "";
}

/// Each parameter has a tensor of its name, wrapped or not, and of its shape.
static std::string checkMatch(const WeightFiles &weights,
                              llvm::ArrayRef<ExpectedTensor> expected,
                              llvm::ArrayRef<int> match) {
  std::set<int> used;
  for (auto [want, index] : llvm::zip_equal(expected, match)) {
    if (index < 0 || static_cast<size_t>(index) >= weights.tensors.size())
      return "'" + want.name + "' has no tensor";
    const WeightFiles::Tensor &tensor = weights.tensors[index];
    std::string key = tensor.key;
    for (size_t at; (at = key.find("_orig_mod.")) != std::string::npos;)
      key.erase(at, 10);
    if (!StringRef(key).ends_with(want.name) || tensor.shape != want.shape)
      return "'" + want.name + "' is taken from '" + tensor.key + "'";
    if (!used.insert(index).second)
      return "'" + tensor.key + "' is taken twice";
    if (tensor.dtype == "f8_e8m0" || tensor.dtype == "f4")
      return "'" + want.name + "' has a dtype that cannot be loaded";
  }
  return used.size() == weights.tensors.size() ? "" : "tensors are left over";
}

Verdict HeaderTarget::run(StringRef folder, const Files &files,
                          std::string &fault) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Diagnostics diags(os);
  StringRef spec = diags.addFile(
      llvm::MemoryBuffer::getMemBuffer("weights = \"...\"\n", "spec.toml"));
  SMLoc loc = SMLoc::getFromPointer(spec.data() + 10);
  std::string path = folder.str();
  WeightFiles weights;
  bool read = readWeightFiles(path, loc, weights, diags), matched = false;
  if (read) {
    if (std::string wrong = checkAll(weights, files); !wrong.empty()) {
      fault = "it was read, but " + wrong;
      return Verdict::Valid;
    }
    // The model of each seed: a file is right for one of them at most.
    for (const Seed &seed : all) {
      std::vector<int> match;
      if (!matchWeights(weights, seed.expected, nullptr, nullptr, "net", loc,
                        diags, match))
        continue;
      matched = true;
      if (std::string wrong = checkMatch(weights, seed.expected, match);
          !wrong.empty())
        fault = "it was matched, but " + wrong;
    }
  }
  if (!matched && (!diags.getNumErrors() || !hasPlacedError(text)))
    fault = "it was refused without an error: " + text;
  if (!read && !diags.getNumErrors())
    fault = "it was refused without an error";
  return matched ? Verdict::Valid : Verdict::Refused;
}

std::unique_ptr<Target> ff::fuzz::makeHeaderTarget(StringRef seeds) {
  return std::make_unique<HeaderTarget>(seeds);
}
