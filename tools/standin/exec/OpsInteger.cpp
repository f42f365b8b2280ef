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
template <class T> T bfi(T a, T b, uint32_t pos, uint32_t len) {
  constexpr unsigned bits = 8 * sizeof(T);
  pos &= 0xff, len &= 0xff;
  if (!len || pos >= bits)
    return b;
  len = std::min(len, bits - pos);
  T keep = (T)((len >= bits ? ~(T)0 : (((T)1 << len) - 1)) << pos);
  return (T)((b & ~keep) | ((a << pos) & keep));
}
uint32_t prmt(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t all = (uint64_t)b << 32 | a;
  uint32_t r = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t sel = c >> (4 * i) & 0xf;
    uint32_t byte = (uint32_t)(all >> (8 * (sel & 7)) & 0xff);
    if (sel & 8)
      byte = byte & 0x80 ? 0xff : 0;
    r |= byte << (8 * i);
  }
  return r;
}
uint32_t prmtMode(uint32_t a, uint32_t b, uint32_t c, unsigned mode) {
  static const uint8_t f4e[4][4] = {
      {0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}};
  static const uint8_t b4e[4][4] = {
      {0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}};
  static const uint8_t ecl[4][4] = {
      {0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}};
  static const uint8_t ecr[4][4] = {
      {0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}};
  uint32_t sel = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned v = c & 3;
    unsigned pick = mode == 1   ? f4e[v][i]
                    : mode == 2 ? b4e[v][i]
                    : mode == 3 ? v // rc8
                    : mode == 4 ? ecl[v][i]
                    : mode == 5 ? ecr[v][i]
                                : (v & 1) * 2 + (i & 1); // rc16
    sel |= pick << (4 * i);
  }
  return prmt(a, b, sel);
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
uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t r = 0;
  for (int i = 0; i < 8; ++i)
    if (table >> i & 1)
      r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
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
  if (op == "bfi") {
    // The fourth source, the length, comes in imm as a register.
    if (ptx::bytesOf(t) == 8)
      return {[](Warp &w, const Op &o, uint32_t m) {
                const uint32_t *len = w.reg<uint32_t>((uint32_t)o.imm);
                uint64_t *d = w.reg<uint64_t>(o.d), *a = w.reg<uint64_t>(o.a),
                         *b = w.reg<uint64_t>(o.b);
                for (unsigned i = 0; i < 32; ++i)
                  if (m >> i & 1)
                    d[i] = bfi<uint64_t>(a[i], b[i], w.reg<uint32_t>(o.c)[i],
                                         len[i]);
              },
              t,
              t,
              t,
              Type::U32,
              0};
    return {[](Warp &w, const Op &o, uint32_t m) {
              const uint32_t *len = w.reg<uint32_t>((uint32_t)o.imm);
              uint32_t *d = w.reg<uint32_t>(o.d), *a = w.reg<uint32_t>(o.a),
                       *b = w.reg<uint32_t>(o.b);
              for (unsigned i = 0; i < 32; ++i)
                if (m >> i & 1)
                  d[i] = bfi<uint32_t>(a[i], b[i], w.reg<uint32_t>(o.c)[i],
                                       len[i]);
            },
            t,
            t,
            t,
            Type::U32,
            0};
  }
  if (op == "prmt") {
    static const char *modes[] = {"",    "f4e", "b4e", "rc8",
                                  "ecl", "ecr", "rc16"};
    uint32_t x = 0;
    for (uint32_t i = 1; i < 7; ++i)
      x = in.has(modes[i]) ? i : x;
    return {[](Warp &w, const Op &o, uint32_t m) {
              map3<uint32_t, uint32_t, uint32_t, uint32_t>(
                  w, o, m, [&](uint32_t a, uint32_t b, uint32_t c) {
                    return o.x ? prmtMode(a, b, c, o.x) : prmt(a, b, c);
                  });
            },
            t,
            t,
            t,
            t,
            x};
  }
  if (op == "lop3")
    return {[](Warp &w, const Op &o, uint32_t m) {
              map3<uint32_t, uint32_t, uint32_t, uint32_t>(
                  w, o, m, [&](uint32_t a, uint32_t b, uint32_t c) {
                    return lop3(a, b, c, o.x);
                  });
            },
            t,
            t,
            t,
            t,
            (uint32_t)(in.args.size() > 4 ? in.args[4].imm : 0)};
  if (op == "shf") {
    bool left = in.has("l"), wrap = in.has("wrap");
    return {[](Warp &w, const Op &o, uint32_t m) {
              map3<uint32_t, uint32_t, uint32_t, uint32_t>(
                  w, o, m, [&](uint32_t a, uint32_t b, uint32_t c) {
                    uint32_t n = o.x & 2 ? c & 31 : std::min(c, 32u);
                    uint64_t v = (uint64_t)b << 32 | a;
                    return (uint32_t)(o.x & 1 ? (v << n) >> 32 : v >> n);
                  });
            },
            t,
            t,
            t,
            Type::U32,
            (left ? 1u : 0u) | (wrap ? 2u : 0u)};
  }
  if (op == "mul24" || op == "mad24") {
    p = {nullptr, t, t, t, t, t == Type::S32 ? 1u : 0u};
    p.x |= in.has("hi") ? 2 : 0;
    p.x |= op[1] == 'a' ? 4 : 0;
    p.run = [](Warp &w, const Op &o, uint32_t m) {
      uint32_t zero[32] = {};
      const uint32_t *c = o.x & 4 ? w.reg<uint32_t>(o.c) : zero;
      uint32_t *d = w.reg<uint32_t>(o.d), *a = w.reg<uint32_t>(o.a),
               *b = w.reg<uint32_t>(o.b);
      for (unsigned i = 0; i < 32; ++i)
        if (m >> i & 1) {
          int64_t x =
              o.x & 1 ? (int32_t)(a[i] << 8) >> 8 : (int64_t)(a[i] & 0xffffff);
          int64_t y =
              o.x & 1 ? (int32_t)(b[i] << 8) >> 8 : (int64_t)(b[i] & 0xffffff);
          d[i] = (uint32_t)(o.x & 2 ? (x * y) >> 16 : x * y) + c[i];
        }
    };
    return p;
  }
  if (op == "dp4a") {
    return {[](Warp &w, const Op &o, uint32_t m) {
              map3<uint32_t, uint32_t, uint32_t, uint32_t>(
                  w, o, m, [&](uint32_t a, uint32_t b, uint32_t c) {
                    for (int i = 0; i < 4; ++i) {
                      int32_t x = o.x & 1 ? (int8_t)(a >> 8 * i)
                                          : (int32_t)(uint8_t)(a >> 8 * i);
                      int32_t y = o.x & 2 ? (int8_t)(b >> 8 * i)
                                          : (int32_t)(uint8_t)(b >> 8 * i);
                      c += (uint32_t)(x * y);
                    }
                    return c;
                  });
            },
            Type::U32,
            Type::U32,
            Type::U32,
            Type::U32,
            (in.op.size() > 1 && in.op[1][0] == 's' ? 1u : 0u) |
                (in.op.back()[0] == 's' ? 2u : 0u)};
  }
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
