//===- ff_parquet.h - Parquet files, read by a library of its own ---------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libff_parquet.so reads Parquet by Apache Arrow. The compiler and trainers
// open it where data is in such files, so that neither is linked with Arrow.
//
// A field is what an input can read: a tensor, which is three columns
// `<name>_bytes` (binary), `<name>_shape` (a list of integers) and
// `<name>_dtype` (text: a name of NumPy, of PyTorch with or without "torch.",
// or of safetensors), or a column of numbers, which is a scalar of each row.
//
// Functions that fail return null or nonzero, and leave a text that names the
// column and the row, not the file, in `error`. A file may be read by several
// threads at once, and may be opened before a process forks.
//
// Rows are read in random order. A row of a column that is not compressed is
// read alone; one that is costs its page, which for pyarrow is the row group:
// see runtime/parquet/README.md for how to write files. A field that lacks a
// column is listed too: describing or reading it says what is wrong.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_ABI_FF_PARQUET_H
#define FF_RUNTIME_ABI_FF_PARQUET_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FF_PARQUET_VERSION = 1,
  FF_PARQUET_MAX_DIMS = 8,
  FF_PARQUET_ERROR = 512
};

/// An open file.
typedef struct ff_parquet ff_parquet;

/// The value of a field in one row.
typedef struct ff_parquet_value {
  char dtype[16]; ///< in safetensors' spelling in lower case: "f32", "bf16"
  int32_t rank;
  int64_t shape[FF_PARQUET_MAX_DIMS];
} ff_parquet_value;

typedef struct ff_parquet_api {
  int32_t version; ///< FF_PARQUET_VERSION
  ff_parquet *(*open)(const char *path, char error[FF_PARQUET_ERROR]);
  void (*close)(ff_parquet *file);
  int64_t (*rows)(const ff_parquet *file);
  int32_t (*fields)(const ff_parquet *file);
  /// Of field `field`; it lives as long as the file.
  const char *(*field_name)(const ff_parquet *file, int32_t field);
  /// The values of rows [first, first + count), without their bytes.
  int32_t (*describe)(ff_parquet *file, int32_t field, int64_t first,
                      int64_t count, ff_parquet_value *values,
                      char error[FF_PARQUET_ERROR]);
  /// The bytes of one row, row-major and little-endian. An error where they are
  /// not `bytes`.
  int32_t (*read)(ff_parquet *file, int32_t field, int64_t row, void *out,
                  int64_t bytes, char error[FF_PARQUET_ERROR]);
} ff_parquet_api;

/// The one symbol of the library.
const ff_parquet_api *ff_parquet_get(void);
typedef const ff_parquet_api *(*ff_parquet_get_fn)(void);

#ifdef __cplusplus
}
#endif

#endif // FF_RUNTIME_ABI_FF_PARQUET_H
