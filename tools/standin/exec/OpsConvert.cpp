// cvt between all types, with every rounding. Common pairs run vectorised; the
// rest convert one lane at a time, exactly.
#include "tools/standin/exec/Lanes.h"

#include <limits>

namespace standin::exec::FF_STANDIN_ISA {

using ptx::Instr;
using ptx::Type;

namespace {

enum class Integral : uint8_t { No, Nearest, Zero, Down, Up };
struct Conversion { // packed into Op::x
  Type d, a;
  Round round;
  Integral integral;
  bool ftz, sat, relu, finite;
};
uint32_t packed(const Conversion &c) {
  return (uint32_t)c.d | (uint32_t)c.a << 5 | (uint32_t)c.round << 10 |
         (uint32_t)c.integral << 13 | (uint32_t)c.ftz << 16 |
         (uint32_t)c.sat << 17 | (uint32_t)c.relu << 18 |
         (uint32_t)c.finite << 19;
}
Conversion unpacked(uint32_t x) {
  return {(Type)(x & 31),          (Type)(x >> 5 & 31), (Round)(x >> 10 & 7),
          (Integral)(x >> 13 & 7), (bool)(x >> 16 & 1), (bool)(x >> 17 & 1),
          (bool)(x >> 18 & 1),     (bool)(x >> 19 & 1)};
}

double toIntegral(double v, Integral mode) {
  switch (mode) {
  case Integral::Nearest:
    return std::nearbyint(v);
  case Integral::Zero:
    return std::trunc(v);
  case Integral::Down:
    return std::floor(v);
  case Integral::Up:
    return std::ceil(v);
  default:
    return v;
  }
}
double floatValue(uint64_t bits, Type t) {
  switch (t) {
  case Type::F16:
    return fromF16((uint16_t)bits);
  case Type::BF16:
    return fromBf16((uint16_t)bits);
  case Type::F64:
    return bitsToDouble(bits);
  default:
    return bitsToFloat((uint32_t)bits);
  }
}
Format formatOf(Type t) {
  return t == Type::F16    ? f16Format
         : t == Type::BF16 ? bf16Format
         : t == Type::F64  ? f64Format
                           : f32Format;
}
// Source bits, extended to 64, to bits of the destination, extended likewise.
uint64_t convertOne(uint64_t bits, const Conversion &c) {
  unsigned dBits = 8 * ptx::bytesOf(c.d);
  bool dFloat = ptx::isFloat(c.d), aFloat = ptx::isFloat(c.a),
       dSigned = ptx::isSigned(c.d), aSigned = ptx::isSigned(c.a);
  if (!aFloat && !dFloat) {
    if (!c.sat)
      return bits;
    __int128 v = aSigned ? (__int128)(int64_t)bits : (__int128)bits;
    __int128 high =
        dSigned ? ((__int128)1 << (dBits - 1)) - 1 : ((__int128)1 << dBits) - 1;
    __int128 low = dSigned ? -((__int128)1 << (dBits - 1)) : 0;
    return (uint64_t)std::max(low, std::min(high, v));
  }
  if (!aFloat) {
    bool negative = aSigned && (int64_t)bits < 0;
    uint64_t r =
        pack(negative, negative ? 0 - bits : bits, 0, formatOf(c.d), c.round);
    if (c.sat) {
      double v = floatValue(r, c.d);
      r = roundTo(v > 1 ? 1 : v > 0 ? v : 0, formatOf(c.d), Round::Nearest);
    }
    return r;
  }
  double v = floatValue(bits, c.a);
  if (c.ftz && c.a == Type::F32)
    v = flush((float)v);
  if (!dFloat) {
    if (v != v) // The manual: zero from f16, bf16, f32 to at most 32 bits, else
                // the top bit alone.
      return c.a != Type::F64 && dBits < 64 ? 0 : 1ull << (dBits - 1);
    v = toIntegral(v, c.integral == Integral::No ? Integral::Zero : c.integral);
    double high = std::ldexp(1.0, (int)dBits - dSigned),
           low = dSigned ? -high : 0;
    if (v >= high)
      return dSigned ? (1ull << (dBits - 1)) - 1
                     : (dBits == 64 ? ~0ull : (1ull << dBits) - 1);
    if (v <= low)
      return (uint64_t)(int64_t)low;
    return dSigned ? (uint64_t)(int64_t)v : (uint64_t)v;
  }
  if (c.integral != Integral::No)
    v = toIntegral(v, c.integral);
  if (c.d == Type::TF32) {
    uint64_t r = roundTo(v, {11, 8}, c.round, c.finite);
    if (c.relu && (r >> 18 & 1) && v == v)
      r = 0;
    return v != v ? 0x7fffffff : r << 13;
  }
  // The same format again, without a rounding: NaN is made canonical, as by the
  // rest.
  uint64_t r = roundTo(v, formatOf(c.d), c.round, c.finite && v == v);
  if (c.finite && v != v)
    r = (1ull << (dBits - 1)) - 1;
  if (c.ftz && c.d == Type::F32)
    r = floatToBits(flush(bitsToFloat((uint32_t)r)));
  if (c.sat)
    r = v != v ? 0
               : roundTo(std::max(0.0, std::min(1.0, floatValue(r, c.d))),
                         formatOf(c.d), Round::Nearest) &
                     ~(1ull << (dBits - 1));
  if (c.relu && v == v && (r >> (dBits - 1) & 1))
    r = 0;
  return r;
}

uint64_t readLane(Warp &w, uint32_t at, unsigned regBytes, Type t, unsigned i) {
  uint64_t v = regBytes == 2   ? w.reg<uint16_t>(at)[i]
               : regBytes == 4 ? w.reg<uint32_t>(at)[i]
                               : w.reg<uint64_t>(at)[i];
  unsigned shift = 64 - 8 * ptx::bytesOf(t);
  return ptx::isSigned(t) ? (uint64_t)((int64_t)(v << shift) >> shift)
                          : v << shift >> shift;
}
// size: bytes of the destination register; n: of the source's.
void general(Warp &w, const Op &o, uint32_t m) {
  Conversion c = unpacked(o.x);
  unsigned shift = 64 - 8 * ptx::bytesOf(c.d);
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    uint64_t r = convertOne(readLane(w, o.a, o.n, c.a, i), c);
    // A wider register takes the value extended as its type says.
    r = ptx::isSigned(c.d) ? (uint64_t)((int64_t)(r << shift) >> shift)
                           : r << shift >> shift;
    if (o.size == 2)
      w.reg<uint16_t>(o.d)[i] = (uint16_t)r;
    else if (o.size == 4)
      w.reg<uint32_t>(o.d)[i] = (uint32_t)r;
    else
      w.reg<uint64_t>(o.d)[i] = r;
  }
}
// Two f32 into a pair: a is the upper half.
void generalPair(Warp &w, const Op &o, uint32_t m) {
  Conversion c = unpacked(o.x);
  const uint32_t *a = w.reg<uint32_t>(o.a), *b = w.reg<uint32_t>(o.b);
  uint32_t *d = w.reg<uint32_t>(o.d);
  bool plain =
      c.d == Type::BF16 && c.round == Round::Nearest && !c.relu && !c.finite;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    uint32_t high =
        plain ? toBf16(bitsToFloat(a[i])) : (uint32_t)convertOne(a[i], c);
    uint32_t low =
        plain ? toBf16(bitsToFloat(b[i])) : (uint32_t)convertOne(b[i], c);
    d[i] = high << 16 | low;
  }
}

