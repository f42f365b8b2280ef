#include "tools/standin/ptx/Ptx.h"

#include <cstring>
#include <set>

namespace standin::ptx {
namespace {

struct Scope {
  int parent;
  std::map<std::string, int> regs;
  std::map<std::string, const Var *> vars;
  std::map<std::string, int> labels;
};

class Parser {
public:
  explicit Parser(const std::string &text) : tokens(lex(text)) {}

  std::unique_ptr<Module> run() {
    module = std::make_unique<Module>();
    while (peek().kind != Token::End)
      topLevel();
    return std::move(module);
  }

private:
  std::vector<Token> tokens;
  size_t at = 0;
  std::unique_ptr<Module> module;
  Function *fn = nullptr;
  std::vector<Scope> scopes;
  int scope = -1;
  struct LabelRef {
    int instr, arg, scope;
    std::string name;
  };
  std::vector<LabelRef> labelRefs;

  const Token &peek(int ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  bool is(const char *text, int ahead = 0) const {
    const Token &t = peek(ahead);
    return t.kind != Token::End && t.kind != Token::String && t.text == text;
  }
  bool accept(const char *text) { return is(text) ? (++at, true) : false; }
  [[noreturn]] void fail(const std::string &what) const {
    throw Error(peek().line, what);
  }
  void expect(const char *text) {
    if (!accept(text))
      fail(std::string("expected '") + text + "', found '" + peek().text + "'");
  }
  std::string ident() {
    if (peek().kind != Token::Ident)
      fail("expected a name, found '" + peek().text + "'");
    return tokens[at++].text;
  }
  int64_t integer() {
    bool negative = accept("-");
    if (peek().kind != Token::Int)
      fail("expected an integer, found '" + peek().text + "'");
    int64_t v = (int64_t)tokens[at++].value;
    return negative ? -v : v;
  }
  void skipTo(const char *text) {
    while (!is(text) && peek().kind != Token::End)
      ++at;
    accept(text);
  }
  // Directives that run to the end of their line.
  void skipLine() {
    int line = peek().line;
    while (peek().line == line && peek().kind != Token::End)
      ++at;
  }

  void topLevel() {
    if (accept(";"))
      return;
    if (peek().kind ==
        Token::Ident) { // "$str: .file"? No producer writes labels here.
      fail("unexpected '" + peek().text + "' at the top level");
    }
    expect(".");
    std::string d = peek().text;
    if (d == "version") {
      ++at;
      module->version = tokens[at++].text;
    } else if (d == "target") {
      ++at;
      module->target = ident();
      while (accept(","))
        ident();
    } else if (d == "address_size") {
      ++at;
      if (integer() != 64)
        fail("only .address_size 64 is modelled");
    } else if (d == "file" || d == "loc" || d == "pragma" || d == "alias") {
      skipLine();
    } else if (d == "section") {
      while (!is("{") && peek().kind != Token::End)
        ++at;
      skipBraces();
    } else {
      declaration();
    }
  }
  void skipBraces() {
    expect("{");
    for (int depth = 1; depth && peek().kind != Token::End; ++at)
      depth += is("{") ? 1 : is("}") ? -1 : 0;
  }

  // After the first dot: linkage, then a function or a variable.
  void declaration() {
    bool isExtern = false;
    for (;;) {
      std::string d = ident();
      if (d == "visible" || d == "weak" || d == "common") {
        expect(".");
      } else if (d == "extern") {
        isExtern = true;
        expect(".");
      } else if (d == "entry" || d == "func") {
        function(d == "entry");
        return;
      } else if (d == "global" || d == "const" || d == "shared") {
        Space space = d == "global"  ? Space::Global
                      : d == "const" ? Space::Const
                                     : Space::Shared;
        do {
          auto var = variable(space);
          var->isExtern |= isExtern;
          auto &slot = module->varNamed[var->name];
          slot = var.get();
          module->vars.push_back(std::move(var));
        } while (accept(","));
        expect(";");
        return;
      } else {
        fail("unknown directive ." + d);
      }
    }
  }

  // [.align n] .type name [dims] [= init]; the types and the alignment precede
  // only the first of a list.
  unsigned declAlign = 0, declVector = 1;
  Type declType = Type::None;
  std::unique_ptr<Var> variable(Space space) {
    auto var = std::make_unique<Var>();
    var->space = space, var->line = peek().line;
    if (is("."))
      declAlign = 0, declVector = 1, declType = Type::None;
    while (accept(".")) {
      std::string d = ident();
      if (d == "align")
        declAlign = (unsigned)integer();
      else if (d == "v2" || d == "v4")
        declVector = d[1] - '0';
      else if (d == "ptr") { // .param .u64 .ptr .global .align 4 name
        while (accept("."))
          if (ident() == "align")
            integer();
      } else if (typeOf(d) != Type::None)
        declType = typeOf(d);
      else if (d != "attribute" && d != "global" && d != "const" &&
               d != "shared" && d != "local")
        fail("unknown attribute ." + d + " of a variable");
      else if (d == "attribute")
        skipTo(")");
    }
    var->name = ident();
    uint64_t count = declVector;
    while (accept("[")) {
      if (accept("]")) {
        var->isExtern = true;
        count = 0;
        continue;
      }
      count *= (uint64_t)integer();
      expect("]");
    }
    unsigned element = bytesOf(declType);
    var->size = element * count;
    var->align = declAlign ? declAlign : element * declVector;
    if (accept("=")) {
      uint64_t offset = 0;
      initializer(*var, element, offset);
      if (var->isExtern && var->size == 0)
        var->size = var->init.size(), var->isExtern = false;
      var->init.resize(var->size);
    }
    return var;
  }
  void initializer(Var &var, unsigned element, uint64_t &offset) {
    if (accept("{")) {
      while (!accept("}")) {
        initializer(var, element, offset);
        accept(",");
      }
      return;
    }
    if (var.init.size() < offset + element)
      var.init.resize(offset + element);
    const Token &t = peek();
    uint64_t value = 0;
    if (t.kind == Token::Float || (is("-") && peek(1).kind == Token::Float)) {
      double number = floatOperand().value;
      if (element == 4) {
        float f = (float)number;
        memcpy(&value, &f, 4);
      } else {
        memcpy(&value, &number, 8);
      }
    } else if (t.kind == Token::Ident) {
      std::string name = ident();
      if (name == "generic" && accept("(")) {
        name = ident();
        int64_t off = accept("+") ? integer() : 0;
        expect(")");
        var.relocs.push_back({offset, name, off});
      } else {
        var.relocs.push_back({offset, name, accept("+") ? integer() : 0});
      }
    } else {
      value = (uint64_t)integer();
    }
    memcpy(var.init.data() + offset, &value, std::min(element, 8u));
    offset += element;
  }

  void parameters(std::vector<std::unique_ptr<Var>> &into) {
    expect("(");
    while (!accept(")")) {
      expect(".");
      std::string space = ident();
      if (space != "param")
        fail("parameters in ." + space + " are not modelled; use .param");
      into.push_back(variable(Space::Param));
      accept(",");
    }
  }

  void function(bool isEntry) {
    auto owned = std::make_unique<Function>();
    fn = owned.get();
    fn->isEntry = isEntry, fn->line = peek().line;
    if (is("("))
      parameters(fn->results);
    fn->name = ident();
    if (is("("))
      parameters(fn->params);
    while (accept(".")) {
      std::string d = ident();
      if (d == "maxntid" || d == "reqntid") {
        unsigned *v = d == "maxntid" ? fn->maxThreads : fn->requiredThreads;
        v[0] = v[1] = v[2] = 1;
        for (int i = 0; i < 3; ++i) {
          v[i] = (unsigned)integer();
          if (!accept(","))
            break;
        }
      } else if (d == "pragma") {
        skipTo(";");
      } else {
        while (peek().kind == Token::Int || is(","))
          ++at;
      }
    }
    if (accept(";")) {
      auto &slot = module->functions[fn->name];
      if (!slot)
        slot = std::move(owned);
      return;
    }
    fn->isDefined = true;
    scopes.clear(), labelRefs.clear();
    scope = -1;
    pushScope();
    for (auto &p : fn->params)
      scopes[scope].vars[p->name] = p.get();
    for (auto &p : fn->results)
      scopes[scope].vars[p->name] = p.get();
    expect("{");
    for (int depth = 1; depth;) {
      if (accept("{")) {
        ++depth;
        pushScope();
      } else if (accept("}")) {
        --depth;
        if (depth)
          scope = scopes[scope].parent;
      } else {
        statement();
      }
    }
    for (const LabelRef &r : labelRefs) {
      int found = -1;
      for (int s = r.scope; s >= 0 && found < 0; s = scopes[s].parent) {
        auto it = scopes[s].labels.find(r.name);
        if (it != scopes[s].labels.end())
          found = it->second;
      }
      if (found < 0)
        throw Error(fn->body[r.instr].line,
                    "'" + r.name +
                        "' is neither a register, a label nor a variable");
      Operand &o = fn->body[r.instr].args[r.arg];
      o.kind = Operand::Label, o.imm = found;
    }
    module->functions[fn->name] = std::move(owned);
  }
  void pushScope() {
    scopes.push_back({scope, {}, {}, {}});
    scope = (int)scopes.size() - 1;
  }
  int findReg(const std::string &name) const {
    for (int s = scope; s >= 0; s = scopes[s].parent) {
      auto it = scopes[s].regs.find(name);
      if (it != scopes[s].regs.end())
        return it->second;
    }
    return -1;
  }
  const Var *findVar(const std::string &name) const {
    for (int s = scope; s >= 0; s = scopes[s].parent) {
      auto it = scopes[s].vars.find(name);
      if (it != scopes[s].vars.end())
        return it->second;
    }
    auto it = module->varNamed.find(name);
    return it == module->varNamed.end() ? nullptr : it->second;
  }

  void statement() {
    if (accept(";"))
      return;
    if (peek().kind == Token::End)
      fail("the text ends within function '" + fn->name + "'");
    if (is(".")) {
      directive();
      return;
    }
    if (peek().kind == Token::Ident && is(":", 1)) {
      std::string name = ident();
      ++at;
      if (is(".") && is("callprototype",
                        1)) { // of indirect calls, which the decoder refuses
        skipTo(";");
        return;
      }
      scopes[scope].labels[name] = (int)fn->labels.size();
      fn->labels.push_back((int)fn->body.size());
      if (is(".") &&
          is("branchtargets", 1)) { // a table of labels stands in the code as
                                    // an instruction that does nothing
        at += 2;
        Instr table;
        table.line = peek().line, table.text = name,
        table.op = {".branchtargets"};
        do {
          labelRefs.push_back(
              {(int)fn->body.size(), (int)table.args.size(), scope, ident()});
          table.args.emplace_back();
        } while (accept(","));
        expect(";");
        fn->body.push_back(std::move(table));
      }
      return;
    }
    instruction();
  }

  void directive() {
    expect(".");
    std::string d = ident();
    if (d == "reg") {
      expect(".");
      Type type = typeOf(ident());
      if (type == Type::None)
        fail("unknown register type");
      do {
        std::string name = ident();
        if (accept("<")) {
          int64_t n = integer();
          expect(">");
          for (int64_t i = 0; i < n; ++i)
            addReg(name + std::to_string(i), type);
        } else {
          addReg(name, type);
        }
      } while (accept(","));
      expect(";");
    } else if (d == "local" || d == "param" || d == "shared") {
      Space space = d == "local"   ? Space::Local
                    : d == "param" ? Space::Param
                                   : Space::Shared;
      do {
        auto var = variable(space);
        scopes[scope].vars[var->name] = var.get();
        fn->vars.push_back(std::move(var));
      } while (accept(","));
      expect(";");
    } else if (d == "loc" || d == "file") {
      skipLine();
    } else if (d == "pragma") {
      skipTo(";");
    } else {
      fail("unknown directive ." + d);
    }
  }
  void addReg(const std::string &name, Type type) {
    scopes[scope].regs[name] = (int)fn->regs.size();
    fn->regs.push_back(type);
    fn->regNames.push_back(name);
  }

  void instruction() {
    Instr in;
    in.line = peek().line;
    size_t first = at;
    if (accept("@")) {
      in.guardNegated = accept("!");
      std::string name = ident();
      in.guard = findReg(name);
      if (in.guard < 0)
        fail("unknown predicate '" + name + "'");
    }
    in.op.push_back(ident());
    while (accept(".")) {
      std::string s = suffix();
      while (accept("::"))
        s += "::" + suffix();
      in.op.push_back(s);
    }
    while (!is(";")) {
      in.args.push_back(operand());
      if (in.args.back().kind == Operand::Name)
        labelRefs.push_back({(int)fn->body.size(), (int)in.args.size() - 1,
                             scope, in.args.back().name});
      if (!accept(","))
        break;
    }
    if (!is(";"))
      fail("expected ';' after '" + in.op[0] + "', found '" + peek().text +
           "'");
    for (size_t i = first; i < at; ++i) {
      const std::string &t = tokens[i].text;
      bool word = tokens[i].kind != Token::Punct || t == "[" || t == "{";
      if (i > first && word && tokens[i - 1].kind != Token::Punct)
        in.text += ' ';
      in.text += t;
      if (t == ",")
        in.text += ' ';
    }
    ++at;
    // The name of a called function is no label.
    if (in.op[0] == "call")
      while (!labelRefs.empty() &&
             labelRefs.back().instr == (int)fn->body.size())
        labelRefs.pop_back();
    fn->body.push_back(std::move(in));
  }
  std::string suffix() {
    std::string s;
    if (peek().kind == Token::Int) {
      s = tokens[at++].text;
      if (peek().kind == Token::Ident && peek().text.size() == 1)
        s += tokens[at++].text;
      return s;
    }
    return ident();
  }

  Operand floatOperand() {
    Operand o;
    o.kind = Operand::Float;
    bool negative = accept("-");
    const Token &t = tokens[at++];
    o.value = negative ? -t.number : t.number;
    o.bits = t.value, o.floatBytes = negative ? 0 : t.floatBytes;
    return o;
  }
  Operand operand() {
    Operand o;
    if (accept("!")) {
      o = operand();
      o.negated = true;
      return o;
    }
    if (accept("[")) {
      o = operand();
      if (o.kind == Operand::Imm || o.kind == Operand::Reg ||
          o.kind == Operand::Sym) {
        if (o.kind == Operand::Reg || o.kind == Operand::Sym) {
          if (accept("+"))
            o.imm += integer();
          else if (is("-"))
            o.imm += integer();
        }
      } else {
        fail("not an address");
      }
      o.kind = Operand::Addr;
      expect("]");
      return o;
    }
    if (is("{") || is("(")) {
      const char *close = is("{") ? "}" : ")";
      ++at;
      o.kind = Operand::Vec;
      while (!accept(close)) {
        o.elems.push_back(operand());
        accept(",");
      }
      return o;
    }
    const Token &t = peek();
    if (t.kind == Token::Float || (is("-") && peek(1).kind == Token::Float))
      return floatOperand();
    if (t.kind == Token::Int || is("-")) {
      o.imm = integer();
      return o;
    }
    std::string name = ident();
    if (name == "_") {
      o.kind = Operand::Sink;
    } else if (int r = findReg(name); r >= 0) {
      o.kind = Operand::Reg, o.reg = r;
    } else if (const Var *v = findVar(name)) {
      o.kind = Operand::Sym, o.name = name, o.var = v;
      if (is("+") && peek(1).kind == Token::Int)
        ++at, o.imm = integer();
    } else if (name[0] == '%') {
      o.kind = Operand::Special, o.name = name;
      if (accept("."))
        o.name += "." + ident();
    } else if (name == "WARP_SZ") {
      o.imm = 32;
    } else {
      o.kind = Operand::Name, o.name = name;
    }
    if (accept("|")) {
      Operand second = operand();
      o.second = second.kind == Operand::Sink ? -1 : second.reg;
    }
    return o;
  }
};

} // namespace

std::unique_ptr<Module> parse(const std::string &text) {
  return Parser(text).run();
}

} // namespace standin::ptx
