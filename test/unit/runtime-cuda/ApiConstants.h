//===- ApiConstants.h - Names of CUDA's API -------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers and sizes of CUDA's API in two spellings: the toolkit's and ours.
// This file is included once with CUDA's headers and once with ours.
//
//===----------------------------------------------------------------------===//

#ifndef FF_TEST_UNIT_RUNTIME_CUDA_APICONSTANTS_H
#define FF_TEST_UNIT_RUNTIME_CUDA_APICONSTANTS_H

#include <string>
#include <utility>
#include <vector>

/// The toolkit's values; empty without one.
std::vector<std::pair<std::string, long long>> toolkitConstants();

// clang-format off
#define FF_API_RESULTS(X) \
  X(INVALID_VALUE) X(OUT_OF_MEMORY) X(NOT_INITIALIZED) X(DEINITIALIZED) X(NO_DEVICE) X(INVALID_DEVICE) \
  X(INVALID_IMAGE) X(INVALID_CONTEXT) X(NO_BINARY_FOR_GPU) X(INVALID_PTX) X(UNSUPPORTED_PTX_VERSION) \
  X(FILE_NOT_FOUND) X(INVALID_HANDLE) X(ILLEGAL_STATE) X(NOT_FOUND) X(NOT_READY) X(ILLEGAL_ADDRESS) \
  X(LAUNCH_OUT_OF_RESOURCES) X(LAUNCH_TIMEOUT) X(ASSERT) X(HOST_MEMORY_ALREADY_REGISTERED) \
  X(HOST_MEMORY_NOT_REGISTERED) X(ILLEGAL_INSTRUCTION) X(MISALIGNED_ADDRESS) X(INVALID_ADDRESS_SPACE) \
  X(INVALID_PC) X(LAUNCH_FAILED) X(NOT_PERMITTED) X(NOT_SUPPORTED) X(STREAM_CAPTURE_UNSUPPORTED) \
  X(STREAM_CAPTURE_INVALIDATED) X(STREAM_CAPTURE_MERGE) X(STREAM_CAPTURE_UNMATCHED) \
  X(STREAM_CAPTURE_UNJOINED) X(STREAM_CAPTURE_IMPLICIT) X(CAPTURED_EVENT) X(UNKNOWN)

