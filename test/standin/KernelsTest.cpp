// Whole kernels: compiled by nvcc (kernels/cuda.ptx) and by llc
// (kernels/llvm.ptx), against the host.
#include "test/standin/Device.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace standin::test;

namespace {
std::vector<float> randoms(size_t n, float lo = -4, float hi = 4) {
  std::mt19937 g(1);
  std::uniform_real_distribution<float> d(lo, hi);
  std::vector<float> v(n);
  for (float &f : v)
    f = d(g);
  return v;
}

class Nvcc : public testing::Test {
protected:
  Device dev;
  void SetUp() override { dev.load(readFile("cuda.ptx")); }
};

TEST_F(Nvcc, VectorAdd) {
  auto a = randoms(1000), b = randoms(1000, 0, 9);
  auto c = dev.empty<float>(1000);
  ASSERT_EQ(
      dev.launch("add", 4, 256, 0, nullptr, dev.put(a), dev.put(b), c, 1000),
      0);
  auto r = dev.get<float>(c, 1000);
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(r[i], a[i] + b[i]) << i;
}

TEST_F(Nvcc, BlockReductionWithShuffles) {
  std::vector<float> x(5000);
  std::iota(x.begin(), x.end(), 1.0f);
  auto out = dev.put(std::vector<float>{0});
  ASSERT_EQ(dev.launch("blockSum", 3, 256, 0, nullptr, dev.put(x), out, 5000),
            0);
  EXPECT_EQ(dev.get<float>(out, 1)[0], 5000.0f * 5001 / 2);
}

TEST_F(Nvcc, SoftmaxOfRows) {
  int rows = 3, cols = 300;
  auto x = randoms(rows * cols);
  auto y = dev.empty<float>(rows * cols);
  ASSERT_EQ(
      dev.launch("softmax", rows, 128, 128 * 4, nullptr, dev.put(x), y, cols),
      0);
  auto r = dev.get<float>(y, rows * cols);
  for (int i = 0; i < rows; ++i) {
    double s = 0;
    for (int j = 0; j < cols; ++j)
      s += std::exp((double)x[i * cols + j]);
    for (int j = 0; j < cols; ++j)
      ASSERT_NEAR(r[i * cols + j], std::exp((double)x[i * cols + j]) / s, 1e-6);
  }
}

TEST_F(Nvcc, TiledTranspose) {
  int rows = 70, cols = 45;
  auto x = randoms(rows * cols);
  auto y = dev.empty<float>(rows * cols);
  ASSERT_EQ(dev.launch3("transpose", {2, 3, 1}, {32, 8, 1}, 0, nullptr,
                        dev.put(x), y, rows, cols),
            0);
  auto r = dev.get<float>(y, rows * cols);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j)
      ASSERT_EQ(r[j * rows + i], x[i * cols + j]);
}

TEST_F(Nvcc, AtomicsOnSharedAndGlobalMemory) {
  std::vector<uint8_t> x(4000);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = (uint8_t)(i * i);
  auto bins = dev.put(std::vector<unsigned>(256));
  ASSERT_EQ(dev.launch("histogram", 4, 128, 0, nullptr, dev.put(x), bins, 4000),
            0);
  std::vector<unsigned> want(256);
  for (uint8_t v : x)
    ++want[v];
  EXPECT_EQ(dev.get<unsigned>(bins, 256), want);
}

TEST_F(Nvcc, MatmulWithMmaLdmatrixAndAsyncCopies) {
  int M = 64, N = 96, K = 128;
  std::vector<uint16_t> a(M * K), b(K * N);
  auto fa = randoms(a.size(), -1, 1), fb = randoms(b.size(), -2, 2);
  auto cut = [](std::vector<float> &f, std::vector<uint16_t> &h) {
    for (size_t i = 0; i < f.size(); ++i)
      h[i] = (uint16_t)(bits(f[i]) >> 16), f[i] = number((uint32_t)h[i] << 16);
  };
  cut(fa, a), cut(fb, b);
  auto c = dev.empty<float>(M * N);
  ASSERT_EQ(dev.launch3("matmul", {3, 2, 1}, {128, 1, 1}, 0, nullptr,
                        dev.put(a), dev.put(b), c, M, N, K),
            0);
  auto r = dev.get<float>(c, M * N);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double s = 0;
      for (int k = 0; k < K; ++k)
        s += (double)fa[i * K + k] * fb[k * N + j];
      ASSERT_NEAR(r[i * N + j], s, 1e-4) << i << "," << j;
    }
}

TEST_F(Nvcc, LibdeviceMath) {
  int n = 500;
  auto x = randoms(n);
  auto y = dev.empty<float>(8 * n);
  ASSERT_EQ(dev.launch("math", 4, 128, 0, nullptr, dev.put(x), y, n), 0);
  auto r = dev.get<float>(y, 8 * n);
  for (int i = 0; i < n; ++i) {
    double v = x[i];
    double want[] = {std::exp(v), std::tanh(v),
                     std::erf(v), std::log(std::fabs(v)),
                     std::sin(v), std::pow(std::fabs(v), 1.5),
                     std::exp(v)};
    for (int k = 0; k < 7; ++k)
      ASSERT_NEAR(r[k * n + i], want[k],
                  4e-6 * std::max(1.0, std::fabs(want[k])))
          << k << " at " << v;
    ASSERT_NEAR(r[7 * n + i], 2 * v, 0.02);
  }
}

TEST_F(Nvcc, Recursion) {
  auto out = dev.empty<int>(64);
  ASSERT_EQ(dev.launch("recurse", 1, 64, 0, nullptr, out), 0);
  auto r = dev.get<int>(out, 64);
  int fib[12] = {0, 1};
  for (int i = 2; i < 12; ++i)
    fib[i] = fib[i - 1] + fib[i - 2];
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(r[i], fib[i % 12]) << i;
}

TEST_F(Nvcc, Divergence) {
  int n = 300;
  auto out = dev.empty<int>(n);
  ASSERT_EQ(dev.launch("collatz", 3, 128, 0, nullptr, out, n), 0);
  auto r = dev.get<int>(out, n);
  for (int i = 0; i < n; ++i) {
    long long v = i + 1;
    int steps = 0;
    for (; v != 1; ++steps)
      v = v % 2 ? 3 * v + 1 : v / 2;
    ASSERT_EQ(r[i], steps) << i;
  }
}
} // namespace
