//===- MatmulTest.cpp - Matmuls through cuBLASLt --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceTest.h"
#include "runtime/core/Error.h"
#include "runtime/core/Layout.h"
#include "runtime/cuda/CudaMatmuls.h"

#include <algorithm>

using namespace ff::rt;
using namespace ff::rt::cuda;
using namespace ff::rt::cuda::test;

namespace {

/// Elements from the first to the last that the strides reach.
int64_t extent(const MatmulType &t, int64_t rows, int64_t columns,
               const std::vector<int64_t> &strides) {
  int64_t last = 0;
  for (size_t i = 0; i < t.batch.size(); ++i)
    last += (t.batch[i] - 1) * strides[i];
  last += (rows - 1) * strides[t.batch.size()];
  return last + (columns - 1) * strides[t.batch.size() + 1] + 1;
}

double activate(Activation activation, double x) {
  switch (activation) {
  case Activation::Relu:
    return x > 0 ? x : 0;
  case Activation::GeluTanh:
    return 0.5 * x *
           (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  default:
    return x;
  }
}

class Matmuls : public DeviceTest {
protected:
  DeviceMemory workspace{deviceMatmulScratch};

  /// Calls `body` with the offsets of each batch.
  template <typename Body> void forEachBatch(const MatmulType &t, Body body) {
    int64_t total = 1;
    for (int64_t dim : t.batch)
      total *= dim;
    for (int64_t i = 0; i < total; ++i) {
      int64_t rest = i, a = 0, b = 0, c = 0;
      for (size_t dim = t.batch.size(); dim-- > 0; rest /= t.batch[dim]) {
        int64_t at = rest % t.batch[dim];
        a += at * t.aStrides[dim];
        b += at * t.bStrides[dim];
        c += at * t.cStrides[dim];
      }
      body(a, b, c);
    }
  }

  /// Runs it once aligned and once not, and compares with a naive loop.
  /// Elements of c outside of the result must stay.
  void expectProduct(const MatmulType &t, bool tf32 = false) {
    SCOPED_TRACE(testing::Message()
                 << "m " << t.m << ", n " << t.n << ", k " << t.k << ", "
                 << dtypeName(t.dtype) << " to " << dtypeName(t.resultDtype())
                 << ", batch dims " << t.batch.size());
    DType result = t.resultDtype();
    auto a = randomElements(t.dtype, extent(t, t.m, t.k, t.aStrides), 1);
    auto b = randomElements(t.dtype, extent(t, t.k, t.n, t.bStrides), 2);
    auto c = randomElements(result, extent(t, t.m, t.n, t.cStrides), 3);
    auto bias = randomElements(result, t.n, 4);
    auto aWide = wideValues(t.dtype, a), bWide = wideValues(t.dtype, b),
         cWide = wideValues(result, c), biasWide = wideValues(result, bias);
    size_t row = t.batch.size(), column = row + 1;
    forEachBatch(t, [&](int64_t a0, int64_t b0, int64_t c0) {
      for (int64_t i = 0; i < t.m; ++i)
        for (int64_t j = 0; j < t.n; ++j) {
          double sum = t.bias ? biasWide[static_cast<size_t>(j)] : 0;
          for (int64_t k = 0; k < t.k; ++k)
            sum += aWide[static_cast<size_t>(a0 + i * t.aStrides[row] +
                                             k * t.aStrides[column])] *
                   bWide[static_cast<size_t>(b0 + k * t.bStrides[row] +
                                             j * t.bStrides[column])];
          cWide[static_cast<size_t>(c0 + i * t.cStrides[row] +
                                    j * t.cStrides[column])] =
              activate(t.activation, sum);
        }
    });
    double tolerance = result == FF_BF16  ? 1e-2
                       : result == FF_F16 ? 2e-3
                       : result == FF_F64 ? 1e-13
                       : tf32             ? 5e-3
                                          : 1e-5;
    CudaMatmuls matmuls({t}, tf32, workspace.address);
    for (size_t shift : {0, 1, 8}) {
      Array aHere(a, shift * dtypeSize(t.dtype)),
          bHere(b, shift * dtypeSize(t.dtype)),
          cHere(c, shift * dtypeSize(result)), biasHere(bias);
      auto pointer = [](CUdeviceptr p) { return reinterpret_cast<void *>(p); };
      matmuls.run(0, pointer(aHere.address), pointer(bHere.address),
                  t.bias ? pointer(biasHere.address) : nullptr,
                  pointer(cHere.address), *stream);
      stream->synchronize();
      auto got = wideValues(result, cHere.get<char>());
      ASSERT_EQ(got.size(), cWide.size());
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], cWide[i], tolerance * (1 + std::abs(cWide[i])))
            << "element " << i << ", shift " << shift;
    }
  }

