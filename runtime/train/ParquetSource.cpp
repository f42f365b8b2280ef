//===- ParquetSource.cpp - Samples in Parquet files -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/ParquetSource.h"
#include "runtime/abi/ff_parquet.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace ff::rt {

namespace {

/// The places of the library, in the order in which they are tried.
std::vector<std::string> libraryPaths() {
  std::vector<std::string> paths;
  if (const char *given = std::getenv("FF_PARQUET_LIBRARY"))
    return {given};
  std::error_code error;
  auto exe = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error)
    paths.push_back((exe.parent_path() / "libff_parquet.so").string());
  paths.push_back(FF_PARQUET_BUILT);
  return paths;
}

const ff_parquet_api &library() {
  static const ff_parquet_api *api = [] {
    std::string tried;
    for (const std::string &path : libraryPaths()) {
      void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!handle) {
        tried += fmt::format("\n  {}", dlerror());
        continue;
      }
      auto get =
          reinterpret_cast<ff_parquet_get_fn>(dlsym(handle, "ff_parquet_get"));
      const ff_parquet_api *found = get ? get() : nullptr;
      if (found && found->version == FF_PARQUET_VERSION)
        return found;
      tried += fmt::format("\n  {}: of another version of ff", path);
    }
    fail("Parquet files are read by libff_parquet.so, which could not be "
         "loaded; fix: build ff where Apache Arrow is installed, and put the "
         "library beside this executable or name it in "
         "$FF_PARQUET_LIBRARY{}",
         tried);
  }();
  return *api;
}

class ParquetSource final : public SampleSource {
public:
  ParquetSource(const std::vector<std::string> &paths,
                const std::vector<std::string> &names)
      : api(library()), names(names) {
    for (const std::string &path : paths)
      add(path);
  }
  ~ParquetSource() override {
    for (const File &file : files)
      api.close(file.handle);
  }

  const char *bytes(int64_t sample, size_t field,
                    std::vector<char> &scratch) const override {
    auto [file, row] = find(sample);
    auto run = std::upper_bound(
        runs().begin(), runs().end(), sample,
        [](int64_t number, const Run &entry) { return number < entry.first; });
    const SampleField &info = (run - 1)->fields[field];
    size_t size = fileDtypeSize(info.dtype);
    for (int64_t dim : info.shape)
      size *= static_cast<size_t>(dim);
    scratch.resize(std::max<size_t>(size, 1));
    char error[FF_PARQUET_ERROR];
    if (api.read(file->handle, file->fields[field], row, scratch.data(),
                 static_cast<int64_t>(size), error))
      fail("cannot read '{}' of {}: {}", names[field], file->path, error);
    return scratch.data();
  }

  std::string describe(int64_t sample) const override {
    auto [file, row] = find(sample);
    return fmt::format("{}, row {}", file->path, row);
  }

private:
  struct File {
    std::string path;
    ff_parquet *handle;
    std::vector<int32_t> fields; ///< numbers in the file
    int64_t first;               ///< number of its first row
  };

  void add(const std::string &path) {
    char error[FF_PARQUET_ERROR];
    ff_parquet *handle = api.open(path.c_str(), error);
    if (!handle)
      fail("cannot read {}: {}", path, error);
    files.push_back({path, handle, {}, size()});
    File &file = files.back();
    std::string known;
    for (const std::string &name : names) {
      int32_t found = -1;
      for (int32_t i = 0; i < api.fields(handle); ++i)
        if (name == api.field_name(handle, i))
          found = i;
      file.fields.push_back(found);
      for (int32_t i = 0; found < 0 && i < api.fields(handle); ++i)
        known += fmt::format("{}'{}'", known.empty() ? "" : ", ",
                             api.field_name(handle, i));
      if (found < 0)
        fail("{} has no tensor or number '{}'; it has {}", path, name,
             known.empty() ? "none" : known);
    }
    describeRows(file);
  }

  void describeRows(const File &file) {
    constexpr int64_t atOnce = 4096;
    char error[FF_PARQUET_ERROR];
    int64_t rows = api.rows(file.handle);
    std::vector<std::vector<ff_parquet_value>> values(names.size());
    for (int64_t first = 0; first < rows; first += atOnce) {
      int64_t count = std::min(atOnce, rows - first);
      for (size_t i = 0; i < names.size(); ++i) {
        values[i].resize(static_cast<size_t>(count));
        if (api.describe(file.handle, file.fields[i], first, count,
                         values[i].data(), error))
          fail("cannot read '{}' of {}: {}", names[i], file.path, error);
      }
      for (int64_t row = 0; row < count; ++row) {
        std::vector<SampleField> fields;
        for (size_t i = 0; i < names.size(); ++i) {
          const ff_parquet_value &value = values[i][static_cast<size_t>(row)];
          const char *dtype = fileDtypeOf(value.dtype);
          if (!dtype)
            fail("'{}' of {}, row {}, has the dtype {}", names[i], file.path,
                 first + row, value.dtype);
          fields.push_back({dtype, {value.shape, value.shape + value.rank}});
        }
        addRun(1, std::move(fields));
      }
    }
  }

  std::pair<const File *, int64_t> find(int64_t sample) const {
    auto after = std::upper_bound(
        files.begin(), files.end(), sample,
        [](int64_t number, const File &file) { return number < file.first; });
    const File &file = *(after - 1);
    return {&file, sample - file.first};
  }

  const ff_parquet_api &api;
  std::vector<std::string> names;
  std::vector<File> files;
};

} // namespace

std::unique_ptr<SampleSource>
openParquet(const std::vector<std::string> &paths,
            const std::vector<std::string> &fields) {
  return std::make_unique<ParquetSource>(paths, fields);
}

} // namespace ff::rt
