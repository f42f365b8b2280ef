// Kernels of kernels/llvm.ll, compiled by llc during the build.
#include "test/standin/Device.h"

#include <cmath>

using namespace standin::test;

namespace {
class Llvm : public testing::Test {
protected:
  Device dev;
  void SetUp() override {
    std::ifstream in(FF_STANDIN_LLVM_PTX);
    std::stringstream text;
    text << in.rdbuf();
    dev.load(text.str());
  }
};
std::vector<float> ramp(size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i)
    v[i] = (float)(i % 97) - 40;
  return v;
}

TEST_F(Llvm, AddWithConstants) {
  auto x = ramp(200);
  auto c = dev.empty<float>(200);
  ASSERT_EQ(
      dev.launch("add", 2, 128, 0, nullptr, dev.put(x), dev.put(x), c, 200), 0);
  auto r = dev.get<float>(c, 200);
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(r[i], x[i] + x[i] * (float)(1 << i % 4));
}
TEST_F(Llvm, BlockSum) {
  auto x = ramp(2048);
  auto out = dev.put(std::vector<float>{0});
  ASSERT_EQ(dev.launch("blockSum", 2, 1024, 0, nullptr, dev.put(x), out), 0);
  float want = 0;
  for (float v : x)
    want += v;
  EXPECT_EQ(dev.get<float>(out, 1)[0], want);
}
TEST_F(Llvm, Softmax) {
  auto x = ramp(64);
  auto y = dev.empty<float>(64);
  ASSERT_EQ(dev.launch("softmax", 2, 32, 0, nullptr, dev.put(x), y), 0);
  auto r = dev.get<float>(y, 64);
  for (int row = 0; row < 2; ++row) {
    double s = 0;
    for (int i = 0; i < 32; ++i)
      s += std::exp2((double)x[row * 32 + i]);
    for (int i = 0; i < 32; ++i)
      ASSERT_NEAR(r[row * 32 + i], std::exp2((double)x[row * 32 + i]) / s,
                  1e-6);
  }
}
TEST_F(Llvm, Transpose) {
  auto x = ramp(1024);
  auto y = dev.empty<float>(1024);
  ASSERT_EQ(dev.launch("transpose", 1, 1024, 0, nullptr, dev.put(x), y), 0);
  auto r = dev.get<float>(y, 1024);
  for (int i = 0; i < 1024; ++i)
    ASSERT_EQ(r[i], x[i % 32 * 32 + i / 32]);
}
TEST_F(Llvm, Mixed) {
  auto out = dev.put(std::vector<int>(65));
  ASSERT_EQ(dev.launch("mixed", 1, 64, 0, nullptr, out, 8), 0);
  auto r = dev.get<int>(out, 65);
  int top = 0;
  for (int t = 0; t < 64; ++t) {
    int c = t & 7, want = c == 0   ? 7
                          : c == 1 ? 20
                          : c == 2 ? (int)(t * 1.5)
                          : c == 3 ? 2 * t
                          : c == 4 ? t / 3
                                   : c * c;
    ASSERT_EQ(r[t], want) << t;
    top = std::max(top, want);
  }
  EXPECT_EQ(r[64], top);
}
TEST_F(Llvm, Mma) {
  std::vector<uint16_t> a(256), b(128);
  for (int i = 0; i < 256; ++i)
    a[i] = (uint16_t)(0x3c00 + i); // 1 + i/1024
  for (int i = 0; i < 128; ++i)
    b[i] = (uint16_t)(i % 3 ? 0x4000 : 0xbc00); // 2 or -1
  auto d = dev.empty<float>(128);
  ASSERT_EQ(dev.launch("mma", 1, 32, 0, nullptr, dev.put(a), dev.put(b), d), 0);
  auto r = dev.get<float>(d, 128);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      double s =
          i < 8 && j % 2 == 0 ? 1 : 0; // the first accumulator begins at one
      for (int k = 0; k < 16; ++k)
        s += (1 + (i * 16 + k) / 1024.0) * ((j * 16 + k) % 3 ? 2 : -1);
      ASSERT_FLOAT_EQ(r[i * 8 + j], (float)s) << i << "," << j;
    }
}
} // namespace
