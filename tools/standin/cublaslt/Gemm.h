#ifndef FF_STANDIN_CUBLASLT_GEMM_H
#define FF_STANDIN_CUBLASLT_GEMM_H

#include "runtime/cuda/api/CublasLt.h"
#include "tools/standin/api/Cuda.h"

#include <string>

namespace standin::blas {
using namespace ff::rt::cuda::blas;

struct Layout { // lies within the caller's opaque 64 bytes
  int32_t type, order;
  uint64_t rows, cols;
  int64_t ld, stride;
  int32_t batches;
};
struct Desc {
  int32_t compute, scale, pointerMode, transA, transB, transC, epilogue,
      auxType, biasType;
  uint64_t bias, aux;
  int64_t biasStride, auxLd, auxStride;
};
struct Matmul {
  Desc desc;
  Layout a, b, c, d;
  uint64_t A, B, C, D, workspace, workspaceBytes;
  uint64_t alpha, beta; // bits of a host value, or device pointers
};

unsigned bytesOf(int type); // 0: not modelled
// What the real one refuses, and why; Success else.
int check(const Matmul &m, std::string &why);
// Computes; 0 or a CUresult.
CUresult execute(void *matmul);

} // namespace standin::blas

#endif
