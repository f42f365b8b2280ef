//===- Dtype.cpp - Element types and their conversions --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Dtype.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace ff::rt {

namespace {
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};
struct Bool {
  uint8_t bits;
};

struct DtypeInfo {
  const char *name;
  size_t size;
};
const DtypeInfo infos[] = {{"f32", 4}, {"f64", 8}, {"bf16", 2}, {"f16", 2},
                           {"i64", 8}, {"i32", 4}, {"i8", 1},   {"bool", 1}};

/// What files may hold: first the types of ours, in their order. `name` is that
/// of metadata, null where metadata has none.
struct FileDtype {
  const char *fileName;
  size_t size;
  const char *name;
};
const FileDtype fileDtypes[] = {
    {"F32", 4, "f32"},   {"F64", 8, "f64"},        {"BF16", 2, "bf16"},
    {"F16", 2, "f16"},   {"I64", 8, "i64"},        {"I32", 4, "i32"},
    {"I8", 1, "i8"},     {"BOOL", 1, "bool"},      {"U8", 1, "u8"},
    {"I16", 2, "i16"},   {"U16", 2, nullptr},      {"U32", 4, nullptr},
    {"U64", 8, nullptr}, {"F8_E4M3", 1, "f8e4m3"}, {"F8_E5M2", 1, "f8e5m2"}};

template <typename T> T load(T value) { return value; }
float load(Bf16 value) { return bf16ToFloat(value.bits); }
float load(F16 value) { return f16ToFloat(value.bits); }
uint8_t load(Bool value) { return value.bits != 0; }

template <typename T, typename V> void store(T &dst, V value) {
  dst = static_cast<T>(value);
}
template <typename V> void store(Bf16 &dst, V value) {
  dst.bits = floatToBf16(static_cast<float>(value));
}
template <typename V> void store(F16 &dst, V value) {
  dst.bits = floatToF16(static_cast<float>(value));
}
template <typename V> void store(Bool &dst, V value) {
  dst.bits = value != V(0);
}

/// Calls `body` with a pointer of the element type.
template <typename Body> void dispatch(DType dtype, Body &&body) {
  switch (dtype) {
  case FF_F32:
    return body(static_cast<float *>(nullptr));
  case FF_F64:
    return body(static_cast<double *>(nullptr));
  case FF_BF16:
    return body(static_cast<Bf16 *>(nullptr));
  case FF_F16:
    return body(static_cast<F16 *>(nullptr));
  case FF_I64:
    return body(static_cast<int64_t *>(nullptr));
  case FF_I32:
    return body(static_cast<int32_t *>(nullptr));
  case FF_I8:
    return body(static_cast<int8_t *>(nullptr));
  case FF_BOOL:
    return body(static_cast<Bool *>(nullptr));
  }
  failInternal("dtype number {}", static_cast<int>(dtype));
}
} // namespace

size_t dtypeSize(DType dtype) { return infos[dtype].size; }

const char *dtypeName(DType dtype) { return infos[dtype].name; }

bool parseDtype(std::string_view name, DType &dtype) {
  for (size_t i = 0; i < std::size(infos); ++i) {
    if (name == infos[i].name) {
      dtype = static_cast<DType>(i);
      return true;
    }
  }
  return false;
}

const char *fileDtypeName(DType dtype) { return fileDtypes[dtype].fileName; }

size_t fileDtypeSize(std::string_view dtype) {
  for (const FileDtype &known : fileDtypes)
    if (dtype == known.fileName)
      return known.size;
  return 0;
}

const char *fileDtypeOf(std::string_view name) {
  for (const FileDtype &known : fileDtypes) {
    std::string lower = known.fileName;
    for (char &c : lower)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (name == lower || (known.name && name == known.name))
      return known.fileName;
  }
  return nullptr;
}

bool parseFileDtype(std::string_view name, DType &dtype) {
  for (int i = FF_F32; i <= FF_BOOL; ++i)
    if (name == fileDtypes[i].fileName) {
      dtype = static_cast<DType>(i);
      return true;
    }
  return false;
}

bool isFloat(DType dtype) { return dtype <= FF_F16; }

DType wideDtype(DType dtype) { return dtype == FF_F64 ? FF_F64 : FF_F32; }

uint16_t floatToF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  uint32_t sign = (bits >> 16) & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u);
  // 65520 and above round to infinity.
  if (bits >= 0x477ff000u)
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (bits < 0x38800000u) {
    // Subnormal: adding 0.5 puts the bits that remain at the end of the
    // mantissa and lets the hardware round.
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof magnitude);
    magnitude += 0.5f;
    uint32_t rounded;
    std::memcpy(&rounded, &magnitude, sizeof rounded);
    return static_cast<uint16_t>(sign | (rounded - 0x3f000000u));
  }
  uint32_t odd = (bits >> 13) & 1;
  bits += 0xc8000fffu + odd; // rebias the exponent, round to even
  return static_cast<uint16_t>(sign | (bits >> 13));
}

