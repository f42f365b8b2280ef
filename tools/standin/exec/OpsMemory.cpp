// Loads, stores, atomics, asynchronous copies, conversions of addresses.
#include "tools/standin/api/Cuda.h"
#include "tools/standin/exec/Lanes.h"

namespace standin::exec::FF_STANDIN_ISA {

using ptx::Space;
using ptx::Type;

namespace {

// Operands of accesses: a the address register (none: absolute), b its bytes,
// imm the offset.
inline void addresses(Warp &w, const Op &o, uint64_t *addr) {
  uint64_t base = (uint64_t)o.imm;
  if (o.a == none) {
    FF_LANES addr[i] = base;
  } else if (o.b == 8) {
    const uint64_t *a = w.reg<uint64_t>(o.a);
    FF_LANES addr[i] = a[i] + base;
  } else {
    const uint32_t *a = w.reg<uint32_t>(o.a);
    FF_LANES addr[i] = (uint32_t)(a[i] + (uint32_t)base);
  }
  // Variables of a function lie at the base of its frame.
  if (o.space == Space::Local && o.a == none)
    FF_LANES addr[i] += w.cur.frame->localBase;
}
// All lanes, one after another in memory.
inline bool contiguous(const uint64_t *addr, unsigned n) {
  uint64_t bad = 0;
  FF_LANES bad |= addr[i] ^ (addr[0] + (uint64_t)i * n);
  return !bad;
}
inline bool allWritten(Warp &w, uint64_t addr, unsigned n) {
  if (!w.cached.hasShadow)
    return true;
  if (addr & 7)
    return false;
  uint8_t *s = Memory::get().shadow(addr);
  for (unsigned i = 0; i < n / 8; i += 4) {
    uint32_t word;
    memcpy(&word, s + i, 4);
    if (word != ~0u)
      return false;
  }
  return true;
}

template <class M, class D> void load(Warp &w, const Op &o, uint32_t m) {
  alignas(64) uint64_t addr[32];
  addresses(w, o, addr);
  unsigned bytes = o.n * sizeof(M);
  int64_t delta;
  if (o.space == Space::Global && m == ~0u &&
      accessGlobalWarp(w, m, addr, bytes, delta) && contiguous(addr, bytes) &&
      (32 * bytes) % 32 == 0 && allWritten(w, addr[0], 32 * bytes)) {
    const M *p = reinterpret_cast<const M *>(addr[0] + delta);
    if (o.n == 1) {
      D *d = w.reg<D>(o.d);
      FF_LANES d[i] = (D)p[i];
    } else {
      const uint32_t *regs = w.cur.frame->fn->extra.data() + o.x;
      for (unsigned k = 0; k < o.n; ++k) {
        if (regs[k] == none)
          continue;
        D *d = w.reg<D>(regs[k]);
        for (unsigned i = 0; i < 32; ++i)
          d[i] = (D)p[i * o.n + k];
      }
    }
    return;
  }
  const uint32_t *regs = o.n == 1 ? &o.d : w.cur.frame->fn->extra.data() + o.x;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    M values[8];
    memcpy(values,
           access(w, (int)i, addr[i], bytes, o.space, Access::Read, o.strong,
                  nullptr),
           bytes);
    for (unsigned k = 0; k < o.n; ++k)
      if (regs[k] != none)
        w.reg<D>(regs[k])[i] = (D)values[k];
  }
}

template <class M, class S> void store(Warp &w, const Op &o, uint32_t m) {
  alignas(64) uint64_t addr[32];
  addresses(w, o, addr);
  unsigned bytes = o.n * sizeof(M);
  const uint32_t *regs = o.n == 1 ? &o.d : w.cur.frame->fn->extra.data() + o.x;
  int64_t delta;
  if (o.space == Space::Global && o.n == 1 && m == ~0u &&
      accessGlobalWarp(w, m, addr, bytes, delta) && contiguous(addr, bytes)) {
    M *p = reinterpret_cast<M *>(addr[0] + delta);
    const S *s = w.reg<S>(o.d);
    FF_LANES p[i] = (M)s[i];
    if (!allWritten(w, addr[0], 32 * bytes))
      Memory::get().markWritten(w.cached, addr[0], 32 * bytes);
    return;
  }
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    M values[8];
    for (unsigned k = 0; k < o.n; ++k)
      values[k] = (M)w.reg<S>(regs[k])[i];
    memcpy(access(w, (int)i, addr[i], bytes, o.space, Access::Write, o.strong,
                  values),
           values, bytes);
  }
}

