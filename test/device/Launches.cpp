//===- Launches.cpp - Recorded launches, on a GPU -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/device/Launches.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

namespace ff::rt::cuda {

Recording::Recording(const std::string &path) : file(path) {
  if (!file.metadata().count("ptx"))
    fail("{} was not written by ff-device-test --record", path);
  for (const auto &[number, text] : file.metadata()) {
    if (number == "ptx")
      continue;
    RecordedLaunch launch;
    std::istringstream stream(text);
    stream >> launch.function >> launch.kernel >> launch.blocks >>
        launch.threads >> launch.sharedBytes >> launch.inputs >> launch.flops;
    for (std::string word; stream >> word;) {
      std::istringstream parts(word);
      RecordedBuffer buffer;
      std::string dtype, count, tensor, tolerance = "0";
      std::getline(parts, dtype, ':');
      std::getline(parts, count, ':');
      std::getline(parts, tensor, ':');
      std::getline(parts, tolerance, ':');
      buffer.count = std::stoll(count);
      buffer.tolerance = std::stod(tolerance);
      if (!parseFileDtype(dtype, buffer.dtype)) {
        // Integers that trainers do not have: their bytes must be the same.
        buffer.dtype = FF_I8;
        buffer.count *= static_cast<int64_t>(fileDtypeSize(dtype));
      }
      if (tensor != "-") {
        const FileTensor &values = file.tensor(tensor);
        if (values.end - values.begin != buffer.bytes())
          fail("{}: tensor {} has another size than launch {} says", path,
               tensor, number);
        buffer.data = file.data(values);
      }
      launch.buffers.push_back(buffer);
    }
    launches.push_back(std::move(launch));
  }
}

/// Values for a launch that is only timed: floats around zero; zeros for
/// integers, which may be indices.
static std::vector<char> madeUp(const RecordedBuffer &buffer) {
  std::vector<char> bytes(buffer.bytes());
  if (!isFloat(buffer.dtype))
    return bytes;
  static std::minstd_rand random(7);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> floats(4096);
  for (float &value : floats)
    value = values(random);
  std::vector<char> part(floats.size() * dtypeSize(buffer.dtype));
  convertElements(FF_F32, floats.data(), buffer.dtype, part.data(),
                  static_cast<int64_t>(floats.size()));
  for (size_t at = 0; at < bytes.size(); at += part.size())
    std::memcpy(bytes.data() + at, part.data(),
                std::min(part.size(), bytes.size() - at));
  return bytes;
}

Launch::Launch(const RecordedLaunch &launch, const Module &module)
    : launch(launch),
      function(module.function(launch.kernel.c_str(), launch.sharedBytes)) {
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const RecordedBuffer &buffer = launch.buffers[i];
    std::vector<char> bytes(buffer.bytes() + guardBytes, fill);
    if (i < launch.inputs) {
      std::vector<char> made;
      if (!buffer.data)
        made = madeUp(buffer);
      std::memcpy(bytes.data(), buffer.data ? buffer.data : made.data(),
                  buffer.bytes());
    }
    memory.push_back(std::make_unique<DeviceMemory>(bytes.size()));
    check(libraries().cuda->memcpyHtoD(memory.back()->address, bytes.data(),
                                       bytes.size()),
          "cuMemcpyHtoD");
  }
}

void Launch::run(const Stream &stream) {
  std::vector<void *> arguments;
  for (const auto &buffer : memory)
    arguments.push_back(&buffer->address);
  cuda::launch(function, launch.blocks, launch.threads, launch.sharedBytes,
               stream, arguments.data());
}

/// Of any dtype. Integers beyond 2^53 become the doubles next to them.
static std::vector<double> numbers(const RecordedBuffer &buffer,
                                   const char *data) {
  std::vector<double> values(static_cast<size_t>(buffer.count));
  convertElements(buffer.dtype, data, FF_F64, values.data(), buffer.count);
  return values;
}

double Launch::compare() const {
  double worst = 0;
  for (size_t i = 0; i < memory.size(); ++i) {
    const RecordedBuffer &buffer = launch.buffers[i];
    std::vector<char> got(memory[i]->bytes);
    check(libraries().cuda->memcpyDtoH(got.data(), memory[i]->address,
                                       got.size()),
          "cuMemcpyDtoH");
    if (std::any_of(got.end() - guardBytes, got.end(),
                    [](char c) { return c != fill; }))
      return 1e30;
    if (!std::memcmp(got.data(), buffer.data, buffer.bytes()))
      continue;
    std::vector<double> want = numbers(buffer, buffer.data);
    std::vector<double> have = numbers(buffer, got.data());
    for (size_t k = 0; k < want.size(); ++k) {
      double a = want[k], b = have[k];
      if (a == b || (std::isnan(a) && std::isnan(b)))
        continue;
      double error = std::fabs(a - b) / (buffer.tolerance * (1 + std::fabs(a)));
      worst = std::max(worst, std::isnan(error) ? 1e30 : error);
    }
  }
  return worst;
}

} // namespace ff::rt::cuda
