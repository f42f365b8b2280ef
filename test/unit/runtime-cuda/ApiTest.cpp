//===- ApiTest.cpp - Our declarations of CUDA's API -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApiConstants.h"
#include "runtime/cuda/api/EntryPoints.h"

#include <cstddef>
#include <gtest/gtest.h>

namespace ff::rt::cuda {
namespace {
std::vector<std::pair<std::string, long long>> ourConstants() {
  return {
#define FF_RESULT(name) {#name, static_cast<long long>(name)},
#define FF_PAIR(theirs, ours) {#theirs, static_cast<long long>(ours)},
#define FF_SAME(name) {#name, static_cast<long long>(name)},
      FF_API_RESULTS(FF_RESULT) FF_API_CONSTANTS(FF_PAIR) FF_API_SIZES(FF_SAME)
          FF_API_NCCL(FF_SAME)};
}
} // namespace
} // namespace ff::rt::cuda

TEST(Api, ConstantsAreTheToolkits) {
  auto theirs = toolkitConstants(), ours = ff::rt::cuda::ourConstants();
  if (theirs.empty())
    GTEST_SKIP() << "no CUDA toolkit: our declarations are not compared";
  ASSERT_LE(theirs.size(), ours.size()); // those of NCCL are last
  for (size_t i = 0; i < theirs.size(); ++i)
    EXPECT_EQ(ours[i], theirs[i]) << ours[i].first;
}
