//===- ParquetSupport.h - Writes Parquet, and reads it by the library -----===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_TEST_UNIT_PARQUET_PARQUETSUPPORT_H
#define FF_TEST_UNIT_PARQUET_PARQUETSUPPORT_H

#include "runtime/abi/ff_parquet.h"

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <parquet/properties.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ff::parquet::test {

const ff_parquet_api &api();

/// A folder of a test.
class Folder {
public:
  Folder();
  ~Folder();
  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }

private:
  std::string path;
};

struct Column {
  std::string name;
  std::shared_ptr<arrow::Array> values;
  bool nullable = true;
};

/// `[1, 2]` of a type, as a column.
Column column(const std::string &name,
              const std::shared_ptr<arrow::DataType> &type,
              const std::string &json);
/// Binary values; nothing is null.
Column binary(const std::string &name,
              const std::vector<std::optional<std::string>> &values,
              const std::shared_ptr<arrow::DataType> &type = arrow::binary());

using Properties = std::function<void(::parquet::WriterProperties::Builder &)>;
void write(const std::string &path, const std::vector<Column> &columns,
           int64_t rowGroup = 1 << 20, const Properties &properties = {});

/// The columns of `rows` f32 tensors of [2, 3], field "x". Row i has the values
/// i, i + 1, ...
std::vector<Column> simpleTensors(int rows);
std::string simpleBytes(int row);

std::string readFile(const std::string &path);
void writeFile(const std::string &path, const std::string &text);

/// A file that the library has opened.
class Opened {
public:
  explicit Opened(const std::string &path);
  ~Opened();

  bool good() const { return file; }
  int64_t rows() const { return api().rows(file); }
  std::vector<std::string> fields() const;
  int field(const std::string &name) const; ///< -1 where there is none

  /// `f32 [2, 3]`, for each row, or one text with the error.
  std::vector<std::string> describe(const std::string &name, int64_t first = 0,
                                    int64_t count = -1);
  /// The bytes, or the text of the error.
  std::string read(const std::string &name, int64_t row, int64_t bytes);
  template <typename T> T number(const std::string &name, int64_t row) {
    std::string bytes = read(name, row, sizeof(T));
    T value = {};
    EXPECT_EQ(bytes.size(), sizeof(T)) << bytes;
    if (bytes.size() == sizeof(T))
      std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  std::string error; ///< of opening

private:
  ff_parquet *file = nullptr;
};

} // namespace ff::parquet::test

#endif // FF_TEST_UNIT_PARQUET_PARQUETSUPPORT_H
