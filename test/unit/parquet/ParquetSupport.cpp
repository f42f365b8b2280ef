//===- ParquetSupport.cpp - Writes Parquet, and reads it by the library ---===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParquetSupport.h"

#include <arrow/io/file.h>
#include <arrow/json/from_string.h>
#include <parquet/arrow/writer.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace ff::parquet::test {

const ff_parquet_api &api() {
  static const ff_parquet_api *api = [] {
    void *library = dlopen(FF_PARQUET_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    return reinterpret_cast<ff_parquet_get_fn>(
        dlsym(library, "ff_parquet_get"))();
  }();
  return *api;
}

Folder::Folder() {
  path = (std::filesystem::temp_directory_path() / "ff_parquet_XXXXXX");
  if (!mkdtemp(path.data()))
    std::abort();
}

Folder::~Folder() { std::filesystem::remove_all(path); }

Column column(const std::string &name,
              const std::shared_ptr<arrow::DataType> &type,
              const std::string &json) {
  return {name, arrow::json::ArrayFromJSONString(type, json).ValueOrDie()};
}

Column binary(const std::string &name,
              const std::vector<std::optional<std::string>> &values,
              const std::shared_ptr<arrow::DataType> &type) {
  std::unique_ptr<arrow::ArrayBuilder> any =
      arrow::MakeBuilder(type).ValueOrDie();
  for (const auto &value : values) {
    arrow::Status status;
    if (!value)
      status = any->AppendNull();
    else if (type->id() == arrow::Type::LARGE_BINARY)
      status = static_cast<arrow::LargeBinaryBuilder &>(*any).Append(*value);
    else if (type->id() == arrow::Type::BINARY_VIEW)
      status = static_cast<arrow::BinaryViewBuilder &>(*any).Append(*value);
    else
      status = static_cast<arrow::BinaryBuilder &>(*any).Append(*value);
    if (!status.ok())
      status.Abort();
  }
  return {name, any->Finish().ValueOrDie()};
}

void write(const std::string &path, const std::vector<Column> &columns,
           int64_t rowGroup, const Properties &properties) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const Column &column : columns) {
    fields.push_back(
        arrow::field(column.name, column.values->type(), column.nullable));
    arrays.push_back(column.values);
  }
  auto table = arrow::Table::Make(arrow::schema(fields), arrays);
  auto file = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  ::parquet::WriterProperties::Builder builder;
  if (properties)
    properties(builder);
  arrow::Status status = ::parquet::arrow::WriteTable(
      *table, arrow::default_memory_pool(), file, rowGroup, builder.build(),
      ::parquet::ArrowWriterProperties::Builder().store_schema()->build());
  if (!status.ok())
    status.Abort();
  status = file->Close();
  if (!status.ok())
    status.Abort();
}

std::string simpleBytes(int row) {
  float values[6];
  for (int i = 0; i < 6; ++i)
    values[i] = static_cast<float>(row + i);
  return std::string(reinterpret_cast<const char *>(values), sizeof values);
}

std::vector<Column> simpleTensors(int rows) {
  std::vector<std::optional<std::string>> bytes;
  std::string shapes, dtypes;
  for (int row = 0; row < rows; ++row) {
    bytes.push_back(simpleBytes(row));
    shapes += std::string(row ? "," : "") + "[2, 3]";
    dtypes += std::string(row ? "," : "") + "\"float32\"";
  }
  return {binary("x_bytes", bytes),
          column("x_shape", arrow::list(arrow::int64()), "[" + shapes + "]"),
          column("x_dtype", arrow::utf8(), "[" + dtypes + "]")};
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeFile(const std::string &path, const std::string &text) {
  // A file that is written over is flushed to disk, which takes most of the
  // time of the tests that do so often.
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << text;
}

Opened::Opened(const std::string &path) {
  char text[FF_PARQUET_ERROR] = "";
  file = api().open(path.c_str(), text);
  error = text;
}

Opened::~Opened() {
  if (file)
    api().close(file);
}

std::vector<std::string> Opened::fields() const {
  std::vector<std::string> names;
  for (int i = 0; i < api().fields(file); ++i)
    names.push_back(api().field_name(file, i));
  return names;
}

int Opened::field(const std::string &name) const {
  for (int i = 0; i < api().fields(file); ++i)
    if (api().field_name(file, i) == name)
      return i;
  return -1;
}

std::vector<std::string> Opened::describe(const std::string &name,
                                          int64_t first, int64_t count) {
  if (count < 0)
    count = rows() - first;
  std::vector<ff_parquet_value> values(count);
  char text[FF_PARQUET_ERROR] = "";
  if (api().describe(file, field(name), first, count, values.data(), text))
    return {text};
  std::vector<std::string> result;
  for (const ff_parquet_value &value : values) {
    std::string text = std::string(value.dtype) + " [";
    for (int i = 0; i < value.rank; ++i)
      text += (i ? ", " : "") + std::to_string(value.shape[i]);
    result.push_back(text + "]");
  }
  return result;
}

std::string Opened::read(const std::string &name, int64_t row, int64_t bytes) {
  std::string result(bytes, '\0');
  char text[FF_PARQUET_ERROR] = "";
  if (api().read(file, field(name), row, result.data(), bytes, text))
    return text;
  return result;
}

} // namespace ff::parquet::test
