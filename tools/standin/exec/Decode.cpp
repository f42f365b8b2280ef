// From parsed PTX to operations: registers become offsets, immediates become
// registers that hold them, variables become addresses.
#include "tools/standin/exec/Decode.h"

#include <cstring>
#include <set>

namespace standin::exec {

using namespace ptx;

namespace {
std::string named(const Instr &in) {
  std::string s = in.op[0];
  for (size_t i = 1; i < in.op.size(); ++i)
    s += "." + in.op[i];
  return s;
}
uint32_t alignUp(uint32_t v, uint32_t a) { return a ? (v + a - 1) / a * a : v; }
} // namespace

Decoder::Decoder(const KernelLayout &layout, const Function &fn, DFunc &out)
    : layout(layout), fn(fn), out(out) {}

void Decoder::fail(const std::string &what) const {
  throw Error(in ? in->line : fn.line, what + (in ? ": " + in->text : ""));
}

uint32_t Decoder::allocate(unsigned bytes) {
  uint32_t at = out.regBytes;
  out.regBytes += std::max(64u, 32 * bytes);
  return at;
}

void Decoder::run() {
  out.fn = &fn;
  carryReg = allocate(4);
  for (Type t : fn.regs)
    regAt.push_back(allocate(t == Type::Pred ? 2 : bytesOf(t)));
  // Kernel parameters are a block in order; variables of calls follow. Locals
  // lie at the frame's base.
  auto place = [&](const Var &v, uint32_t &size) {
    size = alignUp(size, std::max(1u, v.align));
    out.offsets[&v] = size;
    size += (uint32_t)v.size;
  };
  for (auto &v : fn.params)
    place(*v, out.paramBytes);
  for (auto &v : fn.results)
    place(*v, out.paramBytes);
  for (auto &v : fn.vars)
    if (v->space == Space::Param)
      place(*v, out.paramBytes);
    else if (v->space == Space::Local)
      place(*v, out.localBytes);
  std::vector<uint32_t> opOf;
  for (const Instr &i : fn.body) {
    in = &i;
    opOf.push_back((uint32_t)out.code.size());
    instruction();
  }
  in = nullptr;
  opOf.push_back((uint32_t)out.code.size());
  Op end;
  end.ctl = Ctl::Ret;
  out.code.push_back(end);
  for (uint32_t at : targets)
    out.code[at].x = opOf[fn.labels[out.code[at].x]];
  for (uint32_t at : targetExtras)
    out.extra[at] = opOf[fn.labels[out.extra[at]]];
  for (int l : fn.labels)
    out.code[opOf[l]].leader = true;
  for (size_t i = 0; i + 1 < out.code.size(); ++i)
    out.code[i + 1].leader |= out.code[i].ctl != Ctl::Plain;
}

uint32_t Decoder::constant(unsigned bytes, uint64_t value) {
  auto key = std::make_pair(bytes, value);
  auto it = constants.find(key);
  if (it != constants.end())
    return it->second;
  uint32_t at = allocate(bytes);
  out.constants.push_back({at, (uint8_t)bytes, value});
  return constants[key] = at;
}

uint32_t Decoder::reg(const Operand &o, unsigned bytes) const {
  if (o.kind != Operand::Reg)
    fail("a register is expected");
  Type t = fn.regs[o.reg];
  bool pred = t == Type::Pred;
  if (bytes && (pred ? bytes != 1 : bytes != bytesOf(t)))
    fail("register " + fn.regNames[o.reg] + " is of " +
         (pred ? "type pred" : std::to_string(bytesOf(t) * 8) + " bits") +
         ", the instruction takes " +
         (bytes == 1 ? "a predicate" : std::to_string(bytes * 8) + " bits"));
  return regAt[o.reg];
}
Type Decoder::regType(const Operand &o) const {
  return o.kind == Operand::Reg ? fn.regs[o.reg] : Type::None;
}

uint32_t Decoder::dest(const Operand &o, Type t) const {
  return o.kind == Operand::Sink ? none
                                 : reg(o, t == Type::Pred ? 1 : bytesOf(t));
}

uint64_t Decoder::immediate(const Operand &o, Type t) const {
  if (o.kind == Operand::Imm) {
    if (t == Type::F32 ||
        t == Type::F64) { // an integer literal where a float stands
      float f = (float)o.imm;
      double d = (double)o.imm;
      uint64_t bits = 0;
      t == Type::F32 ? memcpy(&bits, &f, 4) : memcpy(&bits, &d, 8);
      return bits;
    }
    return (uint64_t)o.imm;
  }
  if (o.floatBytes && o.floatBytes == (int)bytesOf(t))
    return o.bits;
  uint64_t bits = 0;
  if (bytesOf(t) == 8) {
    memcpy(&bits, &o.value, 8);
  } else if (bytesOf(t) == 4) {
    float f = (float)o.value;
    memcpy(&bits, &f, 4);
  } else {
    fail("a float literal has 32 or 64 bits");
  }
  return bits;
}

// A register that holds the operand; further operations compute it where need
// be.
uint32_t Decoder::source(const Operand &o, Type t) {
  unsigned bytes = t == Type::Pred ? 1 : bytesOf(t);
  switch (o.kind) {
  case Operand::Reg:
    return reg(o, bytes);
  case Operand::Imm:
  case Operand::Float:
    if (t == Type::Pred)
      return constant(4, o.imm ? ~0u : 0);
    return constant(bytes, bytes == 8
                               ? immediate(o, t)
                               : immediate(o, t) & ((1ull << 8 * bytes) - 1));
  case Operand::Special: {
    uint32_t temp = allocate(bytes);
    special(o.name, temp, bytes);
    return temp;
  }
  case Operand::Sym: {
    uint32_t temp = allocate(bytes);
    address(o, temp, bytes);
    return temp;
  }
  default:
    fail("unexpected operand");
  }
}

void Decoder::special(const std::string &name, uint32_t at, unsigned bytes) {
  static const std::map<std::string, uint32_t> names = {
      {"%tid.x", 0},
      {"%tid.y", 1},
      {"%tid.z", 2},
      {"%ntid.x", 3},
      {"%ntid.y", 4},
      {"%ntid.z", 5},
      {"%ctaid.x", 6},
      {"%ctaid.y", 7},
      {"%ctaid.z", 8},
      {"%nctaid.x", 9},
      {"%nctaid.y", 10},
      {"%nctaid.z", 11},
      {"%laneid", 12},
      {"%warpid", 13},
      {"%nwarpid", 14},
      {"%lanemask_eq", 15},
      {"%lanemask_le", 16},
      {"%lanemask_lt", 17},
      {"%lanemask_ge", 18},
      {"%lanemask_gt", 19},
      {"%clock", 20},
      {"%clock64", 20},
      {"%globaltimer", 20},
      {"%globaltimer_lo", 20},
      {"%total_smem_size", 21},
      {"%dynamic_smem_size", 22},
      {"%smid", 24},
      {"%nsmid", 24},
      {"%gridid", 24},
      // A cluster of one block.
      {"%cluster_ctarank", 24},
      {"%cluster_ctaid.x", 24},
      {"%cluster_ctaid.y", 24},
      {"%cluster_ctaid.z", 24}};
  auto it = names.find(name);
  if (it == names.end())
    fail("special register " + name + " is not modelled");
  Op o = fresh();
  Instr pick;
  pick.op = {"special"};
  o.run = handlers().warp(pick).run, o.d = at, o.x = it->second,
  o.size = (uint8_t)bytes;
  o.guard = none;
  emit(o);
}

// The address of a variable within its space.
bool Decoder::constantAddress(const Operand &o, uint64_t &value) const {
  const Var *v = o.var;
  if (v->space == Space::Shared) {
    auto it = layout.shared.find(v);
    value = it->second;
  } else if (v->space == Space::Param || v->space == Space::Local) {
    auto it = out.offsets.find(v);
    if (it == out.offsets.end())
      fail("variable '" + v->name + "' belongs to another function");
    value = it->second;
  } else {
    value = layout.addressOf(v);
  }
  value += (uint64_t)o.imm;
  return v->space != Space::Local;
}
void Decoder::address(const Operand &s, uint32_t at, unsigned bytes) {
  uint64_t value = 0;
  constantAddress(s, value);
  Op o = fresh();
  o.run = handlers().misc("addr"), o.d = at, o.imm = (int64_t)value,
  o.size = (uint8_t)bytes, o.space = s.var->space;
  o.guard = none;
  emit(o);
}

// [reg+imm] or [var+imm] into a, b, imm.
void Decoder::addressOperand(Op &o, const Operand &a) {
  if (a.kind != Operand::Addr)
    fail("an address in brackets is expected");
  o.a = none, o.b = 8, o.imm = a.imm;
  if (a.reg >= 0) {
    o.a = regAt[a.reg], o.b = bytesOf(fn.regs[a.reg]);
    if (o.b != 4 && o.b != 8)
      fail("an address has 32 or 64 bits");
  } else if (a.var) {
    uint64_t value;
    constantAddress(a, value);
    Space s = a.var->space == Space::Const ? Space::Global : a.var->space;
    if (o.space != Space::None && o.space != s &&
        !(o.space == Space::Const && s == Space::Global))
      fail("variable '" + a.var->name + "' lies in another space");
    o.space = s, o.imm = (int64_t)value;
  }
}

Op Decoder::fresh() const {
  Op o;
  o.src = in;
  if (in->guard >= 0)
    o.guard = regAt[in->guard], o.guardNegated = in->guardNegated;
  return o;
}

Space Decoder::spaceOf() const {
  for (size_t i = 1; i < in->op.size(); ++i) {
    const std::string &s = in->op[i];
    if (s == "global" || s == "const")
      return Space::Global;
    if (s == "shared" || s == "shared::cta")
      return Space::Shared;
    if (s == "local")
      return Space::Local;
    if (s == "param" || s == "param::entry" || s == "param::func")
      return Space::Param;
    if (s.rfind("shared::", 0) == 0)
      fail("clusters of blocks are not modelled");
  }
  return Space::None;
}

void Decoder::instruction() {
  const std::string &op = in->op[0];
  if (memory(op) || control(op) || lanes(op))
    return;
  if (op == "mov" && moves())
    return;
  static const std::set<std::string> ignored = {
      ".branchtargets", "membar",         "fence",     "prefetch",
      "prefetchu",      "applypriority",  "discard",   "nanosleep",
      "pmevent",        "griddepcontrol", "setmaxnreg"};
  if (ignored.count(op)) {
    if (in->has("proxy::async") || in->has("mbarrier_init"))
      fail("the asynchronous proxy is not modelled");
    Op o = fresh();
    o.run = handlers().misc("nothing");
    emit(o);
    return;
  }
  arithmetic();
}

void Decoder::arithmetic() {
  Pick p;
  const auto &args = in->args;
  if (args.empty())
    fail("unknown instruction " + named(*in));
  Type dReg = regType(args[0]),
       aReg = args.size() > 1 ? regType(args[1]) : Type::None;
  if (in->op[0] == "cvt") {
    if (dReg == Type::None)
      fail("cvt needs a register for its result");
    if (aReg == Type::None)
      for (size_t i = 1; i < in->op.size(); ++i)
        if (typeOf(in->op[i]) != Type::None)
          aReg = typeOf(in->op[i]);
    p = handlers().convert(*in, dReg, aReg);
  }
  if (!p.run)
    p = handlers().half(*in);
  if (!p.run)
    p = handlers().compare(*in);
  if (!p.run)
    p = handlers().integer(*in);
  if (!p.run)
    p = handlers().floating(*in);
  if (!p.run)
    fail("unknown instruction " + named(*in));
  Op o = fresh();
  o.run = p.run, o.x = p.x;
  // Sources first: they may need operations before this one.
  const Type types[3] = {p.a, p.b, p.c};
  uint32_t *slots[3] = {&o.a, &o.b, &o.c};
  for (size_t i = 0; i < 3 && i + 1 < args.size(); ++i) {
    if (types[i] == Type::None)
      fail("too many operands");
    *slots[i] = source(args[i + 1], types[i]);
  }
  o.d = dest(args[0], p.d);
  o.imm = -1;
  if (o.d == none) { // setp _|q
    o.d = allocate(4);
  }
  if (args[0].second >= 0)
    o.imm = regAt[args[0].second];
  if (in->op[0] == "cvt")
    o.size = (uint8_t)bytesOf(p.d), o.n = (uint8_t)bytesOf(p.a);
  if (in->op[0] == "bfi")
    o.imm = source(args.at(4), Type::U32);
  if (in->has("cc") || in->op[0] == "addc" || in->op[0] == "subc" ||
      in->op[0] == "madc")
    o.imm = carryReg;
  emit(o);
}

bool Decoder::moves() {
  if (in->args.size() != 2)
    fail("mov takes two operands");
  const Operand &d = in->args[0], &s = in->args[1];
  if (d.kind == Operand::Vec || s.kind == Operand::Vec) {
    const Operand &v = d.kind == Operand::Vec ? d : s;
    Op o = fresh();
    o.n = (uint8_t)v.elems.size();
    unsigned whole = bytesOf(lastTypeOf());
    if (!o.n || whole > 8 || whole % o.n)
      fail("this vector move is not modelled");
    o.size = (uint8_t)(whole / o.n);
    Type part = o.size == 1   ? Type::B8
                : o.size == 2 ? Type::B16
                              : Type::B32,
         all = whole == 8   ? Type::B64
               : whole == 4 ? Type::B32
                            : Type::B16;
    std::vector<uint32_t> parts;
    for (const Operand &e : v.elems)
      parts.push_back(d.kind == Operand::Vec ? dest(e, part) : source(e, part));
    o.x = (uint32_t)out.extra.size();
    out.extra.insert(out.extra.end(), parts.begin(), parts.end());
    if (d.kind == Operand::Vec)
      o.a = source(s, all), o.run = handlers().misc("unpack");
    else
      o.d = dest(d, all), o.run = handlers().misc("pack");
    emit(o);
    return true;
  }
  return false; // registers, immediates, special registers and addresses are
                // sources like any
}

Type Decoder::lastTypeOf() const {
  for (size_t i = in->op.size(); i-- > 1;)
    if (Type t = typeOf(in->op[i]); t != Type::None)
      return t;
  return Type::None;
}

std::unique_ptr<Kernel>
decode(const Module &module, const std::string &name,
       const std::function<uint64_t(const Var *)> &addressOf) {
  auto found = module.functions.find(name);
  if (found == module.functions.end() || !found->second->isEntry ||
      !found->second->isDefined)
    return nullptr;
  auto k = std::make_unique<Kernel>();
  k->name = name, k->fn = found->second.get();
  // What it reaches.
  std::vector<const Function *> reached = {k->fn};
  KernelLayout layout;
  layout.addressOf = addressOf;
  std::vector<const Var *> sharedVars;
  std::set<const Var *> seen;
  std::function<void(const Operand &)> visit = [&](const Operand &o) {
    if (o.var && o.var->space == Space::Shared && seen.insert(o.var).second)
      sharedVars.push_back(o.var);
    for (const Operand &e : o.elems)
      visit(e);
  };
  for (size_t i = 0; i < reached.size(); ++i) {
    layout.index[reached[i]->name] = (uint32_t)i;
    for (const Instr &in : reached[i]->body) {
      for (const Operand &o : in.args)
        visit(o);
      if (in.op[0] != "call")
        continue;
      for (const Operand &o : in.args) {
        if (o.kind != Operand::Name)
          continue;
        auto it = module.functions.find(o.name);
        if (it == module.functions.end() || !it->second->isDefined)
          throw Error(in.line,
                      "'" + o.name +
                          "' is called but not defined in this module");
        bool known = false;
        for (const Function *f : reached)
          known |= f == it->second.get();
        if (!known)
          reached.push_back(it->second.get());
        break;
      }
    }
  }
  uint32_t at = sharedReserved;
  for (const Var *v : sharedVars)
    if (!v->isExtern) {
      at = alignUp(at, v->align);
      layout.shared[v] = at;
      at += (uint32_t)v->size;
    }
  k->staticShared = at - sharedReserved;
  for (const Var *v : sharedVars)
    if (v->isExtern)
      layout.shared[v] = alignUp(at, 16);
  layout.functions = reached;
  for (const Function *f : reached) {
    k->functions.push_back(std::make_unique<DFunc>());
    Decoder(layout, *f, *k->functions.back()).run();
  }
  uint32_t bytes = 0;
  for (auto &p : k->fn->params)
    bytes = alignUp(bytes, std::max(1u, p->align)) + (uint32_t)p->size;
  k->paramBytes = bytes;
  return k;
}

} // namespace standin::exec
