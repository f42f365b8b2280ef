// The machine that executes decoded PTX: registers of 32 lanes, warps of
// diverging groups, blocks with shared memory.
#ifndef FF_STANDIN_EXEC_MACHINE_H
#define FF_STANDIN_EXEC_MACHINE_H

#include "tools/standin/exec/Memory.h"
#include "tools/standin/ptx/Ptx.h"

#include <atomic>
#include <deque>
#include <functional>

namespace standin::exec {

struct Warp;
struct Op;
using Handler = void (*)(Warp &, const Op &, uint32_t mask);

// What the main loop does itself; the rest are handlers. Sync: a handler that
// needs all lanes of its member mask (operand c).
enum class Ctl : uint8_t {
  Plain,
  Bra,
  Brx,
  Call,
  Ret,
  Exit,
  Bar,
  BarArrive,
  Sync,
  Trap
};

constexpr uint32_t none = ~0u;
constexpr uint64_t sharedWindow = 1ull << 56, localWindow = 2ull << 56,
                   paramWindow = 3ull << 56, windowMask = 0xffull << 56;
// The first kilobyte of shared memory is the system's on compute
// capability 9.0.
constexpr uint32_t sharedReserved = 1024;

struct Op {
  Handler run = nullptr;
  uint32_t d = 0, a = 0, b = 0,
           c = 0; // byte offsets of registers within a frame
  uint32_t guard = none;
  uint32_t x = 0; // an index into extra, a label, flags: as the handler says
  int64_t imm = 0;
  Ctl ctl = Ctl::Plain;
  bool guardNegated = false, leader = false;
  uint8_t n = 1;    // elements of a vector; variant
  uint8_t size = 0; // bytes of a destination register, of a barrier's flags
  ptx::Space space = ptx::Space::None;
  bool strong = false; // atomic, volatile, relaxed, acquire, release: no race
                       // with its like
  const ptx::Instr *src = nullptr;
};

struct DFunc {
  const ptx::Function *fn = nullptr;
  std::vector<Op> code;
  std::vector<uint32_t> extra;
  uint32_t regBytes = 0, localBytes = 0, paramBytes = 0;
  struct Constant {
    uint32_t at;
    uint8_t bytes;
    uint64_t value;
  };
  std::vector<Constant> constants;
  std::map<const ptx::Var *, uint32_t> offsets; // of .local, .param
};

struct Kernel {
  std::string name;
  const ptx::Function *fn = nullptr;
  std::vector<std::unique_ptr<DFunc>> functions; // the first is the entry
  uint32_t staticShared = 0, paramBytes = 0;
  unsigned maxDynamicShared = 48 * 1024;
  unsigned registers =
      0; // a bound from the text: ptxas, not PTX, knows the number
  int device = 0;
};

struct Launch {
  const Kernel *kernel = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, dynamicShared = 0;
  std::vector<uint8_t> params;
  int device = 0;
  std::atomic<uint64_t> *counter = nullptr; // of thread instructions
};

// What a GPU reports as `code`; the text says all that the stand-in knows.
struct Fault {
  int code;
  std::string text;
};

struct Frame {
  const DFunc *fn = nullptr;
  uint8_t *regs = nullptr;
  std::vector<uint8_t> params; // [lane][paramBytes]
  Frame *parent = nullptr;
  const Op *call = nullptr;
  uint32_t retPc = 0, localBase = 0;
  int depth = 0, refs = 0;
};

enum class State : uint8_t { Ready, Barrier, WarpSync };
struct Group {
  uint32_t mask = 0, pc = 0;
  Frame *frame = nullptr;
  State state = State::Ready;
  uint32_t barrier = 0,
           expected =
               0; // expected: threads of the barrier, 0 for the whole block
};

struct Block;
struct Copy { // of cp.async: done at the wait, as late as the manual permits
  uint64_t src;
  uint32_t dst, size, zeros;
  const Op *op;
};

struct Warp {
  Block *block = nullptr;
  unsigned id = 0;
  uint8_t *R = nullptr; // registers of the current frame
  Group cur;
  std::vector<Group> others;
  uint32_t live = 0;
  uint64_t executed = 0;
  unsigned sinceSwitch = 0, grace = 0;
  const Op *op = nullptr;
  std::vector<std::vector<Copy>>
      copies[32];      // per lane: groups; the last is open
  Allocation cached{}; // where the last access to global memory was
  uint32_t syncClock = 0;
  unsigned activeLanes() const {
    return (unsigned)__builtin_popcount(cur.mask);
  }

