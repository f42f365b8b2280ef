// Integer and bit instructions against the host, over values at the edges.
#include "test/standin/Device.h"

using namespace standin::test;

namespace {
template <class T> std::vector<T> edges() {
  std::vector<T> v = {0, 1, 2, 3, 7, 31, 32, 33, 100, 255};
  for (T x : {std::numeric_limits<T>::max(), std::numeric_limits<T>::min()})
    for (int d = -1; d <= 1; ++d)
      v.push_back((T)(x + (T)d));
  uint64_t s = 88172645463325252ull;
  for (int i = 0; i < 8; ++i) {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    v.push_back((T)s);
  }
  return v;
}
// All pairs.
template <class T> void pairs(std::vector<T> &a, std::vector<T> &b) {
  auto e = edges<T>();
  for (T x : e)
    for (T y : e)
      a.push_back(x), b.push_back(y);
}
template <class T, class F> void binary(const std::string &op, F f) {
  std::vector<T> a, b;
  pairs(a, b);
  auto d = apply<T, T>(op + " %d, %a, %b;", a, b);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(d[i], (T)f(a[i], b[i])) << op << " " << +a[i] << ", " << +b[i];
}
template <class T, class F> void unary(const std::string &op, F f) {
  auto a = edges<T>();
  auto d = apply<decltype(f(T())), T>(op + " %d, %a;", a);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(d[i], f(a[i])) << op << " " << +a[i];
}

TEST(Integer, AddSubMul) {
  binary<uint32_t>("add.u32", [](uint32_t a, uint32_t b) { return a + b; });
  binary<uint64_t>("sub.s64", [](uint64_t a, uint64_t b) { return a - b; });
  binary<uint16_t>("add.s16", [](uint16_t a, uint16_t b) { return a + b; });
  binary<uint32_t>("mul.lo.s32", [](uint32_t a, uint32_t b) { return a * b; });
  binary<uint16_t>("mul.lo.u16", [](uint32_t a, uint32_t b) { return a * b; });
  binary<int32_t>("mul.hi.s32",
                  [](int64_t a, int64_t b) { return (a * b) >> 32; });
  binary<uint32_t>("mul.hi.u32",
                   [](uint64_t a, uint64_t b) { return (a * b) >> 32; });
  binary<uint64_t>("mul.hi.u64", [](uint64_t a, uint64_t b) {
    return (uint64_t)((__uint128_t)a * b >> 64);
  });
  binary<int64_t>("mul.hi.s64", [](int64_t a, int64_t b) {
    return (int64_t)((__int128_t)a * b >> 64);
  });
  binary<int32_t>("add.sat.s32", [](int64_t a, int64_t b) {
    return std::max<int64_t>(INT32_MIN, std::min<int64_t>(INT32_MAX, a + b));
  });
  binary<int32_t>("sub.sat.s32", [](int64_t a, int64_t b) {
    return std::max<int64_t>(INT32_MIN, std::min<int64_t>(INT32_MAX, a - b));
  });
}
TEST(Integer, WideProducts) {
  std::vector<int32_t> a, b;
  pairs(a, b);
  auto d = apply<int64_t, int32_t>("mul.wide.s32 %d, %a, %b;", a, b);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(d[i], (int64_t)a[i] * b[i]);
  std::vector<uint32_t> ua(a.begin(), a.end()), ub(b.begin(), b.end());
  std::vector<uint64_t> c(a.size(), 0xffffffffffull);
  auto m = apply<uint64_t, uint32_t, uint32_t, uint64_t>(
      "mad.wide.u32 %d, %a, %b, %c;", ua, ub, c);
  auto w = apply<uint32_t, uint16_t>("mul.wide.u16 %d, %a, %b;", {65535, 300},
                                     {65535, 300});
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(m[i], (uint64_t)ua[i] * ub[i] + c[i]);
  EXPECT_EQ(w[0], 65535u * 65535u);
}
TEST(Integer, Division) {
  auto divides = [](auto a, auto b) {
    return b == 0 ? (decltype(a))-1 : a / b;
  };
  binary<uint32_t>("div.u32", divides);
  binary<uint64_t>("div.u64", divides);
  binary<int32_t>("div.s32",
                  [](int64_t a, int64_t b) { return b == 0 ? -1 : a / b; });
  binary<int64_t>("rem.s64", [](int64_t a, int64_t b) {
    return b == 0 ? a : b == -1 ? 0 : a % b;
  });
  binary<uint16_t>("rem.u16",
                   [](unsigned a, unsigned b) { return b == 0 ? a : a % b; });
}
TEST(Integer, MinMaxAbsNeg) {
  binary<int32_t>("min.s32",
                  [](int32_t a, int32_t b) { return std::min(a, b); });
  binary<uint64_t>("max.u64",
                   [](uint64_t a, uint64_t b) { return std::max(a, b); });
  binary<int16_t>("max.s16",
                  [](int16_t a, int16_t b) { return std::max(a, b); });
  unary<uint32_t>("abs.s32",
                  [](uint32_t a) { return (int32_t)a < 0 ? 0u - a : a; });
  unary<uint64_t>("neg.s64", [](uint64_t a) { return 0 - a; });
}
TEST(Integer, Logic) {
  binary<uint32_t>("and.b32", [](uint32_t a, uint32_t b) { return a & b; });
  binary<uint64_t>("or.b64", [](uint64_t a, uint64_t b) { return a | b; });
  binary<uint16_t>("xor.b16", [](uint16_t a, uint16_t b) { return a ^ b; });
  unary<uint32_t>("not.b32", [](uint32_t a) { return ~a; });
  unary<uint32_t>("cnot.b32", [](uint32_t a) { return (uint32_t)(a == 0); });
  std::vector<uint32_t> a = {0xf0f0f0f0}, b = {0xcccccccc}, c = {0xaaaaaaaa};
  EXPECT_EQ(
      (apply<uint32_t, uint32_t>("lop3.b32 %d, %a, %b, %c, 0x96;", a, b, c))[0],
      a[0] ^ b[0] ^ c[0]);
}
TEST(Integer, Shifts) {
  std::vector<uint32_t> a, n;
  for (uint32_t x : edges<uint32_t>())
    for (uint32_t s :
         {0u, 1u, 15u, 16u, 31u, 32u, 33u, 63u, 64u, 200u, 0xffffffffu})
      a.push_back(x), n.push_back(s);
  std::vector<int64_t> wide(a.begin(), a.end());
  for (auto &w : wide)
    w = w * 0x100000001ll;
  auto l = apply<uint32_t, uint32_t>("shl.b32 %d, %a, %b;", a, n),
       r = apply<uint32_t, uint32_t>("shr.u32 %d, %a, %b;", a, n);
  auto s = apply<int64_t, int64_t, uint32_t>("shr.s64 %d, %a, %b;", wide, n);
  auto f = apply<uint32_t, uint32_t>("shf.l.wrap.b32 %d, %a, %b, %c;", a, a, n);
  auto g =
      apply<uint32_t, uint32_t>("shf.r.clamp.b32 %d, %a, %b, %c;", a, n, n);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(l[i], n[i] < 32 ? a[i] << n[i] : 0);
    ASSERT_EQ(r[i], n[i] < 32 ? a[i] >> n[i] : 0);
    ASSERT_EQ(s[i], wide[i] >> std::min(n[i], 63u));
    ASSERT_EQ(f[i],
              n[i] % 32 ? a[i] << n[i] % 32 | a[i] >> (32 - n[i] % 32) : a[i]);
    ASSERT_EQ(g[i],
              (uint32_t)(((uint64_t)n[i] << 32 | a[i]) >> std::min(n[i], 32u)));
  }
}
TEST(Integer, BitFields) {
  std::vector<uint32_t> a, pos, len;
  for (uint32_t x : {0x12345678u, 0x87654321u, 0xffffffffu})
    for (uint32_t p : {0u, 3u, 16u, 31u, 32u, 40u})
      for (uint32_t l : {0u, 1u, 5u, 16u, 32u, 60u})
        a.push_back(x), pos.push_back(p), len.push_back(l);
  auto u = apply<uint32_t, uint32_t>("bfe.u32 %d, %a, %b, %c;", a, pos, len),
       s = apply<uint32_t, uint32_t>("bfe.s32 %d, %a, %b, %c;", a, pos, len);
  auto in = apply<uint32_t, uint32_t>("bfi.b32 %d, 0x0f0f0f0f, %a, %b, %c;", a,
                                      pos, len);
  for (size_t i = 0; i < a.size(); ++i) {
    // The manual's own definition, bit by bit.
    uint32_t p = pos[i], l = len[i], wantU = 0, wantS = 0, wantI = a[i];
    uint32_t sign = l ? a[i] >> std::min(p + l - 1, 31u) & 1 : 0;
    for (uint32_t k = 0; k < 32; ++k) {
      bool inside = k < l && p + k < 32;
      wantU |= (inside ? a[i] >> (p + k) & 1 : 0) << k;
      wantS |= (inside ? a[i] >> (p + k) & 1 : sign) << k;
      if (inside)
        wantI = (wantI & ~(1u << (p + k))) | (0x0f0f0f0fu >> k & 1) << (p + k);
    }
    ASSERT_EQ(u[i], wantU) << p << " " << l;
    ASSERT_EQ(s[i], wantS) << p << " " << l;
    ASSERT_EQ(in[i], wantI) << p << " " << l;
  }
}
TEST(Integer, BitCounts) {
  unary<uint32_t>("popc.b32",
                  [](uint32_t a) { return (uint32_t)__builtin_popcount(a); });
  unary<uint64_t>("popc.b64",
                  [](uint64_t a) { return (uint32_t)__builtin_popcountll(a); });
  unary<uint32_t>("clz.b32", [](uint32_t a) {
    return a ? (uint32_t)__builtin_clz(a) : 32u;
  });
  unary<uint64_t>("clz.b64", [](uint64_t a) {
    return a ? (uint32_t)__builtin_clzll(a) : 64u;
  });
  unary<uint32_t>("bfind.u32",
                  [](uint32_t a) { return a ? 31u - __builtin_clz(a) : ~0u; });
  auto reversed = [](auto a) {
    decltype(a) r = 0;
    for (unsigned i = 0; i < 8 * sizeof a; ++i)
      r |= (a >> i & 1) << (8 * sizeof a - 1 - i);
    return r;
  };
  unary<uint32_t>("brev.b32", reversed);
  unary<uint64_t>("brev.b64", reversed);
}
TEST(Integer, Permute) {
  auto d = apply<uint32_t, uint32_t>(
      "prmt.b32 %d, %a, %b, %c;", {0x33221100, 0x33221180, 0x33221100},
      {0x77665544, 0x77665544, 0x77665544}, {0x7410, 0x8888, 0x0123});
  EXPECT_EQ(d[0], 0x77441100u);
  EXPECT_EQ(d[1], 0xffffffffu); // the sign of byte 0
  EXPECT_EQ(d[2], 0x00112233u);
}
TEST(Integer, Carries) {
  std::vector<uint64_t> a, b;
  pairs(a, b);
  std::string add =
      "mov.b64 {%t0, %t1}, %a;\nmov.b64 {%t2, %t3}, %b;\nadd.cc.u32 %t4, %t0, "
      "%t2;\naddc.u32 %t5, %t1, %t3;\nmov.b64 %d, {%t4, %t5};";
  std::string sub = add;
  for (const char *op : {"add.cc", "addc.u"})
    sub.replace(sub.find(op), 3, "sub");
  auto s = apply<uint64_t, uint64_t>(add, a, b),
       d = apply<uint64_t, uint64_t>(sub, a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(s[i], a[i] + b[i]);
    ASSERT_EQ(d[i], a[i] - b[i]);
  }
}
TEST(Integer, Comparisons) {
  std::vector<int32_t> a, b;
  pairs(a, b);
  auto check = [&](const std::string &op, auto f) {
    auto d = apply<uint32_t, int32_t>(
        "setp." + op + " %p, %a, %b;\nselp.b32 %d, 1, 0, %p;", a, b);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(d[i], (uint32_t)f(a[i], b[i])) << op << a[i] << " " << b[i];
  };
  check("lt.s32", [](int a, int b) { return a < b; });
  check("lo.u32", [](int a, int b) { return (unsigned)a < (unsigned)b; });
  check("hs.u32", [](int a, int b) { return (unsigned)a >= (unsigned)b; });
  check("ne.b32", [](int a, int b) { return a != b; });
  // Joined with a predicate, its complement, and the second destination.
  auto d = apply<uint32_t, int32_t>(
      "setp.gt.s32 %q, %a, 0;\nsetp.lt.and.s32 %p|%out, %a, %b, !%q;\nselp.b32 "
      "%d, 1, 0, %p;\n@%out add.u32 %d, %d, 2;",
      a, b);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(d[i], (uint32_t)((a[i] < b[i] && a[i] <= 0) +
                               2 * (a[i] >= b[i] && a[i] <= 0)));
  auto s = apply<uint32_t, int32_t>("set.gt.u32.s32 %d, %a, %b;", a, b);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(s[i], a[i] > b[i] ? ~0u : 0u);
}
TEST(Integer, Conversions) {
  auto a = edges<int32_t>();
  auto s8 = apply<int32_t, int32_t>("cvt.s32.s8 %d, %a;", a);
  auto u16 = apply<uint64_t, int32_t>("cvt.u64.u16 %d, %a;", a);
  auto sat8 = apply<int32_t, int32_t>("cvt.sat.s8.s32 %d, %a;", a);
  auto satu = apply<uint32_t, int32_t>("cvt.sat.u16.s32 %d, %a;", a);
  auto wide = apply<int64_t, int32_t>("cvt.s64.s32 %d, %a;", a);
  auto h = apply<uint16_t, int32_t>("cvt.u16.u32 %d, %a;", a);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(s8[i], (int8_t)a[i]);
    ASSERT_EQ(u16[i], (uint16_t)a[i]);
    ASSERT_EQ(sat8[i], std::max(-128, std::min(127, a[i])));
    ASSERT_EQ(satu[i], (uint32_t)std::max(0, std::min(65535, a[i])));
    ASSERT_EQ(wide[i], a[i]);
    ASSERT_EQ(h[i], (uint16_t)a[i]);
  }
}
TEST(Integer, UnknownInstructionIsNamedWithItsLine) {
  Device dev;
  char log[1000];
  int options[] = {standin::cuda::ErrorLogBuffer, standin::cuda::ErrorLogBytes};
  void *values[] = {log, (void *)sizeof log};
  std::string ptx = header() + ".visible .entry k()\n{\n.reg .b32 "
                               "%r<4>;\nfrobnicate.u32 %r1, %r2;\nret;\n}\n";
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuModuleLoadDataEx(&dev.module, ptx.c_str(), 2, options, values),
            standin::cuda::INVALID_PTX);
  EXPECT_STREQ(log, "PTX line 7: unknown instruction frobnicate.u32: "
                    "frobnicate.u32 %r1, %r2");
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "ff-standin (not a GPU): PTX line 7"),
            std::string::npos);
}
} // namespace
