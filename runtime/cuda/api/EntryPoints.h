//===- EntryPoints.h - What ff calls of CUDA ------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry points that ff uses, as tables of function pointers. Each line: the
// member, the symbol in the library, and, of the driver, whose functions
// nothing here declares, the parameters.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_API_ENTRYPOINTS_H
#define FF_RUNTIME_CUDA_API_ENTRYPOINTS_H

#include "runtime/cuda/api/CublasLt.h"
#include "runtime/cuda/api/Cuda.h"
#include "runtime/cuda/api/Nccl.h"

// clang-format off
#define FF_CUDA_ENTRY_POINTS(X)                                                                             \
  X(init, cuInit, (unsigned flags))                                                                         \
  X(driverGetVersion, cuDriverGetVersion, (int *version))                                                   \
  X(getErrorName, cuGetErrorName, (CUresult result, const char **text))                                     \
  X(getErrorString, cuGetErrorString, (CUresult result, const char **text))                                 \
  X(deviceGetCount, cuDeviceGetCount, (int *count))                                                         \
  X(deviceGet, cuDeviceGet, (CUdevice *device, int ordinal))                                                \
  X(deviceGetName, cuDeviceGetName, (char *name, int bytes, CUdevice device))                               \
  X(deviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                 \
  X(devicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device))                \
  X(devicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                               \
  X(ctxSetCurrent, cuCtxSetCurrent, (CUcontext context))                                                    \
  X(memAlloc, cuMemAlloc_v2, (CUdeviceptr *address, size_t bytes))                                          \
  X(memFree, cuMemFree_v2, (CUdeviceptr address))                                                           \
  X(memGetInfo, cuMemGetInfo_v2, (size_t *free, size_t *total))                                             \
  X(memHostAlloc, cuMemHostAlloc, (void **data, size_t bytes, unsigned flags))                              \
  X(memFreeHost, cuMemFreeHost, (void *data))                                                               \
  X(memcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t bytes))                          \
  X(memcpyDtoH, cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t bytes))                                \
  X(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)) \
  X(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream))     \
  X(memcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)) \
  X(memsetD8Async, cuMemsetD8Async, (CUdeviceptr dst, uint8_t value, size_t count, CUstream stream))        \
  X(memsetD32Async, cuMemsetD32Async, (CUdeviceptr dst, uint32_t value, size_t count, CUstream stream))     \
  X(ctxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int *least, int *greatest))                    \
  X(streamCreate, cuStreamCreateWithPriority, (CUstream *stream, unsigned flags, int priority))             \
  X(streamDestroy, cuStreamDestroy_v2, (CUstream stream))                                                   \
  X(streamSynchronize, cuStreamSynchronize, (CUstream stream))                                              \
  X(streamWaitEvent, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                   \
  X(streamBeginCapture, cuStreamBeginCapture_v2, (CUstream stream, int mode))                               \
  X(streamEndCapture, cuStreamEndCapture, (CUstream stream, CUgraph *graph))                                \
  X(eventCreate, cuEventCreate, (CUevent *event, unsigned flags))                                           \
  X(eventDestroy, cuEventDestroy_v2, (CUevent event))                                                       \
  X(eventRecord, cuEventRecord, (CUevent event, CUstream stream))                                           \
  X(eventQuery, cuEventQuery, (CUevent event))                                                              \
  X(eventSynchronize, cuEventSynchronize, (CUevent event))                                                  \
  X(eventElapsedTime, cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))                \
  X(moduleLoadDataEx, cuModuleLoadDataEx, (CUmodule *module, const void *image, unsigned count, int *options, void **values)) \
  X(moduleUnload, cuModuleUnload, (CUmodule module))                                                        \
  X(moduleGetFunction, cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name))      \
  X(funcSetAttribute, cuFuncSetAttribute, (CUfunction function, int attribute, int value))                  \
  X(launchHostFunc, cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *data))                     \
  X(launchKernel, cuLaunchKernel, (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **arguments, void **extra)) \
  X(graphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec *exec, CUgraph graph, unsigned long long flags)) \
  X(graphLaunch, cuGraphLaunch, (CUgraphExec exec, CUstream stream))                                        \
  X(graphExecDestroy, cuGraphExecDestroy, (CUgraphExec exec))                                               \
  X(graphDestroy, cuGraphDestroy, (CUgraph graph))

#define FF_CUBLASLT_ENTRY_POINTS(X)                                                                         \
  X(create, cublasLtCreate)                                                                                 \
  X(destroy, cublasLtDestroy)                                                                               \
  X(getVersion, cublasLtGetVersion)                                                                         \
  X(getStatusName, cublasLtGetStatusName)                                                                   \
  X(matmulDescCreate, cublasLtMatmulDescCreate)                                                             \
  X(matmulDescDestroy, cublasLtMatmulDescDestroy)                                                           \
  X(matmulDescSetAttribute, cublasLtMatmulDescSetAttribute)                                                 \
  X(matrixLayoutCreate, cublasLtMatrixLayoutCreate)                                                         \
  X(matrixLayoutDestroy, cublasLtMatrixLayoutDestroy)                                                       \
  X(matrixLayoutSetAttribute, cublasLtMatrixLayoutSetAttribute)                                             \
  X(matmulPreferenceCreate, cublasLtMatmulPreferenceCreate)                                                 \
  X(matmulPreferenceDestroy, cublasLtMatmulPreferenceDestroy)                                               \
  X(matmulPreferenceSetAttribute, cublasLtMatmulPreferenceSetAttribute)                                     \
  X(matmulAlgoGetHeuristic, cublasLtMatmulAlgoGetHeuristic)                                                 \
  X(matmul, cublasLtMatmul)

#define FF_NCCL_ENTRY_POINTS(X)                                                                             \
  X(getVersion, ncclGetVersion)                                                                             \
  X(getUniqueId, ncclGetUniqueId)                                                                           \
  X(commInitRank, ncclCommInitRank)                                                                         \
  X(commSplit, ncclCommSplit)                                                                               \
  X(commDestroy, ncclCommDestroy)                                                                           \
  X(commGetAsyncError, ncclCommGetAsyncError)                                                               \
  X(getErrorString, ncclGetErrorString)                                                                     \
  X(getLastError, ncclGetLastError)                                                                         \
  X(groupStart, ncclGroupStart)                                                                             \
  X(groupEnd, ncclGroupEnd)                                                                                 \
  X(allGather, ncclAllGather)                                                                               \
  X(reduceScatter, ncclReduceScatter)                                                                       \
  X(allReduce, ncclAllReduce)
// clang-format on

namespace ff::rt::cuda {

/// Entry points under the names of the API without their prefix and version:
/// `libraries().cuda->memAlloc` is cuMemAlloc_v2.
struct CudaApi {
#define FF_ENTRY(member, symbol, parameters) CUresult(*member) parameters;
  FF_CUDA_ENTRY_POINTS(FF_ENTRY)
#undef FF_ENTRY
};

struct CublasLtApi {
#define FF_ENTRY(member, symbol) decltype(&symbol) member;
  FF_CUBLASLT_ENTRY_POINTS(FF_ENTRY)
#undef FF_ENTRY
};

struct NcclApi {
#define FF_ENTRY(member, symbol) decltype(&symbol) member;
  FF_NCCL_ENTRY_POINTS(FF_ENTRY)
#undef FF_ENTRY
};

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_API_ENTRYPOINTS_H
