//===- PhiloxTest.cpp - Random numbers ------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Philox.h"
#include "TestSupport.h"
#include "runtime/compute/Random.h"

#include <gtest/gtest.h>
#include <xxhash.h>

using namespace ff::rt;

// kat_vectors of the Random123 library, philox4x32 with 10 rounds.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, ProgramValuesAreThoseOfTheContract) {
  uint64_t seed = 0x1234567890abcdefull;
  int64_t sample = (int64_t{5} << 32) + 17;
  std::vector<float> out(2 * 6);
  fillRandom(seed, 3, FF_UNIFORM, FF_F32, sample, 2, 6, out.data());
  for (uint32_t row = 0; row < 2; ++row)
    for (uint32_t e = 0; e < 6; ++e) {
      PhiloxBlock words = philox({e / 4, 3, 17 + row, 5}, philoxKey(seed));
      EXPECT_EQ(out[row * 6 + e],
                static_cast<float>((words[e % 4] >> 8) * 0x1p-24));
    }
}

TEST(Philox, NormalsHaveTheirMoments) {
  std::vector<double> out(200000);
  fillRandom(1, 0, FF_NORMAL, FF_F64, 0, 100, 2000, out.data());
  double mean = 0, square = 0;
  for (double value : out) {
    mean += value / 200000;
    square += value * value / 200000;
  }
  EXPECT_NEAR(mean, 0, 0.01);
  EXPECT_NEAR(square, 1, 0.01);
}

TEST(Philox, RowsDependOnTheirSampleAlone) {
  std::vector<float> whole(8 * 10), part(3 * 10);
  fillRandom(9, 1, FF_NORMAL, FF_F32, 100, 8, 10, whole.data());
  fillRandom(9, 1, FF_NORMAL, FF_F32, 104, 3, 10, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 40));
}

TEST(Initialize, PiecesEqualTheWhole) {
  Initializer init{Initializer::Kind::Normal, 1.0, 0.5};
  std::vector<float> whole(5000), pieces(5000);
  initialize(3, "net.w", init, FF_F32, 0, 5000, whole.data());
  for (int64_t begin = 0; begin < 5000;) {
    int64_t end = std::min<int64_t>(5000, begin + 1 + begin % 777);
    initialize(3, "net.w", init, FF_F32, begin, end, pieces.data() + begin);
    begin = end;
  }
  EXPECT_EQ(whole, pieces);
}

TEST(Initialize, FollowsTheContract) {
  Initializer init{Initializer::Kind::Uniform, -2.0, 4.0};
  std::vector<double> out(3);
  initialize(3, "net.w", init, FF_F64, 4, 7, out.data());
  uint32_t site = 0x80000000u | (XXH32("net.w", 5, 0) & 0x7fffffffu);
  PhiloxBlock words = philox({1, site, 0, 0xffffffffu}, philoxKey(3));
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(out[i], -2.0 + 6.0 * uniformFromWord(words[i]));
}
