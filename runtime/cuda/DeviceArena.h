//===- DeviceArena.h - The one allocation on a GPU ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_DEVICEARENA_H
#define FF_RUNTIME_CUDA_DEVICEARENA_H

#include "runtime/core/Arena.h"
#include "runtime/cuda/Progress.h"

namespace ff::rt::cuda {

/// All memory that a rank has on its device. What starts at zero (parameters
/// and the state of the optimizer) is zeroed, the rest is not.
class DeviceArena final : public Arena {
public:
  /// `stream` orders what the host reads and writes with the work on it. An
  /// Error where the device has less memory free, with some for what CUDA and
  /// NCCL take.
  DeviceArena(const Layout &layout, const std::string &deviceName,
              Stream &stream, Progress &progress);

  void read(const Region &region, size_t begin, size_t count,
            const Reader &body) const override;
  void write(const Region &region, size_t begin, size_t count,
             const Writer &body) const override;

  CUdeviceptr address(const Region &region) const {
    return memory.address + region.offset;
  }

private:
  DeviceMemory memory;
  Stream &stream;
  Progress &progress; ///< waits end
  PinnedMemory staging;
};

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_DEVICEARENA_H
