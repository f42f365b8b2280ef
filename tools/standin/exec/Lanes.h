// Loops over the 32 lanes of a warp, in a form that the host compiler
// vectorises, for the families of handlers.
#ifndef FF_STANDIN_EXEC_LANES_H
#define FF_STANDIN_EXEC_LANES_H

#include "tools/standin/exec/Machine.h"

#include <cmath>
#include <cstring>

// Each file of handlers is compiled twice, each time into its own namespace.
#ifndef FF_STANDIN_ISA
#define FF_STANDIN_ISA baseline
#endif

#ifdef __clang__
#define FF_LANES                                                               \
  _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < 32;  \
                                                      ++i)
#else
#define FF_LANES _Pragma("GCC ivdep") for (unsigned i = 0; i < 32; ++i)
#endif

namespace standin::exec::FF_STANDIN_ISA {

// d[i] = f(a[i]...) in the active lanes. Registers are distinct or the same: no
// partial overlap.
template <class D, class A, class F>
inline void map1(Warp &w, const Op &o, uint32_t mask, F f) {
  D *d = w.reg<D>(o.d);
  const A *a = w.reg<A>(o.a);
  if (mask == ~0u)
    FF_LANES d[i] = f(a[i]);
  else
    FF_LANES d[i] = (mask >> i & 1) ? f(a[i]) : d[i];
}
template <class D, class A, class B, class F>
inline void map2(Warp &w, const Op &o, uint32_t mask, F f) {
  D *d = w.reg<D>(o.d);
  const A *a = w.reg<A>(o.a);
  const B *b = w.reg<B>(o.b);
  if (mask == ~0u)
    FF_LANES d[i] = f(a[i], b[i]);
  else
    FF_LANES d[i] = (mask >> i & 1) ? f(a[i], b[i]) : d[i];
}
template <class D, class A, class B, class C, class F>
inline void map3(Warp &w, const Op &o, uint32_t mask, F f) {
  D *d = w.reg<D>(o.d);
  const A *a = w.reg<A>(o.a);
  const B *b = w.reg<B>(o.b);
  const C *c = w.reg<C>(o.c);
  if (mask == ~0u)
    FF_LANES d[i] = f(a[i], b[i], c[i]);
  else
    FF_LANES d[i] = (mask >> i & 1) ? f(a[i], b[i], c[i]) : d[i];
}

inline void setPred(Warp &w, uint32_t at, uint32_t mask, uint32_t value) {
  uint32_t *p = w.reg<uint32_t>(at);
  *p = (*p & ~mask) | (value & mask);
}

inline float bitsToFloat(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
inline uint32_t floatToBits(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
inline double bitsToDouble(uint64_t u) {
  double f;
  memcpy(&f, &u, 8);
  return f;
}
inline uint64_t doubleToBits(double f) {
  uint64_t u;
  memcpy(&u, &f, 8);
  return u;
}

enum class Round : uint8_t {
  Nearest,
  Zero,
  Down,
  Up,
  Away
}; // Away: to nearest, ties away from zero
struct Format {
  int mantissa, exponent; // bits, the mantissa with the hidden one
};
constexpr Format f16Format{11, 5}, bf16Format{8, 8}, f32Format{24, 8},
    f64Format{53, 11};

// The number (-1)^negative * m * 2^e, m with a sticky lowest bit where it was
// cut, rounded once to a format: its bits.
inline uint64_t pack(bool negative, uint64_t m, int e, Format f, Round mode,
                     bool saturateFinite = false) {
  int bias = (1 << (f.exponent - 1)) - 1, total = f.mantissa + f.exponent;
  uint64_t sign = (uint64_t)negative << (total - 1);
  if (!m)
    return sign;
  int lead = 63 - __builtin_clzll(m);
  int exponent = e + lead; // of the leading one
  int lowest = std::max(exponent, 1 - bias) -
               (f.mantissa - 1); // weight of the last kept bit
  int shift = lowest - e;
  uint64_t kept, rest = 0, half = 0;
  if (shift <= 0) {
    kept = m << -shift;
  } else if (shift > 64) {
    kept = 0, rest = 1, half = 2;
  } else if (shift == 64) {
    kept = 0, rest = m, half = 1ull << 63;
  } else {
    kept = m >> shift, rest = m & ((1ull << shift) - 1),
    half = 1ull << (shift - 1);
  }
  bool up = false;
  switch (mode) {
  case Round::Nearest:
    up = half && (rest > half || (rest == half && (kept & 1)));
    break;
  case Round::Away:
    up = half && rest >= half;
    break;
  case Round::Zero:
    break;
  case Round::Down:
    up = rest && negative;
    break;
  case Round::Up:
    up = rest && !negative;
    break;
  }
  kept += up;
  // kept has at most f.mantissa bits, or is one more than fits: the encoding
  // carries into the exponent by itself.
  int64_t field = (int64_t)lowest + (f.mantissa - 1) +
                  bias; // exponent field when kept has its hidden one
  uint64_t hidden = 1ull << (f.mantissa - 1);
  uint64_t bits =
      kept < hidden ? kept : kept + ((uint64_t)(field - 1) << (f.mantissa - 1));
  uint64_t infinity = ((1ull << f.exponent) - 1) << (f.mantissa - 1);
  if (bits >= infinity || field >= (1 << f.exponent)) {
    bool toMax = saturateFinite || mode == Round::Zero ||
                 (mode == Round::Down && !negative) ||
                 (mode == Round::Up && negative);
    bits = toMax ? infinity - 1 : infinity;
  }
  return sign | bits;
}
// A double, exact: false for NaN and infinity.
inline bool unpack(double x, bool &negative, uint64_t &m, int &e) {
  uint64_t u = doubleToBits(x);
  negative = u >> 63;
  int field = (int)(u >> 52 & 0x7ff);
  m = u & ((1ull << 52) - 1);
  if (field == 0x7ff)
    return false;
  e = field ? field - 1075 : -1074;
  if (field)
    m |= 1ull << 52;
  return true;
}
// NaNs become the canonical ones of the hardware: all mantissa bits set,
// positive.
inline uint64_t roundTo(double x, Format f, Round mode,
                        bool saturateFinite = false) {
  bool negative;
  uint64_t m;
  int e;
  if (unpack(x, negative, m, e))
    return pack(negative, m, e, f, mode, saturateFinite);
  int total = f.mantissa + f.exponent;
  if (std::isnan(x))
    return (1ull << (total - 1)) - 1;
  uint64_t infinity = ((1ull << f.exponent) - 1) << (f.mantissa - 1);
  return ((uint64_t)negative << (total - 1)) |
         (saturateFinite ? infinity - 1 : infinity);
}

inline float fromBf16(uint16_t h) { return bitsToFloat((uint32_t)h << 16); }
inline uint16_t toBf16(float f) {
  uint32_t u = floatToBits(f);
  uint32_t r = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  return (u & 0x7fffffff) > 0x7f800000 ? 0x7fff : (uint16_t)r;
}
inline float fromF16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
  // Scaling by 2^112 moves the exponent's bias; it is exact, for subnormals
  // too.
  float f = bitsToFloat(rest << 13) * bitsToFloat(0x77800000);
  uint32_t u = rest >= 0x7c00 ? 0x7f800000 | rest << 13 : floatToBits(f);
  return bitsToFloat(u | sign);
}
inline uint16_t toF16(float f) {
  return (uint16_t)roundTo(f, f16Format, Round::Nearest);
}

inline float flush(float x) {
  return (floatToBits(x) & 0x7f800000)
             ? x
             : bitsToFloat(floatToBits(x) & 0x80000000);
}
inline float canonical(float x) { return x != x ? bitsToFloat(0x7fffffff) : x; }
inline float saturate(float x) {
  return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
} // NaN becomes +0

inline Round roundOf(const ptx::Instr &in) {
  if (in.has("rz"))
    return Round::Zero;
  if (in.has("rm"))
    return Round::Down;
  if (in.has("rp"))
    return Round::Up;
  return in.has("rna") ? Round::Away : Round::Nearest;
}
inline ptx::Type lastType(const ptx::Instr &in) {
  for (size_t i = in.op.size(); i-- > 1;)
    if (auto t = ptx::typeOf(in.op[i]); t != ptx::Type::None)
      return t;
  return ptx::Type::None;
}
Pick integer(const ptx::Instr &in);
Pick compare(const ptx::Instr &in);
Pick floating(const ptx::Instr &in);
Pick half(const ptx::Instr &in);
Pick convert(const ptx::Instr &in, ptx::Type dReg, ptx::Type aReg);
Handler load(ptx::Type memory, unsigned regBytes);
Handler store(unsigned memoryBytes, unsigned regBytes);
Handler atomic(const std::string &op, ptx::Type type);
Pick warp(const ptx::Instr &in);
Handler matrix(const ptx::Instr &in);
Handler misc(const char *name);

} // namespace standin::exec::FF_STANDIN_ISA

#endif
