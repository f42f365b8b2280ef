// Floating point: arithmetic with every rounding, special values,
// approximations, halves, conversions. The references round exactly, through
// the host's rounding modes or through long double.
#include "test/standin/Device.h"

#include <cfenv>
#include <cmath>

using namespace standin::test;

namespace {
const std::vector<uint32_t> specials = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
    0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
    0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x40490fdb, 0x34000000,
    0x33800000, 0x477fe000, 0x477ff000, 0x477fefff, 0x387fc000, 0x33000000,
    0x33000001, 0x38800000, 0x3f808000, 0x3f818000, 0x3f808001, 0x4b000001,
    0x3f000000, 0xbf000000, 0x3fc00000, 0xbfc00000, 0x40200000, 0x4effffff,
    0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x7f000000, 0xc2f00000,
    0x42fe0000, 0x12345678, 0xdeadbeef};
bool same(uint32_t got, uint32_t want) {
  bool nan = (want & 0x7fffffff) > 0x7f800000;
  return nan ? got == 0x7fffffff : got == want;
}
template <class F> void binary(const std::string &op, F f) {
  std::vector<uint32_t> a, b;
  for (uint32_t x : specials)
    for (uint32_t y : specials)
      a.push_back(x), b.push_back(y);
  auto d = apply<uint32_t, uint32_t>(op + " %d, %a, %b;", a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    uint32_t want = bits((float)f(number(a[i]), number(b[i])));
    ASSERT_PRED2(same, d[i], want)
        << op << std::hex << " " << a[i] << ", " << b[i];
  }
}
template <class F> auto rounded(int mode, F f) {
  return [=](float a, float b) {
    fesetround(mode);
    volatile float x = a, y = b, r = f(x, y);
    fesetround(FE_TONEAREST);
    return (float)r;
  };
}
float ftz(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

TEST(Float, ArithmeticInEveryRounding) {
  const std::pair<const char *, int> modes[] = {{"rn", FE_TONEAREST},
                                                {"rz", FE_TOWARDZERO},
                                                {"rm", FE_DOWNWARD},
                                                {"rp", FE_UPWARD}};
  for (auto [name, mode] : modes) {
    std::string s = name;
    binary("add." + s + ".f32",
           rounded(mode,
                   [](volatile float &a, volatile float &b) { return a + b; }));
    binary("sub." + s + ".f32",
           rounded(mode,
                   [](volatile float &a, volatile float &b) { return a - b; }));
    binary("mul." + s + ".f32",
           rounded(mode,
                   [](volatile float &a, volatile float &b) { return a * b; }));
    binary("div." + s + ".f32",
           rounded(mode,
                   [](volatile float &a, volatile float &b) { return a / b; }));
  }
  binary("add.f32", [](float a, float b) { return a + b; });
}
TEST(Float, FlushAndSaturate) {
  binary("add.ftz.f32", [](float a, float b) { return ftz(ftz(a) + ftz(b)); });
  binary("mul.ftz.f32", [](float a, float b) { return ftz(ftz(a) * ftz(b)); });
  auto sat = [](float r) { return r > 0 ? std::min(r, 1.0f) : 0.0f; };
  binary("add.sat.f32", [=](float a, float b) { return sat(a + b); });
}
TEST(Float, FmaRoundsOnce) {
  std::vector<uint32_t> a, b, c;
  for (uint32_t x : specials)
    for (uint32_t y : specials)
      for (uint32_t z : {0x3f800000u, 0xbf800000u, 0x00000001u, 0x7f800000u,
                         0x4b000001u, 0x80000000u})
        a.push_back(x), b.push_back(y), c.push_back(z);
  for (auto [name, mode] : {std::pair<std::string, int>{"rn", FE_TONEAREST},
                            {"rm", FE_DOWNWARD},
                            {"rp", FE_UPWARD},
                            {"rz", FE_TOWARDZERO}}) {
    auto d = apply<uint32_t, uint32_t>("fma." + name + ".f32 %d, %a, %b, %c;",
                                       a, b, c);
    for (size_t i = 0; i < a.size(); ++i) {
      fesetround(mode);
      volatile float x = number(a[i]), y = number(b[i]), z = number(c[i]),
                     r = std::fma(x, y, z);
      fesetround(FE_TONEAREST);
      ASSERT_PRED2(same, d[i], bits((float)r))
          << name << std::hex << a[i] << " " << b[i] << " " << c[i];
    }
  }
}
TEST(Float, MinMax) {
  auto low = [](float a, float b) {
    return std::isnan(a)   ? b
           : std::isnan(b) ? a
           : a == b        ? (std::signbit(a) ? a : b)
                           : std::min(a, b);
  };
  binary("min.f32", low);
  binary("max.f32", [=](float a, float b) {
    return std::isnan(a) ? b : std::isnan(b) ? a : -low(-a, -b);
  });
  binary("max.NaN.f32", [=](float a, float b) {
    return std::isnan(a) || std::isnan(b) ? NAN : -low(-a, -b);
  });
}
TEST(Float, Unary) {
  auto check = [](const std::string &op, auto f) {
    auto d = apply<uint32_t, uint32_t>(op + " %d, %a;", specials);
    for (size_t i = 0; i < specials.size(); ++i)
      ASSERT_PRED2(same, d[i], bits((float)f(number(specials[i]))))
          << op << std::hex << " " << specials[i];
  };
  check("sqrt.rn.f32", [](float a) { return std::sqrt(a); });
  check("rcp.rn.f32", [](float a) { return 1 / a; });
  check("neg.f32", [](float a) { return -a; });
  check("abs.ftz.f32", [](float a) { return std::fabs(ftz(a)); });
  check("rsqrt.approx.f32", [](float a) { return 1 / std::sqrt((double)a); });
  check("ex2.approx.ftz.f32",
        [](float a) { return ftz((float)std::exp2((double)ftz(a))); });
  check("lg2.approx.f32", [](float a) { return std::log2((double)a); });
  check("sin.approx.f32", [](float a) { return std::sin((double)a); });
  check("cos.approx.f32", [](float a) { return std::cos((double)a); });
  check("tanh.approx.f32", [](float a) { return std::tanh((double)a); });
  check("cvt.rni.f32.f32", [](float a) { return std::nearbyint(a); });
  check("cvt.rzi.f32.f32", [](float a) { return std::trunc(a); });
  check("cvt.rpi.f32.f32", [](float a) { return std::ceil(a); });
  check("cvt.sat.f32.f32",
        [](float a) { return a > 0 ? std::min(a, 1.0f) : 0.0f; });
}
TEST(Float, Comparisons) {
  auto check = [](const std::string &op, auto f) {
    std::vector<uint32_t> a, b;
    for (uint32_t x : specials)
      for (uint32_t y : specials)
        a.push_back(x), b.push_back(y);
    auto d = apply<uint32_t, uint32_t>(
        "setp." + op + ".f32 %p, %a, %b;\nselp.b32 %d, 1, 0, %p;", a, b);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(d[i], (uint32_t)f(number(a[i]), number(b[i])))
          << op << std::hex << " " << a[i] << " " << b[i];
  };
  auto un = [](float a, float b) { return std::isnan(a) || std::isnan(b); };
  check("eq", [](float a, float b) { return a == b; });
  check("ne", [=](float a, float b) { return !un(a, b) && a != b; });
  check("ltu", [=](float a, float b) { return un(a, b) || a < b; });
  check("neu", [](float a, float b) { return a != b; });
  check("ge", [](float a, float b) { return a >= b; });
  check("num", [=](float a, float b) { return !un(a, b); });
  check("nan", un);
}
TEST(Float, Double) {
  std::vector<uint64_t> a, b;
  for (double x : {0.0, -0.0, 1.0, 1e308, -1e-308, 5e-324, (double)INFINITY,
                   3.7, -2.5, 1 / 3.0})
    for (double y : {0.0, -1.0, 1e-300, 7.25, (double)INFINITY, 1e308})
      a.push_back(bits(x)), b.push_back(bits(y));
  auto check = [&](const std::string &op, auto f) {
    auto d = apply<uint64_t, uint64_t>(op + " %d, %a, %b;", a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      double x, y, got;
      memcpy(&x, &a[i], 8), memcpy(&y, &b[i], 8), memcpy(&got, &d[i], 8);
      double want = f(x, y);
      ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : bits(got) == bits(want))
          << op << " " << x << ", " << y;
    }
  };
  check("add.f64", [](double a, double b) { return a + b; });
  check("mul.rn.f64", [](double a, double b) { return a * b; });
  check("div.rn.f64", [](double a, double b) { return a / b; });
  check("min.f64", [](double a, double b) {
    return a == b && std::signbit(a) ? a : std::min(a, b);
  });
  auto s = apply<uint64_t, uint64_t>("sqrt.rn.f64 %d, %a;", {bits(2.0)});
  EXPECT_EQ(s[0], bits(std::sqrt(2.0)));
  auto f = apply<uint64_t, uint64_t>(
      "fma.rn.f64 %d, %a, %b, %c;", {bits(1 / 3.0)}, {bits(3.0)}, {bits(-1.0)});
  EXPECT_EQ(f[0], bits(std::fma(1 / 3.0, 3.0, -1.0)));
}

