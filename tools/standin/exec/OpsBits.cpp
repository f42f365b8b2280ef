// Bit fields, permutations, funnel shifts, and the small dot products.
#include "tools/standin/exec/Lanes.h"

namespace standin::exec::FF_STANDIN_ISA {

using ptx::Instr;
using ptx::Type;

namespace {
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
uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t r = 0;
  for (int i = 0; i < 8; ++i)
    if (table >> i & 1)
      r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}

} // namespace

Pick bitwise(const Instr &in) {
  const std::string &op = in.op[0];
  Type t = lastType(in);
  Pick p;
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
  if (in.has("u16x2") ||
      in.has("s16x2")) { // x: 0 add, 1 min, 2 max; 4 signed, 8 relu
    if (op != "add" && op != "min" && op != "max")
      return {};
    uint32_t x = (op == "add"   ? 0u
                  : op == "min" ? 1u
                                : 2u) |
                 (in.has("s16x2") ? 4u : 0u) | (in.has("relu") ? 8u : 0u);
    return {[](Warp &w, const Op &o, uint32_t m) {
              map2<uint32_t, uint32_t, uint32_t>(
                  w, o, m, [&](uint32_t a, uint32_t b) {
                    uint32_t r = 0;
                    for (int k = 0; k < 32; k += 16) {
                      int32_t p = o.x & 4 ? (int16_t)(a >> k)
                                          : (int32_t)(uint16_t)(a >> k);
                      int32_t q = o.x & 4 ? (int16_t)(b >> k)
                                          : (int32_t)(uint16_t)(b >> k);
                      int32_t v = (o.x & 3) == 0   ? p + q
                                  : (o.x & 3) == 1 ? std::min(p, q)
                                                   : std::max(p, q);
                      v = o.x & 8 ? std::max(v, 0) : v;
                      r |= (uint32_t)(uint16_t)v << k;
                    }
                    return r;
                  });
            },
            Type::U32,
            Type::U32,
            Type::U32,
            Type::None,
            x};
  }
  if (op == "bmsk") { // b ones from bit a on
    bool wrap = in.has("wrap");
    return {[](Warp &w, const Op &o, uint32_t m) {
              map2<uint32_t, uint32_t, uint32_t>(
                  w, o, m, [&](uint32_t a, uint32_t b) {
                    a = o.x ? a & 31 : std::min(a, 32u);
                    b = o.x ? b & 31 : std::min(b, 32u);
                    return (uint32_t)(((1ull << b) - 1) << a);
                  });
            },
            Type::U32,
            Type::U32,
            Type::U32,
            Type::None,
            wrap};
  }
  if (op == "szext") { // the lowest b bits, extended
    uint32_t x = (in.has("wrap") ? 1u : 0u) | (t == Type::S32 ? 2u : 0u);
    return {[](Warp &w, const Op &o, uint32_t m) {
              map2<uint32_t, uint32_t, uint32_t>(
                  w, o, m, [&](uint32_t a, uint32_t b) {
                    b = o.x & 1 ? b & 31 : std::min(b, 32u);
                    uint32_t up = 32 - b;
                    return b == 0    ? 0
                           : o.x & 2 ? (uint32_t)((int32_t)(a << up) >> up)
                                     : a << up >> up;
                  });
            },
            t,
            t,
            Type::U32,
            Type::None,
            x};
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
  return {};
}

} // namespace standin::exec::FF_STANDIN_ISA