// f(old, b, c) is the new value.
template <class T, class F>
void atomicRun(Warp &w, const Op &o, uint32_t m, F f) {
  alignas(64) uint64_t addr[32];
  Op at = o; // the address's register size lies in `size`: b is an operand here
  at.b = o.size;
  addresses(w, at, addr);
  const T *b = w.reg<T>(o.b), *c = w.reg<T>(o.c);
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    T *p = reinterpret_cast<T *>(access(w, (int)i, addr[i], sizeof(T), o.space,
                                        Access::Atomic, true, nullptr));
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, f(old, b[i], c[i]), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    if (o.d != none)
      w.reg<T>(o.d)[i] = old;
  }
}
#define ATOM(T, expr)                                                          \
  [](Warp &w, const Op &o, uint32_t m) {                                       \
    atomicRun<T>(w, o, m, [](T a, T b, T c) -> T {                             \
      (void)c;                                                                 \
      return (T)(expr);                                                        \
    });                                                                        \
  }
template <class T, class S> Handler atomicInteger(const std::string &op) {
  return op == "add"    ? (Handler)ATOM(T, a + b)
         : op == "and"  ? (Handler)ATOM(T, a & b)
         : op == "or"   ? (Handler)ATOM(T, a | b)
         : op == "xor"  ? (Handler)ATOM(T, a ^ b)
         : op == "exch" ? (Handler)ATOM(T, b)
         : op == "cas"  ? (Handler)ATOM(T, a == b ? c : a)
         : op == "min"  ? (Handler)ATOM(T, (S)a < (S)b ? a : b)
         : op == "max"  ? (Handler)ATOM(T, (S)a > (S)b ? a : b)
         : op == "inc"  ? (Handler)ATOM(T, a >= b ? 0 : a + 1)
         : op == "dec"  ? (Handler)ATOM(T, a == 0 || a > b ? b : a - 1)
                        : (Handler) nullptr;
}
inline uint32_t addF32(uint32_t a, uint32_t b) {
  return floatToBits(canonical(bitsToFloat(a) + bitsToFloat(b)));
}
inline uint16_t addF16(uint16_t a, uint16_t b) {
  return toF16(fromF16(a) + fromF16(b));
}
inline uint16_t addBf16(uint16_t a, uint16_t b) {
  return toBf16(fromBf16(a) + fromBf16(b));
}
template <uint16_t f(uint16_t, uint16_t)>
inline uint32_t pairOf(uint32_t a, uint32_t b) {
  return (uint32_t)f((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16 |
         f((uint16_t)a, (uint16_t)b);
}

// cp.async: d the shared address (or none), a the global one; x its size; c the
// register of the source's size, or none. imm: the offset of the source; size:
// that of the destination lies in extra[n].
void copyAsync(Warp &w, const Op &o, uint32_t m) {
  const uint32_t *extra = w.cur.frame->fn->extra.data() + o.x;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    uint64_t dst = extra[1], src = (uint64_t)o.imm;
    if (o.d != none)
      dst += extra[2] == 8 ? w.reg<uint64_t>(o.d)[i] : w.reg<uint32_t>(o.d)[i];
    if (o.a != none)
      src += w.reg<uint64_t>(o.a)[i];
    uint32_t size = extra[0];
    uint32_t have =
        o.c == none ? size : std::min(size, w.reg<uint32_t>(o.c)[i]);
    if (extra[3] != none && (*w.reg<uint32_t>(extra[3]) >> i & 1) != extra[4])
      have = 0;
    if (have) // where it reads from is checked now, what it reads when it is
              // done
      access(w, (int)i, src, size == have ? size : 1, Space::Global,
             Access::Read, false, nullptr);
    if (dst & (size - 1) || dst < sharedReserved ||
        dst + size > w.block->sharedBytes)
      w.faultAt(dst & (size - 1) ? cuda::MISALIGNED_ADDRESS
                                 : cuda::ILLEGAL_ADDRESS,
                (int)i,
                "asynchronous copy of " + std::to_string(size) +
                    " bytes to shared address " + hex(dst) +
                    (dst & (size - 1) ? " is misaligned" : " is out of bounds"),
                dst, Space::Shared);
    auto &groups = w.copies[i];
    if (groups.empty())
      groups.emplace_back();
    groups.back().push_back({src, (uint32_t)dst, size, size - have, &o});
  }
}
void commit(Warp &w, const Op &o, uint32_t m) {
  for (unsigned i = 0; i < 32; ++i)
    if (m >> i & 1) {
      if (w.copies[i].empty())
        w.copies[i].emplace_back();
      w.copies[i].emplace_back();
    }
}
// imm: how many of the latest groups may stay open; below zero: none, the
// uncommitted copies neither.
void waitGroup(Warp &w, const Op &o, uint32_t m) {
  for (unsigned i = 0; i < 32; ++i)
    if (m >> i & 1)
      w.completeCopies((int)i, o.imm < 0 ? 0 : (size_t)o.imm + 1);
}

// mov of a variable's address in local memory; cvta: x is the window, n: 1 to
// generic, 0 from it.
void localAddress(Warp &w, const Op &o, uint32_t m) {
  uint64_t v =
      (uint64_t)o.imm + (o.space == Space::Local ? w.cur.frame->localBase : 0);
  for (unsigned i = 0; i < 32; ++i)
    if (m >> i & 1) {
      if (o.size == 8)
        w.reg<uint64_t>(o.d)[i] = v;
      else
        w.reg<uint32_t>(o.d)[i] = (uint32_t)v;
    }
}
void cvta(Warp &w, const Op &o, uint32_t m) {
  uint64_t window = o.space == Space::Shared  ? sharedWindow
                    : o.space == Space::Local ? localWindow
                    : o.space == Space::Param ? paramWindow
                                              : 0;
  bool to = o.n == 0;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    uint64_t v =
        o.size == 4 ? w.reg<uint32_t>(o.a)[i] : w.reg<uint64_t>(o.a)[i];
    if (to && window)
      v &= ~windowMask;
    else
      v |= window;
    if (o.size == 4)
      w.reg<uint32_t>(o.d)[i] = (uint32_t)v;
    else
      w.reg<uint64_t>(o.d)[i] = v;
  }
}
void isSpace(Warp &w, const Op &o, uint32_t m) {
  uint32_t r = 0;
  for (unsigned i = 0; i < 32; ++i) {
    uint64_t window = w.reg<uint64_t>(o.a)[i] & windowMask;
    r |= (uint32_t)(o.space == Space::Shared  ? window == sharedWindow
                    : o.space == Space::Local ? window == localWindow
                    : o.space == Space::Param ? window == paramWindow
                                              : window == 0)
         << i;
  }
  setPred(w, o.d, m, r);
}
// Vector moves: {a,b} -> one register and back. x: extra holds the parts; n of
// them, size bytes each.
void packParts(Warp &w, const Op &o, uint32_t m) {
  const uint32_t *parts = w.cur.frame->fn->extra.data() + o.x;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    uint64_t v = 0;
    for (unsigned k = 0; k < o.n; ++k)
      memcpy((uint8_t *)&v + k * o.size, w.R + parts[k] + i * o.size, o.size);
    memcpy(w.R + o.d + i * o.n * o.size, &v, o.n * o.size);
  }
}
void unpackParts(Warp &w, const Op &o, uint32_t m) {
  const uint32_t *parts = w.cur.frame->fn->extra.data() + o.x;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    uint64_t v = 0;
    memcpy(&v, w.R + o.a + i * o.n * o.size, o.n * o.size);
    for (unsigned k = 0; k < o.n; ++k)
      if (parts[k] != none)
        memcpy(w.R + parts[k] + i * o.size, (uint8_t *)&v + k * o.size, o.size);
  }
}
void nothing(Warp &, const Op &, uint32_t) {}
} // namespace

