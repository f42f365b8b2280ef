// PTX text as data: what the parser leaves and the decoder reads. Names are
// resolved: registers, variables and labels are indices.
#ifndef FF_STANDIN_PTX_PTX_H
#define FF_STANDIN_PTX_PTX_H

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace standin::ptx {

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  BF16,
  F16X2,
  BF16X2,
  TF32,
  F32,
  F64
};
unsigned bytesOf(Type type);
bool isFloat(Type type);
bool isSigned(Type type);
Type typeOf(const std::string &suffix); // Type::None for what is no type

enum class Space : uint8_t { None, Reg, Global, Const, Shared, Local, Param };

struct Error : std::runtime_error {
  Error(int line, const std::string &what)
      : std::runtime_error("PTX line " + std::to_string(line) + ": " + what),
        line(line) {}
  int line;
};

// A variable in memory. Initial bytes and the addresses of other variables
// within them belong to .global and .const.
struct Var {
  std::string name;
  Space space = Space::None;
  unsigned align = 1;
  uint64_t size = 0;
  bool isExtern = false; // of a size that the launch gives, where shared
  std::vector<uint8_t> init;
  struct Reloc {
    uint64_t at;
    std::string symbol;
    int64_t offset;
  };
  std::vector<Reloc> relocs;
  int line = 0;
};

struct Operand {
  enum Kind {
    Reg,
    Imm,
    Float,
    Sym,
    Addr,
    Vec,
    Label,
    Sink,
    Special,
    Name
  } kind = Imm;
  std::string name;     // Sym, Special, Name and the base symbol of an Addr
  int reg = -1;         // Reg, and the base register of an Addr
  bool negated = false; // !p
  int64_t imm = 0;      // Imm, the offset of Addr and Sym
  double value = 0;     // Float
  uint64_t bits = 0;    // Float written as bits
  int floatBytes = 0;   // 4 or 8 where written as bits
  const Var *var = nullptr;
  int second = -2; // setp p|q: the second register; -1 is the sink
  std::vector<Operand> elems;
};

struct Instr {
  int line = 0;
  int guard = -1;
  bool guardNegated = false;
  std::string text; // as written, for errors
  std::vector<std::string> op;
  std::vector<Operand> args;
  bool has(const char *suffix) const {
    for (size_t i = 1; i < op.size(); ++i)
      if (op[i] == suffix)
        return true;
    return false;
  }
};

struct Function {
  std::string name;
  bool isEntry = false, isDefined = false;
  int line = 0;
  std::vector<std::unique_ptr<Var>> params, results,
      vars; // vars: .local, .param and .shared of the body
  std::vector<Type> regs;
  std::vector<std::string> regNames;
  std::vector<Instr> body;
  std::vector<int> labels; // label -> index into body
  unsigned maxThreads[3] = {0, 0, 0}, requiredThreads[3] = {0, 0, 0};
};

struct Module {
  std::string version, target;
  std::vector<std::unique_ptr<Var>> vars; // .global, .const, .shared
  std::map<std::string, Var *> varNamed;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

// Throws Error, with the line.
std::unique_ptr<Module> parse(const std::string &text);

struct Token {
  enum Kind { End, Ident, Int, Float, Punct, String } kind = End;
  std::string text;
  int line = 0;
  uint64_t value = 0;
  double number = 0;
  int floatBytes = 0;
};
std::vector<Token> lex(const std::string &text);

} // namespace standin::ptx

#endif
