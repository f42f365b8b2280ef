// Integer and bit operations, comparisons, selection.
#include "tools/standin/exec/Lanes.h"

#include <limits>
#include <type_traits>

namespace standin::exec::FF_STANDIN_ISA {

using ptx::Instr;
using ptx::Type;

namespace {

template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<
        sizeof(T) == 4,
        std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
// The standard's traits know __int128 only with extensions.
template <class T> struct Unsigned {
  using type = std::make_unsigned_t<T>;
};
template <> struct Unsigned<__int128> {
  using type = unsigned __int128;
};
template <> struct Unsigned<unsigned __int128> {
  using type = unsigned __int128;
};
template <class T> using U = typename Unsigned<T>::type;

template <class T> T mulHi(T a, T b) {
  return (T)((Wide<T>)((Wide<T>)a * (Wide<T>)b) >> (8 * sizeof(T)));
}
template <class T> T mulLo(T a, T b) { return (T)((uint64_t)a * (uint64_t)b); }
template <class T> Wide<T> mulWide(T a, T b) { return (Wide<T>)a * (Wide<T>)b; }
// Division by zero has no defined result; the hardware gives all ones for
// integers of 32 and 64 bits.
template <class T> T divide(T a, T b) {
  if (b == 0)
    return (T)-1;
  if (std::is_signed_v<T> && b == (T)-1)
    return (T)(0 - (U<T>)a);
  return (T)(a / b);
}
template <class T> T remainder(T a, T b) {
  if (b == 0)
    return a;
  if (std::is_signed_v<T> && b == (T)-1)
    return 0;
  return (T)(a % b);
}
inline int32_t satAdd(int64_t r) {
  return (int32_t)std::max<int64_t>(INT32_MIN, std::min<int64_t>(INT32_MAX, r));
}

template <class T> T bfe(T a, uint32_t pos, uint32_t len) {
  constexpr unsigned bits = 8 * sizeof(T);
  pos &= 0xff, len &= 0xff;
  if (!len)
    return 0;
  // Beyond the top stands the sign (or zero).
  bool sign =
      std::is_signed_v<T> && ((U<T>)a >> std::min(pos + len - 1, bits - 1) & 1);
  U<T> value = pos < bits ? (U<T>)a >> pos : 0;
  unsigned have = pos < bits ? std::min(len, bits - pos) : 0;
  U<T> keep = have >= bits ? ~(U<T>)0 : ((U<T>)1 << have) - 1;
  return (T)((value & keep) | (sign ? ~keep : 0));
}
inline uint32_t brev32(uint32_t v) {
  v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
  v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
  v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(v);
}
template <class T> uint32_t bfind(T a, bool shiftAmount) {
  U<T> v = std::is_signed_v<T> && a < 0 ? (U<T>)~a : (U<T>)a;
  if (!v)
    return ~0u;
  int lead = 63 - __builtin_clzll((uint64_t)v);
  return shiftAmount ? 8 * sizeof(T) - 1 - lead : lead;
}
#define H1(D, A, expr)                                                         \
  [](Warp &w, const Op &o, uint32_t m) {                                       \
    map1<D, A>(w, o, m, [&](A a) -> D { return (D)(expr); });                  \
  }
#define H2(D, A, B, expr)                                                      \
  [](Warp &w, const Op &o, uint32_t m) {                                       \
    map2<D, A, B>(w, o, m, [&](A a, B b) -> D { return (D)(expr); });          \
  }
#define H3(D, A, B, C, expr)                                                   \
  [](Warp &w, const Op &o, uint32_t m) {                                       \
    map3<D, A, B, C>(w, o, m, [&](A a, B b, C c) -> D { return (D)(expr); });  \
  }

template <class T> Pick arithmetic(const Instr &in, Type t) {
  const std::string &op = in.op[0];
  Pick p{nullptr, t, t, t, t};
  bool hi = in.has("hi"), wide = in.has("wide");
  Type w = t == Type::S16 || t == Type::U16   ? Type::U32
           : t == Type::S32 || t == Type::U32 ? Type::U64
                                              : Type::B128;
  bool sat = in.has("sat");
  if (op == "add")
    p.run = sat ? (Handler)H2(T, T, T, satAdd((int64_t)a + (int64_t)b))
                : (Handler)H2(T, T, T, (U<T>)a + (U<T>)b);
  else if (op == "sub")
    p.run = sat ? (Handler)H2(T, T, T, satAdd((int64_t)a - (int64_t)b))
                : (Handler)H2(T, T, T, (U<T>)a - (U<T>)b);
  else if (op == "mul" && wide)
    p.d = w, p.run = H2(Wide<T>, T, T, mulWide<T>(a, b));
  else if (op == "mul")
    p.run = hi ? (Handler)H2(T, T, T, mulHi<T>(a, b))
               : (Handler)H2(T, T, T, mulLo<T>(a, b));
  else if (op == "mad" && wide)
    p.d = p.c = w, p.run = H3(Wide<T>, T, T, Wide<T>,
                              (U<Wide<T>>)mulWide<T>(a, b) + (U<Wide<T>>)c);
  else if (op == "mad" && sat)
    p.run = H3(T, T, T, T, satAdd((int64_t)mulHi<T>(a, b) + (int64_t)c));
  else if (op == "mad")
    p.run = hi ? (Handler)H3(T, T, T, T, (U<T>)mulHi<T>(a, b) + (U<T>)c)
               : (Handler)H3(T, T, T, T, (U<T>)mulLo<T>(a, b) + (U<T>)c);
  else if (op == "div")
    p.run = H2(T, T, T, divide<T>(a, b));
  else if (op == "rem")
    p.run = H2(T, T, T, remainder<T>(a, b));
  else if (op == "min")
    p.run = in.has("relu") ? (Handler)H2(T, T, T, std::max<T>(0, a < b ? a : b))
                           : (Handler)H2(T, T, T, a < b ? a : b);
  else if (op == "max")
    p.run = in.has("relu") ? (Handler)H2(T, T, T, std::max<T>(0, a < b ? b : a))
                           : (Handler)H2(T, T, T, a < b ? b : a);
  else if (op == "abs")
    p.run = H1(T, T, a < 0 ? 0 - (U<T>)a : (U<T>)a);
  else if (op == "neg")
    p.run = H1(T, T, 0 - (U<T>)a);
  else if (op == "sad")
    p.run = H3(T, T, T, T,
               (U<T>)c + (a < b ? (U<T>)b - (U<T>)a : (U<T>)a - (U<T>)b));
  else if (op == "shr")
    p.b = Type::U32,
    p.run = H2(T, T, uint32_t, b < 8 * sizeof(T) ? a >> b : (a < 0 ? -1 : 0));
  else if (op == "bfind")
    p.d = Type::U32, p.run = in.has("shiftamt")
                                 ? (Handler)H1(uint32_t, T, bfind<T>(a, true))
                                 : (Handler)H1(uint32_t, T, bfind<T>(a, false));
  else if (op == "bfe" && sizeof(T) >= 4)
    p.b = p.c = Type::U32,
    p.run = H3(T, T, uint32_t, uint32_t, bfe<T>(a, b, c));
  return p;
}

template <class T> Pick bits(const Instr &in, Type t) {
  const std::string &op = in.op[0];
  Pick p{nullptr, t, t, t, t};
  if (op == "and")
    p.run = H2(T, T, T, a & b);
  else if (op == "or")
    p.run = H2(T, T, T, a | b);
  else if (op == "xor")
    p.run = H2(T, T, T, a ^ b);
  else if (op == "not")
    p.run = H1(T, T, ~a);
  else if (op == "cnot")
    p.run = H1(T, T, a == 0);
  else if (op == "shl")
    p.b = Type::U32,
    p.run = H2(T, T, uint32_t, b < 8 * sizeof(T) ? (T)(a << b) : 0);
  else if (op == "mov")
    p.run = H1(T, T, a);
  else if (op == "popc")
    p.d = Type::U32, p.run = H1(uint32_t, T, __builtin_popcountll((uint64_t)a));
  else if (op == "clz")
    p.d = Type::U32,
    p.run = H1(uint32_t, T,
               a ? __builtin_clzll((uint64_t)a) - (64 - 8 * (int)sizeof(T))
                 : 8 * (int)sizeof(T));
  else if (op == "brev")
    p.run = H1(T, T,
               sizeof(T) == 8 ? (uint64_t)brev32((uint32_t)a) << 32 |
                                    brev32((uint32_t)((uint64_t)a >> 32))
                              : brev32((uint32_t)a));
  return p;
}
template <> Pick bits<bool>(const Instr &in, Type t) {
  const std::string &op = in.op[0];
  Pick p{nullptr, t, t, t, t};
#define HP(expr)                                                               \
  [](Warp &w, const Op &o, uint32_t m) {                                       \
    uint32_t a = *w.reg<uint32_t>(o.a), b = *w.reg<uint32_t>(o.b);             \
    (void)b;                                                                   \
    setPred(w, o.d, m, expr);                                                  \
  }
  if (op == "and")
    p.run = HP(a & b);
  else if (op == "or")
    p.run = HP(a | b);
  else if (op == "xor")
    p.run = HP(a ^ b);
  else if (op == "not")
    p.run = HP(~a);
  else if (op == "mov")
    p.run = HP(a);
  return p;
}

// add.cc and its kin: the carry is one bit a lane, kept in a register of the
// frame at imm.
template <class T> void carry(Warp &w, const Op &o, uint32_t m) {
  T *d = w.reg<T>(o.d);
  const T *a = w.reg<T>(o.a), *b = w.reg<T>(o.b), *c = w.reg<T>(o.c);
  uint32_t *cc = w.reg<uint32_t>((uint32_t)o.imm);
  // x: 1 takes the carry in, 2 gives it out, 4 subtracts, 8 mad.lo, 16 mad.hi
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    unsigned __int128 x = a[i], y = b[i];
    T low;
    if (o.x & 24) {
      x = (unsigned __int128)(U<T>)a[i] * (U<T>)b[i];
      x = (U<T>)(o.x & 16 ? x >> (8 * sizeof(T)) : x);
      y = c[i];
    }
    unsigned in = o.x & 1 ? *cc >> i & 1 : 0;
    bool out;
    if (o.x & 4) {
      low = (T)(x - y - in);
      out = x < y + in;
    } else {
      unsigned __int128 r = x + y + in;
      low = (T)r, out = r >> (8 * sizeof(T)) & 1;
    }
    d[i] = low;
    if (o.x & 2)
      *cc = (*cc & ~(1u << i)) | (uint32_t)out << i;
  }
}
} // namespace

