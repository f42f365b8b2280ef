#ifndef FF_STANDIN_EXEC_DECODE_H
#define FF_STANDIN_EXEC_DECODE_H

#include "tools/standin/exec/Machine.h"

namespace standin::exec {

struct KernelLayout {
  std::map<const ptx::Var *, uint32_t> shared;
  std::function<uint64_t(const ptx::Var *)> addressOf;
  std::map<std::string, uint32_t> index; // of functions in the kernel
  std::vector<const ptx::Function *> functions;
};

// Decodes one function; throws ptx::Error.
class Decoder {
public:
  Decoder(const KernelLayout &layout, const ptx::Function &fn, DFunc &out);
  void run();

private:
  const KernelLayout &layout;
  const ptx::Function &fn;
  DFunc &out;
  const ptx::Instr *in = nullptr;
  std::vector<uint32_t> regAt;
  std::map<std::pair<unsigned, uint64_t>, uint32_t> constants;
  std::vector<uint32_t> targets,
      targetExtras; // operations and extras that hold labels
  uint32_t carryReg = 0;

  [[noreturn]] void fail(const std::string &what) const;
  uint32_t allocate(unsigned bytes);
  uint32_t constant(unsigned bytes, uint64_t value);
  uint32_t reg(const ptx::Operand &o, unsigned bytes) const;
  ptx::Type regType(const ptx::Operand &o) const;
  uint32_t dest(const ptx::Operand &o, ptx::Type t) const;
  uint32_t source(const ptx::Operand &o, ptx::Type t);
  uint64_t immediate(const ptx::Operand &o, ptx::Type t) const;
  void special(const std::string &name, uint32_t at, unsigned bytes);
  bool constantAddress(const ptx::Operand &o, uint64_t &value) const;
  void address(const ptx::Operand &s, uint32_t at, unsigned bytes);
  void addressOperand(Op &o, const ptx::Operand &a);
  ptx::Space spaceOf() const;
  ptx::Type lastTypeOf() const;
  Op fresh() const;
  void emit(const Op &o) { out.code.push_back(o); }

  void instruction();
  void arithmetic();
  bool moves();
  // DecodeOther.cpp
  bool memory(const std::string &op);
  bool control(const std::string &op);
  bool lanes(const std::string &op);
  void loadStore(bool isLoad);
  void atomicOp(bool isRed);
  void copyAsync();
  void cvta();
  void callOp();
  void barrier(const std::string &op);
};

} // namespace standin::exec

#endif
