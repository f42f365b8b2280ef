//===- RandomTest.cpp - Random values on the device -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Random.h"
#include "DeviceTest.h"

using namespace ff::rt;
using namespace ff::rt::cuda;
using namespace ff::rt::cuda::test;

namespace {
class Random : public DeviceTest {};
} // namespace

TEST_F(Random, IsTheHosts) {
  BatchScalars scalars;
  scalars.firstSample = (int64_t{5} << 32) - 1;
  Array where(std::vector<BatchScalars>{scalars});
  uint64_t seed = 0x1234567890abcdefull;
  for (auto distribution : {FF_UNIFORM, FF_NORMAL})
    for (DType dtype : {FF_F32, FF_F64})
      for (int64_t perSample : {0, 1, 4, 6, 1000, 4099})
        for (int64_t batch : {0, 1, 3}) {
          SCOPED_TRACE(testing::Message() << dtypeName(dtype) << ", "
                                          << perSample << " of " << batch);
          size_t bytes =
              static_cast<size_t>(batch * perSample) * dtypeSize(dtype);
          std::vector<char> wanted(bytes);
          fillRandom(seed, 3, distribution, dtype, scalars.firstSample, batch,
                     perSample, wanted.data());
          Array out(bytes, dtypeSize(dtype));
          kernels().random(seed, 3, distribution, dtype, where.address, batch,
                           perSample, out.address, *stream);
          stream->synchronize();
          auto got = out.get<char>();
          if (dtype == FF_F32 || distribution == FF_UNIFORM) {
            EXPECT_EQ(got, wanted);
            continue;
          }
          auto a = wideValues(dtype, got), b = wideValues(dtype, wanted);
          for (size_t i = 0; i < a.size(); ++i)
            ASSERT_NEAR(a[i], b[i], 1e-15 * std::abs(b[i])) << i;
        }
}
