//===- EmbeddingTest.cpp - Tables of rows ---------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Embedding.h"
#include "DeviceTest.h"

using namespace ff::rt;
using namespace ff::rt::cuda;
using namespace ff::rt::cuda::test;

namespace {
class Tables : public DeviceTest {
protected:
  Array record{std::vector<StepRecord>(1)};

  std::vector<int64_t> makeIds(int64_t n, int64_t rows, int kind) {
    std::mt19937 generator(5);
    std::vector<int64_t> ids(static_cast<size_t>(n));
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = kind == 0   ? static_cast<int64_t>(generator() % rows)
               : kind == 1 ? rows - 1
                           : static_cast<int64_t>(i % 2 ? generator() % rows
                                                        : rows / 2);
    return ids;
  }
};
} // namespace

TEST_F(Tables, LookupIsTheHosts) {
  for (DType dtype : {FF_F32, FF_F64, FF_BF16, FF_F16, FF_I8})
    for (int64_t width : {1, 2, 3, 8, 24, 100, 517})
      for (size_t shift : {0, 1}) {
        SCOPED_TRACE(testing::Message() << dtypeName(dtype) << ", width "
                                        << width << ", shift " << shift);
        int64_t n = 37, rows = 11;
        size_t rowBytes = static_cast<size_t>(width) * dtypeSize(dtype);
        std::vector<char> table(static_cast<size_t>(rows) * rowBytes);
        for (size_t i = 0; i < table.size(); ++i)
          table[i] = static_cast<char>(i * 37 + i / 251);
        auto ids = makeIds(n, rows, 0);
        std::vector<char> wanted(static_cast<size_t>(n) * rowBytes);
        embeddingLookup(dtype, table.data(), ids.data(), wanted.data(), n,
                        width);
        Array from(table, shift * dtypeSize(dtype)), which(ids),
            out(wanted.size());
        kernels().embedding(dtype, from.address, which.address, out.address, n,
                            rows, width, record.address, *stream);
        stream->synchronize();
        EXPECT_EQ(out.get<char>(), wanted);
      }
  EXPECT_EQ(record.get<StepRecord>()[0].badIdRow, 0);
}

TEST_F(Tables, TheFirstBadIdIsNoted) {
  std::vector<float> table(4 * 2);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<float>(i);
  Array from(table), out(700 * 2 * sizeof(float));
  auto lookUp = [&](std::vector<int64_t> ids, int64_t rows) {
    Array which(ids);
    kernels().embedding(FF_F32, from.address, which.address, out.address,
                        static_cast<int64_t>(ids.size()), rows, 2,
                        record.address, *stream);
    stream->synchronize();
    return record.get<StepRecord>()[0];
  };
  std::vector<int64_t> ids(700, 3);
  ids[650] = -1;
  ids[500] = 4;
  StepRecord got = lookUp(ids, 4);
  EXPECT_EQ(got.badIdRow, 501);
  EXPECT_EQ(got.badId, 4);
  EXPECT_EQ(got.badIdRows, 4);
  auto rows = out.get<float>();
  EXPECT_EQ(rows[1000], 0); // row 0 stands for it
  EXPECT_EQ(rows[1001], 1);
  EXPECT_EQ(rows[998], 6);
  // A later call notes a smaller row alone.
  got = lookUp(std::vector<int64_t>(500, 0), 4);
  EXPECT_EQ(got.badIdRow, 501);
  std::vector<int64_t> earlier(501, 0);
  earlier[500] = 99;
  EXPECT_EQ(lookUp(earlier, 3).badId, 4);
  earlier[20] = 3;
  got = lookUp(earlier, 3);
  EXPECT_EQ(got.badIdRow, 21);
  EXPECT_EQ(got.badId, 3);
  EXPECT_EQ(got.badIdRows, 3);
}

TEST_F(Tables, GradientIsTheHosts) {
  for (DType dtype : {FF_F32, FF_F64, FF_BF16, FF_F16})
    for (int64_t width : {1, 2, 7, 256, 257, 258, 515})
      for (int64_t n : {0, 1, 33, 300})
        for (int kind : {0, 1, 2}) {
          SCOPED_TRACE(testing::Message()
                       << dtypeName(dtype) << ", width " << width << ", n " << n
                       << ", kind " << kind);
          int64_t rows = 13;
          auto ids = makeIds(n, rows, kind);
          if (n > 5)
            ids[5] = rows; // is nobody's
          auto dout = randomElements(dtype, n * width, 9);
          DType wide = wideDtype(dtype);
          std::vector<char> wanted(static_cast<size_t>(rows * width) *
                                   dtypeSize(wide));
          embeddingGrad(dtype, dout.data(), ids.data(), wanted.data(), n, rows,
                        width);
          Array from(dout), which(ids), grad(wanted.size());
          kernels().embeddingGrad(dtype, from.address, which.address,
                                  grad.address, n, rows, width, *stream);
          stream->synchronize();
          expectSame(wide, grad.get<char>(), wanted);
        }
}
