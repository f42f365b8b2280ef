//===- Product.h - Products of tiles in shared memory -----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp has sums of 16 x 8 as an mma.sync gives them: lane 4g + t has rows g
// and g + 8 of columns 2t and 2t + 1. f32 keeps that layout but multiplies in
// ordinary instructions: tensor cores would round its operands to 10 bits.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_LIBRARY_PRODUCT_H
#define FF_CODEGEN_DEVICE_LIBRARY_PRODUCT_H

#include "codegen/device/library/Device.h"

namespace ff {

template <int M, int N> FF_INLINE void clear(float (&sums)[M][N][4]) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[m][n][i] = 0;
}

template <class E, int D, int M, int N> struct Product {
  static constexpr int kStride = D * E::kBytes + 16;

  /// sums[i][j] += Σ_d a[i][d] · b[j][d]
  static FF_INLINE void rows(float (&sums)[M][N][4], uint32_t a, uint32_t b) {
    const int lane = laneId();
    a += lane % 16 * kStride + lane / 16 * 16;
    b += (lane % 8 + lane / 16 * 8) * kStride + lane / 8 % 2 * 16;
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      uint32_t left[M][4];
#pragma unroll
      for (int m = 0; m < M; ++m)
        loadMatrices(left[m], a + m * 16 * kStride + k * 32);
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        uint32_t right[4];
        loadMatrices(right, b + n * 8 * kStride + k * 32);
#pragma unroll
        for (int m = 0; m < M; ++m) {
          E::multiply(sums[m][n], left[m], right[0], right[1]);
          E::multiply(sums[m][n + 1], left[m], right[2], right[3]);
        }
      }
    }
  }

  /// sums[i][d] += Σ_j weights[i][j] · b[j][d]. Weights of a thread are where a
  /// left operand wants them.
  static FF_INLINE void weighted(float (&sums)[M][D / 8][4],
                                 const float (&weights)[M][N][4], uint32_t b) {
    const int lane = laneId();
    b += lane % 16 * kStride + lane / 16 * 16;
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      uint32_t left[M][4];
#pragma unroll
      for (int m = 0; m < M; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float(&w)[4] = weights[m][n + i / 2];
          left[m][i] = E::pack(w[i % 2 * 2], w[i % 2 * 2 + 1]);
        }
#pragma unroll
      for (int d = 0; d < D / 8; d += 2) {
        uint32_t right[4];
        loadMatricesTransposed(right, b + n * 8 * kStride + d * 16);
#pragma unroll
        for (int m = 0; m < M; ++m) {
          E::multiply(sums[m][d], left[m], right[0], right[1]);
          E::multiply(sums[m][d + 1], left[m], right[2], right[3]);
        }
      }
    }
  }
};

template <int D, int M, int N> struct Product<F32, D, M, N> {
  static constexpr int kStride = D * 4 + 16;

  static FF_INLINE void rows(float (&sums)[M][N][4], uint32_t a, uint32_t b) {
    a += laneId() / 4 * kStride;
    b += laneId() % 4 * 2 * kStride;
#pragma unroll 2
    for (int k = 0; k < D / 4; ++k) {
      Float4 left[M][2];
#pragma unroll
      for (int m = 0; m < M; ++m)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          left[m][i] =
              loadShared<Float4>(a + (m * 16 + i * 8) * kStride + k * 16);
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          auto right = loadShared<Float4>(b + (n * 8 + j) * kStride + k * 16);
#pragma unroll
          for (int m = 0; m < M; ++m)
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
              for (int e = 0; e < 4; ++e)
                sums[m][n][i * 2 + j] += left[m][i][e] * right[e];
        }
    }
  }

  static FF_INLINE void weighted(float (&sums)[M][D / 8][4],
                                 const float (&weights)[M][N][4], uint32_t b) {
    const int lane = laneId();
    b += lane % 4 * 8;
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll 1
      for (int t = 0; t < 4; ++t)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float left[M][2];
#pragma unroll
          for (int m = 0; m < M; ++m)
#pragma unroll
            for (int i = 0; i < 2; ++i)
              left[m][i] = shuffle(weights[m][n][i * 2 + j], lane / 4 * 4 + t);
#pragma unroll
          for (int d = 0; d < D / 8; ++d) {
            auto right =
                loadShared<Float2>(b + (n * 8 + t * 2 + j) * kStride + d * 32);
#pragma unroll
            for (int m = 0; m < M; ++m)
#pragma unroll
              for (int i = 0; i < 4; ++i)
                sums[m][d][i] += left[m][i / 2] * right[i % 2];
          }
        }
  }
};

} // namespace ff

#endif // FF_CODEGEN_DEVICE_LIBRARY_PRODUCT_H
