//===- Cuda.h - CUDA driver API -------------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types and numbers of the CUDA driver API that ff and its stand-in device
// speak, from the public documentation: no CUDA toolkit is needed.
// test/unit/runtime-cuda holds them against the toolkit's, where there is one.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_API_CUDA_H
#define FF_RUNTIME_CUDA_API_CUDA_H

#include <cstddef>
#include <cstdint>

extern "C" {
typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef void (*CUhostFn)(void *);
struct CUuuid {
  char bytes[16];
};
}

namespace ff::rt::cuda {
enum Result : int {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  DEINITIALIZED = 4,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209,
  INVALID_PTX = 218,
  UNSUPPORTED_PTX_VERSION = 222,
  FILE_NOT_FOUND = 301,
  INVALID_HANDLE = 400,
  ILLEGAL_STATE = 401,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  LAUNCH_OUT_OF_RESOURCES = 701,
  LAUNCH_TIMEOUT = 702,
  ASSERT = 710,
  HOST_MEMORY_ALREADY_REGISTERED = 712,
  HOST_MEMORY_NOT_REGISTERED = 713,
  ILLEGAL_INSTRUCTION = 715,
  MISALIGNED_ADDRESS = 716,
  INVALID_ADDRESS_SPACE = 717,
  INVALID_PC = 718,
  LAUNCH_FAILED = 719,
  NOT_PERMITTED = 800,
  NOT_SUPPORTED = 801,
  STREAM_CAPTURE_UNSUPPORTED = 900,
  STREAM_CAPTURE_INVALIDATED = 901,
  STREAM_CAPTURE_MERGE = 902,
  STREAM_CAPTURE_UNMATCHED = 903,
  STREAM_CAPTURE_UNJOINED = 904,
  STREAM_CAPTURE_IMPLICIT = 906,
  CAPTURED_EVENT = 907,
  UNKNOWN = 999
};

// Options of cuModuleLoadDataEx.
enum Jit : int {
  InfoLogBuffer = 3,
  InfoLogBytes = 4,
  ErrorLogBuffer = 5,
  ErrorLogBytes = 6
};

// Attributes of functions.
enum FuncAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedBytes = 1,
  ConstBytes = 2,
  LocalBytes = 3,
  NumRegs = 4,
  PtxVersion = 5,
  BinaryVersion = 6,
  CacheModeCa = 7,
  MaxDynamicSharedBytes = 8,
  PreferredCarveout = 9
};

// Attributes of devices.
enum DeviceAttribute : int {
  MultiprocessorCount = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  SharedBytesPerBlockOptin = 97
};

// Whose calls a capture forbids: of all threads, of its own, of none.
enum CaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };

enum StreamFlags : unsigned { NonBlocking = 1 };
enum EventFlags : unsigned { BlockingSync = 1, DisableTiming = 2 };
const CUstream legacyStream = (CUstream)1, perThreadStream = (CUstream)2;

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_API_CUDA_H
