// What of the CUDA driver API the stand-in speaks: types and numbers, from the
// public documentation. No CUDA toolkit is needed.
#ifndef FF_STANDIN_API_CUDA_H
#define FF_STANDIN_API_CUDA_H

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

namespace standin::cuda {
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

enum StreamFlags : unsigned { NonBlocking = 1 };
enum EventFlags : unsigned { BlockingSync = 1, DisableTiming = 2 };
const CUstream legacyStream = (CUstream)1, perThreadStream = (CUstream)2;

// Of compute capability 9.0, from the tables of the programming guide.
namespace limits {
constexpr unsigned threadsPerBlock = 1024, blockX = 1024, blockY = 1024,
                   blockZ = 64;
constexpr unsigned gridX = 2147483647, gridY = 65535, gridZ = 65535;
constexpr unsigned sharedPerBlock = 48 * 1024, sharedOptin = 227 * 1024,
                   sharedPerMultiprocessor = 228 * 1024;
constexpr unsigned multiprocessors = 132, threadsPerMultiprocessor = 2048,
                   blocksPerMultiprocessor = 32;
constexpr unsigned registersPerBlock = 65536, parameterBytes = 4096;
} // namespace limits
} // namespace standin::cuda

// What the stand-in's NCCL and cuBLASLt ask of its driver library; no GPU's
// driver has these.
extern "C" {
// Runs fn(arg) in the order of the stream (or records it, while the stream is
// captured). A fn that returns other than 0 makes the context fail with that
// CUresult. `release` is called on arg when it is needed no more.
CUresult ffStandinEnqueue(CUstream stream, const char *name,
                          CUresult (*fn)(void *), void *arg,
                          void (*release)(void *));
// Where the device's bytes lie on the host, after checks: the range is live
// and, where it is read, written. Null with a message else.
void *ffStandinMemory(const char *what, CUdeviceptr addr, uint64_t bytes,
                      int reads, int writes);
// The device of the stream's context (of the calling thread's for the null
// stream), or -1.
int ffStandinDevice(CUstream stream);
// Prints a message with the stand-in's name before it.
void ffStandinSay(const char *text);
}

#endif