  template <class T> T *reg(uint32_t at) {
    return reinterpret_cast<T *>(R + at);
  }
  [[noreturn]] void fault(int code, int lane, const std::string &what);
  [[noreturn]] void faultAt(int code, int lane, const std::string &what,
                            uint64_t addr, ptx::Space space);
  void completeCopies(int lane, size_t keep);
};

struct Block {
  const Launch *launch = nullptr;
  unsigned index[3] = {0, 0, 0};
  unsigned threads = 0;
  std::vector<std::unique_ptr<Warp>> warps;
  // Shared memory, shadow bits a byte each, and who touched each byte last:
  // clock << 32 | PTX line << 16 | strong << 15 | thread.
  std::vector<uint8_t> shared, sharedWritten;
  std::vector<uint64_t> writer, reader;
  uint32_t sharedBytes = 0;
  uint32_t clock = 1, barrierClock = 1;
  std::vector<uint8_t> local, localWritten; // [thread][localBytes]
  uint32_t localBytes = 0;
  std::map<const DFunc *, std::vector<Frame *>> pool;
  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<uint8_t *> regFiles;

  explicit Block(const Launch &l);
  ~Block();
  void run(const unsigned at[3]);

private:
  void start(const unsigned at[3]);
  bool runWarp(Warp &w, uint64_t quantum);
  bool advance(Warp &w);
  void controlBar(Warp &w, const Op &o, uint32_t mask);
  bool releaseBarriers();
  [[noreturn]] void stuck();
  Frame *newFrame(const DFunc *fn, Frame *parent);
  void drop(Frame *f);
  void enter(Warp &w, Group g);
  void branch(Warp &w, uint32_t taken, uint32_t target);
  void call(Warp &w, const Op &o, uint32_t mask);
  void ret(Warp &w, uint32_t mask);
  void exitThreads(Warp &w, uint32_t mask);
  bool pickGroup(Warp &w);
  bool reschedule(Warp &w);
  void mergeSame(Warp &w);
  friend struct Warp;
};

// Whom a stamp of shared memory names beside single threads: several of a warp,
// several warps.
constexpr uint32_t severalOfWarp = 0x4000, several = 0x7fff;

enum class Access : uint8_t { Read, Write, Atomic };
// The address that a lane's access of n bytes has on the host, after every
// check. `value`: what a write will leave there, so that threads that write the
// same do not count as racing. The checks: exec/Access.cpp.
uint8_t *access(Warp &w, int lane, uint64_t addr, unsigned n, ptx::Space space,
                Access kind, bool strong, const void *value);
// Global memory for a whole warp at once: the distance to the host when all
// lanes hit one live allocation, aligned; else false.
bool accessGlobalWarp(Warp &w, uint32_t mask, const uint64_t *addr, unsigned n,
                      int64_t &delta);
std::string hex(uint64_t v);

// Executes every block; throws Fault.
void runLaunch(const Launch &launch);
// Throws Fault when the launch is over the limits of the chip or of the kernel.
void checkLaunch(const Launch &launch, int code[2]);

// Decodes one kernel and what it calls. `addressOf` gives the device address of
// a module's variable.
std::unique_ptr<Kernel>
decode(const ptx::Module &module, const std::string &name,
       const std::function<uint64_t(const ptx::Var *)> &addressOf);

// Families of handlers. Each returns the handler and the types of the operands;
// a null handler: not of this family.
struct Pick {
  Handler run = nullptr;
  ptx::Type d = ptx::Type::None, a = ptx::Type::None, b = ptx::Type::None,
            c = ptx::Type::None;
  uint32_t x = 0;
};
// Compiled twice, for any x86-64 and for x86-64-v3 (AVX2 and FMA); chosen when
// the library is loaded.
struct Handlers {
  Pick (*integer)(const ptx::Instr &);
  Pick (*compare)(const ptx::Instr &);
  Pick (*floating)(const ptx::Instr &);
  Pick (*half)(const ptx::Instr &);
  Pick (*convert)(const ptx::Instr &, ptx::Type dReg, ptx::Type aReg);
  Handler (*load)(ptx::Type memory, unsigned regBytes);
  Handler (*store)(unsigned memoryBytes, unsigned regBytes);
  Handler (*atomic)(const std::string &op, ptx::Type type);
  Pick (*warp)(const ptx::Instr &);
  Handler (*matrix)(const ptx::Instr &);
  Handler (*misc)(const char *name);
};
const Handlers &handlers();

} // namespace standin::exec

#endif