float f16ToFloat(uint16_t value) {
  uint32_t sign = static_cast<uint32_t>(value & 0x8000u) << 16;
  uint32_t exponent = (value >> 10) & 0x1f;
  uint32_t mantissa = value & 0x3ffu;
  if (exponent == 0) {
    float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  uint32_t bits = sign | (mantissa << 13) |
                  (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23);
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

void convertElements(DType srcType, const void *src, DType dstType, void *dst,
                     int64_t n) {
  if (n == 0)
    return;
  if (srcType == dstType) {
    std::memcpy(dst, src, static_cast<size_t>(n) * dtypeSize(srcType));
    return;
  }
  if (isFloat(srcType) && !isFloat(dstType))
    failInternal("conversion of {} to {}", dtypeName(srcType),
                 dtypeName(dstType));
  dispatch(srcType, [&](auto *srcTag) {
    using Src = std::remove_pointer_t<decltype(srcTag)>;
    dispatch(dstType, [&](auto *dstTag) {
      using Dst = std::remove_pointer_t<decltype(dstTag)>;
      const char *in = static_cast<const char *>(src);
      Dst *out = static_cast<Dst *>(dst);
      for (int64_t i = 0; i < n; ++i) {
        Src value; // the data of a file need not be aligned
        std::memcpy(&value, in + static_cast<size_t>(i) * sizeof(Src),
                    sizeof value);
        store(out[i], load(value));
      }
    });
  });
}

void addElements(DType srcType, const void *src, DType dstType, void *dst,
                 int64_t n) {
  auto run = [&](auto *out) {
    dispatch(srcType, [&](auto *srcTag) {
      using Src = std::remove_pointer_t<decltype(srcTag)>;
      using Dst = std::remove_pointer_t<decltype(out)>;
      const Src *in = static_cast<const Src *>(src);
      for (int64_t i = 0; i < n; ++i)
        out[i] += static_cast<Dst>(load(in[i]));
    });
  };
  if (dstType == FF_F64)
    return run(static_cast<double *>(dst));
  if (dstType == FF_F32)
    return run(static_cast<float *>(dst));
  failInternal("sum in {}", dtypeName(dstType));
}

void fillElements(DType dtype, void *dst, double value, int64_t n) {
  dispatch(dtype, [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    T element;
    store(element, value);
    std::fill_n(static_cast<T *>(dst), n, element);
  });
}

static bool hasInfinity(DType dtype, const void *data, int64_t n) {
  auto any = [&](const auto *values, auto mask, auto infinity) {
    int64_t count = 0; // no early exit, so that the loop is vectorized
    for (int64_t i = 0; i < n; ++i)
      count += (values[i] & mask) == infinity;
    return count != 0;
  };
  switch (dtype) {
  case FF_F16:
    return any(static_cast<const uint16_t *>(data), 0x7fff, 0x7c00);
  case FF_BF16:
    return any(static_cast<const uint16_t *>(data), 0x7fff, 0x7f80);
  case FF_F32:
    return any(static_cast<const uint32_t *>(data), 0x7fffffffu, 0x7f800000u);
  default:
    return false; // nothing that is finite elsewhere is infinite in f64
  }
}

/// Whether a finite value of `from` can be infinite in `to`.
static bool canOverflow(DType from, DType to) {
  return isFloat(from) && from != to && to != FF_F64 &&
         !(to == FF_F32 && from != FF_F64) &&
         !(to == FF_BF16 && from == FF_F16);
}

double largestOverflow(DType srcType, const void *src, DType dstType,
                       const void *dst, int64_t n) {
  if (!canOverflow(srcType, dstType) || !hasInfinity(dstType, dst, n))
    return 0;
  double largest = 0, before, after;
  const char *from = static_cast<const char *>(src);
  const char *to = static_cast<const char *>(dst);
  for (int64_t i = 0; i < n; ++i) {
    size_t at = static_cast<size_t>(i);
    convertElements(srcType, from + at * dtypeSize(srcType), FF_F64, &before,
                    1);
    convertElements(dstType, to + at * dtypeSize(dstType), FF_F64, &after, 1);
    if (std::isfinite(before) && std::isinf(after))
      largest = std::max(largest, std::abs(before));
  }
  return largest;
}

} // namespace ff::rt
