//===- BoxMullerTest.cpp - Functions of random values ---------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/BoxMuller.h"
#include "runtime/core/Philox.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace ff::rt;
using namespace ff::rt::cuda;

namespace {
/// In units of the last place of `wanted`.
double ulps(double got, double wanted) {
  double unit = std::nextafter(std::abs(wanted), INFINITY) - std::abs(wanted);
  return std::abs(got - wanted) / unit;
}
} // namespace

// Every 7th of all arguments that occur.
TEST(BoxMuller, FunctionsAreWithinAnUlp) {
  double worstLog = 0, worstSine = 0;
  for (uint32_t i = 0; i < (1u << 24); i += 7) {
    double u = (i + 1) * 0x1p-24;
    if (u != 1)
      worstLog = std::max(worstLog, ulps(logOf(u), std::log(u)));
    double theta = 6.283185307179586476925 * (i * 0x1p-24);
    SinCos both = sinCosOf(theta);
    worstSine = std::max({worstSine, ulps(both.sin, std::sin(theta)),
                          ulps(both.cos, std::cos(theta))});
  }
  EXPECT_EQ(logOf(1), 0);
  EXPECT_LE(worstLog, 1);
  EXPECT_LE(worstSine, 1);
  for (uint32_t quarter = 0; quarter < 4; ++quarter) {
    double theta = 6.283185307179586476925 * (quarter * 0.25);
    EXPECT_LE(ulps(sinCosOf(theta).cos, std::cos(theta)), 1) << quarter;
    EXPECT_LE(ulps(sinCosOf(theta).sin, std::sin(theta)), 1) << quarter;
  }
}

TEST(BoxMuller, BlocksAreTheHostsInF32) {
  uint64_t seed = 42;
  auto key = philoxKey(seed);
  int64_t different = 0;
  constexpr uint32_t blocks = 1 << 20;
  for (uint32_t i = 0; i < blocks; ++i) {
    PhiloxBlock wanted = philox({i, 1, 2, 3}, key);
    PhiloxWords got = philoxWords({{i, 1, 2, 3}}, seed);
    ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), got.words));
    auto normal = normalsFromBlock(wanted);
    auto uniform = uniformsFromBlock(wanted);
    double values[4];
    blockValues(got, false, values);
    ASSERT_TRUE(std::equal(uniform.begin(), uniform.end(), values));
    blockValues(got, true, values);
    for (int j = 0; j < 4; ++j)
      different += static_cast<float>(values[j]) !=
                   static_cast<float>(normal[static_cast<size_t>(j)]);
  }
  // Of four million values; see BoxMuller.h.
  EXPECT_LE(different, 1);
}
