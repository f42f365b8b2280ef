//===- WeightFiles.cpp - Which files hold the weights -----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Safetensors.h"
#include "frontend/WeightReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace ff::frontend;
using llvm::ArrayRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static constexpr StringRef adapterFile = "adapter_model.safetensors";

bool ff::frontend::isPickle(StringRef file) {
  StringRef extension = path::extension(file);
  return llvm::is_contained<StringRef>(
      {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}, extension);
}

std::string ff::frontend::someOf(ArrayRef<std::string> names) {
  constexpr size_t limit = 3;
  if (names.size() <= limit + 1)
    return quotedList(names);
  std::string text;
  for (StringRef name : names.take_front(limit))
    text += ("'" + name + "', ").str();
  text.resize(text.size() - 2);
  return text + " and " + std::to_string(names.size() - limit) + " more";
}

std::string ff::frontend::counted(size_t count, StringRef what) {
  return (Twine(count) + " " + what + (count == 1 ? "" : "s")).str();
}

std::string ff::frontend::joinPath(StringRef folder, StringRef name) {
  llvm::SmallString<256> file(folder);
  path::append(file, name);
  return file.str().str();
}

std::optional<Shard> Shard::parse(StringRef file) {
  Shard shard;
  if (!file.consume_back(".safetensors"))
    return std::nullopt;
  auto [rest, count] = file.rsplit("-of-");
  std::tie(shard.stem, shard.digits) = rest.rsplit('-');
  // Enough for any model, and few enough to list.
  if (shard.digits.size() > 5 || shard.digits.getAsInteger(10, shard.number) ||
      count.getAsInteger(10, shard.count) || count.size() > 5 ||
      shard.number < 1 || shard.number > shard.count)
    return std::nullopt;
  return shard;
}

std::string Shard::name(unsigned other) const {
  auto padded = [&](unsigned n) {
    std::string text = std::to_string(n);
    size_t zeros = digits.size() - std::min(digits.size(), text.size());
    return std::string(zeros, '0') + text;
  };
  return (stem + "-" + padded(other) + "-of-" + padded(count) + ".safetensors")
      .str();
}

/// `all` is what to convert: the file, or a pattern.
void FilesReader::refusePickle(StringRef file, StringRef all) {
  std::string read = "torch.load(f, map_location='cpu', weights_only=True)";
  // Lightning and others wrap the weights.
  if (path::extension(all) == ".ckpt")
    read += "['state_dict']";
  std::string list = ("['" + all + "']").str();
  if (all.contains('*'))
    list = ("sorted(glob.glob('" + all + "'))").str();
  fail("'" + file +
       "' is not read: it is a pickle, and reading one runs the code in it")
      .note("convert it where you trust it: python3 -c \"import glob, torch, "
            "safetensors.torch as s; s.save_file({k: v.contiguous().clone() "
            "for f in " +
            list + " for k, v in " + read + ".items()}, '" +
            joinPath(path::parent_path(all), "model.safetensors") + "')\"");
}

//===----------------------------------------------------------------------===//
// Files and folders
//===----------------------------------------------------------------------===//

bool FilesReader::read(StringRef path) {
  fs::file_status status;
  if (std::error_code code = fs::status(path, status)) {
    if (code == std::errc::no_such_file_or_directory)
      fail("there are no weights at '" + path + "'")
          .note("without 'weights' the initialisers give the parameters");
    else
      fail("cannot read '" + path + "': " + code.message());
    return false;
  }
  bool isFile = path.ends_with(".safetensors");
  if (fs::is_directory(status) && !isFile)
    readFolder(path);
  else if (isPickle(path))
    refusePickle(path, path);
  else if (std::string wrong = whyNotRegular(path); !wrong.empty())
    fail("cannot read '" + path + "': " + wrong)
        .note("weights are a .safetensors file, a folder of them or their "
              ".safetensors.index.json");
  else if (path.ends_with(".json"))
    readIndex(path);
  else if (isFile)
    readFile(path);
  else
    fail("'" + path + "' is not a .safetensors file")
        .note("weights are a .safetensors file, a folder of them or their "
              ".safetensors.index.json");
  if (!failed && !files.files.empty()) {
    readHeaders();
    if (!failed && files.index.empty() && files.files.size() > 1)
      checkUnique();
    if (!failed)
      dropExtraState();
  }
  return !failed;
}

void FilesReader::readFile(StringRef file) {
  std::optional<Shard> shard = Shard::parse(path::filename(file));
  if (shard && shard->count > 1)
    fail("'" + file + "' is shard " + Twine(shard->number) + " of " +
         Twine(shard->count))
        .note("name the folder or the index of the model");
  files.files.push_back(file.str());
}

void FilesReader::readFolder(StringRef folder) {
  std::error_code code;
  std::vector<std::string> names, pickles, indices, subfolders;
  for (fs::directory_iterator it(folder, code), end; it != end && !code;
       it.increment(code)) {
    StringRef name = path::filename(it->path());
    if (name.starts_with("."))
      continue;
    if (name.ends_with(".safetensors"))
      names.push_back(name.str());
    else if (name.ends_with(".safetensors.index.json"))
      indices.push_back(name.str());
    else if (fs::is_directory(it->path()))
      subfolders.push_back(name.str());
    else if (isPickle(name))
      pickles.push_back(name.str());
  }
  if (code) {
    fail("cannot read '" + folder + "': " + code.message());
    return;
  }
  for (auto *list : {&names, &pickles, &indices, &subfolders})
    llvm::sort(*list);
  if (llvm::is_contained(names, adapterFile)) {
    fail("'" + folder + "' holds '" + adapterFile +
         "', which is an adapter and not a model")
        .note("name the file of the base model, and load the adapter apart "
              "from it or merge it first");
    return;
  }
  if (indices.size() > 1) {
    fail("'" + folder + "' has " + Twine(indices.size()) +
         " indices: " + someOf(indices))
        .note("name the one to read: weights = \"" +
              joinPath(folder, indices.front()) + "\"");
  } else if (!indices.empty()) {
    readIndex(joinPath(folder, indices.front()));
  } else if (names.empty()) {
    refuseFolder(folder, pickles, subfolders);
  } else {
    readUnindexed(folder, names);
  }
}

