// What lanes of a warp do together: shuffles, votes, reductions. The main loop
// has gathered the member mask before it calls.
#include "tools/standin/api/Cuda.h"
#include "tools/standin/exec/Lanes.h"

namespace standin::exec::FF_STANDIN_ISA {

using ptx::Instr;
using ptx::Type;

namespace {

enum Shuffle { Up, Down, Bfly, Idx };
// imm: the register of the predicate in its lower half (none where absent).
void shfl(Warp &w, const Op &o, uint32_t m) {
  uint32_t old[32], valid = 0;
  memcpy(old, w.reg<uint32_t>(o.a), sizeof old);
  const uint32_t *b = w.reg<uint32_t>(o.b), *c = w.reg<uint32_t>(o.c);
  uint32_t out[32] = {};
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    uint32_t n = b[i] & 31, clamp = c[i] & 31, segment = c[i] >> 8 & 31;
    int maxLane = (int)((i & segment) | (clamp & ~segment & 31)),
        minLane = (int)(i & segment), j;
    bool p;
    switch (o.x) {
    case Up:
      j = (int)i - (int)n, p = j >= maxLane;
      break;
    case Down:
      j = (int)(i + n), p = j <= maxLane;
      break;
    case Bfly:
      j = (int)(i ^ n), p = j <= maxLane;
      break;
    default:
      j = minLane | (int)(n & ~segment & 31), p = j <= maxLane;
      break;
    }
    if (!p)
      j = (int)i;
    else if (!(m >> j & 1))
      w.fault(cuda::LAUNCH_FAILED, (int)i,
              "the shuffle reads lane " + std::to_string(j) +
                  ", which does not take part (lanes " + hex(m) + " do)");
    out[i] = old[j];
    valid |= (uint32_t)p << i;
  }
  uint32_t *d = w.reg<uint32_t>(o.d);
  for (unsigned i = 0; i < 32; ++i)
    if (m >> i & 1)
      d[i] = out[i];
  if ((uint32_t)o.imm != none)
    setPred(w, (uint32_t)o.imm, m, valid);
}

enum Vote { All, Any, Uni, Ballot };
void vote(Warp &w, const Op &o, uint32_t m) {
  uint32_t p = *w.reg<uint32_t>(o.a);
  p = (o.x & 16 ? ~p : p) & m;
  switch (o.x & 15) {
  case All:
    setPred(w, o.d, m, p == m ? ~0u : 0);
    break;
  case Any:
    setPred(w, o.d, m, p ? ~0u : 0);
    break;
  case Uni:
    setPred(w, o.d, m, !p || p == m ? ~0u : 0);
    break;
  default:
    for (unsigned i = 0; i < 32; ++i)
      if (m >> i & 1)
        w.reg<uint32_t>(o.d)[i] = p;
  }
}
template <class T> void match(Warp &w, const Op &o, uint32_t m) {
  T a[32];
  memcpy(a, w.reg<T>(o.a), sizeof a);
  uint32_t all = 0, *d = w.reg<uint32_t>(o.d);
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    uint32_t same = 0;
    for (unsigned j = 0; j < 32; ++j)
      same |= (uint32_t)((m >> j & 1) && a[j] == a[i]) << j;
    d[i] = o.x && same != m ? 0 : same;
    all |= (uint32_t)(same == m) << i;
  }
  if ((uint32_t)o.imm != none)
    setPred(w, (uint32_t)o.imm, m, all);
}
void redux(Warp &w, const Op &o, uint32_t m) {
  const uint32_t *a = w.reg<uint32_t>(o.a);
  uint32_t r = a[__builtin_ctz(m)];
  for (unsigned i = (unsigned)__builtin_ctz(m) + 1; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    uint32_t v = a[i];
    switch (o.x & 7) {
    case 0:
      r += v;
      break;
    case 1:
      r = o.x & 8 ? (uint32_t)std::min((int32_t)r, (int32_t)v) : std::min(r, v);
      break;
    case 2:
      r = o.x & 8 ? (uint32_t)std::max((int32_t)r, (int32_t)v) : std::max(r, v);
      break;
    case 3:
      r &= v;
      break;
    case 4:
      r |= v;
      break;
    default:
      r ^= v;
      break;
    }
  }
  for (unsigned i = 0; i < 32; ++i)
    if (m >> i & 1)
      w.reg<uint32_t>(o.d)[i] = r;
}
void elect(Warp &w, const Op &o, uint32_t m) {
  uint32_t lane = (uint32_t)__builtin_ctz(m);
  if (o.d != none)
    for (unsigned i = 0; i < 32; ++i)
      if (m >> i & 1)
        w.reg<uint32_t>(o.d)[i] = lane;
  if ((uint32_t)o.imm != none)
    setPred(w, (uint32_t)o.imm, m, 1u << lane);
}
void activemask(Warp &w, const Op &o, uint32_t m) {
  for (unsigned i = 0; i < 32; ++i)
    if (m >> i & 1)
      w.reg<uint32_t>(o.d)[i] = m;
}
// Special registers. x: which.
void special(Warp &w, const Op &o, uint32_t m) {
  const Block &b = *w.block;
  const unsigned *n = b.launch->block, *g = b.launch->grid;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(m >> i & 1))
      continue;
    unsigned t = w.id * 32 + i;
    uint64_t v = 0;
    switch (o.x) {
    case 0:
      v = t % n[0];
      break;
    case 1:
      v = t / n[0] % n[1];
      break;
    case 2:
      v = t / n[0] / n[1];
      break;
    case 3:
    case 4:
    case 5:
      v = n[o.x - 3];
      break;
    case 6:
    case 7:
    case 8:
      v = b.index[o.x - 6];
      break;
    case 9:
    case 10:
    case 11:
      v = g[o.x - 9];
      break;
    case 12:
      v = i;
      break;
    case 13:
      v = w.id;
      break;
    case 14:
      v = (b.threads + 31) / 32;
      break;
    case 15:
      v = 1u << i;
      break; // lanemask_eq
    case 16:
      v = ((1ull << i) << 1) - 1;
      break; // le
    case 17:
      v = (1u << i) - 1;
      break; // lt
    case 18:
      v = (uint32_t)~((1u << i) - 1);
      break; // ge
    case 19:
      v = (uint32_t)~(((1ull << i) << 1) - 1);
      break; // gt
    case 20:
      v = w.executed;
      break; // clock: instructions, so that it grows
    case 21:
      v = b.sharedBytes - sharedReserved;
      break; // total_smem_size
    case 22:
      v = b.launch->dynamicShared;
      break;
    case 23:
      v = (uint64_t)b.index[0] +
          (uint64_t)g[0] * (b.index[1] + (uint64_t)g[1] * b.index[2]);
      break;
    default:
      v = 0;
      break; // smid, gridid: zero
    }
    if (o.size == 8)
      w.reg<uint64_t>(o.d)[i] = v;
    else if (o.size == 2)
      w.reg<uint16_t>(o.d)[i] = (uint16_t)v;
    else
      w.reg<uint32_t>(o.d)[i] = (uint32_t)v;
  }
}
} // namespace