TEST(Convert, FloatToInteger) {
  auto check = [](const std::string &op, auto f, auto zero) {
    using D = decltype(zero);
    auto d = apply<D, uint32_t>("cvt." + op + " %d, %a;", specials);
    for (size_t i = 0; i < specials.size(); ++i) {
      float x = number(specials[i]);
      long double v = f((long double)x);
      D want = std::isnan(x) ? (sizeof(D) == 8 ? (D)(1ull << 63) : 0)
               : v >= (long double)std::numeric_limits<D>::max()
                   ? std::numeric_limits<D>::max()
               : v <= (long double)std::numeric_limits<D>::min()
                   ? std::numeric_limits<D>::min()
                   : (D)v;
      ASSERT_EQ(d[i], want) << op << " " << x;
    }
  };
  auto nearest = [](long double v) { return nearbyintl(v); };
  check("rzi.s32.f32", [](long double v) { return truncl(v); }, int32_t());
  check("rni.s32.f32", nearest, int32_t());
  check("rmi.s64.f32", [](long double v) { return floorl(v); }, int64_t());
  check("rpi.u32.f32", [](long double v) { return ceill(v); }, uint32_t());
  check("rzi.u64.f32", [](long double v) { return truncl(v); }, uint64_t());
  check("rni.s16.f32", nearest, int16_t());
}
TEST(Convert, IntegerToFloat) {
  std::vector<uint64_t> a = {0,
                             1,
                             0x1000001,
                             0x1000003,
                             0xffffffffffffffff,
                             0x8000000000000000,
                             0x7fffffffffffffff,
                             0x7fffffbfffffffff,
                             0xffffff7fffffffff,
                             0xffffff8000000000,
                             12345678901234567ull};
  for (auto [name, mode] : {std::pair<std::string, int>{"rn", FE_TONEAREST},
                            {"rm", FE_DOWNWARD},
                            {"rp", FE_UPWARD},
                            {"rz", FE_TOWARDZERO}}) {
    auto u = apply<uint32_t, uint64_t>("cvt." + name + ".f32.u64 %d, %a;", a),
         s = apply<uint32_t, uint64_t>("cvt." + name + ".f32.s64 %d, %a;", a);
    auto d = apply<uint64_t, uint64_t>("cvt." + name + ".f64.u64 %d, %a;", a);
    for (size_t i = 0; i < a.size(); ++i) {
      fesetround(mode);
      volatile long double lu = a[i], ls = (int64_t)a[i]; // exact: 64 bits
      volatile float wu = (float)lu, ws = (float)ls;
      volatile double wd = (double)lu;
      fesetround(FE_TONEAREST);
      ASSERT_EQ(u[i], bits((float)wu)) << name << " " << a[i];
      ASSERT_EQ(s[i], bits((float)ws)) << name << " " << (int64_t)a[i];
      ASSERT_EQ(d[i], bits((double)wd)) << name << " " << a[i];
    }
  }
}
// The nearest halves by trying all of them.
double halfValue(uint16_t h, int mantissa) { // stored bits
  int exponentBits = 15 - mantissa, bias = (1 << (exponentBits - 1)) - 1,
      e = (h & 0x7fff) >> mantissa, m = h & ((1 << mantissa) - 1);
  double v = e == (1 << exponentBits) - 1 ? (m ? NAN : INFINITY)
             : e ? std::ldexp(1 + std::ldexp(m, -mantissa), e - bias)
                 : std::ldexp(m, 1 - bias - mantissa);
  return h & 0x8000 ? -v : v;
}
uint16_t nearestHalf(double x, int mantissa, const std::string &mode) {
  uint16_t sign = std::signbit(x) ? 0x8000 : 0,
           infinity = (uint16_t)(0x7fff >> mantissa << mantissa);
  if (std::isnan(x))
    return 0x7fff;
  double v = std::fabs(x);
  uint16_t low = 0, high = infinity; // the greatest half that is not above v
  while (high - low > 1) {
    uint16_t mid = (uint16_t)((low + high) / 2);
    (halfValue(mid, mantissa) <= v ? low : high) = mid;
  }
  if (std::isinf(v))
    return sign | infinity;
  double below = halfValue(low, mantissa),
         above = high == infinity
                     ? 2 * halfValue((uint16_t)(infinity - (1 << mantissa)),
                                     mantissa)
                     : halfValue(high, mantissa);
  if (v == below)
    return sign | low;
  bool up = mode == "rz"             ? false
            : mode == "rp"           ? !sign
            : mode == "rm"           ? sign != 0
            : v - below != above - v ? v - below > above - v
                                     : (low & 1) != 0;
  return sign | (up ? high : low);
}
TEST(Convert, ToHalves) {
  for (std::string mode : {"rn", "rz", "rm", "rp"}) {
    auto f =
        apply<uint16_t, uint32_t>("cvt." + mode + ".f16.f32 %d, %a;", specials);
    for (size_t i = 0; i < specials.size(); ++i)
      ASSERT_EQ(f[i], nearestHalf(number(specials[i]), 10, mode))
          << mode << std::hex << " " << specials[i];
  }
  for (std::string mode : {"rn", "rz"}) {
    auto b = apply<uint16_t, uint32_t>("cvt." + mode + ".bf16.f32 %d, %a;",
                                       specials);
    auto pair = apply<uint32_t, uint32_t>(
        "cvt." + mode + ".bf16x2.f32 %d, %a, 0f3F800000;", specials);
    auto pair16 = apply<uint32_t, uint32_t>(
        "cvt." + mode + ".f16x2.f32 %d, 0f40000000, %a;", specials);
    auto relu = apply<uint32_t, uint32_t>(
        "cvt." + mode + ".relu.bf16x2.f32 %d, %a, %a;", specials);
    for (size_t i = 0; i < specials.size(); ++i) {
      uint32_t want = nearestHalf(number(specials[i]), 7, mode);
      ASSERT_EQ(b[i], want) << mode << std::hex << " " << specials[i];
      ASSERT_EQ(pair[i], want << 16 | 0x3f80);
      ASSERT_EQ(pair16[i],
                0x40000000u | nearestHalf(number(specials[i]), 10, mode));
      uint32_t positive = want & 0x8000 ? 0 : want;
      ASSERT_EQ(relu[i], positive << 16 | positive) << std::hex << specials[i];
    }
  }
  auto d = apply<uint16_t, uint64_t>(
      "cvt.rn.f16.f64 %d, %a;",
      {bits(1.00048828125 + 1e-12), bits(65519.999), bits(65520.0)});
  EXPECT_EQ(
      d, (std::vector<uint16_t>{
             0x3c01, 0x7bff,
             0x7c00})); // a double rounding through f32 would give 0x3c00 first
  auto t = apply<uint32_t, uint32_t>("cvt.rna.tf32.f32 %d, %a;",
                                     {0x3f801000, 0xbf800fff, 0x3f803000});
  EXPECT_EQ(t, (std::vector<uint32_t>{0x3f802000, 0xbf800000, 0x3f804000}));
}
TEST(Convert, FromEveryHalf) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = (uint16_t)i;
  auto f = apply<uint32_t, uint16_t>("cvt.f32.f16 %d, %a;", all),
       b = apply<uint32_t, uint16_t>("cvt.f32.bf16 %d, %a;", all);
  auto back = apply<uint16_t, uint32_t>("cvt.rn.f16.f32 %d, %a;", f);
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_PRED2(same, f[i], bits((float)halfValue(all[i], 10))) << i;
    ASSERT_PRED2(same, b[i], bits((float)halfValue(all[i], 7))) << i;
    ASSERT_EQ(back[i], std::isnan(halfValue(all[i], 10)) ? 0x7fff : all[i]);
  }
}
TEST(Half, ArithmeticRoundsOnce) {
  const std::vector<uint16_t> values = {
      0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0x3c01, 0xbc00,
      0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0x4248, 0x1234,
      0x8456, 0x3f80, 0x3f81, 0xbf80, 0x7f7f, 0x4049, 0x0080};
  std::vector<uint16_t> a, b, c;
  for (uint16_t x : values)
    for (uint16_t y : values)
      for (uint16_t z : {0x0000, 0x3c00, 0xbc00, 0x0001, 0x3f81})
        a.push_back(x), b.push_back(y), c.push_back((uint16_t)z);
  auto check = [&](const std::string &op, int mantissa, auto f) {
    auto d = apply<uint16_t, uint16_t>(
        op + (op[0] == 'f' ? " %d, %a, %b, %c;" : " %d, %a, %b;"), a, b, c);
    for (size_t i = 0; i < a.size(); ++i) {
      // long double: 64 bits hold every product and (but for the sticky end)
      // every sum of halves
      long double r = f((long double)halfValue(a[i], mantissa),
                        (long double)halfValue(b[i], mantissa),
                        (long double)halfValue(c[i], mantissa));
      ASSERT_EQ(d[i], nearestHalf((double)r, mantissa, "rn"))
          << op << std::hex << " " << a[i] << " " << b[i] << " " << c[i];
    }
  };
  check("add.f16", 10, [](auto a, auto b, auto) { return a + b; });
  check("sub.f16", 10, [](auto a, auto b, auto) { return a - b; });
  check("mul.f16", 10, [](auto a, auto b, auto) { return a * b; });
  check("fma.rn.f16", 10, [](auto a, auto b, auto c) { return a * b + c; });
  check("fma.rn.bf16", 7, [](auto a, auto b, auto c) { return a * b + c; });
  check("mul.rn.bf16", 7, [](auto a, auto b, auto) { return a * b; });
  check("add.rn.bf16", 7, [](auto a, auto b, auto) { return a + b; });
}
TEST(Half, Pairs) {
  auto d = apply<uint32_t, uint32_t>("fma.rn.bf16x2 %d, %a, %b, %c;",
                                     {0x3f804000}, {0x40403f80}, {0x3f803f80});
  EXPECT_EQ(d[0], 0x40804040u); // 1*3+1, 2*1+1
  auto m = apply<uint32_t, uint32_t>("max.f16x2 %d, %a, %b;", {0x3c007e00},
                                     {0x40003c00});
  EXPECT_EQ(m[0], 0x40003c00u);
  auto s = apply<uint32_t, uint32_t>("setp.lt.f16x2 %p|%q, %a, %b;\nselp.b32 "
                                     "%d, 1, 0, %p;\n@%q add.u32 %d, %d, 2;",
                                     {0x3c004000, 0x40003c00},
                                     {0x40003c00, 0x3c004000});
  EXPECT_EQ(s, (std::vector<uint32_t>{2, 1}));
}
} // namespace
