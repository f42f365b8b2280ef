//===- DeviceTest.h - A device for tests ----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device and arrays on it for tests. All tests of a process share the
// context.
//
//===----------------------------------------------------------------------===//

#ifndef FF_TEST_UNIT_RUNTIME_CUDA_DEVICETEST_H
#define FF_TEST_UNIT_RUNTIME_CUDA_DEVICETEST_H

#include "runtime/core/Dtype.h"
#include "runtime/core/Layout.h"
#include "runtime/cuda/DeviceKernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace ff::rt::cuda::test {

/// Bytes on the device, `shift` bytes after an address aligned to 64.
class Array {
public:
  explicit Array(size_t bytes, size_t shift = 0)
      : memory(std::make_unique<DeviceMemory>(bytes + shift + 1)),
        address(memory->address + shift), bytes(bytes) {}
  template <typename T>
  explicit Array(const std::vector<T> &values, size_t shift = 0)
      : Array(values.size() * sizeof(T), shift) {
    put(values.data());
  }
  void put(const void *data) {
    if (bytes)
      check(libraries().cuda->memcpyHtoD(address, data, bytes), "put");
  }
  template <typename T> std::vector<T> get() const {
    std::vector<T> values(bytes / sizeof(T));
    if (bytes)
      check(libraries().cuda->memcpyDtoH(values.data(), address, bytes), "get");
    return values;
  }

private:
  std::unique_ptr<DeviceMemory> memory;

public:
  CUdeviceptr address;
  size_t bytes;
};

class DeviceTest : public testing::Test {
protected:
  DeviceTest() {
    static Context *context = [] {
      openLibraries(false);
      return new Context(0); // until the process ends
    }();
    context->use();
    stream = std::make_unique<Stream>();
  }

  /// Kernels without pieces.
  DeviceKernels &kernels() {
    if (!plain) {
      tables = std::make_unique<DeviceMemory>(deviceTableBytes(0, 0, 64));
      plain = std::make_unique<DeviceKernels>(std::vector<TrainedPiece>(),
                                              tables->address, tables->bytes);
    }
    return *plain;
  }

  std::unique_ptr<Stream> stream;

private:
  std::unique_ptr<DeviceMemory> tables;
  std::unique_ptr<DeviceKernels> plain;
};

/// Bytes of `n` elements of a float type: normal values, and a few special
/// ones.
inline std::vector<char> randomElements(DType dtype, int64_t n, unsigned seed,
                                        bool special = false) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> distribution;
  std::vector<double> values(static_cast<size_t>(n));
  const double specials[] = {0.0,     -0.0,    INFINITY, -INFINITY, NAN,
                             65519.0, 65520.0, 1e-7,     6e-8,      2e-8,
                             1e-40,   3e38,    1e300,    1.00390625};
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = special && i % 3 == 0 ? specials[i / 3 % std::size(specials)]
                                      : distribution(generator);
  std::vector<char> bytes(values.size() * dtypeSize(dtype));
  convertElements(FF_F64, values.data(), dtype, bytes.data(), n);
  return bytes;
}

/// Values of any float type in f64.
inline std::vector<double> wideValues(DType dtype, const std::vector<char> &b) {
  int64_t n = static_cast<int64_t>(b.size() / dtypeSize(dtype));
  std::vector<double> values(static_cast<size_t>(n));
  convertElements(dtype, b.data(), FF_F64, values.data(), n);
  return values;
}

/// The same bits, or both NaN.
inline void expectSame(DType dtype, const std::vector<char> &got,
                       const std::vector<char> &wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  if (got == wanted)
    return;
  ASSERT_TRUE(isFloat(dtype));
  auto a = wideValues(dtype, got), b = wideValues(dtype, wanted);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE((std::isnan(a[i]) && std::isnan(b[i])) ||
                (a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i])))
        << "element " << i << " of " << a.size() << ": " << a[i] << " for "
        << b[i];
}

} // namespace ff::rt::cuda::test

#endif // FF_TEST_UNIT_RUNTIME_CUDA_DEVICETEST_H