  static MatmulType plain(int64_t m, int64_t n, int64_t k,
                          DType dtype = FF_F32) {
    MatmulType t;
    t.dtype = dtype;
    t.m = m;
    t.n = n;
    t.k = k;
    t.aStrides = {k, 1};
    t.bStrides = {n, 1};
    t.cStrides = {n, 1};
    return t;
  }
};

} // namespace

TEST_F(Matmuls, LayoutsOfBothOperands) {
  for (int padding : {0, 3})
    for (bool aTurned : {false, true})
      for (bool bTurned : {false, true})
        for (bool cTurned : {false, true}) {
          MatmulType t = plain(7, 11, 5);
          t.aStrides = aTurned ? std::vector<int64_t>{1, 7 + padding}
                               : std::vector<int64_t>{5 + padding, 1};
          t.bStrides = bTurned ? std::vector<int64_t>{1, 5 + padding}
                               : std::vector<int64_t>{11 + padding, 1};
          t.cStrides = cTurned ? std::vector<int64_t>{1, 7 + padding}
                               : std::vector<int64_t>{11 + padding, 1};
          expectProduct(t);
        }
}

TEST_F(Matmuls, DimsOfOne) {
  for (int64_t m : {1, 6})
    for (int64_t n : {1, 5})
      for (int64_t k : {1, 4}) {
        expectProduct(plain(m, n, k));
        // Strides of dims of size 1 mean nothing.
        MatmulType t = plain(m, n, k);
        if (m == 1)
          t.aStrides[0] = t.cStrides[0] = 0;
        if (k == 1)
          t.aStrides[1] = t.bStrides[0] = 0;
        if (n == 1)
          t.bStrides[1] = t.cStrides[1] = 77;
        expectProduct(t);
        // Vectors with gaps.
        MatmulType gaps = plain(m, n, k);
        if (k == 1)
          gaps.aStrides = {3, 99};
        if (n == 1)
          gaps.bStrides = {2, 99};
        expectProduct(gaps);
      }
}

TEST_F(Matmuls, TypesAndEpilogues) {
  struct Types {
    DType dtype, result;
  };
  for (Types types :
       {Types{FF_F32, FF_F32}, Types{FF_BF16, FF_BF16}, Types{FF_BF16, FF_F32},
        Types{FF_F16, FF_F16}, Types{FF_F16, FF_F32}})
    for (Activation activation :
         {Activation::None, Activation::Relu, Activation::GeluTanh})
      for (bool bias : {false, true}) {
        MatmulType t = plain(9, 16, 24, types.dtype);
        t.cDtype = types.result;
        t.bias = bias;
        t.activation = activation;
        expectProduct(t);
        t.batch = {2, 3}; // one bias for all, not to be folded into rows
        t.aStrides = {3 * 9 * 24 + 8, 9 * 24, 24, 1};
        t.bStrides = {0, 24 * 16, 16, 1};
        t.cStrides = {3 * 9 * 16, 9 * 16, 16, 1};
        expectProduct(t);
      }
  expectProduct(plain(9, 16, 24, FF_F64));
  expectProduct(plain(9, 16, 24), /*tf32=*/true);
}

