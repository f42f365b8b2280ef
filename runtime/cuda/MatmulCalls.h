//===- MatmulCalls.h - Matmuls as calls of cuBLASLt -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MatmulType is row-major with any strides, cuBLASLt column-major with leading
// dimensions: it computes cᵀ = bᵀ · aᵀ, and strides become transpositions.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_MATMULCALLS_H
#define FF_RUNTIME_CUDA_MATMULCALLS_H

#include "runtime/compute/MatmulType.h"

#include <array>
#include <string>
#include <vector>

namespace ff::rt::cuda {

/// A matrix in column-major order, as it lies in memory.
struct ColumnMajor {
  int64_t rows = 0, columns = 0, ld = 0;
  bool transposed = false; ///< the operand is the transpose of it
  int64_t batchStride = 0;
};

/// The calls of one matmul. They differ in their offsets alone.
struct MatmulCalls {
  MatmulType type;      ///< folded
  bool swapped = false; ///< a and b of the caller change places
  ColumnMajor a, b, c;  ///< of `type`; cuBLASLt's A is b, its B is a
  int64_t batch = 1;    ///< matrices of one call
  /// Elements before a, b and c of each call.
  std::vector<std::array<int64_t, 3>> offsets;
};

/// An Error with the matmul's text where its strides are none of cuBLASLt's.
MatmulCalls matmulCalls(const MatmulType &type, size_t index);

/// Number, shape, strides and types, for messages.
std::string matmulText(const MatmulType &type, size_t index);

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_MATMULCALLS_H
