//===- ComputeTest.cpp - Matmuls, embeddings, conversions, threads --------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"
#include "runtime/compute/Embedding.h"
#include "runtime/compute/Matmul.h"
#include "runtime/compute/Threads.h"
#include "runtime/core/Error.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <optional>

using namespace ff::rt;
using namespace ff::rt::test;

namespace {

double activate(Activation activation, double x) {
  switch (activation) {
  case Activation::GeluTanh:
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case Activation::Gelu:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2)));
  case Activation::Silu:
    return x / (1 + std::exp(-x));
  case Activation::Relu:
    return std::max(x, 0.0);
  case Activation::Tanh:
    return std::tanh(x);
  case Activation::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case Activation::None:
    break;
  }
  return x;
}

int64_t extent(const std::vector<int64_t> &batch, int64_t rows, int64_t columns,
               const std::vector<int64_t> &strides) {
  int64_t last = (rows - 1) * strides[batch.size()] +
                 (columns - 1) * strides[batch.size() + 1];
  for (size_t i = 0; i < batch.size(); ++i)
    last += (batch[i] - 1) * strides[i];
  return last + 1;
}

/// Elements of any float type, and what they are as numbers.
struct Elements {
  DType dtype;
  std::vector<char> bytes;

  Elements(DType dtype, size_t n) : dtype(dtype), bytes(n * dtypeSize(dtype)) {}
  Elements(DType dtype, const std::vector<float> &values)
      : Elements(dtype, values.size()) {
    convertElements(FF_F32, values.data(), dtype, bytes.data(),
                    static_cast<int64_t>(values.size()));
  }
  std::vector<float> numbers() const {
    std::vector<float> values(bytes.size() / dtypeSize(dtype));
    convertElements(dtype, bytes.data(), FF_F32, values.data(),
                    static_cast<int64_t>(values.size()));
    return values;
  }
};

