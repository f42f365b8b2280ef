//===- BoxMuller.h - Random values on the device --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox and Box-Muller as in runtime/core/Philox.h, for the device. The
// functions of f64 are those of fdlibm (Sun Microsystems, 1993; freely usable),
// on the arguments that occur: their error is below 1 ulp of f64, as that of
// glibc's is, so that after rounding to f32 both agree but for about one value
// in 10^8, where a value lies between two numbers of f32. Compiled without
// contraction; a test compiles it for the host and compares.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_KERNELS_BOXMULLER_H
#define FF_RUNTIME_CUDA_KERNELS_BOXMULLER_H

#include <stdint.h>

namespace ff::rt::cuda {

struct PhiloxWords {
  uint32_t words[4];
};

/// Ten rounds of Philox4x32.
inline PhiloxWords philoxWords(PhiloxWords c, uint64_t seed) {
  uint32_t key0 = static_cast<uint32_t>(seed);
  uint32_t key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t{0xD2511F53u} * c.words[0];
    uint64_t product1 = uint64_t{0xCD9E8D57u} * c.words[2];
    c = {{static_cast<uint32_t>(product1 >> 32) ^ c.words[1] ^ key0,
          static_cast<uint32_t>(product1),
          static_cast<uint32_t>(product0 >> 32) ^ c.words[3] ^ key1,
          static_cast<uint32_t>(product0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

inline double uniformOf(uint32_t word) { return (word >> 8) * 0x1p-24; }

/// log(x) of a normal x: fdlibm's e_log.
inline double logOf(double x) {
  constexpr double ln2High = 6.93147180369123816490e-01,
                   ln2Low = 1.90821492927058770002e-10;
  uint64_t bits = __builtin_bit_cast(uint64_t, x);
  // x = 2^k * (1 + f) with sqrt(2)/2 < 1 + f < sqrt(2)
  uint32_t high = static_cast<uint32_t>(bits >> 32) + (0x3ff00000 - 0x3fe6a09e);
  double k = static_cast<double>(static_cast<int32_t>(high >> 20) - 0x3ff);
  high = (high & 0xfffff) + 0x3fe6a09e;
  double f = __builtin_bit_cast(double, static_cast<uint64_t>(high) << 32 |
                                            (bits & 0xffffffffu)) -
             1.0;
  double halfSquare = 0.5 * f * f;
  double s = f / (2.0 + f);
  double z = s * s, w = z * z;
  double even =
      w * (3.999999999940941908e-01 +
           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  double odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 +
                w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  return s * (halfSquare + (odd + even)) + k * ln2Low - halfSquare + f +
         k * ln2High;
}

struct SinCos {
  double sin, cos;
};

/// Of theta in [0, 2 pi]: fdlibm's k_sin and k_cos after a reduction by
/// multiples of pi/2 that is exact but for the last part of pi.
inline SinCos sinCosOf(double theta) {
  constexpr double twoOverPi = 6.36619772367581382433e-01,
                   piHalfHigh = 1.57079632679489655800e+00,
                   piHalfLow = 6.12323399573676603587e-17;
  int quadrant = static_cast<int>(theta * twoOverPi + 0.5);
  double n = quadrant;
  double r = __builtin_fma(-n, piHalfHigh, theta);
  double x = r - n * piHalfLow;
  double y = (r - x) - n * piHalfLow;
  double z = x * x, w = z * z, v = z * x;
  double p =
      8.33333333332248946124e-03 +
      z * (-1.98412698298579493134e-04 + z * 2.75573137070700676789e-06) +
      z * w * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
  double sine =
      x - ((z * (0.5 * y - v * p) - y) - v * -1.66666666666666324348e-01);
  double q =
      z * (4.16666666666666019037e-02 +
           z * (-1.38888888888741095749e-03 + z * 2.48015872894767294178e-05)) +
      w * w *
          (-2.75573143513906633035e-07 +
           z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));
  double half = 0.5 * z, t = 1.0 - half;
  double cosine = t + (((1.0 - t) - half) + (z * q - x * y));
  switch (quadrant & 3) {
  case 0:
    return {sine, cosine};
  case 1:
    return {cosine, -sine};
  case 2:
    return {-sine, -cosine};
  default:
    return {-cosine, sine};
  }
}

/// Four values of a block, in [0, 1) or normal.
inline void blockValues(const PhiloxWords &block, bool normal,
                        double (&values)[4]) {
  for (int pair = 0; pair < 4; pair += 2) {
    double first = uniformOf(block.words[pair]);
    double second = uniformOf(block.words[pair + 1]);
    if (!normal) {
      values[pair] = first;
      values[pair + 1] = second;
      continue;
    }
    double u = ((block.words[pair] >> 8) + 1) * 0x1p-24;
    double radius = __builtin_sqrt(-2.0 * logOf(u));
    SinCos angle = sinCosOf(6.283185307179586476925 * second);
    values[pair] = radius * angle.cos;
    values[pair + 1] = radius * angle.sin;
  }
}

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_KERNELS_BOXMULLER_H