Handler load(Type memory, unsigned reg) {
  switch (memory) {
  case Type::S8:
    return reg == 2   ? load<int8_t, uint16_t>
           : reg == 4 ? load<int8_t, uint32_t>
                      : load<int8_t, uint64_t>;
  case Type::U8:
  case Type::B8:
    return reg == 2   ? load<uint8_t, uint16_t>
           : reg == 4 ? load<uint8_t, uint32_t>
                      : load<uint8_t, uint64_t>;
  case Type::S16:
    return reg == 2   ? load<uint16_t, uint16_t>
           : reg == 4 ? load<int16_t, uint32_t>
                      : load<int16_t, uint64_t>;
  case Type::S32:
    return reg == 4   ? load<uint32_t, uint32_t>
           : reg == 8 ? load<int32_t, uint64_t>
                      : (Handler) nullptr;
  default:
    break;
  }
  switch (ptx::bytesOf(memory)) {
  case 2:
    return reg == 2   ? load<uint16_t, uint16_t>
           : reg == 4 ? load<uint16_t, uint32_t>
                      : load<uint16_t, uint64_t>;
  case 4:
    return reg == 4   ? load<uint32_t, uint32_t>
           : reg == 8 ? load<uint32_t, uint64_t>
                      : (Handler) nullptr;
  case 8:
    return reg == 8 ? load<uint64_t, uint64_t> : (Handler) nullptr;
  default:
    return nullptr;
  }
}
Handler store(unsigned memory, unsigned reg) {
  switch (memory) {
  case 1:
    return reg == 2   ? store<uint8_t, uint16_t>
           : reg == 4 ? store<uint8_t, uint32_t>
                      : store<uint8_t, uint64_t>;
  case 2:
    return reg == 2   ? store<uint16_t, uint16_t>
           : reg == 4 ? store<uint16_t, uint32_t>
                      : store<uint16_t, uint64_t>;
  case 4:
    return reg == 4   ? store<uint32_t, uint32_t>
           : reg == 8 ? store<uint32_t, uint64_t>
                      : (Handler) nullptr;
  case 8:
    return reg == 8 ? store<uint64_t, uint64_t> : (Handler) nullptr;
  default:
    return nullptr;
  }
}
Handler atomic(const std::string &op, Type t) {
  switch (t) {
  case Type::F32:
    return op == "add" ? (Handler)ATOM(uint32_t, addF32(a, b))
                       : (Handler) nullptr;
  case Type::F64:
    return op == "add"
               ? (Handler)ATOM(uint64_t,
                               doubleToBits(bitsToDouble(a) + bitsToDouble(b)))
               : (Handler) nullptr;
  case Type::F16:
    return op == "add" ? (Handler)ATOM(uint16_t, addF16(a, b))
                       : (Handler) nullptr;
  case Type::BF16:
    return op == "add" ? (Handler)ATOM(uint16_t, addBf16(a, b))
                       : (Handler) nullptr;
  case Type::F16X2:
    return op == "add" ? (Handler)ATOM(uint32_t, pairOf<addF16>(a, b))
                       : (Handler) nullptr;
  case Type::BF16X2:
    return op == "add" ? (Handler)ATOM(uint32_t, pairOf<addBf16>(a, b))
                       : (Handler) nullptr;
  case Type::S32:
    return atomicInteger<uint32_t, int32_t>(op);
  case Type::S64:
    return atomicInteger<uint64_t, int64_t>(op);
  default:
    break;
  }
  switch (ptx::bytesOf(t)) {
  case 2:
    return op == "cas" || op == "exch" ? atomicInteger<uint16_t, uint16_t>(op)
                                       : (Handler) nullptr;
  case 4:
    return atomicInteger<uint32_t, uint32_t>(op);
  case 8:
    return atomicInteger<uint64_t, uint64_t>(op);
  default:
    return nullptr;
  }
}
Handler misc(const char *name) {
  std::string s = name;
  return s == "copy"      ? copyAsync
         : s == "commit"  ? commit
         : s == "wait"    ? waitGroup
         : s == "addr"    ? localAddress
         : s == "cvta"    ? cvta
         : s == "isspace" ? isSpace
         : s == "pack"    ? packParts
         : s == "unpack"  ? unpackParts
                          : nothing;
}

} // namespace standin::exec::FF_STANDIN_ISA