/// One matmul of `a`, `b` and perhaps `bias`.
Elements runMatmul(const MatmulType &type, const Elements &a, const Elements &b,
                   const Elements &bias, bool alwaysWiden) {
  Elements c(type.resultDtype(),
             extent(type.batch, type.m, type.n, type.cStrides));
  Matmuls matmuls({type}, alwaysWiden);
  // A guard behind the scratchpad: it must be as large as it says.
  size_t size = matmuls.scratchBytes();
  std::vector<char> memory(size + 128, 0x5a);
  auto at = (reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64;
  char *scratch = reinterpret_cast<char *>(at);
  matmuls.setScratch(scratch);
  matmuls.run(0, a.bytes.data(), b.bytes.data(),
              type.bias ? bias.bytes.data() : nullptr, c.bytes.data());
  for (char *end = scratch + size; end < memory.data() + memory.size(); ++end)
    EXPECT_EQ(*end, 0x5a);
  if (!alwaysWiden)
    EXPECT_EQ(size, matmulScratchBytes({type}));
  return c;
}

/// What a result of `dtype` may be off by, relative to 1 + |result|.
double toleranceOf(DType dtype) {
  return dtype == FF_BF16 ? 0x1p-7 : dtype == FF_F16 ? 0x1p-10 : 1e-5;
}

/// Runs a matmul and compares it with loops in f64.
void checkMatmul(const MatmulType &type, double tolerance = 0,
                 bool alwaysWiden = false) {
  tolerance = std::max(tolerance, toleranceOf(type.resultDtype()));
  std::vector<float> av(extent(type.batch, type.m, type.k, type.aStrides));
  std::vector<float> bv(extent(type.batch, type.k, type.n, type.bStrides));
  std::vector<float> biasv(type.n);
  for (size_t i = 0; i < av.size(); ++i)
    av[i] = static_cast<float>(std::sin(0.7 * i + 0.1));
  for (size_t i = 0; i < bv.size(); ++i)
    bv[i] = static_cast<float>(std::cos(0.3 * i));
  for (size_t i = 0; i < biasv.size(); ++i)
    biasv[i] = static_cast<float>(0.1 * i);
  Elements aIn(type.dtype, av), bIn(type.dtype, bv);
  Elements biasIn(type.resultDtype(), biasv);
  Elements cOut = runMatmul(type, aIn, bIn, biasIn, alwaysWiden);
  EXPECT_EQ(cOut.bytes, runMatmul(type, aIn, bIn, biasIn, alwaysWiden).bytes);
  std::vector<float> a = aIn.numbers(), b = bIn.numbers(), c = cOut.numbers(),
                     bias = biasIn.numbers();
  size_t batchDims = type.batch.size();
  int64_t batches = std::accumulate(type.batch.begin(), type.batch.end(),
                                    int64_t{1}, std::multiplies<>());
  for (int64_t index = 0; index < batches; ++index) {
    int64_t aAt = 0, bAt = 0, cAt = 0, rest = index;
    for (size_t d = batchDims; d-- > 0; rest /= type.batch[d]) {
      int64_t i = rest % type.batch[d];
      aAt += i * type.aStrides[d];
      bAt += i * type.bStrides[d];
      cAt += i * type.cStrides[d];
    }
    for (int64_t m = 0; m < type.m; ++m)
      for (int64_t n = 0; n < type.n; ++n) {
        double sum = type.bias ? bias[n] : 0.0;
        for (int64_t k = 0; k < type.k; ++k)
          sum += double(a[aAt + m * type.aStrides[batchDims] +
                          k * type.aStrides[batchDims + 1]]) *
                 double(b[bAt + k * type.bStrides[batchDims] +
                          n * type.bStrides[batchDims + 1]]);
        double want = activate(type.activation, sum);
        ASSERT_NEAR(c[cAt + m * type.cStrides[batchDims] +
                      n * type.cStrides[batchDims + 1]],
                    want, tolerance * (1 + std::fabs(want)))
            << index << " " << m << " " << n << " by "
            << Matmuls({type}, alwaysWiden).implementation(0);
      }
  }
}

/// `type` with 16-bit operands, by oneDNN's primitives and in f32, with results
/// of 16 bits and of f32.
void checkNarrow(MatmulType type, double tolerance = 0) {
  for (DType dtype : {FF_BF16, FF_F16})
    for (std::optional<DType> result : {std::optional<DType>(), {FF_F32}})
      for (bool alwaysWiden : {false, true}) {
        SCOPED_TRACE(std::string(dtypeName(dtype)) + (result ? " to f32" : "") +
                     (alwaysWiden ? ", widened" : ""));
        type.dtype = dtype;
        type.cDtype = result;
        checkMatmul(type, tolerance, alwaysWiden);
      }
}

MatmulType plain(int64_t m, int64_t n, int64_t k) {
  return {FF_F32, {}, m, n, k, {k, 1}, {n, 1}, {n, 1}, false, Activation::None};
}

} // namespace

TEST(Matmul, Plain) { checkMatmul(plain(5, 7, 9)); }

TEST(Matmul, TransposedOperandsAndResult) {
  MatmulType type = plain(5, 7, 9);
  type.aStrides = {1, 5};
  type.bStrides = {1, 9};
  checkMatmul(type);
  type.cStrides = {1, 5};
  EXPECT_TRUE(foldMatmul(type).swapped);
  checkMatmul(type);
}

TEST(Matmul, BiasAndEveryActivation) {
  for (Activation activation :
       {Activation::None, Activation::GeluTanh, Activation::Gelu,
        Activation::Silu, Activation::Relu, Activation::Tanh,
        Activation::Sigmoid}) {
    MatmulType type = plain(6, 10, 4);
    type.bias = true;
    type.activation = activation;
    checkMatmul(type, 1e-4);
  }
}

TEST(Matmul, BatchOfALinearLayerBecomesRows) {
  MatmulType type = plain(4, 8, 6);
  type.batch = {2, 3};
  type.aStrides = {72, 24, 6, 1};
  type.bStrides = {0, 0, 8, 1};
  type.cStrides = {96, 32, 8, 1};
  type.bias = true;
  FoldedMatmul folded = foldMatmul(type);
  EXPECT_TRUE(folded.type.batch.empty());
  EXPECT_EQ(folded.type.m, 24);
  checkMatmul(type);
}

