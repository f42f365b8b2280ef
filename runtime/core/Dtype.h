//===- Dtype.h - Element types and their conversions ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_DTYPE_H
#define FF_RUNTIME_CORE_DTYPE_H

#include "runtime/abi/ff_rt.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ff::rt {

/// The types of the ABI.
using DType = ff_dtype;

/// Bytes of one element.
size_t dtypeSize(DType dtype);

/// The name in metadata, such as "f32".
const char *dtypeName(DType dtype);

/// The inverse of dtypeName; false for an unknown name.
bool parseDtype(std::string_view name, DType &dtype);

/// f32, f64, bf16 or f16.
bool isFloat(DType dtype);

/// The type in which an optimizer computes on `dtype`: f64 for f64, else f32.
DType wideDtype(DType dtype);

/// The name in a safetensors file of a dtype of ours, such as "BF16".
const char *fileDtypeName(DType dtype);

/// Bytes of an element of a dtype of a safetensors file; 0 for an unknown one.
size_t fileDtypeSize(std::string_view dtype);

/// The name in a safetensors file of a dtype of metadata ("f8e4m3" and
/// "f8_e4m3" are "F8_E4M3"); null for an unknown one. The runtime computes with
/// DType alone and copies the bytes of the other types.
const char *fileDtypeOf(std::string_view name);

/// The inverse of fileDtypeName; false for what is not a DType.
bool parseFileDtype(std::string_view name, DType &dtype);

/// Rounds to nearest even; NaN stays NaN.
inline uint16_t floatToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

inline float bf16ToFloat(uint16_t value) {
  uint32_t bits = static_cast<uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

/// Rounds to nearest even, with subnormals and infinities of IEEE binary16.
uint16_t floatToF16(float value);
float f16ToFloat(uint16_t value);

/// dst[i] = src[i], for any two float types, or any two integer types, or from
/// an integer type to a float type. From f64 to a 16-bit type it rounds once
/// to f32 and once more to the target. `src` and `dst` do not overlap.
void convertElements(DType srcType, const void *src, DType dstType, void *dst,
                     int64_t n);

/// dst[i] += src[i], for dst f32 or f64 and src any float type.
void addElements(DType srcType, const void *src, DType dstType, void *dst,
                 int64_t n);

/// Writes `value`, rounded once, to n elements.
void fillElements(DType dtype, void *dst, double value, int64_t n);

/// The largest magnitude among the finite elements of `src` that became
/// infinite in `dst`, its conversion; 0 where none did.
double largestOverflow(DType srcType, const void *src, DType dstType,
                       const void *dst, int64_t n);

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_DTYPE_H
