//===- Philox.h - Counter-based random numbers ----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011. metadata.md says which counters are used for what; the data
// order is in runtime/train/SampleOrder.h.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_PHILOX_H
#define FF_RUNTIME_CORE_PHILOX_H

#include <array>
#include <cmath>
#include <cstdint>

namespace ff::rt {

using PhiloxBlock = std::array<uint32_t, 4>;

/// The key of a seed: its low and its high half.
inline std::array<uint32_t, 2> philoxKey(uint64_t seed) {
  return {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
}

/// Ten rounds of Philox4x32 of `counter` under `key`.
inline PhiloxBlock philox(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// Uniform in [0, 1) with 24 bits: exact in f32 and in f64.
inline double uniformFromWord(uint32_t word) { return (word >> 8) * 0x1p-24; }

/// Four uniform values of a block.
inline std::array<double, 4> uniformsFromBlock(const PhiloxBlock &block) {
  return {uniformFromWord(block[0]), uniformFromWord(block[1]),
          uniformFromWord(block[2]), uniformFromWord(block[3])};
}

/// Four normal values of a block, by Box and Muller in f64.
inline std::array<double, 4> normalsFromBlock(const PhiloxBlock &block) {
  std::array<double, 4> values;
  for (int pair = 0; pair < 4; pair += 2) {
    double u = ((block[pair] >> 8) + 1) * 0x1p-24;
    double r = std::sqrt(-2.0 * std::log(u));
    double theta = 6.283185307179586476925 * uniformFromWord(block[pair + 1]);
    values[pair] = r * std::cos(theta);
    values[pair + 1] = r * std::sin(theta);
  }
  return values;
}

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_PHILOX_H