TEST(Matmul, AttentionHeadsOfOneBuffer) {
  // [batch, token, head, dim] of q, k and v: heads are strided.
  int64_t batch = 2, tokens = 6, heads = 3, dim = 4, width = heads * dim;
  MatmulType scores{FF_F32,
                    {batch, heads},
                    tokens,
                    tokens,
                    dim,
                    {tokens * width, dim, width, 1},
                    {tokens * width, dim, 1, width},
                    {heads * tokens * tokens, tokens * tokens, tokens, 1},
                    false,
                    Activation::None};
  checkMatmul(scores);
  MatmulType values = scores;
  values.n = dim;
  values.k = tokens;
  values.aStrides = scores.cStrides;
  values.bStrides = {tokens * width, dim, width, 1};
  values.cStrides = {tokens * width, dim, width, 1};
  checkMatmul(values);
}

TEST(Matmul, BroadcastBatchThatCannotFold) {
  MatmulType type = plain(3, 4, 5);
  type.batch = {2, 3};
  type.aStrides = {15, 0, 5, 1};
  type.bStrides = {0, 20, 4, 1};
  type.cStrides = {36, 12, 4, 1};
  checkMatmul(type);
}

TEST(Matmul, SizeOneDims) {
  checkMatmul(plain(1, 7, 9));
  checkMatmul(plain(7, 1, 9));
  checkMatmul(plain(7, 5, 1));
  MatmulType outer = plain(4, 6, 1);
  outer.aStrides = {1, 4};
  checkMatmul(outer);
}

TEST(Matmul, NarrowOperands) {
  checkNarrow(plain(5, 7, 9));
  checkNarrow(plain(64, 96, 128));
  checkNarrow(plain(1, 7, 9));
  checkNarrow(plain(7, 1, 9));
  checkNarrow(plain(7, 5, 1));
}

TEST(Matmul, NarrowTransposedOperandsAndResult) {
  MatmulType type = plain(5, 7, 9);
  type.aStrides = {1, 5};
  type.bStrides = {1, 9};
  checkNarrow(type);
  type.cStrides = {1, 5};
  checkNarrow(type);
}

TEST(Matmul, NarrowBiasAndEveryActivation) {
  for (Activation activation :
       {Activation::None, Activation::GeluTanh, Activation::Gelu,
        Activation::Silu, Activation::Relu, Activation::Tanh,
        Activation::Sigmoid}) {
    MatmulType type = plain(6, 10, 4);
    type.bias = true;
    type.activation = activation;
    checkNarrow(type, 1e-4);
  }
}

TEST(Matmul, NarrowBatches) {
  // Columns of a wider buffer, a shared right side, one that cannot fold.
  MatmulType slice = plain(4, 8, 6);
  slice.aStrides = {20, 1};
  slice.cStrides = {11, 1};
  checkNarrow(slice);
  MatmulType linear = plain(4, 8, 6);
  linear.batch = {2, 3};
  linear.aStrides = {72, 24, 6, 1};
  linear.bStrides = {0, 0, 8, 1};
  linear.cStrides = {96, 32, 8, 1};
  checkNarrow(linear);
  MatmulType mixed = plain(3, 4, 5);
  mixed.batch = {2, 3};
  mixed.aStrides = {15, 0, 5, 1};
  mixed.bStrides = {0, 20, 4, 1};
  mixed.cStrides = {36, 12, 4, 1};
  checkNarrow(mixed);
  MatmulType heads = plain(6, 6, 4);
  heads.batch = {2, 3};
  heads.aStrides = {72, 4, 12, 1};
  heads.bStrides = {72, 4, 1, 12};
  heads.cStrides = {108, 36, 6, 1};
  checkNarrow(heads);
}

TEST(Matmul, WidenedCopiesAreSplitOverThreads) {
  setThreads(3);
  checkNarrow(plain(130, 150, 170));
  MatmulType strided = plain(130, 150, 170);
  strided.bStrides = {1, 177};
  strided.aStrides = {177, 1};
  checkNarrow(strided);
  setThreads(1);
}

