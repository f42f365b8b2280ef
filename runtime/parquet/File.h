//===- File.h - A Parquet file, by fields and rows ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_PARQUET_FILE_H
#define FF_RUNTIME_PARQUET_FILE_H

#include "runtime/abi/ff_parquet.h"
#include "runtime/parquet/Cache.h"
#include "runtime/parquet/Fields.h"
#include "runtime/parquet/Source.h"

#include <parquet/file_reader.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ff::parquet {

/// What the C functions are about. Any thread may use it.
class File {
public:
  explicit File(const std::string &path);
  ~File();
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  int64_t rows() const { return firstRows.back(); }
  const std::vector<Field> &fields() const { return fieldList; }

  void describe(int32_t field, int64_t first, int64_t count,
                ff_parquet_value *values);
  void read(int32_t field, int64_t row, void *out, int64_t bytes);

private:
  struct Tensors;
  struct Numbers;

  /// A column of a row group, and how many values it has, with nulls.
  struct OpenColumn {
    std::shared_ptr<::parquet::ColumnReader> reader;
    int64_t values;
  };

  const Field &fieldAt(int32_t field) const;
  int rowGroupOf(int64_t row) const;
  void checkNulls(const std::string &column, int leaf, int rowGroup) const;
  OpenColumn openColumn(int leaf, int rowGroup);
  std::shared_ptr<const Tensors> tensorsOf(const Field &field, int rowGroup);
  Cache::Made readTensors(const Field &field, int rowGroup);
  std::shared_ptr<const Numbers> numbersOf(const Field &field, int rowGroup);
  Cache::Made readNumbers(const Field &field, int rowGroup);
  /// Runs `body`, and says of which rows of which column a failure is.
  template <typename Body>
  auto reading(const std::string &column, int rowGroup, Body &&body) const;
  void readTensor(const Field &field, int64_t row, void *out, int64_t bytes);
  void readNumber(const Field &field, int64_t row, void *out, int64_t bytes);

  Source source;
  std::mutex mutex; ///< guards `reader`, except for its metadata
  std::unique_ptr<::parquet::ParquetFileReader> reader;
  std::shared_ptr<::parquet::FileMetaData> metadata;
  std::vector<int64_t> firstRows; ///< of each row group, then of the end
  std::vector<Field> fieldList;
};

} // namespace ff::parquet

#endif // FF_RUNTIME_PARQUET_FILE_H
