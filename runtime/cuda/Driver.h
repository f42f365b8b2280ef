//===- Driver.h - The CUDA driver, with errors as Errors ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_DRIVER_H
#define FF_RUNTIME_CUDA_DRIVER_H

#include "runtime/cuda/Libraries.h"

#include <string>

namespace ff::rt::cuda {

/// An Error that names the call and what the driver says, unless `result` is
/// SUCCESS.
void check(CUresult result, const char *call);

/// The primary context of a device, current on the thread that made it.
class Context {
public:
  explicit Context(int device);
  ~Context();
  Context(const Context &) = delete;
  /// Makes it current on the calling thread.
  void use() const;

  int device;
  std::string name;       ///< of the chip
  int capability = 0;     ///< 90 for 9.0, what sm_90 needs
  int maxSharedBytes = 0; ///< of a block, after opting in

private:
  CUcontext handle = nullptr;
};

class Event {
public:
  explicit Event(bool timing = false);
  ~Event();
  Event(const Event &) = delete;
  bool done() const; ///< an Error where the work before it failed
  void wait() const; ///< blocks the host
  /// Milliseconds from `start` to here; both were made with timing.
  float since(const Event &start) const;

  CUevent handle = nullptr;
};

class Stream {
public:
  /// `first`: its blocks go before those of other streams that wait.
  explicit Stream(bool first = false);
  ~Stream();
  Stream(const Stream &) = delete;
  void record(const Event &event);
  /// What is pushed from now on runs after `event`.
  void after(const Event &event);
  void synchronize();

  CUstream handle = nullptr;
};

/// Device memory; not zeroed.
class DeviceMemory {
public:
  explicit DeviceMemory(size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;

  CUdeviceptr address = 0;
  size_t bytes;
};

/// Page-locked memory of the host, zeroed.
class PinnedMemory {
public:
  explicit PinnedMemory(size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory &) = delete;

  char *data = nullptr;
  size_t bytes;
};

/// Kernels. The cubin is tried first, where there is one, then the PTX; an
/// Error has the log of the driver's compiler.
class Module {
public:
  Module(const char *ptx, const void *cubin);
  ~Module();
  Module(const Module &) = delete;
  /// Allows `sharedBytes` of dynamic shared memory for it, too.
  CUfunction function(const char *name, int sharedBytes = 0) const;

private:
  CUmodule handle = nullptr;
};

/// cuLaunchKernel in one dim; `arguments` point to the values.
void launch(CUfunction function, int64_t blocks, int threads, int sharedBytes,
            const Stream &stream, void **arguments);

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_DRIVER_H
