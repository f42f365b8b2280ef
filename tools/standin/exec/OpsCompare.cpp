// Comparisons into predicates and numbers, selection by a predicate.
#include "tools/standin/exec/Lanes.h"

#include <type_traits>

namespace standin::exec::FF_STANDIN_ISA {

using ptx::Instr;
using ptx::Type;

namespace {

// setp and set: a comparison, optionally joined with a predicate (x: 1 and, 2
// or, 3 xor; +4: the predicate is negated).
enum Compare { Eq, Ne, Lt, Le, Gt, Ge, Num, Nan };
template <class T, int cmp, bool unordered>
uint32_t lanesWhere(const T *a, const T *b) {
  uint32_t r = 0;
  FF_LANES {
    bool v = cmp == Eq ? a[i] == b[i]
             : cmp == Ne
                 ? (std::is_floating_point_v<T> ? a[i] < b[i] || a[i] > b[i]
                                                : a[i] != b[i])
             : cmp == Lt  ? a[i] < b[i]
             : cmp == Le  ? a[i] <= b[i]
             : cmp == Gt  ? a[i] > b[i]
             : cmp == Ge  ? a[i] >= b[i]
             : cmp == Num ? a[i] == a[i] && b[i] == b[i]
                          : a[i] != a[i] || b[i] != b[i];
    if (unordered)
      v = v || a[i] != a[i] || b[i] != b[i];
    r |= (uint32_t)v << i;
  }
  return r;
}
uint32_t combine(Warp &w, const Op &o, uint32_t r) {
  if (o.x & 3) {
    uint32_t p = *w.reg<uint32_t>(o.c);
    p = o.x & 4 ? ~p : p;
    r = (o.x & 3) == 1 ? r & p : (o.x & 3) == 2 ? r | p : r ^ p;
  }
  return r;
}
template <class T> const T *flushed(Warp &w, uint32_t at, bool, T *) {
  return w.reg<T>(at);
}
template <>
const float *flushed<float>(Warp &w, uint32_t at, bool ftz, float *buffer) {
  const float *a = w.reg<float>(at);
  if (!ftz)
    return a;
  FF_LANES buffer[i] = flush(a[i]);
  return buffer;
}
template <class T, int cmp, bool unordered>
void setp(Warp &w, const Op &o, uint32_t m) {
  alignas(64) T bufA[32], bufB[32];
  bool ftz = o.x & 8;
  uint32_t r = lanesWhere<T, cmp, unordered>(flushed<T>(w, o.a, ftz, bufA),
                                             flushed<T>(w, o.b, ftz, bufB));
  if (o.imm >=
      0) { // setp p|q: q is the comparison's complement, joined likewise
    uint32_t q = combine(w, o, ~r);
    r = combine(w, o, r);
    setPred(w, o.d, m, r);
    setPred(w, (uint32_t)o.imm, m, q);
    return;
  }
  setPred(w, o.d, m, combine(w, o, r));
}
template <class T, int cmp, bool unordered>
void set(Warp &w, const Op &o, uint32_t m) {
  alignas(64) T bufA[32], bufB[32];
  bool ftz = o.x & 8;
  uint32_t r =
      combine(w, o,
              lanesWhere<T, cmp, unordered>(flushed<T>(w, o.a, ftz, bufA),
                                            flushed<T>(w, o.b, ftz, bufB)));
  uint32_t *d = w.reg<uint32_t>(o.d), one = o.x & 16 ? 0x3f800000u : ~0u;
  FF_LANES d[i] = (m >> i & 1) ? ((r >> i & 1) ? one : 0) : d[i];
}
template <class T> Handler pickCompare(const std::string &c, bool isSet) {
#define CMP(name, k, u)                                                        \
  if (c == name)                                                               \
    return isSet ? (Handler)set<T, k, u> : (Handler)setp<T, k, u>;
  CMP("eq", Eq, false)
  CMP("ne", Ne, false)
  CMP("lt", Lt, false)
  CMP("le", Le, false)
  CMP("gt", Gt, false)
  CMP("ge", Ge, false) CMP("lo", Lt, false) CMP("ls", Le, false)
      CMP("hi", Gt, false)
          CMP("hs", Ge, false) if constexpr (std::is_floating_point_v<T>) {
    CMP("equ", Eq, true)
    CMP("neu", Ne, true)
    CMP("ltu", Lt, true)
    CMP("leu", Le, true)
    CMP("gtu", Gt, true)
    CMP("geu", Ge, true) CMP("num", Num, false) CMP("nan", Nan, false)
  }
  return nullptr;
}

template <class T> void selp(Warp &w, const Op &o, uint32_t m) {
  uint32_t p = *w.reg<uint32_t>(o.c);
  T *d = w.reg<T>(o.d);
  const T *a = w.reg<T>(o.a), *b = w.reg<T>(o.b);
  FF_LANES {
    T v = (p >> i & 1) ? a[i] : b[i];
    d[i] = (m >> i & 1) ? v : d[i];
  }
}

} // namespace

Pick compare(const Instr &in) {
  const std::string &op = in.op[0];
  Type t = lastType(in);
  if (op == "setp" || op == "set") {
    std::string c;
    for (size_t i = 1; i < in.op.size() && c.empty(); ++i)
      if (in.op[i] != "ftz")
        c = in.op[i];
    bool isSet = op == "set";
    Handler h = t == Type::S16   ? pickCompare<int16_t>(c, isSet)
                : t == Type::S32 ? pickCompare<int32_t>(c, isSet)
                : t == Type::S64 ? pickCompare<int64_t>(c, isSet)
                : t == Type::F32 ? pickCompare<float>(c, isSet)
                : t == Type::F64 ? pickCompare<double>(c, isSet)
                : t == Type::F16 || t == Type::BF16 || t == Type::F16X2 ||
                        t == Type::BF16X2
                    ? nullptr
                : ptx::bytesOf(t) == 2 ? pickCompare<uint16_t>(c, isSet)
                : ptx::bytesOf(t) == 4 ? pickCompare<uint32_t>(c, isSet)
                : ptx::bytesOf(t) == 8 ? pickCompare<uint64_t>(c, isSet)
                                       : nullptr;
    uint32_t x = in.has("and") ? 1 : in.has("or") ? 2 : in.has("xor") ? 3 : 0;
    x |= (in.args.size() > 3 && in.args[3].negated ? 4 : 0) |
         (in.has("ftz") ? 8 : 0);
    if (isSet)
      for (size_t i = 1; i < in.op.size(); ++i)
        if (ptx::typeOf(in.op[i]) != Type::None) {
          x |= in.op[i] == "f32" ? 16 : 0;
          break;
        }
    return {h, isSet ? Type::B32 : Type::Pred, t, t, Type::Pred, x};
  }
  if (op == "selp") {
    Handler h = ptx::bytesOf(t) == 2   ? selp<uint16_t>
                : ptx::bytesOf(t) == 4 ? selp<uint32_t>
                : ptx::bytesOf(t) == 8 ? selp<uint64_t>
                                       : (Handler) nullptr;
    return {h, t, t, t, Type::Pred, 0};
  }
  return {};
}

} // namespace standin::exec::FF_STANDIN_ISA
