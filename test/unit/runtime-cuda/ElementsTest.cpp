//===- ElementsTest.cpp - Kernels over plain arrays -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceTest.h"

using namespace ff::rt;
using namespace ff::rt::cuda;
using namespace ff::rt::cuda::test;

namespace {
class Elements : public DeviceTest {};
const DType floats[] = {FF_F32, FF_F64, FF_BF16, FF_F16};
const int64_t sizes[] = {0, 1, 3, 255, 4096, 4097, 9001};

std::vector<char> converted(DType from, const std::vector<char> &src,
                            DType to) {
  int64_t n = static_cast<int64_t>(src.size() / dtypeSize(from));
  std::vector<char> dst(static_cast<size_t>(n) * dtypeSize(to));
  convertElements(from, src.data(), to, dst.data(), n);
  return dst;
}
} // namespace

TEST_F(Elements, ConvertIsTheHosts) {
  for (DType from : floats)
    for (DType to : floats)
      for (int64_t n : sizes)
        for (size_t shift : {0, 1, 2}) {
          SCOPED_TRACE(testing::Message()
                       << dtypeName(from) << " to " << dtypeName(to) << ", "
                       << n << " elements, shift " << shift);
          auto src = randomElements(from, n, 7, /*special=*/true);
          Array in(src, shift * dtypeSize(from)),
              out(static_cast<size_t>(n) * dtypeSize(to),
                  (shift / 2) * dtypeSize(to));
          kernels().convert(from, in.address, to, out.address, n, *stream);
          stream->synchronize();
          expectSame(to, out.get<char>(), converted(from, src, to));
        }
}

TEST_F(Elements, ConvertIntegers) {
  const DType integers[] = {FF_I64, FF_I32, FF_I8, FF_BOOL};
  std::vector<int64_t> values = {0,
                                 1,
                                 -1,
                                 127,
                                 -128,
                                 255,
                                 256,
                                 1000,
                                 65521,
                                 -7,
                                 (int64_t{1} << 53) + 1,
                                 (int64_t{1} << 40) + 3,
                                 16777217,
                                 -(1 << 30)};
  int64_t n = static_cast<int64_t>(values.size());
  for (DType from : integers)
    for (DType to :
         {FF_I64, FF_I32, FF_I8, FF_BOOL, FF_F32, FF_F64, FF_BF16, FF_F16}) {
      SCOPED_TRACE(testing::Message()
                   << dtypeName(from) << " to " << dtypeName(to));
      std::vector<char> bytes(reinterpret_cast<char *>(values.data()),
                              reinterpret_cast<char *>(values.data() + n));
      auto src = converted(FF_I64, bytes, from);
      Array in(src), out(static_cast<size_t>(n) * dtypeSize(to));
      kernels().convert(from, in.address, to, out.address, n, *stream);
      stream->synchronize();
      EXPECT_EQ(out.get<char>(), converted(from, src, to));
    }
}

TEST_F(Elements, AddIsTheHosts) {
  for (DType from : floats)
    for (DType to : {FF_F32, FF_F64})
      for (int64_t n : sizes)
        for (size_t shift : {0, 1}) {
          auto src = randomElements(from, n, 3), dst = randomElements(to, n, 4);
          Array in(src, shift * dtypeSize(from)), out(dst);
          kernels().add(from, in.address, to, out.address, n, *stream);
          stream->synchronize();
          addElements(from, src.data(), to, dst.data(), n);
          expectSame(to, out.get<char>(), dst);
        }
}

TEST_F(Elements, ZeroSetsItsRangesAlone) {
  std::vector<uint8_t> ones(300000, 0xff), wanted = ones;
  Array memory(ones);
  std::vector<std::pair<int64_t, int64_t>> places = {
      {2, 2},   {6, 0},        {10, 40},        {64, 64},
      {130, 6}, {200, 131072}, {140002, 65536}, {206000, 65538}};
  std::vector<ZeroRange> ranges;
  for (auto [begin, bytes] : places) {
    ranges.push_back({memory.address + static_cast<uint64_t>(begin), bytes});
    std::fill_n(wanted.begin() + begin, bytes, uint8_t{0});
  }
  int none = kernels().addZeroTable({});
  int table = kernels().addZeroTable(ranges);
  kernels().zero(none, *stream);
  kernels().zero(table, *stream);
  stream->synchronize();
  EXPECT_EQ(memory.get<uint8_t>(), wanted);
}

TEST_F(Elements, LossesThatCountAreAdded) {
  Array record(std::vector<StepRecord>(1));
  BatchScalars counting, not_;
  counting.counts = 1;
  Array yes(std::vector<BatchScalars>{counting}),
      no(std::vector<BatchScalars>{not_});
  Array loss(std::vector<float>{1.5f}), weight(std::vector<float>{3});
  Array wide(std::vector<double>{0.1});
  auto add = [&](DType dtype, Array &value, CUdeviceptr w, Array &scalars) {
    kernels().recordLoss(dtype, value.address, w, scalars.address,
                         record.address, *stream);
  };
  add(FF_F32, loss, weight.address, yes);
  add(FF_F32, loss, weight.address, no);
  add(FF_F64, wide, 0, yes);
  stream->synchronize();
  StepRecord got = record.get<StepRecord>()[0];
  EXPECT_EQ(got.lossSum, 1.5 + 0.1);
  EXPECT_EQ(got.weightSum, 3);
}
