//===- WeightIndex.cpp - Weight files with an index ----------- -*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/JsonReader.h"
#include "frontend/WeightReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace ff::frontend;
using llvm::ArrayRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// An index cannot make the trainer read what lies elsewhere.
bool FilesReader::checkIndexedName(StringRef key, std::string &name) {
  StringRef text = name;
  bool outside = text.empty() || text.starts_with("/") || text.contains('\\') ||
                 text.contains('\0') || text.take_front(2).ends_with(":");
  llvm::SmallVector<StringRef> parts;
  text.split(parts, '/');
  outside |= llvm::is_contained(parts, "..");
  if (outside || !text.ends_with(".safetensors")) {
    auto report =
        fail("the index '" + files.index + "' places tensor '" + key +
             "' in '" + name + "', which is " +
             (outside ? "not a file of its folder" : "no .safetensors file"));
    report.note(isPickle(text) && !outside
                    ? "reading a pickle runs the code in it: convert it"
                    : "an index names .safetensors files beside it");
    return false;
  }
  llvm::SmallString<128> clean(name);
  path::remove_dots(clean);
  name = clean.str().str();
  return true;
}

bool FilesReader::parseIndex(StringRef file) {
  uint64_t size = 0;
  constexpr uint64_t limit = 100'000'000; // that of a header
  if (std::error_code code = fs::file_size(file, size); code || size > limit) {
    fail("cannot read '" + file +
         "': " + (code ? code.message() : "it is too large for an index"));
    return false;
  }
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer) {
    fail("cannot read '" + file + "': " + buffer.getError().message());
    return false;
  }
  bool hasMap = false;
  llvm::StringMap<size_t> offsets;
  JsonReader json((*buffer)->getBuffer(), "it");
  auto entry = [&](StringRef key, size_t offset) {
    auto [first, isNew] = offsets.try_emplace(key, offset);
    std::string name;
    if (!isNew)
      return json.fail(("it places tensor '" + key + "' twice (offsets " +
                        Twine(first->second) + " and " + Twine(offset) + ")")
                           .str());
    if (json.peek() != '"')
      return json.fail(
          ("the file of tensor '" + key + "' is not a string").str());
    if (!json.string(name) || failed || !checkIndexedName(key, name))
      return false;
    order.push_back(key.str());
    indexed[key] = std::move(name);
    return true;
  };
  bool ok = json.object([&](StringRef key, size_t) {
    if (key != "weight_map")
      return json.skip();
    if (hasMap)
      return json.fail("it has weight_map twice");
    hasMap = true;
    if (json.peek() != '{')
      return json.fail("its weight_map is not an object");
    return json.object(entry);
  });
  if (failed)
    return false;
  if (!ok || !json.end()) {
    fail("cannot read '" + file + "': " + json.error());
    return false;
  }
  if (indexed.empty()) {
    fail("cannot read '" + file + "': it has no weight_map of tensors to files")
        .note("it is not the index of safetensors files");
    return false;
  }
  return true;
}

void FilesReader::readIndex(StringRef file) {
  files.index = file.str();
  if (!parseIndex(file))
    return;
  std::vector<std::string> names;
  for (auto &item : indexed)
    names.push_back(item.second);
  llvm::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());

  // A shard that no tensor is placed in: the index was cut.
  std::vector<std::string> unnamed;
  if (std::optional<Shard> first = Shard::parse(names.front()))
    for (unsigned i = 1; i <= first->count; ++i)
      if (!std::binary_search(names.begin(), names.end(), first->name(i)))
        unnamed.push_back(first->name(i));
  if (!unnamed.empty())
    fail("the index '" + file + "' does not name " +
         counted(unnamed.size(), "shard") + " of the model: " + someOf(unnamed))
        .note("it is of another model, or was cut: download it again");
  StringRef folder = path::parent_path(file);
  if (findIndexed(folder, names))
    warnOfStrays(folder, names);
  for (const std::string &name : names)
    files.files.push_back(joinPath(folder, name));
}

/// Reports files that are named and absent.
bool FilesReader::findIndexed(StringRef folder, ArrayRef<std::string> names) {
  std::vector<std::string> absent;
  for (const std::string &name : names)
    if (!fs::exists(joinPath(folder, name)))
      absent.push_back(name);
  if (absent.empty())
    return true;
  size_t lost = llvm::count_if(indexed, [&](auto &item) {
    return llvm::is_contained(absent, item.second);
  });
  fail("'" + folder + "' lacks " + Twine(absent.size()) + " of the " +
       counted(names.size(), "file") +
       " that its index names: " + someOf(absent) + "; " + Twine(lost) +
       " of " + counted(indexed.size(), "tensor") + " are in them")
      .note("download them again into '" + folder + "'");
  return false;
}

void FilesReader::warnOfStrays(StringRef folder, ArrayRef<std::string> names) {
  std::vector<std::string> strays;
  std::error_code code;
  for (fs::directory_iterator it(folder.empty() ? "." : folder, code), end;
       it != end && !code; it.increment(code)) {
    StringRef name = path::filename(it->path());
    if (name.ends_with(".safetensors") && !name.starts_with(".") &&
        !llvm::is_contained(names, name))
      strays.push_back(name.str());
  }
  llvm::sort(strays);
  for (const std::string &name : strays)
    diags.warning(loc, "'" + joinPath(folder, name) +
                           "' is not read: the index '" + files.index +
                           "' does not name it");
}

/// Compares what the index says of the files with what they hold.
void FilesReader::checkIndex() {
  llvm::StringSet<> held;
  std::vector<std::vector<std::string>> unlisted(files.files.size()),
      misplaced(files.files.size()), lacking(files.files.size());
  StringRef folder = path::parent_path(files.index);
  for (const WeightFiles::Tensor &tensor : files.tensors) {
    auto it = indexed.find(tensor.key);
    if (it == indexed.end())
      unlisted[tensor.file].push_back(tensor.key);
    else if (joinPath(folder, it->second) != files.files[tensor.file])
      misplaced[tensor.file].push_back(tensor.key);
    else
      held.insert(tensor.key);
  }
  llvm::StringMap<size_t> numbers;
  for (size_t i = 0; i < files.files.size(); ++i)
    numbers[files.files[i]] = i;
  for (const std::string &key : order)
    if (!held.count(key))
      lacking[numbers.lookup(joinPath(folder, indexed[key]))].push_back(key);
  for (size_t i = 0; i < files.files.size(); ++i) {
    const std::string &file = files.files[i];
    StringRef fix = "the index and the file are of different versions: "
                    "download both again";
    if (!lacking[i].empty())
      fail("'" + file + "' lacks " + counted(lacking[i].size(), "tensor") +
           " that the index '" + files.index +
           "' places there: " + someOf(lacking[i]))
          .note(fix);
    if (!unlisted[i].empty())
      fail("'" + file + "' holds " + counted(unlisted[i].size(), "tensor") +
           " that the index '" + files.index +
           "' does not list: " + someOf(unlisted[i]))
          .note(fix);
    if (!misplaced[i].empty())
      fail("'" + file + "' holds " + counted(misplaced[i].size(), "tensor") +
           " that the index '" + files.index +
           "' places in another file: " + someOf(misplaced[i]) +
           ", the first in '" + indexed[misplaced[i].front()] + "'")
          .note(fix);
  }
}
