//===- ParquetApi.cpp - The C functions of the library --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/ff_parquet.h"
#include "runtime/parquet/File.h"

#include <cstring>
#include <exception>
#include <new>
#include <string_view>

struct ff_parquet : ff::parquet::File {
  using File::File;
};

namespace {

/// The text, as far as it fits, and not cut within a character.
void setError(char *error, std::string_view text) {
  if (!error)
    return;
  size_t count = text.size();
  if (count >= FF_PARQUET_ERROR) {
    count = FF_PARQUET_ERROR - 1;
    while (count > 0 && (text[count] & 0xc0) == 0x80)
      --count;
  }
  std::memcpy(error, text.data(), count);
  error[count] = 0;
}

/// What `body` returns, or `failure` with the text of what it throws. No
/// exception leaves the library: those who call it may be linked with another
/// C++ runtime, or with none.
template <typename Result, typename Body>
Result guarded(Result failure, char *error, Body &&body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    setError(error, "there is not enough memory to read it");
  } catch (const std::exception &exception) {
    setError(error, exception.what());
  } catch (...) {
    setError(error, "an exception of an unknown type");
  }
  return failure;
}

ff_parquet *openFile(const char *path, char *error) {
  return guarded<ff_parquet *>(nullptr, error,
                               [&] { return new ff_parquet(path); });
}

void closeFile(ff_parquet *file) { delete file; }

int64_t rows(const ff_parquet *file) { return file->rows(); }

int32_t fields(const ff_parquet *file) {
  return static_cast<int32_t>(file->fields().size());
}

const char *fieldName(const ff_parquet *file, int32_t field) {
  if (field < 0 || field >= fields(file))
    return nullptr;
  return file->fields()[field].name.c_str();
}

int32_t describe(ff_parquet *file, int32_t field, int64_t first, int64_t count,
                 ff_parquet_value *values, char *error) {
  return guarded<int32_t>(1, error, [&] {
    file->describe(field, first, count, values);
    return 0;
  });
}

int32_t read(ff_parquet *file, int32_t field, int64_t row, void *out,
             int64_t bytes, char *error) {
  return guarded<int32_t>(1, error, [&] {
    file->read(field, row, out, bytes);
    return 0;
  });
}

const ff_parquet_api api = {
    FF_PARQUET_VERSION, openFile, closeFile, rows, fields,
    fieldName,          describe, read};

} // namespace

extern "C" __attribute__((visibility("default"))) const ff_parquet_api *
ff_parquet_get(void) {
  return &api;
}
