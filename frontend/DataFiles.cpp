//===- DataFiles.cpp - What the headers of data files say -------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/DataFiles.h"
#include "runtime/abi/ff_parquet_load.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include <set>

using namespace ff;
using namespace ff::frontend;
namespace fs = llvm::sys::fs;

/// The files below `folder` whose names end in `suffix`. A folder that a link
/// leads to a second time is not read again: it may be the one that the link is
/// in. Empty, or what is wrong with which folder.
static std::string listBelow(const std::string &folder, StringRef suffix,
                             std::set<std::pair<uint64_t, uint64_t>> &seen,
                             std::vector<std::string> &files) {
  fs::UniqueID id;
  std::error_code error = fs::getUniqueID(folder, id);
  if (!error && !seen.insert({id.getDevice(), id.getFile()}).second)
    return "";
  std::vector<std::string> folders;
  if (!error)
    for (fs::directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
      if (fs::is_directory(it->path()))
        folders.push_back(it->path());
      else if (StringRef(it->path()).ends_with(suffix))
        files.push_back(it->path());
    }
  if (error)
    return "cannot read '" + folder + "': " + error.message();
  // Of two ways to one folder, always the same counts.
  llvm::sort(folders);
  for (const std::string &below : folders)
    if (std::string wrong = listBelow(below, suffix, seen, files);
        !wrong.empty())
      return wrong;
  return "";
}

static std::string listFiles(StringRef folder, StringRef suffix,
                             std::vector<std::string> &files) {
  std::set<std::pair<uint64_t, uint64_t>> seen;
  std::string wrong = listBelow(folder.str(), suffix, seen, files);
  llvm::sort(files);
  return wrong;
}

static std::vector<const Node *> pathsOf(const Node &node) {
  std::vector<const Node *> nodes;
  if (node.isString())
    nodes.push_back(&node);
  for (const auto &item : node.items)
    if (item->isString())
      nodes.push_back(item.get());
  return nodes;
}

std::optional<DataSource> DataFiles::parse(const Node &table) {
  const Node *files = table.get("files"), *samples = table.get("samples");
  if (files && samples) {
    diags.error(samples->loc, "'files' and 'samples' are both given")
        .note(files->loc, "'files' is given here")
        .note("for both: sources = [{ files = ... }, { samples = ... }]");
    return std::nullopt;
  }
  const Node *node = files ? files : samples;
  if (!node) {
    diags.error(table.loc, "a source of [data] needs 'files' or 'samples'")
        .note("for example: sources = [{ files = \"data.safetensors\" }]");
    return std::nullopt;
  }
  DataSource source;
  source.kind = samples ? "samples" : "shards";
  source.loc = node->loc;
  if (const Node *weight = table.get("weight"))
    source.weight = weight->number;
  size_t parquet = 0;
  std::vector<const Node *> nodes = pathsOf(*node);
  for (const Node *path : nodes) {
    if (path->string.empty()) {
      diags.error(path->loc, "a path of [data] is empty")
          .note("name a file or a folder");
      return std::nullopt;
    }
    std::string resolved = spec.resolvePath(path->string);
    bool isFolder = fs::is_directory(resolved);
    if (samples && !isFolder) {
      diags
          .error(path->loc, "'samples' names folders, and '" + resolved +
                                "' is " +
                                (fs::exists(resolved) ? "none" : "not there"))
          .note("a file of many samples belongs in 'files'");
      return std::nullopt;
    }
    parquet += !isFolder && StringRef(resolved).ends_with(".parquet");
    source.paths.push_back(std::move(resolved));
  }
  if (nodes.empty()) {
    diags.error(node->loc,
                "'" + Twine(samples ? "samples" : "files") + "' names no file");
    return std::nullopt;
  }
  if (samples)
    return source;
  // Of a folder, what is in it decides.
  for (const std::string &path : source.paths) {
    std::vector<std::string> columns, tensors;
    if (!fs::is_directory(path) ||
        !listFiles(path, ".parquet", columns).empty() ||
        !listFiles(path, ".safetensors", tensors).empty() || columns.empty())
      continue; // what is wrong is said when it is read
    ++parquet;
    if (tensors.empty())
      continue;
    diags
        .error(node->loc, "'" + path + "' holds Parquet files, such as '" +
                              columns.front() +
                              "', and safetensors files, "
                              "such as '" +
                              tensors.front() + "'")
        .note("name a folder of each as a source of its own");
    return std::nullopt;
  }
  if (parquet && parquet != source.paths.size()) {
    diags.error(node->loc, "'files' names Parquet files and others")
        .note("for both: sources = [{ files = ... }, { files = ... }]");
    return std::nullopt;
  }
  if (parquet)
    source.kind = "parquet";
  return source;
}

bool DataFiles::expand(const DataSource &source,
                       std::vector<std::string> &files) {
  StringRef suffix = source.kind == "parquet" ? ".parquet" : ".safetensors";
  for (const std::string &path : source.paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> below;
    std::string wrong = listFiles(path, suffix, below);
    if (!wrong.empty() || below.empty()) {
      diags.error(
          source.loc,
          wrong.empty()
              ? ("there is no file *" + suffix + " in '" + path + "'").str()
              : wrong);
      return false;
    }
    files.insert(files.end(), below.begin(), below.end());
  }
  return true;
}

void DataFiles::reportMissing(const DataField &field, StringRef file,
                              const std::vector<std::string> &names) {
  auto report = diags.error(
      field.loc, "input '" + field.input + "' is not in the data: '" + file +
                     "' has no tensor '" + field.tensor + "'");
  if (auto near = nearest(field.tensor, names))
    report.note("did you mean '" + *near +
                "'? Name the tensor in 'fields' of [data]");
  else
    report.note("its tensors are " + quotedList(names));
}

