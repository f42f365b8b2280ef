//===- CudaMatmuls.h - Matmuls through cuBLASLt ---------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_CUDAMATMULS_H
#define FF_RUNTIME_CUDA_CUDAMATMULS_H

#include "runtime/compute/MatmulType.h"
#include "runtime/cuda/Driver.h"

#include <memory>
#include <vector>

namespace ff::rt::cuda {

/// The plans of all matmuls of a spec: descriptors, layouts and the algorithm
/// that cuBLASLt's heuristic puts first, chosen once, at start. An Error names
/// the matmul (its shape, strides and types) that the library cannot do: one
/// with silu, exact gelu, tanh or sigmoid, with an epilogue in f64, or of views
/// in which no dim of a matrix has stride 1.
class CudaMatmuls {
public:
  /// `tf32`: f32 operands may be rounded to TF32.
  CudaMatmuls(const std::vector<MatmulType> &types, bool tf32,
              CUdeviceptr workspace);
  ~CudaMatmuls();

  /// c = op(a · b [+ bias]) on `stream`; device addresses. May be captured in a
  /// graph. Operands that are not aligned to 16 bytes get an algorithm of their
  /// own, chosen when they come first. All calls are in order on one stream at
  /// a time: they share the workspace.
  void run(size_t matmul, const void *a, const void *b, const void *bias,
           void *c, const Stream &stream);

  /// How many calls a matmul takes, and with which layouts: for --profile.
  std::string implementation(size_t matmul) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_CUDAMATMULS_H
