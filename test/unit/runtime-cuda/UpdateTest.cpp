//===- UpdateTest.cpp - Kernels over all trained pieces -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceTest.h"

#include <algorithm>

using namespace ff::rt;
using namespace ff::rt::cuda;
using namespace ff::rt::cuda::test;

namespace {

/// A piece on the host and on the device.
struct Piece {
  DType master, grad, state, copy;
  int64_t count;
  bool decay = true, inNorm = true, hasEma = true, hasCopy = true;
  size_t shift = 0; ///< elements after an aligned address
  std::vector<char> w, g, m, v, e, c;
  std::vector<Array> arrays;

  Piece(DType master, DType grad, DType copy, int64_t count)
      : master(master), grad(grad), state(wideDtype(master)), copy(copy),
        count(count) {}

  void fill(unsigned seed) {
    w = randomElements(master, count, seed);
    g = randomElements(grad, count, seed + 1);
    m = randomElements(state, count, seed + 2);
    v = randomElements(state, count, seed + 3);
    auto squares = wideValues(state, v);
    for (double &value : squares)
      value = value * value;
    convertElements(FF_F64, squares.data(), state, v.data(), count);
    e = randomElements(state, count, seed + 4);
    c.assign(static_cast<size_t>(count) * dtypeSize(copy), 0);
  }

  TrainedPiece upload(int64_t index) {
    arrays.clear();
    auto put = [&](const std::vector<char> &bytes, DType dtype) {
      arrays.emplace_back(bytes, shift * dtypeSize(dtype));
      return arrays.back().address;
    };
    TrainedPiece piece = {};
    piece.master = put(w, master);
    piece.grad = put(g, grad);
    piece.expAvg = put(m, state);
    piece.expAvgSq = put(v, state);
    piece.ema = put(e, state);
    piece.copy = put(c, copy);
    if (!hasEma)
      piece.ema = 0;
    if (!hasCopy)
      piece.copy = 0;
    piece.count = count;
    piece.index = index;
    piece.decay = decay;
    piece.inNorm = inNorm;
    piece.masterDtype = master;
    piece.gradDtype = grad;
    piece.stateDtype = state;
    piece.copyDtype = copy;
    return piece;
  }

  void expectDevice() const {
    expectSame(master, arrays[0].get<char>(), w);
    expectSame(grad, arrays[1].get<char>(), g);
    expectSame(state, arrays[2].get<char>(), m);
    expectSame(state, arrays[3].get<char>(), v);
    expectSame(state, arrays[4].get<char>(), e);
    expectSame(copy, arrays[5].get<char>(), c);
  }

  /// runtime/cpu/Optimizer.cpp, one element at a time.
  template <typename T> void adamw(const AdamWScalars &s) {
    auto get = [](DType dtype, const std::vector<char> &from, int64_t i) {
      T value;
      convertElements(dtype, from.data() + i * dtypeSize(dtype),
                      sizeof(T) == 8 ? FF_F64 : FF_F32, &value, 1);
      return value;
    };
    auto set = [](DType dtype, std::vector<char> &to, int64_t i, T value) {
      convertElements(sizeof(T) == 8 ? FF_F64 : FF_F32, &value, dtype,
                      to.data() + i * dtypeSize(dtype), 1);
    };
    T keep = static_cast<T>(1 - s.lr * (decay ? s.weightDecay : 0));
    for (int64_t i = 0; i < count; ++i) {
      T gradient = get(grad, g, i) * static_cast<T>(s.gradScale);
      T m1 = get(state, m, i) * static_cast<T>(s.beta1) +
             gradient * static_cast<T>(1 - s.beta1);
      T v1 = get(state, v, i) * static_cast<T>(s.beta2) +
             gradient * gradient * static_cast<T>(1 - s.beta2);
      T weight = get(master, w, i) * keep -
                 static_cast<T>(s.stepSize) *
                     (m1 / (std::sqrt(v1) * static_cast<T>(s.correction) +
                            static_cast<T>(s.eps)));
      set(state, m, i, m1);
      set(state, v, i, v1);
      set(master, w, i, weight);
      if (hasEma)
        set(state, e, i,
            get(state, e, i) * static_cast<T>(s.emaDecay) +
                weight * static_cast<T>(1 - s.emaDecay));
      if (hasCopy)
        convertElements(master, w.data() + i * dtypeSize(master), copy,
                        c.data() + i * dtypeSize(copy), 1);
    }
  }
};

class Updates : public DeviceTest {
protected:
  std::vector<Piece> pieces;
  std::unique_ptr<DeviceMemory> tables;
  std::unique_ptr<DeviceKernels> all;
  Array record{std::vector<StepRecord>(1)};

  /// Of all dtypes, with ragged sizes.
  void makePieces() {
    int64_t counts[] = {1, 17, 8192, 8193, 20001, 0, 4, 16384, 1030};
    int i = 0;
    for (DType master : {FF_BF16, FF_F32, FF_F16, FF_F64})
      for (DType grad : {FF_F32, FF_F64}) {
        if (master == FF_F64 && grad == FF_F32)
          continue;
        for (DType copy : {FF_F32, FF_BF16, FF_F16}) {
          Piece piece(master, grad, copy, counts[i % 9]);
          piece.decay = i % 2;
          piece.inNorm = i % 3 != 0;
          piece.hasEma = i % 4 != 1;
          piece.hasCopy = i % 5 != 2;
          piece.shift = i % 7 == 3;
          pieces.push_back(std::move(piece));
          ++i;
        }
      }
  }