Pick warp(const Instr &in) {
  const std::string &op = in.op[0];
  const Type u = Type::U32;
  if (op == "shfl")
    return {shfl,
            u,
            u,
            u,
            u,
            in.has("up")     ? Up
            : in.has("down") ? Down
            : in.has("bfly") ? Bfly
                             : (uint32_t)Idx};
  if (op == "vote") {
    uint32_t x = in.has("all")   ? All
                 : in.has("any") ? Any
                 : in.has("uni") ? Uni
                                 : (uint32_t)Ballot;
    x |= in.args.size() > 1 && in.args[1].negated ? 16 : 0;
    return {vote,       (x & 15) == Ballot ? u : Type::Pred,
            Type::Pred, Type::None,
            Type::None, x};
  }
  if (op == "match") {
    bool wide = in.has("b64");
    return {wide ? match<uint64_t> : match<uint32_t>,
            u,
            wide ? Type::U64 : u,
            Type::None,
            Type::None,
            in.has("all") ? 1u : 0u};
  }
  if (op == "redux") {
    static const char *names[] = {"add", "min", "max", "and", "or", "xor"};
    uint32_t x = in.has("s32") ? 8 : 0;
    for (uint32_t i = 0; i < 6; ++i)
      x |= in.has(names[i]) ? i : 0;
    return {redux, u, u, Type::None, Type::None, x};
  }
  if (op == "elect")
    return {elect, u, Type::None, Type::None, Type::None, 0};
  if (op == "activemask")
    return {activemask, u, Type::None, Type::None, Type::None, 0};
  if (op == "special")
    return {special, u, Type::None, Type::None, Type::None, 0};
  return {};
}

} // namespace standin::exec::FF_STANDIN_ISA
