//===- CublasLt.h - cuBLASLt's API ----------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ff and its stand-in device speak of cuBLASLt, from the public
// documentation.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_API_CUBLASLT_H
#define FF_RUNTIME_CUDA_API_CUBLASLT_H

#include "runtime/cuda/api/Cuda.h"

extern "C" {
typedef int cublasStatus_t;
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasLtMatmulDescOpaque {
  uint64_t data[32];
} *cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayoutOpaque {
  uint64_t data[8];
} *cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreferenceOpaque {
  uint64_t data[8];
} *cublasLtMatmulPreference_t;
typedef struct cublasLtMatmulAlgo {
  uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct cublasLtMatmulHeuristicResult {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);
size_t cublasLtGetVersion();
const char *cublasLtGetStatusName(cublasStatus_t status);
const char *cublasLtGetStatusString(cublasStatus_t status);
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
                                        int computeType, int scaleType);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              int attribute, const void *value,
                                              size_t bytes);
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, int type,
                                          uint64_t rows, uint64_t cols,
                                          int64_t ld);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout);
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                int attribute,
                                                const void *value,
                                                size_t bytes);
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out);
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref);
cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref,
                                     int attribute, const void *value,
                                     size_t bytes);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t pref, int requested,
    cublasLtMatmulHeuristicResult_t *results, int *returned);
cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
               const void *alpha, const void *A, cublasLtMatrixLayout_t a,
               const void *B, cublasLtMatrixLayout_t b, const void *beta,
               const void *C, cublasLtMatrixLayout_t c, void *D,
               cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algo,
               void *workspace, size_t workspaceBytes, CUstream stream);
}

namespace ff::rt::cuda::blas {
enum Status : int {
  Success = 0,
  NotInitialized = 1,
  InvalidValue = 7,
  ExecutionFailed = 13,
  NotSupported = 15
};
enum DataType : int { R32F = 0, R64F = 1, R16F = 2, R16BF = 14 };
enum Compute : int {
  C32F = 68,
  C32FPedantic = 69,
  C64F = 70,
  C64FPedantic = 71,
  C32FFast16F = 74,
  C32FFast16BF = 75,
  C32FFastTF32 = 77
};
enum DescAttribute : int {
  ComputeType = 0,
  ScaleType = 1,
  PointerMode = 2,
  TransA = 3,
  TransB = 4,
  TransC = 5,
  FillMode = 6,
  EpilogueKind = 7,
  BiasPointer = 8,
  BiasBatchStride = 10,
  AuxPointer = 11,
  AuxLd = 12,
  AuxBatchStride = 13,
  SmCountTarget = 15,
  AuxDataType = 22,
  FastAccum = 25,
  BiasDataType = 26
};
enum LayoutAttribute : int {
  LayoutType = 0,
  Order = 1,
  Rows = 2,
  Cols = 3,
  Ld = 4,
  BatchCount = 5,
  BatchStride = 6
};
enum PrefAttribute : int {
  SearchMode = 0,
  MaxWorkspaceBytes = 1,
  ReductionSchemeMask = 3,
  MinAlignmentA = 5,
  MinAlignmentB = 6,
  MinAlignmentC = 7,
  MinAlignmentD = 8
};
// How parts of a sum are added up that were computed apart (split k).
enum ReductionScheme : int { InPlace = 1, InComputeType = 2, InOutputType = 4 };
// Epilogues are sums of these.
enum Epilogue : int {
  Default = 1,
  Relu = 2,
  Bias = 4,
  DRelu = 8,
  BGrad = 16,
  Gelu = 32,
  DGelu = 64,
  Aux = 128,
  BGradA = 256,
  BGradB = 512
};
} // namespace ff::rt::cuda::blas

#endif // FF_RUNTIME_CUDA_API_CUBLASLT_H