  void upload() {
    std::vector<TrainedPiece> table;
    int64_t elements = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      table.push_back(pieces[i].upload(static_cast<int64_t>(i)));
      elements += pieces[i].count;
    }
    // As an arena has it: no byte more.
    tables = std::make_unique<DeviceMemory>(
        deviceTableBytes(static_cast<int64_t>(pieces.size()), elements, 0));
    all =
        std::make_unique<DeviceKernels>(table, tables->address, tables->bytes);
  }

  void fillAndUpload() {
    makePieces();
    for (size_t i = 0; i < pieces.size(); ++i)
      pieces[i].fill(static_cast<unsigned>(100 * i));
    upload();
  }

  void expectDevice() {
    stream->synchronize();
    for (size_t i = 0; i < pieces.size(); ++i) {
      SCOPED_TRACE(testing::Message()
                   << "piece " << i << ": master "
                   << dtypeName(pieces[i].master) << ", gradient "
                   << dtypeName(pieces[i].grad) << ", copy "
                   << dtypeName(pieces[i].copy) << ", " << pieces[i].count);
      pieces[i].expectDevice();
    }
  }
};

} // namespace

TEST_F(Updates, AdamWIsTheHosts) {
  fillAndUpload();
  AdamWScalars s;
  s.beta1 = 0.9;
  s.beta2 = 0.95;
  s.eps = 1e-8;
  s.lr = 3e-3;
  s.stepSize = s.lr / (1 - s.beta1 * s.beta1);
  s.correction = 1 / std::sqrt(1 - s.beta2 * s.beta2);
  s.weightDecay = 0.1;
  s.gradScale = 0.3;
  s.emaDecay = 0.999;
  for (int step = 0; step < 2; ++step) {
    all->adamw(s, *stream);
    for (Piece &piece : pieces)
      if (piece.state == FF_F64)
        piece.adamw<double>(s);
      else
        piece.adamw<float>(s);
  }
  expectDevice();
}

TEST_F(Updates, EmaStartsAtTheMaster) {
  fillAndUpload();
  all->startEma(*stream);
  for (Piece &piece : pieces)
    if (piece.hasEma)
      convertElements(piece.master, piece.w.data(), piece.state, piece.e.data(),
                      piece.count);
  expectDevice();
}

TEST_F(Updates, StatsAreThoseOfThePiecesInTheNorm) {
  makePieces();
  // More chunks than threads add them up.
  pieces.emplace_back(FF_F32, FF_F32, FF_BF16,
                      100 * ff::rt::cuda::statsChunk + 5);
  for (size_t i = 0; i < pieces.size(); ++i)
    pieces[i].fill(static_cast<unsigned>(100 * i));
  upload();
  auto stats = [&] {
    all->gradientStats(record.address, *stream);
    stream->synchronize();
    return record.get<StepRecord>()[0];
  };
  double wanted = 0;
  for (Piece &piece : pieces)
    if (piece.inNorm)
      for (double value : wideValues(piece.grad, piece.g))
        wanted += value * value;
  StepRecord first = stats();
  EXPECT_NEAR(first.sumOfSquares, wanted, 1e-12 * wanted);
  EXPECT_EQ(first.nonfinite, 0);
  EXPECT_EQ(first.firstNonfinite, 0);
  // Bit for bit again.
  EXPECT_EQ(stats().sumOfSquares, first.sumOfSquares);

  auto spoil = [&](size_t i, int64_t element, float value) {
    ASSERT_EQ(pieces[i].grad, FF_F32);
    reinterpret_cast<float *>(pieces[i].g.data())[element] = value;
    pieces[i].arrays[1].put(pieces[i].g.data());
  };
  size_t last = pieces.size() - 1;
  spoil(last, 99 * ff::rt::cuda::statsChunk + 3, NAN);
  spoil(last, 7, INFINITY);
  StepRecord got = stats();
  EXPECT_EQ(got.nonfinite, 2);
  EXPECT_EQ(got.firstNonfinite, static_cast<int64_t>(last) + 1);
  EXPECT_TRUE(std::isnan(got.sumOfSquares));
  spoil(2, 8191, -INFINITY); // in the norm, elsewhere in the table
  spoil(0, 0, NAN);          // not in the norm
  got = stats();
  EXPECT_EQ(got.nonfinite, 3);
  EXPECT_EQ(got.firstNonfinite, 3);
}

TEST_F(Updates, NothingIsTrained) {
  all = std::make_unique<DeviceKernels>(std::vector<TrainedPiece>(), 0, 0);
  all->adamw({}, *stream);
  all->startEma(*stream);
  all->gradientStats(record.address, *stream);
  stream->synchronize();
  EXPECT_EQ(record.get<StepRecord>()[0].sumOfSquares, 0);
}
