//===- DeviceArena.cpp - The one allocation on a GPU ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/DeviceArena.h"
#include "runtime/core/Error.h"

#include <algorithm>

namespace ff::rt::cuda {

/// What the driver and NCCL allocate later, for graphs, kernels that are loaded
/// when they first run, and connections: an estimate, not a measurement.
/// Without it they fail where the arena fits just so.
constexpr size_t besidesArena = size_t{512} << 20;

/// The bytes to allocate, once it is known that they are there.
static size_t fitting(size_t bytes, const std::string &deviceName) {
  size_t free = 0, total = 0;
  check(libraries().cuda->memGetInfo(&free, &total), "cuMemGetInfo");
  if (bytes + besidesArena > free)
    fail(
        "a rank needs {} bytes on its GPU ({}), and {} more for what graphs, "
        "matmuls and NCCL take there; {} of {} bytes are free; fix: more ranks "
        "on the shard axis, a smaller micro_batch, or what ff-compile --plan "
        "proposes for device_memory",
        bytes, deviceName, besidesArena, free, total);
  return std::max(bytes, arenaAlignment);
}

DeviceArena::DeviceArena(const Layout &layout, const std::string &deviceName,
                         Stream &stream, Progress &progress)
    : Arena(nullptr, layout.totalBytes),
      memory(fitting(layout.totalBytes, deviceName)), stream(stream),
      progress(progress), staging(stagingBytes) {
  base = reinterpret_cast<char *>(memory.address);
  auto zero = [&](const Region &region) {
    if (region.bytes)
      check(libraries().cuda->memsetD8Async(address(region), 0, region.bytes,
                                            stream.handle),
            "cuMemsetD8Async");
  };
  for (const GroupLayout &place : layout.groups)
    for (const Region &region :
         {place.master, place.copy, place.expAvg, place.expAvgSq, place.ema})
      zero(region);
  zero(layout.records);
  stream.synchronize(); // others write tables here, on no stream
}

void DeviceArena::read(const Region &region, size_t begin, size_t count,
                       const Reader &body) const {
  for (size_t at = 0; at < count; at += staging.bytes) {
    size_t bytes = std::min(staging.bytes, count - at);
    check(libraries().cuda->memcpyDtoHAsync(
              staging.data, address(region) + begin + at, bytes, stream.handle),
          "cuMemcpyDtoHAsync");
    progress.wait(stream);
    body(staging.data, at, bytes);
  }
}

void DeviceArena::write(const Region &region, size_t begin, size_t count,
                        const Writer &body) const {
  for (size_t at = 0; at < count; at += staging.bytes) {
    size_t bytes = std::min(staging.bytes, count - at);
    body(staging.data, at, bytes);
    check(libraries().cuda->memcpyHtoDAsync(address(region) + begin + at,
                                            staging.data, bytes, stream.handle),
          "cuMemcpyHtoDAsync");
    progress.wait(stream);
  }
}

} // namespace ff::rt::cuda
