// Decoding of what is not arithmetic: memory, control flow, barriers,
// operations of a whole warp.
#include "tools/standin/exec/Decode.h"

namespace standin::exec {

using namespace ptx;

bool Decoder::memory(const std::string &op) {
  if (op == "ld" || op == "ldu" || op == "st")
    loadStore(op[0] == 'l');
  else if (op == "atom" || op == "red")
    atomicOp(op == "red");
  else if (op == "cp")
    copyAsync();
  else if (op == "cvta")
    cvta();
  else if (op == "isspacep") {
    Op o = fresh();
    o.space = spaceOf();
    o.run = handlers().misc("isspace");
    o.a = source(in->args.at(1), Type::U64),
    o.d = dest(in->args[0], Type::Pred);
    emit(o);
  } else
    return false;
  return true;
}

void Decoder::loadStore(bool isLoad) {
  Op o = fresh();
  o.space = spaceOf();
  for (size_t i = 1; i < in->op.size(); ++i) {
    const std::string &s = in->op[i];
    o.strong |= s == "volatile" || s == "relaxed" || s == "acquire" ||
                s == "release" || s == "mmio";
    if (s == "v2" || s == "v4" || s == "v8")
      o.n = (uint8_t)(s[1] - '0');
  }
  Type t = lastTypeOf();
  if (in->args.size() < 2 || t == Type::None)
    fail("not a load or a store");
  const Operand &value = in->args[isLoad ? 0 : 1],
                &where = in->args[isLoad ? 1 : 0];
  if (bytesOf(t) * o.n > 16)
    fail("an access has at most 16 bytes");
  std::vector<const Operand *> parts;
  if (value.kind == Operand::Vec)
    for (const Operand &e : value.elems)
      parts.push_back(&e);
  else
    parts.push_back(&value);
  if (parts.size() != o.n)
    fail("the vector has " + std::to_string(parts.size()) + " elements, not " +
         std::to_string(o.n));
  unsigned regBytes = 0;
  std::vector<uint32_t> regs;
  for (const Operand *p : parts)
    if (p->kind == Operand::Reg)
      regBytes = bytesOf(regType(*p));
  if (!regBytes)
    regBytes = std::max(2u, bytesOf(t));
  Type regT = regBytes == 1   ? Type::B8
              : regBytes == 2 ? Type::B16
              : regBytes == 4 ? Type::B32
                              : Type::B64;
  for (const Operand *p : parts)
    if (isLoad)
      regs.push_back(dest(*p, regT));
    else if (p->kind == Operand::Float)
      regs.push_back(constant(regBytes, immediate(*p, t)));
    else
      regs.push_back(source(*p, regT));
  addressOperand(o, where);
  o.run = isLoad ? handlers().load(t, regBytes)
                 : handlers().store(bytesOf(t), regBytes);
  if (!o.run)
    fail("no such access with a register of " + std::to_string(8 * regBytes) +
         " bits");
  o.d = regs[0];
  if (o.n > 1) {
    o.x = (uint32_t)out.extra.size();
    out.extra.insert(out.extra.end(), regs.begin(), regs.end());
  } else if (o.d == none) {
    o.d = allocate(regBytes);
  }
  emit(o);
}

void Decoder::atomicOp(bool isRed) {
  static const char *names[] = {"add", "min",  "max", "and", "or",
                                "xor", "exch", "cas", "inc", "dec"};
  std::string name;
  for (const char *n : names)
    if (in->has(n))
      name = n;
  Type t = lastTypeOf();
  if (in->has("v2") || in->has("v4") || in->has("v8") ||
      (isRed && in->has("async")))
    fail("this form of an atomic operation is not modelled");
  Op o = fresh();
  o.space = spaceOf(), o.strong = true;
  o.run = handlers().atomic(name, t);
  if (!o.run)
    fail("unknown atomic operation");
  size_t at = isRed ? 0 : 1;
  uint32_t b = source(in->args.at(at + 1), t),
           c = in->args.size() > at + 2 ? source(in->args[at + 2], t) : b;
  addressOperand(o, in->args.at(at));
  o.size = (uint8_t)o.b, o.b = b, o.c = c;
  o.d = isRed ? none : dest(in->args[0], t);
  emit(o);
}

void Decoder::copyAsync() {
  Op o = fresh();
  if (in->has("commit_group")) {
    o.run = handlers().misc("commit");
  } else if (in->has("wait_group") || in->has("wait_all")) {
    o.run = handlers().misc("wait");
    o.imm = in->has("wait_all") ? -1 : in->args.at(0).imm;
  } else if (in->has("async") && (in->has("ca") || in->has("cg"))) {
    const auto &args = in->args;
    if (args.size() < 3 || args[2].kind != Operand::Imm)
      fail("cp.async needs its size as a number");
    uint32_t size = (uint32_t)args[2].imm;
    if ((size != 4 && size != 8 && size != 16) || (in->has("cg") && size != 16))
      fail("cp.async copies 4, 8 or 16 bytes (.cg: 16)");
    o.c = none;
    uint32_t ignore = none, ignoreUnless = 0;
    if (args.size() > 3) {
      if (regType(args[3]) == Type::Pred)
        ignore = reg(args[3], 1), ignoreUnless = args[3].negated;
      else if (args[3].kind == Operand::Reg && bytesOf(regType(args[3])) == 8)
        ; // a cache policy
      else
        o.c = source(args[3], Type::U32);
    }
    Op to;
    to.space = Space::Shared;
    addressOperand(to, args[0]);
    uint64_t offset = (uint64_t)to.imm;
    o.d = to.a;
    o.space = Space::Global;
    addressOperand(o, args[1]);
    o.x = (uint32_t)out.extra.size();
    // The source is skipped where the predicate is set (negated: where it is
    // not).
    for (uint32_t v :
         {size, (uint32_t)offset, to.b, ignore, (uint32_t)ignoreUnless})
      out.extra.push_back(v);
    o.run = handlers().misc("copy");
  } else {
    fail("bulk copies and their barriers are not modelled");
  }
  emit(o);
}

void Decoder::cvta() {
  Op o = fresh();
  bool to = in->has("to");
  o.space = spaceOf();
  o.size = (uint8_t)bytesOf(lastTypeOf()), o.n = to ? 0 : 1;
  Type t = o.size == 4 ? Type::U32 : Type::U64;
  if (o.size == 4)
    fail("cvta of 32 bits is not modelled: addresses have 64");
  o.a = source(in->args.at(1), t), o.d = dest(in->args[0], t);
  o.run = handlers().misc("cvta");
  emit(o);
}

bool Decoder::control(const std::string &op) {
  if (op == "bra") {
    Op o = fresh();
    o.ctl = Ctl::Bra;
    if (in->args.empty() || in->args[0].kind != Operand::Label)
      fail("bra needs a label");
    o.x = (uint32_t)in->args[0].imm;
    targets.push_back((uint32_t)out.code.size());
    emit(o);
  } else if (op == "brx") {
    Op o = fresh();
    o.ctl = Ctl::Brx;
    o.a = source(in->args.at(0), Type::U32);
    const Instr &table = fn.body.at(fn.labels.at(in->args.at(1).imm));
    if (table.op[0] != ".branchtargets")
      fail("brx.idx needs a table of branch targets");
    o.imm = (int64_t)table.args.size(), o.x = (uint32_t)out.extra.size();
    for (const Operand &t : table.args) {
      targetExtras.push_back((uint32_t)out.extra.size());
      out.extra.push_back((uint32_t)t.imm);
    }
    emit(o);
  } else if (op == "ret" || op == "exit" || op == "trap") {
    Op o = fresh();
    o.ctl = op == "ret" ? Ctl::Ret : op == "exit" ? Ctl::Exit : Ctl::Trap;
    emit(o);
  } else if (op == "call") {
    callOp();
  } else if (op == "bar" || op == "barrier") {
    barrier(op);
  } else {
    return false;
  }
  return true;
}

// call {(results),} name {, (arguments)}
void Decoder::callOp() {
  const auto &args = in->args;
  size_t at = 0;
  const Operand *results = nullptr, *values = nullptr;
  if (at < args.size() && args[at].kind == Operand::Vec)
    results = &args[at++];
  if (at >= args.size() || args[at].kind != Operand::Name)
    fail("calls through a register are not modelled");
  auto it = layout.index.find(args[at++].name);
  if (it == layout.index.end())
    fail("the function is not defined");
  if (at < args.size() && args[at].kind == Operand::Vec)
    values = &args[at];
  const Function &callee = *layout.functions[it->second];
  std::vector<uint32_t> e = {it->second};
  auto copies = [&](const Operand *list,
                    const std::vector<std::unique_ptr<Var>> &formal,
                    bool isResult) {
    size_t n = list ? list->elems.size() : 0;
    if (n != formal.size())
      fail("'" + callee.name + "' has " + std::to_string(formal.size()) +
           (isResult ? " results" : " parameters") + ", the call gives " +
           std::to_string(n));
    e.push_back((uint32_t)n);
    // Where the callee's lie: parameters first, then results, as run() places
    // them.
    uint32_t size = 0;
    std::map<const Var *, uint32_t> offset;
    for (auto *vars : {&callee.params, &callee.results})
      for (auto &v : *vars) {
        uint32_t a = std::max(1u, v->align);
        size = (size + a - 1) / a * a;
        offset[v.get()] = size;
        size += (uint32_t)v->size;
      }
    for (size_t i = 0; i < n; ++i) {
      const Operand &o = list->elems[i];
      const Var &f = *formal[i];
      bool isVar = o.kind == Operand::Sym && o.var->space == Space::Param;
      uint32_t mine = isVar      ? out.offsets.at(o.var)
                      : isResult ? reg(o, (unsigned)f.size)
                                 : source(o, f.size == 8   ? Type::B64
                                             : f.size == 4 ? Type::B32
                                                           : Type::B16);
      if (isVar && o.var->size != f.size)
        fail("'" + f.name + "' has " + std::to_string(f.size) +
             " bytes, the call gives " + std::to_string(o.var->size));
      uint32_t theirs = offset[&f];
      e.push_back(isVar ? 0 : 1);
      e.push_back(isResult ? theirs : mine);
      e.push_back(isResult ? mine : theirs);
      e.push_back((uint32_t)f.size);
    }
  };
  copies(values, callee.params, false);
  copies(results, callee.results, true);
  Op o = fresh();
  o.ctl = Ctl::Call, o.x = (uint32_t)out.extra.size();
  out.extra.insert(out.extra.end(), e.begin(), e.end());
  emit(o);
}

// x: 0 sync, 1 arrive, 2 popc, 3 and, 4 or; size: 1 aligned, 2 the predicate is
// negated.
void Decoder::barrier(const std::string &op) {
  Op o = fresh();
  if (in->has("warp")) { // bar.warp.sync mask
    o.ctl = Ctl::Sync;
    o.imm = (int64_t)((uint64_t)source(in->args.at(0), Type::U32) << 32 | none);
    emit(o);
    return;
  }
  if (in->has("cluster"))
    fail("clusters of blocks are not modelled");
  bool red = in->has("red"), arrive = in->has("arrive");
  if (!red && !arrive && !in->has("sync"))
    fail("unknown barrier");
  o.x = arrive ? 1 : !red ? 0 : in->has("popc") ? 2 : in->has("and") ? 3 : 4;
  o.size = (uint8_t)(op == "bar" || in->has("aligned"));
  size_t at = 0;
  if (red)
    o.d = dest(in->args.at(at++), in->has("popc") ? Type::U32 : Type::Pred);
  o.a = source(in->args.at(at++), Type::U32);
  o.b = none;
  if (at < in->args.size() - red)
    o.b = source(in->args[at++], Type::U32);
  if (red) {
    o.c = source(in->args.at(at), Type::Pred);
    o.size |= in->args[at].negated ? 2 : 0;
  }
  o.ctl = arrive ? Ctl::BarArrive : Ctl::Bar;
  emit(o);
}

bool Decoder::lanes(const std::string &op) {
  if (op == "mma" || op == "ldmatrix" || op == "stmatrix" ||
      op == "movmatrix" || op == "wgmma") {
    Op o = fresh();
    o.run = handlers().matrix(*in);
    if (!o.run)
      fail("this matrix instruction is not modelled");
    o.ctl = Ctl::Sync;
    std::vector<uint32_t> regs;
    if (op == "movmatrix") {
      o.a = source(in->args.at(1), Type::B32),
      o.d = dest(in->args[0], Type::B32);
    } else {
      for (const Operand &a : in->args) {
        if (a.kind == Operand::Addr)
          continue;
        if (a.kind != Operand::Vec)
          fail("a vector of registers is expected");
        for (const Operand &e : a.elems)
          regs.push_back(source(e, Type::B32));
      }
      if (op != "mma") {
        o.space = Space::Shared;
        addressOperand(o, in->args.at(op[0] == 'l' ? 1 : 0));
        // A generic address where the space is not named.
        if (spaceOf() == Space::None && o.a != none)
          o.space = Space::None;
        o.n = (uint8_t)regs.size(), o.size = in->has("trans");
        if (!in->has(("x" + std::to_string(o.n)).c_str()))
          fail("the vector does not fit the number of matrices");
        if (o.imm < 0 || o.imm > INT32_MAX)
          fail("an offset of that size is not modelled");
      } else {
        const std::string &shape = in->op[3];
        bool tf32 = in->has("tf32"), f16Acc = in->op[6] == "f16";
        size_t k = shape == "m16n8k16"  ? 16
                   : shape == "m16n8k8" ? 8
                                        : 4,
               a = tf32 ? k / 2 : k / 4;
        if (regs.size() != a + a / 2 + (f16Acc ? 4 : 8))
          fail("the fragments have the wrong number of registers");
      }
      o.x = (uint32_t)out.extra.size();
      out.extra.insert(out.extra.end(), regs.begin(), regs.end());
    }
    // The upper half says which lanes must be here: all. ldmatrix keeps its
    // offset in the lower half.
    o.imm = (int64_t)((uint64_t)none << 32 | (uint32_t)o.imm);
    emit(o);
    return true;
  }
  Pick p = handlers().warp(*in);
  if (!p.run || op == "special")
    return false;
  Op o = fresh();
  o.run = p.run, o.x = p.x;
  if (op == "activemask") {
    o.d = dest(in->args.at(0), p.d);
    emit(o);
    return true;
  }
  if (!in->has("sync"))
    fail("the form without .sync does not exist from sm_70 on");
  const Operand &d = in->args.at(0);
  o.ctl = Ctl::Sync;
  o.d = dest(d, p.d);
  if (o.d == none)
    o.d = allocate(4);
  uint32_t second = d.second >= 0 ? regAt[d.second] : none;
  size_t at = 1;
  if (p.a != Type::None)
    o.a = source(in->args.at(at++), p.a);
  if (p.b != Type::None)
    o.b = source(in->args.at(at++), p.b);
  if (p.c != Type::None)
    o.c = source(in->args.at(at++), p.c);
  uint32_t member = source(in->args.at(at), Type::U32);
  o.imm = (int64_t)((uint64_t)member << 32 | second);
  emit(o);
  return true;
}

} // namespace standin::exec