/// All tensors of a file with many samples count the same samples.
bool DataFiles::checkCounts(const DataSource &source, StringRef file,
                            llvm::ArrayRef<const TensorInfo *> tensors) {
  for (auto [tensor, field] : llvm::zip_equal(tensors, fields)) {
    if (tensor->shape.empty()) {
      diags
          .error(field.loc, "tensor '" + tensor->name + "' of '" + file +
                                "' is a scalar; dim 0 must count the samples")
          .note("for files that are one sample each: samples = \"FOLDER\"");
      return false;
    }
    const TensorInfo &first = *tensors.front();
    if (tensor->shape[0] == first.shape[0])
      continue;
    diags
        .error(source.loc, "tensors '" + first.name + "' and '" + tensor->name +
                               "' of '" + file + "' have " +
                               Twine(first.shape[0]) + " and " +
                               Twine(tensor->shape[0]) + " samples")
        .note("for files that are one sample each: samples = \"FOLDER\"");
    return false;
  }
  return true;
}

/// Counts the samples with those of their kind, of which there are few.
void DataFiles::add(SampleRun run, llvm::function_ref<std::string()> where,
                    std::vector<SampleRun> &runs) {
  auto sameKind = [&](const SampleRun &other) {
    return llvm::all_of(llvm::zip_equal(other.fields, run.fields),
                        [](auto pair) {
                          auto &[a, b] = pair;
                          return a.dtype == b.dtype && a.shape == b.shape;
                        });
  };
  // The last one first: samples of a kind often follow each other.
  auto it = std::find_if(runs.rbegin(), runs.rend(), sameKind);
  if (it != runs.rend()) {
    it->count += run.count;
    return;
  }
  run.where = where();
  runs.push_back(std::move(run));
}

bool DataFiles::readTensors(const DataSource &source, StringRef file,
                            std::vector<SampleRun> &runs) {
  SafetensorsHeader header;
  std::string wrong = readSafetensorsHeader(file, header);
  if (!wrong.empty()) {
    diags.error(source.loc, "cannot read '" + file + "': " + wrong);
    return false;
  }
  std::vector<const TensorInfo *> tensors;
  for (const DataField &field : fields) {
    tensors.push_back(header.find(field.tensor));
    if (tensors.back())
      continue;
    std::vector<std::string> names;
    for (const TensorInfo &other : header.tensors)
      names.push_back(other.name);
    reportMissing(field, file, names);
    return false;
  }
  bool isSample = source.kind == "samples";
  if (!isSample && !checkCounts(source, file, tensors))
    return false;
  SampleRun run{"", 1, {}};
  for (const TensorInfo *tensor : tensors) {
    run.fields.push_back(*tensor);
    std::vector<int64_t> &shape = run.fields.back().shape;
    if (isSample)
      continue;
    run.count = shape.front();
    shape.erase(shape.begin());
  }
  if (run.count > 0)
    add(std::move(run), [&] { return file.str(); }, runs);
  return true;
}

bool DataFiles::readParquet(const DataSource &source, StringRef file,
                            std::vector<SampleRun> &runs) {
  auto failed = [&](const Twine &wrong) {
    diags.error(source.loc, "cannot read '" + file + "': " + wrong);
    return false;
  };
  std::string wrong;
  const ff_parquet_api *api = loadParquetLibrary(FF_PARQUET_BUILT, wrong);
  if (!api)
    return failed(wrong);
  char error[FF_PARQUET_ERROR];
  std::unique_ptr<ff_parquet, void (*)(ff_parquet *)> handle(
      api->open(file.str().c_str(), error), api->close);
  if (!handle)
    return failed(error);
  std::vector<std::string> names;
  for (int32_t i = 0; i < api->fields(handle.get()); ++i)
    names.push_back(api->field_name(handle.get(), i));
  std::vector<int32_t> numbers;
  for (const DataField &field : fields) {
    auto it = llvm::find(names, field.tensor);
    if (it == names.end()) {
      reportMissing(field, file, names);
      return false;
    }
    numbers.push_back(static_cast<int32_t>(it - names.begin()));
  }
  constexpr int64_t atOnce = 4096;
  int64_t rows = api->rows(handle.get());
  std::vector<std::vector<ff_parquet_value>> values(fields.size());
  for (int64_t first = 0; first < rows; first += atOnce) {
    int64_t count = std::min(atOnce, rows - first);
    for (size_t i = 0; i < fields.size(); ++i) {
      values[i].resize(count);
      if (api->describe(handle.get(), numbers[i], first, count,
                        values[i].data(), error))
        return failed(error);
    }
    for (int64_t row = 0; row < count; ++row) {
      SampleRun run{(file + ", row " + Twine(first + row)).str(), 1, {}};
      for (size_t i = 0; i < fields.size(); ++i) {
        const ff_parquet_value &value = values[i][row];
        run.fields.push_back({fields[i].tensor,
                              value.dtype,
                              {value.shape, value.shape + value.rank}});
      }
      bool same = !runs.empty() &&
                  llvm::all_of(
                      llvm::zip(runs.back().fields, run.fields), [](auto pair) {
                        auto &[a, b] = pair;
                        return a.dtype == b.dtype && a.shape == b.shape;
                      });
      if (same)
        ++runs.back().count;
      else
        runs.push_back(std::move(run));
    }
  }
  return true;
}

bool DataFiles::read(const DataSource &source, std::vector<SampleRun> &runs) {
  std::vector<std::string> files;
  if (!expand(source, files))
    return false;
  for (const std::string &file : files)
    if (!(source.kind == "parquet" ? readParquet(source, file, runs)
                                   : readTensors(source, file, runs)))
      return false;
  return true;
}
