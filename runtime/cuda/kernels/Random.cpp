//===- Random.cpp - Kernels that fill with random values ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/BoxMuller.h"
#include "runtime/cuda/kernels/Device.h"

namespace ff::rt::cuda {

namespace {

/// One thread has the four values of a block of Philox.
template <typename T>
inline void fill(uint64_t seed, uint32_t site, int32_t normal,
                 const BatchScalars *scalars, int64_t batch, int64_t perSample,
                 T *out) {
  int64_t blocks = (perSample + 3) / 4;
  int64_t i = globalThread();
  if (i >= batch * blocks)
    return;
  int64_t row = i / blocks, block = i - row * blocks;
  uint64_t sample = static_cast<uint64_t>(scalars->firstSample + row);
  PhiloxWords words = philoxWords(
      {{static_cast<uint32_t>(block), site, static_cast<uint32_t>(sample),
        static_cast<uint32_t>(sample >> 32)}},
      seed);
  double wide[4];
  blockValues(words, normal != 0, wide);
  T values[pack];
  for (int j = 0; j < 4; ++j)
    values[j] = static_cast<T>(wide[j]);
  T *to = out + row * perSample + block * 4;
  int64_t count = perSample - block * 4;
  if (count >= 4 && reinterpret_cast<uint64_t>(to) % 16 == 0)
    return storePack(to, values);
  for (int j = 0; j < 4; ++j)
    if (j < count)
      to[j] = values[j];
}

} // namespace

FF_KERNEL ff_random_f32(uint64_t seed, uint32_t site, int32_t normal,
                        const BatchScalars *scalars, int64_t batch,
                        int64_t perSample, float *out) {
  fill(seed, site, normal, scalars, batch, perSample, out);
}

FF_KERNEL ff_random_f64(uint64_t seed, uint32_t site, int32_t normal,
                        const BatchScalars *scalars, int64_t batch,
                        int64_t perSample, double *out) {
  fill(seed, site, normal, scalars, batch, perSample, out);
}

} // namespace ff::rt::cuda