Pick integer(const Instr &in) {
  const std::string &op = in.op[0];
  Type t = lastType(in);
  Pick p;
  if (ptx::isFloat(t) && op != "mov")
    return p;
  bool carries = op == "addc" || op == "subc" || op == "madc" ||
                 ((op == "add" || op == "sub" || op == "mad") && in.has("cc"));
  if (carries) {
    uint32_t x = (op.back() == 'c' ? 1 : 0) | (in.has("cc") ? 2 : 0) |
                 (op[0] == 's' ? 4 : 0) |
                 (op[0] == 'm' ? (in.has("hi") ? 16 : 8) : 0);
    return {ptx::bytesOf(t) == 8 ? (Handler)carry<uint64_t>
                                 : (Handler)carry<uint32_t>,
            t,
            t,
            t,
            t,
            x};
  }
  switch (t) {
  case Type::S16:
    p = arithmetic<int16_t>(in, t);
    break;
  case Type::U16:
    p = arithmetic<uint16_t>(in, t);
    break;
  case Type::S32:
    p = arithmetic<int32_t>(in, t);
    break;
  case Type::U32:
    p = arithmetic<uint32_t>(in, t);
    break;
  case Type::S64:
    p = arithmetic<int64_t>(in, t);
    break;
  case Type::U64:
    p = arithmetic<uint64_t>(in, t);
    break;
  default:
    break;
  }
  if (p.run)
    return p;
  if (op == "shr") // of bits: logical
    return ptx::bytesOf(t) == 2   ? arithmetic<uint16_t>(in, t)
           : ptx::bytesOf(t) == 4 ? arithmetic<uint32_t>(in, t)
                                  : arithmetic<uint64_t>(in, t);
  if (t == Type::Pred)
    return bits<bool>(in, t);
  switch (ptx::bytesOf(t)) {
  case 1:
    return {};
  case 2:
    return bits<uint16_t>(in, t);
  case 4:
    return bits<uint32_t>(in, t);
  case 8:
    return bits<uint64_t>(in, t);
  default:
    return {};
  }
}

} // namespace standin::exec::FF_STANDIN_ISA