template <class D, class S> void cast(Warp &w, const Op &o, uint32_t m) {
  map1<D, S>(w, o, m, [](S a) { return (D)a; });
}
template <class S> Handler fastIntegers(Type d, unsigned dReg) {
  switch (d) {
  case Type::U32:
  case Type::S32:
  case Type::B32:
    return dReg == 4 ? cast<uint32_t, S> : (Handler) nullptr;
  case Type::U64:
  case Type::S64:
  case Type::B64:
    return dReg == 8 ? cast<uint64_t, S> : (Handler) nullptr;
  case Type::U16:
  case Type::S16:
  case Type::B16:
    return dReg == 2 ? cast<uint16_t, S> : (Handler) nullptr;
  default:
    return nullptr;
  }
}
} // namespace

Pick convert(const Instr &in, Type dReg, Type aReg) {
  if (in.op[0] != "cvt")
    return {};
  std::vector<Type> types;
  for (size_t i = 1; i < in.op.size(); ++i)
    if (Type t = ptx::typeOf(in.op[i]); t != Type::None)
      types.push_back(t);
  if (types.size() != 2 || in.has("pack"))
    return {};
  Conversion c{types[0],       types[1],           roundOf(in),
               Integral::No,   in.has("ftz"),      in.has("sat"),
               in.has("relu"), in.has("satfinite")};
  c.integral = in.has("rni")   ? Integral::Nearest
               : in.has("rzi") ? Integral::Zero
               : in.has("rmi") ? Integral::Down
               : in.has("rpi") ? Integral::Up
                               : Integral::No;
  Type d = types[0], a = types[1];
  if (d == Type::F16X2 || d == Type::BF16X2) {
    if (a != Type::F32)
      return {};
    c.d = d == Type::F16X2 ? Type::F16 : Type::BF16;
    return {generalPair, Type::B32,  Type::B32,
            Type::B32,   Type::None, packed(c)};
  }
  if (a == Type::F16X2 || a == Type::BF16X2 || a == Type::TF32)
    return {};
  unsigned dBytes = ptx::bytesOf(dReg), aBytes = ptx::bytesOf(aReg);
  Handler h = nullptr;
  bool plain = !c.sat && !c.ftz && !c.relu && !c.finite;
  bool sameReg = ptx::bytesOf(a) == aBytes;
  if (plain && sameReg && !ptx::isFloat(d) && !ptx::isFloat(a)) {
    h = a == Type::S16                     ? fastIntegers<int16_t>(d, dBytes)
        : a == Type::S32                   ? fastIntegers<int32_t>(d, dBytes)
        : a == Type::U16 || a == Type::B16 ? fastIntegers<uint16_t>(d, dBytes)
        : a == Type::U32 || a == Type::B32 ? fastIntegers<uint32_t>(d, dBytes)
        : ptx::bytesOf(a) == 8             ? fastIntegers<uint64_t>(d, dBytes)
                                           : (Handler) nullptr;
  } else if (plain && c.round == Round::Nearest && c.integral == Integral::No) {
    if (a == Type::S32 && d == Type::F32)
      h = cast<float, int32_t>;
    else if (a == Type::U32 && d == Type::F32)
      h = cast<float, uint32_t>;
    else if (a == Type::S32 && d == Type::F64)
      h = cast<double, int32_t>;
    else if (a == Type::F32 && d == Type::BF16)
      h = [](Warp &w, const Op &o, uint32_t m) {
        map1<uint16_t, float>(w, o, m, [](float x) { return toBf16(x); });
      };
    else if (a == Type::BF16 && d == Type::F32)
      h = [](Warp &w, const Op &o, uint32_t m) {
        map1<float, uint16_t>(
            w, o, m, [](uint16_t x) { return canonical(fromBf16(x)); });
      };
    else if (a == Type::F16 && d == Type::F32)
      h = [](Warp &w, const Op &o, uint32_t m) {
        map1<float, uint16_t>(w, o, m,
                              [](uint16_t x) { return canonical(fromF16(x)); });
      };
    if (h && (!sameReg || dBytes != ptx::bytesOf(d)))
      h = nullptr;
  }
  return {h ? h : general, dReg, aReg, Type::None, Type::None, packed(c)};
}

} // namespace standin::exec::FF_STANDIN_ISA
