// f16 and bf16, single and in pairs. Each operation rounds once: sums and
// products of halves are computed in f32 or f64, which hold more than twice
// their bits, so that the second rounding changes nothing.
#include "tools/standin/exec/Lanes.h"

namespace standin::exec::FF_STANDIN_ISA {

using ptx::Instr;
using ptx::Type;

namespace {

struct F16 {
  static float get(uint16_t h) { return fromF16(h); }
  static uint16_t put(float f) { return toF16(f); }
  static uint16_t round(double d) {
    return (uint16_t)roundTo(d, f16Format, Round::Nearest);
  }
  static constexpr uint16_t exponent = 0x7c00;
};
struct BF16 {
  static float get(uint16_t h) { return fromBf16(h); }
  static uint16_t put(float f) { return toBf16(f); }
  static uint16_t round(double d) {
    return (uint16_t)roundTo(d, bf16Format, Round::Nearest);
  }
  static constexpr uint16_t exponent = 0x7f80;
};

enum Flags { Ftz = 1, Sat = 2, Relu = 4, Nan = 8 };
template <class H> inline float fetch(uint16_t h, uint32_t x) {
  return H::get((x & Ftz) && !(h & H::exponent) ? (uint16_t)(h & 0x8000) : h);
}
template <class H> inline uint16_t finish(uint16_t h, uint32_t x) {
  bool nan = (h & 0x7fff) > H::exponent;
  if (nan)
    h = 0x7fff;
  if ((x & Ftz) && !(h & H::exponent))
    h &= 0x8000;
  if (x & Sat)
    h = nan ? 0 : H::put(saturate(H::get(h)));
  if ((x & Relu) && !nan && (h & 0x8000))
    h = 0;
  return h;
}
inline float minOf(float a, float b, bool nan) {
  if (a != a || b != b)
    return nan ? NAN : a != a ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
inline float maxOf(float a, float b, bool nan) {
  if (a != a || b != b)
    return nan ? NAN : a != a ? b : a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
enum Kind { Add, Sub, Mul, Fma, Min, Max, Neg, Abs, Ex2, Tanh };
template <class H, int kind>
inline uint16_t one(uint16_t a, uint16_t b, uint16_t c, uint32_t x) {
  if (kind == Neg || kind == Abs) {
    uint16_t r = kind == Neg ? a ^ 0x8000 : a & 0x7fff;
    return finish<H>(r, x);
  }
  float p = fetch<H>(a, x), q = fetch<H>(b, x), s = fetch<H>(c, x);
  switch (kind) {
  case Add:
    return finish<H>(H::put(p + q), x);
  case Sub:
    return finish<H>(H::put(p - q), x);
  case Mul:
    return finish<H>(H::put(p * q), x);
  case Fma:
    return finish<H>(H::round((double)p * q + s), x);
  case Min:
    return finish<H>(H::put(minOf(p, q, x & Nan)), x);
  case Max:
    return finish<H>(H::put(maxOf(p, q, x & Nan)), x);
  case Ex2:
    return finish<H>(H::round(std::exp2((double)p)), x);
  default:
    return finish<H>(H::round(std::tanh((double)p)), x);
  }
}
template <class H, int kind, bool pair>
void run(Warp &w, const Op &o, uint32_t m) {
  uint32_t x = o.x;
  if (pair)
    map3<uint32_t, uint32_t, uint32_t, uint32_t>(
        w, o, m, [x](uint32_t a, uint32_t b, uint32_t c) {
          uint32_t low = one<H, kind>((uint16_t)a, (uint16_t)b, (uint16_t)c, x);
          uint32_t high = one<H, kind>((uint16_t)(a >> 16), (uint16_t)(b >> 16),
                                       (uint16_t)(c >> 16), x);
          return high << 16 | low;
        });
  else
    map3<uint16_t, uint16_t, uint16_t, uint16_t>(
        w, o, m, [x](uint16_t a, uint16_t b, uint16_t c) {
          return one<H, kind>(a, b, c, x);
        });
}
template <class H, bool pair> Handler pick(const std::string &op) {
  return op == "add"    ? run<H, Add, pair>
         : op == "sub"  ? run<H, Sub, pair>
         : op == "mul"  ? run<H, Mul, pair>
         : op == "fma"  ? run<H, Fma, pair>
         : op == "min"  ? run<H, Min, pair>
         : op == "max"  ? run<H, Max, pair>
         : op == "neg"  ? run<H, Neg, pair>
         : op == "abs"  ? run<H, Abs, pair>
         : op == "ex2"  ? run<H, Ex2, pair>
         : op == "tanh" ? run<H, Tanh, pair>
                        : (Handler) nullptr;
}

// setp of halves: x holds the comparison below the flags of OpsInteger's
// combine.
template <class H, bool pair>
void compareHalf(Warp &w, const Op &o, uint32_t m) {
  uint32_t lowBits = 0, highBits = 0;
  uint32_t kind = o.x >> 8;
  bool unordered = kind & 8;
  auto cmp = [&](uint16_t x, uint16_t y) {
    float a = fetch<H>(x, o.x & 8 ? Ftz : 0),
          b = fetch<H>(y, o.x & 8 ? Ftz : 0);
    bool nan = a != a || b != b;
    if (nan)
      return unordered;
    switch (kind & 7) {
    case 0:
      return a == b;
    case 1:
      return a != b;
    case 2:
      return a < b;
    case 3:
      return a <= b;
    case 4:
      return a > b;
    case 5:
      return a >= b;
    default:
      return !(kind & 8); // num, nan
    }
  };
  for (unsigned i = 0; i < 32; ++i) {
    if (pair) {
      uint32_t a = w.reg<uint32_t>(o.a)[i], b = w.reg<uint32_t>(o.b)[i];
      lowBits |= (uint32_t)cmp((uint16_t)a, (uint16_t)b) << i;
      highBits |= (uint32_t)cmp((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << i;
    } else {
      lowBits |= (uint32_t)cmp(w.reg<uint16_t>(o.a)[i], w.reg<uint16_t>(o.b)[i])
                 << i;
      highBits = ~lowBits;
    }
  }
  auto combine = [&](uint32_t r) {
    if (o.x & 3) {
      uint32_t p = *w.reg<uint32_t>(o.c);
      p = o.x & 4 ? ~p : p;
      r = (o.x & 3) == 1 ? r & p : (o.x & 3) == 2 ? r | p : r ^ p;
    }
    return r;
  };
  uint32_t first = combine(lowBits), second = combine(highBits);
  setPred(w, o.d, m, first);
  if (o.imm >= 0)
    setPred(w, (uint32_t)o.imm, m, second);
}
} // namespace

Pick half(const Instr &in) {
  const std::string &op = in.op[0];
  Type t = lastType(in);
  bool isHalf = t == Type::F16 || t == Type::BF16,
       isPair = t == Type::F16X2 || t == Type::BF16X2;
  if (!isHalf && !isPair)
    return {};
  bool b = t == Type::BF16 || t == Type::BF16X2;
  if (op == "setp") {
    static const char *names[] = {"eq", "ne", "lt",  "le",
                                  "gt", "ge", "num", "nan"};
    std::string c;
    for (size_t i = 1; i < in.op.size() && c.empty(); ++i)
      if (in.op[i] != "ftz")
        c = in.op[i];
    uint32_t kind = none;
    for (uint32_t i = 0; i < 8; ++i)
      if (c == names[i])
        kind = i == 7 ? 6 | 8 : i;
      else if (i < 6 && c == std::string(names[i]) + "u")
        kind = i | 8;
    if (kind == none)
      return {};
    uint32_t x = in.has("and") ? 1 : in.has("or") ? 2 : in.has("xor") ? 3 : 0;
    x |= (in.args.size() > 3 && in.args[3].negated ? 4 : 0) |
         (in.has("ftz") ? 8 : 0) | kind << 8;
    Handler h = isPair
                    ? (b ? compareHalf<BF16, true> : compareHalf<F16, true>)
                    : (b ? compareHalf<BF16, false> : compareHalf<F16, false>);
    return {h, Type::Pred, t, t, Type::Pred, x};
  }
  if (roundOf(in) != Round::Nearest || in.has("xorsign") ||
      (op[0] == 'm' && op != "mul" && in.args.size() > 3))
    return {};
  Handler h = isPair ? (b ? pick<BF16, true>(op) : pick<F16, true>(op))
                     : (b ? pick<BF16, false>(op) : pick<F16, false>(op));
  uint32_t x = (in.has("ftz") ? Ftz : 0) | (in.has("sat") ? Sat : 0) |
               (in.has("relu") ? Relu : 0) | (in.has("NaN") ? Nan : 0);
  return {h, t, t, t, t, x};
}

} // namespace standin::exec::FF_STANDIN_ISA
