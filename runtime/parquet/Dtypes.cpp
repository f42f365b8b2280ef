//===- Dtypes.cpp - Names of dtypes ---------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/parquet/Dtypes.h"

#include <string>

namespace ff::parquet {

namespace {
struct Spelling {
  const char *text;
  Dtype dtype;
};
const Spelling spellings[] = {
    {"float32", {"f32", 4}},
    {"float64", {"f64", 8}},
    {"bfloat16", {"bf16", 2}},
    {"float16", {"f16", 2}},
    {"int64", {"i64", 8}},
    {"int32", {"i32", 4}},
    {"int16", {"i16", 2}},
    {"int8", {"i8", 1}},
    {"uint8", {"u8", 1}},
    {"uint16", {"u16", 2}},
    {"uint32", {"u32", 4}},
    {"uint64", {"u64", 8}},
    {"bool", {"bool", 1}},
    {"float8_e4m3fn", {"f8_e4m3", 1}},
    {"float8_e5m2", {"f8_e5m2", 1}},
    // what PyTorch and NumPy call them besides
    {"float", {"f32", 4}},
    {"double", {"f64", 8}},
    {"half", {"f16", 2}},
    {"short", {"i16", 2}},
    {"bool_", {"bool", 1}},
};
} // namespace

Dtype parseDtype(std::string_view text) {
  if (text.starts_with("torch."))
    text.remove_prefix(6);
  else if (text.starts_with("numpy."))
    text.remove_prefix(6);
  for (const Spelling &spelling : spellings)
    if (text == spelling.text)
      return spelling.dtype;
  std::string lower;
  for (char c : text)
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const Spelling &spelling : spellings)
    if (lower == spelling.dtype.name)
      return spelling.dtype;
  return {};
}

} // namespace ff::parquet
