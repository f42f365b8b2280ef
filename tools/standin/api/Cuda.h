// The stand-in's side of the CUDA driver API: what its libraries ask of each
// other, and the limits of the device that it claims to be.
#ifndef FF_STANDIN_API_CUDA_H
#define FF_STANDIN_API_CUDA_H

#include "runtime/cuda/api/Cuda.h"

namespace standin::cuda {
using namespace ff::rt::cuda;

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