// The toolkit's name, ours in ff::rt::cuda.
#define FF_API_CONSTANTS(X) \
  X(CUDA_SUCCESS, SUCCESS) \
  X(CU_JIT_INFO_LOG_BUFFER, InfoLogBuffer) X(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, InfoLogBytes) \
  X(CU_JIT_ERROR_LOG_BUFFER, ErrorLogBuffer) X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, ErrorLogBytes) \
  X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, MaxThreadsPerBlock) X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, SharedBytes) \
  X(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, ConstBytes) X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, LocalBytes) \
  X(CU_FUNC_ATTRIBUTE_NUM_REGS, NumRegs) X(CU_FUNC_ATTRIBUTE_PTX_VERSION, PtxVersion) \
  X(CU_FUNC_ATTRIBUTE_BINARY_VERSION, BinaryVersion) X(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, CacheModeCa) \
  X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, MaxDynamicSharedBytes) \
  X(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, PreferredCarveout) \
  X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, MultiprocessorCount) \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ComputeCapabilityMajor) \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ComputeCapabilityMinor) \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, SharedBytesPerBlockOptin) \
  X(CU_STREAM_CAPTURE_MODE_GLOBAL, Global) X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, ThreadLocal) \
  X(CU_STREAM_CAPTURE_MODE_RELAXED, Relaxed) X(CU_STREAM_NON_BLOCKING, NonBlocking) \
  X(CU_EVENT_BLOCKING_SYNC, BlockingSync) X(CU_EVENT_DISABLE_TIMING, DisableTiming) \
  X(CUBLAS_STATUS_SUCCESS, blas::Success) X(CUBLAS_STATUS_NOT_INITIALIZED, blas::NotInitialized) \
  X(CUBLAS_STATUS_INVALID_VALUE, blas::InvalidValue) X(CUBLAS_STATUS_EXECUTION_FAILED, blas::ExecutionFailed) \
  X(CUBLAS_STATUS_NOT_SUPPORTED, blas::NotSupported) X(CUDA_R_32F, blas::R32F) X(CUDA_R_64F, blas::R64F) \
  X(CUDA_R_16F, blas::R16F) X(CUDA_R_16BF, blas::R16BF) X(CUBLAS_COMPUTE_32F, blas::C32F) \
  X(CUBLAS_COMPUTE_32F_PEDANTIC, blas::C32FPedantic) X(CUBLAS_COMPUTE_64F, blas::C64F) \
  X(CUBLAS_COMPUTE_64F_PEDANTIC, blas::C64FPedantic) X(CUBLAS_COMPUTE_32F_FAST_16F, blas::C32FFast16F) \
  X(CUBLAS_COMPUTE_32F_FAST_16BF, blas::C32FFast16BF) X(CUBLAS_COMPUTE_32F_FAST_TF32, blas::C32FFastTF32) \
  X(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, blas::ComputeType) X(CUBLASLT_MATMUL_DESC_SCALE_TYPE, blas::ScaleType) \
  X(CUBLASLT_MATMUL_DESC_POINTER_MODE, blas::PointerMode) X(CUBLASLT_MATMUL_DESC_TRANSA, blas::TransA) \
  X(CUBLASLT_MATMUL_DESC_TRANSB, blas::TransB) X(CUBLASLT_MATMUL_DESC_TRANSC, blas::TransC) \
  X(CUBLASLT_MATMUL_DESC_FILL_MODE, blas::FillMode) X(CUBLASLT_MATMUL_DESC_EPILOGUE, blas::EpilogueKind) \
  X(CUBLASLT_MATMUL_DESC_BIAS_POINTER, blas::BiasPointer) X(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, blas::BiasBatchStride) \
  X(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, blas::AuxPointer) X(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, blas::AuxLd) \
  X(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, blas::AuxBatchStride) \
  X(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, blas::SmCountTarget) \
  X(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, blas::AuxDataType) X(CUBLASLT_MATMUL_DESC_FAST_ACCUM, blas::FastAccum) \
  X(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, blas::BiasDataType) X(CUBLASLT_MATRIX_LAYOUT_TYPE, blas::LayoutType) \
  X(CUBLASLT_MATRIX_LAYOUT_ORDER, blas::Order) X(CUBLASLT_MATRIX_LAYOUT_ROWS, blas::Rows) \
  X(CUBLASLT_MATRIX_LAYOUT_COLS, blas::Cols) X(CUBLASLT_MATRIX_LAYOUT_LD, blas::Ld) \
  X(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, blas::BatchCount) \
  X(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, blas::BatchStride) \
  X(CUBLASLT_MATMUL_PREF_SEARCH_MODE, blas::SearchMode) X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, blas::MaxWorkspaceBytes) \
  X(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, blas::ReductionSchemeMask) \
  X(CUBLASLT_REDUCTION_SCHEME_INPLACE, blas::InPlace) X(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, blas::InComputeType) \
  X(CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, blas::InOutputType) \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, blas::MinAlignmentA) \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, blas::MinAlignmentB) \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, blas::MinAlignmentC) \
  X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, blas::MinAlignmentD) \
  X(CUBLASLT_EPILOGUE_DEFAULT, blas::Default) X(CUBLASLT_EPILOGUE_RELU, blas::Relu) \
  X(CUBLASLT_EPILOGUE_BIAS, blas::Bias) X(CUBLASLT_EPILOGUE_RELU_BIAS, blas::Relu | blas::Bias) \
  X(CUBLASLT_EPILOGUE_GELU, blas::Gelu) X(CUBLASLT_EPILOGUE_GELU_BIAS, blas::Gelu | blas::Bias)

// NCCL's names are ours, too.
#define FF_API_NCCL(X) \
  X(ncclSuccess) X(ncclUnhandledCudaError) X(ncclSystemError) X(ncclInternalError) X(ncclInvalidArgument) \
  X(ncclInvalidUsage) X(ncclRemoteError) X(ncclInProgress) X(ncclSum) X(ncclProd) X(ncclMax) X(ncclMin) X(ncclAvg) \
  X(ncclInt8) X(ncclUint8) X(ncclInt32) X(ncclUint32) X(ncclInt64) X(ncclUint64) X(ncclFloat16) X(ncclFloat32) \
  X(ncclFloat64) X(ncclBfloat16) X(sizeof(ncclUniqueId)) X(sizeof(ncclComm_t)) X(sizeof(ncclResult_t)) \
  X(sizeof(ncclDataType_t)) X(sizeof(ncclRedOp_t))

#define FF_API_SIZES(X) \
  X(sizeof(CUresult)) X(sizeof(CUdevice)) X(sizeof(CUdeviceptr)) X(sizeof(CUcontext)) X(sizeof(CUuuid)) \
  X(sizeof(cublasStatus_t)) X(sizeof(cublasLtMatmulAlgo_t)) X(sizeof(cublasLtMatmulHeuristicResult_t)) \
  X(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize)) X(offsetof(cublasLtMatmulHeuristicResult_t, state)) \
  X(sizeof(*cublasLtMatmulDesc_t())) X(sizeof(*cublasLtMatrixLayout_t())) X(sizeof(*cublasLtMatmulPreference_t()))
// clang-format on

#endif // FF_TEST_UNIT_RUNTIME_CUDA_APICONSTANTS_H
