//===- Random.cpp - Random tensors of programs and initial values ---------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Random.h"
#include "runtime/compute/Threads.h"
#include "runtime/core/Error.h"
#include "runtime/core/Philox.h"

#include <algorithm>
#include <xxhash.h>

namespace ff::rt {

namespace {

/// Blocks of four values that make a piece of work worth a thread.
constexpr int64_t grainBlocks = 256;

template <typename T>
void fillFloats(uint64_t seed, int32_t site, bool normal, int64_t firstSample,
                int64_t batch, int64_t perSample, T *out) {
  auto key = philoxKey(seed);
  int64_t blocks = (perSample + 3) / 4;
  parallelFor(batch * blocks, grainBlocks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t row = i / blocks, block = i % blocks;
      uint64_t sample = static_cast<uint64_t>(firstSample + row);
      PhiloxBlock words = philox(
          {static_cast<uint32_t>(block), static_cast<uint32_t>(site),
           static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)},
          key);
      auto values = normal ? normalsFromBlock(words) : uniformsFromBlock(words);
      int64_t count = std::min<int64_t>(4, perSample - block * 4);
      T *row0 = out + row * perSample + block * 4;
      for (int64_t j = 0; j < count; ++j)
        row0[j] = static_cast<T>(values[static_cast<size_t>(j)]);
    }
  });
}

/// Values of `count` elements from `begin` on, in f64.
void initialValues(uint64_t seed, uint32_t site, const Initializer &init,
                   int64_t begin, int64_t count, double *values) {
  auto key = philoxKey(seed);
  bool normal = init.kind == Initializer::Kind::Normal;
  for (int64_t i = 0; i < count;) {
    uint64_t block = static_cast<uint64_t>(begin + i) / 4;
    PhiloxBlock words =
        philox({static_cast<uint32_t>(block), site,
                static_cast<uint32_t>(block >> 32), 0xffffffffu},
               key);
    auto four = normal ? normalsFromBlock(words) : uniformsFromBlock(words);
    for (int64_t j = (begin + i) % 4; j < 4 && i < count; ++j, ++i) {
      double value = four[static_cast<size_t>(j)];
      values[i] = normal ? init.first + init.second * value
                         : init.first + (init.second - init.first) * value;
    }
  }
}

} // namespace

void fillRandom(uint64_t seed, int32_t site, ff_distribution distribution,
                DType dtype, int64_t firstSample, int64_t batch,
                int64_t perSample, void *out) {
  if (distribution != FF_UNIFORM && distribution != FF_NORMAL)
    failInternal("distribution number {}", static_cast<int>(distribution));
  bool normal = distribution == FF_NORMAL;
  if (dtype == FF_F32)
    return fillFloats(seed, site, normal, firstSample, batch, perSample,
                      static_cast<float *>(out));
  if (dtype == FF_F64)
    return fillFloats(seed, site, normal, firstSample, batch, perSample,
                      static_cast<double *>(out));
  failInternal("random values of dtype {}", dtypeName(dtype));
}

void initialize(uint64_t seed, const std::string &fullName,
                const Initializer &init, DType dtype, int64_t begin,
                int64_t end, void *out) {
  char *bytes = static_cast<char *>(out);
  if (init.kind == Initializer::Kind::Constant)
    return fillElements(dtype, out, init.first, end - begin);
  uint32_t site =
      0x80000000u | (XXH32(fullName.data(), fullName.size(), 0) & 0x7fffffffu);
  constexpr int64_t piece = 1024;
  parallelFor((end - begin + piece - 1) / piece, 4,
              [&](int64_t first, int64_t last) {
                double values[piece];
                for (int64_t i = first; i < last; ++i) {
                  int64_t start = begin + i * piece;
                  int64_t count = std::min(piece, end - start);
                  initialValues(seed, site, init, start, count, values);
                  size_t at = static_cast<size_t>(i * piece);
                  convertElements(FF_F64, values, dtype,
                                  bytes + at * dtypeSize(dtype), count);
                }
              });
}

} // namespace ff::rt