TEST_F(Matmuls, Batches) {
  // Attention: [batch, head, row, column] in memory as [batch, row, head, ...].
  MatmulType t = plain(6, 5, 4);
  t.batch = {2, 3};
  t.aStrides = {6 * 3 * 4, 4, 3 * 4, 1};
  t.bStrides = {5 * 3 * 4, 4, 1, 3 * 4};
  t.cStrides = {3 * 6 * 5, 6 * 5, 5, 1};
  expectProduct(t);
  CudaMatmuls matmuls({t}, false, workspace.address);
  EXPECT_EQ(matmuls.implementation(0), "cublasLt TN, batch 3, 2 calls");
  // What b has none of.
  t = plain(6, 5, 4);
  t.batch = {2, 3};
  t.aStrides = {3 * 6 * 4, 6 * 4, 4, 1};
  t.bStrides = {0, 0, 5, 1};
  t.cStrides = {3 * 6 * 5, 6 * 5, 5, 1};
  expectProduct(t);
  // What a has none of, and four dims that do not merge.
  t.batch = {2, 2, 3, 2};
  t.aStrides = {0, 24, 0, 48, 4, 1};
  t.bStrides = {20, 0, 40, 0, 5, 1};
  t.cStrides = {30, 60, 120, 360, 5, 1};
  expectProduct(t);
}

TEST_F(Matmuls, WhatTheLibraryCannotDoIsNamed) {
  auto messageOf = [&](const MatmulType &t) -> std::string {
    try {
      CudaMatmuls matmuls({plain(2, 2, 2), t}, false, workspace.address);
    } catch (const Error &error) {
      return error.what();
    }
    return "none";
  };
  MatmulType t = plain(4, 3, 2);
  t.activation = Activation::Silu;
  EXPECT_EQ(messageOf(t),
            "internal error: cuBLASLt has no such activation: matmul 1 (m 4, n "
            "3, k 2, batch [], strides of a [2, 1], of b [3, 1], of c [3, 1], "
            "f32 to f32, silu)");
  t = plain(4, 3, 2);
  t.aStrides = {4, 2};
  EXPECT_EQ(
      messageOf(t),
      "cuBLASLt cannot do matmul 1 (m 4, n 3, k 2, batch [], strides of a "
      "[4, 2], of b [3, 1], of c [3, 1], f32 to f32): of each matrix one "
      "dim needs the stride 1, and the other at least the size of that; a "
      "has none");
  t.aStrides = {1, 1}; // rows overlap
  EXPECT_NE(messageOf(t), "none");
  t = plain(4, 3, 2, FF_F64);
  t.bias = true;
  EXPECT_NE(messageOf(t).find("neither bias nor activation in f64"),
            std::string::npos);
  t = plain(4, 3, 2, FF_F32);
  t.cDtype = FF_BF16;
  EXPECT_NE(messageOf(t).find("no such types"), std::string::npos);
}

TEST_F(Matmuls, RunsInAGraph) {
  MatmulType t = plain(4, 4, 4);
  Array a(std::vector<float>(16, 2)), b(std::vector<float>(16, 3)),
      c(std::vector<float>(16));
  CudaMatmuls matmuls({t}, false, workspace.address);
  const CudaApi &api = *libraries().cuda;
  check(api.streamBeginCapture(stream->handle, ThreadLocal), "capture");
  matmuls.run(0, reinterpret_cast<void *>(a.address),
              reinterpret_cast<void *>(b.address), nullptr,
              reinterpret_cast<void *>(c.address), *stream);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  check(api.streamEndCapture(stream->handle, &graph), "capture");
  check(api.graphInstantiate(&exec, graph, 0), "instantiate");
  check(api.graphLaunch(exec, stream->handle), "launch");
  stream->synchronize();
  EXPECT_EQ(c.get<float>(), std::vector<float>(16, 24));
  check(api.graphExecDestroy(exec), "destroy");
  check(api.graphDestroy(graph), "destroy");
}
