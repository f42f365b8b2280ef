// f32 and f64 arithmetic. The approximations (.approx) are the correctly
// rounded results, which lie within the manual's bounds.
#include "tools/standin/exec/Lanes.h"

#include <cfenv>

namespace standin::exec::FF_STANDIN_ISA {

using ptx::Instr;
using ptx::Type;

namespace {

template <bool ftz> inline float in1(float x) { return ftz ? flush(x) : x; }
template <bool ftz, bool sat> inline float out1(float r) {
  r = ftz ? flush(r) : r;
  return sat ? saturate(r) : canonical(r);
}

template <class F> struct Un { // an operation on one float
  template <bool ftz, bool sat>
  static void run(Warp &w, const Op &o, uint32_t m) {
    map1<float, float>(
        w, o, m, [](float a) { return out1<ftz, sat>(F::f(in1<ftz>(a))); });
  }
};
template <class F> struct Bin {
  template <bool ftz, bool sat>
  static void run(Warp &w, const Op &o, uint32_t m) {
    map2<float, float, float>(w, o, m, [](float a, float b) {
      return out1<ftz, sat>(F::f(in1<ftz>(a), in1<ftz>(b)));
    });
  }
};
template <class F> struct Tri {
  template <bool ftz, bool sat>
  static void run(Warp &w, const Op &o, uint32_t m) {
    map3<float, float, float, float>(w, o, m, [](float a, float b, float c) {
      return out1<ftz, sat>(F::f(in1<ftz>(a), in1<ftz>(b), in1<ftz>(c)));
    });
  }
};
template <class K> Handler variant(const Instr &in) {
  bool ftz = in.has("ftz"), sat = in.has("sat");
  return ftz ? (sat ? K::template run<true, true>
                    : K::template run<true, false>)
             : (sat ? K::template run<false, true>
                    : K::template run<false, false>);
}

struct Add {
  template <class T> static T f(T a, T b) { return a + b; }
};
struct Sub {
  template <class T> static T f(T a, T b) { return a - b; }
};
struct Mul {
  template <class T> static T f(T a, T b) { return a * b; }
};
struct Div {
  template <class T> static T f(T a, T b) { return a / b; }
};
#ifdef __FMA__
struct Fma {
  static float f(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double f(double a, double b, double c) {
    return __builtin_fma(a, b, c);
  }
};
#else
struct Fma {
  static float f(float a, float b, float c) { return std::fma(a, b, c); }
  static double f(double a, double b, double c) { return std::fma(a, b, c); }
};
#endif
struct Sqrt {
  template <class T> static T f(T a) { return std::sqrt(a); }
};
struct Rcp {
  template <class T> static T f(T a) { return 1 / a; }
};
struct Rsqrt {
  static float f(float a) { return (float)(1 / std::sqrt((double)a)); }
  static double f(double a) { return 1 / std::sqrt(a); }
};
struct Ex2 {
  static float f(float a) { return (float)std::exp2((double)a); }
};
struct Lg2 {
  static float f(float a) { return (float)std::log2((double)a); }
};
struct Sin {
  static float f(float a) { return (float)std::sin((double)a); }
};
struct Cos {
  static float f(float a) { return (float)std::cos((double)a); }
};
struct Tanh {
  static float f(float a) { return (float)std::tanh((double)a); }
};
// One NaN gives the other operand; -0 is below +0.
struct Min {
  template <class T> static T f(T a, T b) {
    return a != a                                 ? b
           : b != b                               ? a
           : a < b || (a == b && std::signbit(a)) ? a
                                                  : b;
  }
};
struct Max {
  template <class T> static T f(T a, T b) {
    return a != a                                  ? b
           : b != b                                ? a
           : a > b || (a == b && !std::signbit(a)) ? a
                                                   : b;
  }
};
struct MinNan {
  template <class T> static T f(T a, T b) {
    return a != a ? a : b != b ? b : Min::f(a, b);
  }
};
struct MaxNan {
  template <class T> static T f(T a, T b) {
    return a != a ? a : b != b ? b : Max::f(a, b);
  }
};

// Directed rounding: through the host's rounding mode, one lane at a time, out
// of the optimiser's sight.
template <class T>
__attribute__((noinline)) T directed(int kind, T a, T b, T c, int mode) {
  volatile T x = a, y = b, z = c, r;
  int old = fegetround();
  fesetround(mode);
  T p = x, q = y, s = z;
  switch (kind) {
  case 0:
    r = p + q;
    break;
  case 1:
    r = p - q;
    break;
  case 2:
    r = p * q;
    break;
  case 3:
    r = p / q;
    break;
  case 4:
    r = std::fma(p, q, s);
    break;
  case 5:
    r = std::sqrt(p);
    break;
  default:
    r = 1 / p;
    break;
  }
  fesetround(old);
  return r;
}
// x: kind | mode << 4 | ftz << 8 | sat << 9
template <class T> void directedRun(Warp &w, const Op &o, uint32_t m) {
  T *d = w.reg<T>(o.d);
  const T *a = w.reg<T>(o.a), *b = w.reg<T>(o.b), *c = w.reg<T>(o.c);
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                              FE_UPWARD};
  bool ftz = o.x >> 8 & 1, sat = o.x >> 9 & 1;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    T x = a[i], y = b[i], z = c[i];
    if constexpr (sizeof(T) == 4)
      if (ftz)
        x = flush(x), y = flush(y), z = flush(z);
    T r = directed<T>(o.x & 15, x, y, z, modes[o.x >> 4 & 15]);
    if constexpr (sizeof(T) == 4) {
      r = ftz ? flush(r) : r;
      r = sat ? saturate(r) : canonical(r);
    }
    d[i] = r;
  }
}

template <class F> void double1(Warp &w, const Op &o, uint32_t m) {
  map1<double, double>(w, o, m, [](double a) { return F::f(a); });
}
template <class F> void double2(Warp &w, const Op &o, uint32_t m) {
  map2<double, double, double>(w, o, m,
                               [](double a, double b) { return F::f(a, b); });
}

template <class T, bool isAbs> void sign(Warp &w, const Op &o, uint32_t m) {
  constexpr T top = (T)1 << (8 * sizeof(T) - 1);
  bool ftz = o.x & 1;
  map1<T, T>(w, o, m, [ftz](T a) {
    if (sizeof(T) == 4 && ftz)
      a = (a & (T)0x7f800000) ? a : (T)(a & top);
    T r = isAbs ? (T)(a & ~top) : (T)(a ^ top);
    bool nan = sizeof(T) == 4 && (r & 0x7fffffff) > 0x7f800000;
    return nan ? (T)0x7fffffff : r;
  });
}
template <class T> void copysign(Warp &w, const Op &o, uint32_t m) {
  constexpr T top = (T)1 << (8 * sizeof(T) - 1);
  map2<T, T, T>(w, o, m, [](T a, T b) { return (T)((a & top) | (b & ~top)); });
}
enum TestKind { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
template <class T> void testp(Warp &w, const Op &o, uint32_t m) {
  const T *a = w.reg<T>(o.a);
  uint32_t r = 0;
  for (unsigned i = 0; i < 32; ++i) {
    int c = std::fpclassify(a[i]);
    bool v = o.x == Finite       ? std::isfinite(a[i])
             : o.x == Infinite   ? c == FP_INFINITE
             : o.x == Number     ? c != FP_NAN
             : o.x == NotANumber ? c == FP_NAN
             : o.x == Normal     ? c == FP_NORMAL
                                 : c == FP_SUBNORMAL;
    r |= (uint32_t)v << i;
  }
  setPred(w, o.d, m, r);
}
// f64 approximations keep the upper 32 bits alone.
template <class F> void doubleApprox(Warp &w, const Op &o, uint32_t m) {
  map1<double, double>(w, o, m, [](double a) {
    a = bitsToDouble(doubleToBits(a) & 0xffffffff00000000ull);
    return bitsToDouble(doubleToBits(F::f(a)) & 0xffffffff00000000ull);
  });
}
} // namespace

Pick floating(const Instr &in) {
  const std::string &op = in.op[0];
  Type t = lastType(in);
  if (t != Type::F32 && t != Type::F64)
    return {};
  bool isDouble = t == Type::F64;
  Pick p{nullptr, t, t, t, t, 0};
  if (op == "testp") {
    static const char *kinds[] = {"finite",     "infinite", "number",
                                  "notanumber", "normal",   "subnormal"};
    for (uint32_t i = 0; i < 6; ++i)
      if (in.has(kinds[i]))
        p.x = i;
    p.d = Type::Pred;
    p.run = isDouble ? testp<double> : testp<float>;
    return p;
  }
  if (op == "copysign") {
    p.run = isDouble ? copysign<uint64_t> : copysign<uint32_t>;
    return p;
  }
  if (op == "abs" || op == "neg") {
    bool isAbs = op == "abs";
    p.x = in.has("ftz");
    p.run = isDouble ? (isAbs ? sign<uint64_t, true> : sign<uint64_t, false>)
                     : (isAbs ? sign<uint32_t, true> : sign<uint32_t, false>);
    return p;
  }
  static const char *kinds[] = {"add", "sub",  "mul", "div",
                                "fma", "sqrt", "rcp"};
  for (uint32_t k = 0; k < 7; ++k) {
    if (op != kinds[k] && !(k == 4 && op == "mad"))
      continue;
    Round mode = roundOf(in);
    if (mode != Round::Nearest) {
      p.x = k | (uint32_t)mode << 4 | (uint32_t)in.has("ftz") << 8 |
            (uint32_t)in.has("sat") << 9;
      p.run = isDouble ? directedRun<double> : directedRun<float>;
      return p;
    }
  }
  if (isDouble) {
    p.run = op == "add"                       ? double2<Add>
            : op == "sub"                     ? double2<Sub>
            : op == "mul"                     ? double2<Mul>
            : op == "div"                     ? double2<Div>
            : op == "min"                     ? double2<Min>
            : op == "max"                     ? double2<Max>
            : op == "sqrt"                    ? double1<Sqrt>
            : op == "rcp" && in.has("approx") ? doubleApprox<Rcp>
            : op == "rcp"                     ? double1<Rcp>
            : op == "rsqrt"                   ? doubleApprox<Rsqrt>
                                              : op == "fma" || op == "mad"
                ? (Handler)[](Warp & w, const Op &o, uint32_t m) {
      map3<double, double, double, double>(
          w, o, m,
          [](double a, double b, double c) { return Fma::f(a, b, c); });
    }
                : (Handler) nullptr;
                return p;
  }
  bool nan = in.has("NaN");
  if (in.has("xorsign"))
    return {};
  p.run =
      op == "add"                  ? variant<Bin<Add>>(in)
      : op == "sub"                ? variant<Bin<Sub>>(in)
      : op == "mul"                ? variant<Bin<Mul>>(in)
      : op == "div"                ? variant<Bin<Div>>(in)
      : op == "fma" || op == "mad" ? variant<Tri<Fma>>(in)
      : op == "min"   ? (nan ? variant<Bin<MinNan>>(in) : variant<Bin<Min>>(in))
      : op == "max"   ? (nan ? variant<Bin<MaxNan>>(in) : variant<Bin<Max>>(in))
      : op == "sqrt"  ? variant<Un<Sqrt>>(in)
      : op == "rsqrt" ? variant<Un<Rsqrt>>(in)
      : op == "rcp"   ? variant<Un<Rcp>>(in)
      : op == "ex2"   ? variant<Un<Ex2>>(in)
      : op == "lg2"   ? variant<Un<Lg2>>(in)
      : op == "sin"   ? variant<Un<Sin>>(in)
      : op == "cos"   ? variant<Un<Cos>>(in)
      : op == "tanh"  ? variant<Un<Tanh>>(in)
                      : (Handler) nullptr;
  // min and max with three sources exist from sm_100 on.
  if ((op == "min" || op == "max") && in.args.size() > 3)
    p.run = nullptr;
  return p;
}

} // namespace standin::exec::FF_STANDIN_ISA
