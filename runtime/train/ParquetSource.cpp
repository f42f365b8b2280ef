//===- ParquetSource.cpp - Samples in Parquet files -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/ParquetSource.h"
#include "runtime/abi/ff_parquet_load.h"
#include "runtime/core/Error.h"

#include <algorithm>

namespace ff::rt {

namespace {

const ff_parquet_api &library() {
  static const ff_parquet_api *api = [] {
    std::string wrong;
    const ff_parquet_api *found = loadParquetLibrary(FF_PARQUET_BUILT, wrong);
    if (!found)
      fail("{}", wrong);
    return found;
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

  const char *bytes(int64_t sample, size_t field,
                    std::vector<char> &scratch) const override {
    auto [file, row] = find(sample);
    const SampleField &info = fieldsOf(sample)[field];
    size_t size = fileDtypeSize(info.dtype);
    for (int64_t dim : info.shape)
      size *= static_cast<size_t>(dim);
    scratch.resize(std::max<size_t>(size, 1));
    char error[FF_PARQUET_ERROR];
    if (api.read(file->handle.get(), file->fields[field], row, scratch.data(),
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
    std::unique_ptr<ff_parquet, void (*)(ff_parquet *)> handle;
    std::vector<int32_t> fields; ///< numbers in the file
    int64_t first;               ///< number of its first row
  };

  void add(const std::string &path) {
    char error[FF_PARQUET_ERROR];
    files.push_back(
        {path, {api.open(path.c_str(), error), api.close}, {}, size()});
    File &file = files.back();
    ff_parquet *handle = file.handle.get();
    if (!handle)
      fail("cannot read {}: {}", path, error);
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
    int64_t rows = api.rows(file.handle.get());
    std::vector<std::vector<ff_parquet_value>> values(names.size());
    for (int64_t first = 0; first < rows; first += atOnce) {
      int64_t count = std::min(atOnce, rows - first);
      for (size_t i = 0; i < names.size(); ++i) {
        values[i].resize(static_cast<size_t>(count));
        if (api.describe(file.handle.get(), file.fields[i], first, count,
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
    const File &file = lastNotAfter(files, sample);
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