// 2⁻⁸ is half a step of bf16 at 1: sums in bf16 would not see it.
TEST(Matmul, SumsAreF32) {
  for (bool alwaysWiden : {false, true}) {
    MatmulType type = plain(1, 1, 513);
    type.dtype = FF_BF16;
    type.cDtype = FF_F32;
    std::vector<float> a(513, 0x1p-8f), b(513, 1);
    a[0] = 1;
    Elements c = runMatmul(type, {FF_BF16, a}, {FF_BF16, b},
                           {FF_F32, std::vector<float>()}, alwaysWiden);
    EXPECT_EQ(c.numbers()[0], 3.0f);
  }
}

TEST(Matmul, F64IsAnInternalError) {
  MatmulType type = plain(2, 2, 2);
  type.dtype = FF_F64;
  EXPECT_EQ(errorOf([&] { Matmuls matmuls({type}); }),
            "internal error: matmul 0 has dtype f64, which oneDNN does not "
            "compute");
}

TEST(Embedding, LookupAndGradient) {
  std::vector<float> table = {0, 1, 10, 11, 20, 21}, out(8);
  std::vector<int64_t> ids = {2, 0, 2, 1};
  embeddingLookup(FF_F32, table.data(), ids.data(), out.data(), 4, 2);
  EXPECT_EQ(out, (std::vector<float>{20, 21, 0, 1, 20, 21, 10, 11}));
  std::vector<double> dout = {1, 2, 3, 4, 5, 6, 7, 8}, grad(8, -1);
  embeddingGrad(FF_F64, dout.data(), ids.data(), grad.data(), 4, 4, 2);
  EXPECT_EQ(grad, (std::vector<double>{3, 4, 7, 8, 6, 8, 0, 0}));
  // Gradients of 16 bits are summed in f32.
  for (DType dtype : {FF_BF16, FF_F16}) {
    std::vector<float> small(300, dtype == FF_BF16 ? 0x1p-8f : 0x1p-11f);
    small[0] = 1;
    std::vector<int64_t> zeros(300, 0);
    float sum[2] = {-1, -1};
    embeddingGrad(dtype, Elements(dtype, small).bytes.data(), zeros.data(), sum,
                  300, 2, 1);
    EXPECT_EQ(sum[0], 1 + 299 * small[1]);
    EXPECT_EQ(sum[1], 0);
    Elements values(dtype, {0, 1, 10, 11, 20, 21}), rows(dtype, 8);
    embeddingLookup(dtype, values.bytes.data(), ids.data(), rows.bytes.data(),
                    4, 2);
    EXPECT_EQ(rows.numbers(),
              (std::vector<float>{20, 21, 0, 1, 20, 21, 10, 11}));
  }
  EXPECT_EQ(firstBadId(ids.data(), 4, 3), -1);
  EXPECT_EQ(firstBadId(ids.data(), 4, 2), 0);
  ids[3] = -1;
  EXPECT_EQ(firstBadId(ids.data(), 4, 3), 3);
}

TEST(Dtype, SixteenBitFloatsRoundToEven) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float f16 = f16ToFloat(half), bf16 = bf16ToFloat(half);
    EXPECT_TRUE(std::isnan(f16) || floatToF16(f16) == half) << bits;
    EXPECT_TRUE(std::isnan(bf16) || floatToBf16(bf16) == half) << bits;
  }
  EXPECT_EQ(floatToF16(1.0f + 0x1p-11f), floatToF16(1.0f));
  EXPECT_EQ(floatToF16(1.0f + 3 * 0x1p-11f), floatToF16(1.0f + 0x1p-9f));
  EXPECT_EQ(floatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(floatToF16(0x1p-25f), 0);
  EXPECT_EQ(floatToBf16(1.0f + 0x1p-8f), floatToBf16(1.0f));
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(nan))));
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(nan))));
}

TEST(Threads, EveryIterationRunsOnce) {
  for (int threads : {1, 2, 5}) {
    setThreads(threads);
    for (int64_t n : {0, 1, 2, 7, 1000}) {
      std::vector<int> seen(static_cast<size_t>(n), 0);
      parallelFor(n, 3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          ++seen[static_cast<size_t>(i)];
      });
      EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(n), 1));
    }
  }
  setThreads(1);
}