void FilesReader::refuseFolder(StringRef folder, ArrayRef<std::string> pickles,
                               ArrayRef<std::string> subfolders) {
  if (!pickles.empty()) {
    std::string first = joinPath(folder, pickles.front());
    refusePickle(first,
                 pickles.size() == 1
                     ? first
                     : joinPath(folder, ("*" + path::extension(first)).str()));
    return;
  }
  auto report = fail("'" + folder + "' holds no .safetensors file");
  // A pipeline of several models keeps each in a folder.
  for (const std::string &subfolder : subfolders) {
    std::error_code code;
    std::string inner = joinPath(folder, subfolder);
    for (fs::directory_iterator it(inner, code), end; it != end && !code;
         it.increment(code))
      if (StringRef(it->path()).ends_with(".safetensors")) {
        report.note("'" + inner + "' does");
        break;
      }
  }
}

void FilesReader::readUnindexed(StringRef folder, ArrayRef<std::string> names) {
  std::optional<Shard> first = Shard::parse(names.front());
  bool ofOneModel = llvm::all_of(names, [&](StringRef name) {
    std::optional<Shard> shard = Shard::parse(name);
    return first && shard && shard->stem == first->stem &&
           shard->count == first->count;
  });
  if (names.size() > 1 && !ofOneModel) {
    fail("'" + folder + "' holds " + Twine(names.size()) +
         " files and no index: " + someOf(names))
        .note("name the one to read: weights = \"" +
              joinPath(folder, names.front()) + "\"");
    return;
  }
  std::vector<std::string> absent;
  for (unsigned i = 1; ofOneModel && i <= first->count; ++i)
    if (!llvm::is_contained(names, first->name(i)))
      absent.push_back(first->name(i));
  if (!absent.empty()) {
    fail("'" + folder + "' lacks " + Twine(absent.size()) + " of " +
         Twine(first->count) + " shards: " + someOf(absent))
        .note("download them again into '" + folder + "'");
    return;
  }
  for (const std::string &name : names)
    files.files.push_back(joinPath(folder, name));
}

//===----------------------------------------------------------------------===//
// Headers
//===----------------------------------------------------------------------===//

void FilesReader::readHeaders() {
  for (auto [i, file] : llvm::enumerate(files.files)) {
    SafetensorsHeader header;
    std::string wrong = readSafetensorsHeader(file, header);
    if (!wrong.empty()) {
      fail("cannot read '" + file + "': " + wrong)
          .note("download or write the file again");
      continue;
    }
    if (!header.adapterConfig.empty())
      files.adapterConfig = std::move(header.adapterConfig);
    auto number = static_cast<unsigned>(i);
    for (TensorInfo &tensor : header.tensors)
      files.tensors.push_back({std::move(tensor.name), number,
                               std::move(tensor.dtype),
                               llvm::to_vector_of<int64_t, 4>(tensor.shape),
                               tensor.begin, tensor.end, /*pieces=*/{}});
  }
  if (!failed && !files.index.empty())
    checkIndex();
}

void FilesReader::checkUnique() {
  llvm::StringMap<unsigned> seen;
  std::vector<std::string> twice;
  std::pair<unsigned, unsigned> where;
  for (const WeightFiles::Tensor &tensor : files.tensors) {
    auto [first, isNew] = seen.try_emplace(tensor.key, tensor.file);
    if (isNew)
      continue;
    if (twice.empty())
      where = {first->second, tensor.file};
    twice.push_back(tensor.key);
  }
  if (!twice.empty())
    fail(counted(twice.size(), "tensor") +
         (twice.size() == 1 ? " is" : " are") +
         " in two shards: " + someOf(twice) + ", the first in '" +
         files.files[where.first] + "' and '" + files.files[where.second] + "'")
        .note("the shards are of different versions: download all again");
}

/// Transformer Engine keeps scaling factors under such names.
void FilesReader::dropExtraState() {
  auto isExtra = [](const WeightFiles::Tensor &tensor) {
    StringRef key = tensor.key;
    return key == "_extra_state" || key.ends_with("._extra_state");
  };
  auto it = llvm::find_if(files.tensors, isExtra);
  if (it == files.tensors.end())
    return;
  std::string first = it->key;
  size_t before = files.tensors.size();
  llvm::erase_if(files.tensors, isExtra);
  size_t count = before - files.tensors.size();
  Diagnostics::Report(diags, loc, /*silent=*/false)
      .note(counted(count, "tensor") + " named _extra_state " +
            (count == 1 ? "is" : "are") + " skipped, the first is '" + first +
            "'");
}

bool ff::frontend::readWeightFiles(StringRef path, SMLoc loc,
                                   WeightFiles &files, Diagnostics &diags) {
  return FilesReader(loc, files, diags).read(path);
}
