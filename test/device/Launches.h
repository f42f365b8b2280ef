//===- Launches.h - Recorded launches, on a GPU -----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_TEST_DEVICE_LAUNCHES_H
#define FF_TEST_DEVICE_LAUNCHES_H

#include "runtime/cuda/Stopwatch.h"
#include "runtime/train/Safetensors.h"

#include <memory>

namespace ff::rt::cuda {

/// What is behind each buffer and must stay, and what results begin as.
constexpr size_t guardBytes = 64;
constexpr char fill = 0x7b;

struct RecordedBuffer {
  DType dtype = FF_F32;
  int64_t count = 0;
  double tolerance = 0;
  const char *data = nullptr; ///< null in a launch that is only timed

  size_t bytes() const { return static_cast<size_t>(count) * dtypeSize(dtype); }
};

struct RecordedLaunch {
  std::string function, kernel;
  int64_t blocks = 0;
  int threads = 0, sharedBytes = 0;
  size_t inputs = 0; ///< buffers that are read; the others are results
  double flops = 0;
  std::vector<RecordedBuffer> buffers;

  bool hasData() const { return buffers.empty() || buffers[0].data; }
};

/// A file of `ff-device-test --record`: see codegen/device/testing/Recording.h.
class Recording {
public:
  explicit Recording(const std::string &path);

  std::vector<RecordedLaunch> launches;
  const std::string &ptx() const { return file.metadata().at("ptx"); }

private:
  SafetensorsFile file;
};

/// Device memory of one launch, with guards, and the launch on it.
class Launch {
public:
  Launch(const RecordedLaunch &launch, const Module &module);
  void run(const Stream &stream);

  /// The largest error of a result, as a multiple of what is allowed; 1e30
  /// where memory behind a buffer was written.
  double compare() const;

private:
  const RecordedLaunch &launch;
  CUfunction function;
  std::vector<std::unique_ptr<DeviceMemory>> memory;
};

} // namespace ff::rt::cuda

#endif // FF_TEST_DEVICE_LAUNCHES_H
