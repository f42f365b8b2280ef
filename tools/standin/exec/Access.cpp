// Every access to memory passes here: bounds, lifetime, alignment, bytes that
// nobody wrote, races on shared memory.
#include "tools/standin/api/Cuda.h"
#include "tools/standin/exec/Machine.h"

#include <cstring>

namespace standin::exec {

using ptx::Space;

std::string hex(uint64_t v) {
  char buf[32];
  snprintf(buf, sizeof buf, "0x%llx", (unsigned long long)v);
  return buf;
}
namespace {
std::string triple(unsigned x, unsigned y, unsigned z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," +
         std::to_string(z) + ")";
}
std::string threadName(const Block &b, unsigned t) {
  const unsigned *n = b.launch->block;
  return triple(t % n[0], t / n[0] % n[1], t / n[0] / n[1]);
}
const char *nameOf(Space s) {
  switch (s) {
  case Space::Global:
    return "global";
  case Space::Const:
    return "const";
  case Space::Shared:
    return "shared";
  case Space::Local:
    return "local";
  case Space::Param:
    return "param";
  default:
    return "generic";
  }
}
const char *verb(Access kind) {
  return kind == Access::Read    ? "read"
         : kind == Access::Write ? "write"
                                 : "atomic operation";
}
} // namespace

void Warp::fault(int code, int lane, const std::string &what) {
  std::string text = "kernel '" + block->launch->kernel->name + "': " + what +
                     "\n  block " +
                     triple(block->index[0], block->index[1], block->index[2]);
  if (lane >= 0)
    text += ", thread " + threadName(*block, id * 32 + lane);
  else
    text += ", warp " + std::to_string(id);
  if (op && op->src)
    text +=
        ", PTX line " + std::to_string(op->src->line) + ": " + op->src->text;
  throw Fault{code, text};
}

void Warp::faultAt(int code, int lane, const std::string &what, uint64_t addr,
                   Space space) {
  try {
    fault(code, lane, what);
  } catch (Fault &f) {
    if (space == Space::Shared)
      f.text += "\n  shared memory of the block: " +
                std::to_string(block->sharedBytes - sharedReserved) +
                " bytes at " + hex(sharedReserved) + ", of which " +
                std::to_string(block->launch->dynamicShared) + " dynamic";
    else if (space == Space::Local)
      f.text += "\n  local memory of the thread: " +
                std::to_string(block->localBytes) + " bytes";
    else if ((space == Space::Global || space == Space::Const) && addr >= 4096)
      f.text += "\n  " + Memory::get().describe(addr);
    throw;
  }
}

namespace {
std::string accessText(Access kind, unsigned n, Space s, uint64_t addr) {
  return std::string(verb(kind)) + " of " + std::to_string(n) + " bytes at " +
         nameOf(s) + " address " + hex(addr);
}

// Whether the access with this stamp happened before what thread t of warp w
// does now.
inline bool ordered(uint64_t stamp, const Warp &w, uint32_t t) {
  uint32_t clock = (uint32_t)(stamp >> 32), who = (uint32_t)stamp & 0x7fff;
  if (clock < w.block->barrierClock || who == t)
    return true;
  bool sameWarp =
      who < severalOfWarp ? who >> 5 == w.id : who == severalOfWarp + w.id;
  return sameWarp && clock < w.syncClock;
}
[[noreturn]] void race(Warp &w, int lane, uint64_t addr, unsigned n,
                       Access kind, uint64_t stamp, bool otherWrote) {
  uint32_t who = (uint32_t)stamp & 0x7fff;
  std::string other =
      who == several ? "threads of several warps"
      : who >= severalOfWarp
          ? "several threads of warp " + std::to_string(who - severalOfWarp)
          : "thread " + threadName(*w.block, who);
  w.faultAt(cuda::LAUNCH_FAILED, lane,
            "race: " + accessText(kind, n, Space::Shared, addr) +
                (otherWrote ? ", written by " : ", read by ") + other +
                " at PTX line " + std::to_string(stamp >> 16 & 0xffff) +
                " with no barrier between",
            addr, Space::Shared);
}

inline uint8_t *sharedAccess(Warp &w, int lane, uint64_t addr, unsigned n,
                             Access kind, bool strong, const void *value) {
  Block &b = *w.block;
  if (addr < sharedReserved || addr + n > b.sharedBytes)
    w.faultAt(cuda::ILLEGAL_ADDRESS, lane,
              accessText(kind, n, Space::Shared, addr) + " is out of bounds",
              addr, Space::Shared);
  if (addr & (n - 1))
    w.faultAt(cuda::MISALIGNED_ADDRESS, lane,
              accessText(kind, n, Space::Shared, addr) + " is misaligned", addr,
              Space::Shared);
  uint8_t *p = b.shared.data() + addr, *written = b.sharedWritten.data() + addr;
  uint64_t *wr = b.writer.data() + addr, *rd = b.reader.data() + addr;
  uint32_t t = w.id * 32 + lane;
  uint64_t line =
      w.op && w.op->src ? (uint64_t)std::min(w.op->src->line, 0xffff) : 0;
  uint64_t stamp =
      (uint64_t)b.clock << 32 | line << 16 | (uint64_t)strong << 15 | t;
  if (kind != Access::Write)
    for (unsigned i = 0; i < n; ++i)
      if (!written[i])
        w.faultAt(cuda::LAUNCH_FAILED, lane,
                  accessText(kind, n, Space::Shared, addr) +
                      ": nobody wrote byte " + std::to_string(i) + " of it",
                  addr, Space::Shared);
  for (unsigned i = 0; i < n; ++i) {
    uint64_t s = wr[i];
    if (!ordered(s, w, t) && !(strong && (s >> 15 & 1)) &&
        !(value && p[i] == static_cast<const uint8_t *>(value)[i]))
      race(w, lane, addr, n, kind, s, true);
  }
  if (kind == Access::Read) {
    for (unsigned i = 0; i < n; ++i) {
      uint64_t s = rd[i], now = stamp;
      uint32_t who = (uint32_t)s & 0x7fff;
      if ((uint32_t)(s >> 32) >= b.barrierClock && who != t) {
        bool sameWarp = who < severalOfWarp ? who >> 5 == w.id
                                            : who == severalOfWarp + w.id;
        bool bothStrong = strong && (s >> 15 & 1);
        now = (stamp & ~0xffffull) | (bothStrong ? 0x8000u : 0u) |
              (sameWarp ? severalOfWarp + w.id : several);
      }
      rd[i] = now;
    }
    return p;
  }
  for (unsigned i = 0; i < n; ++i) {
    uint64_t s = rd[i];
    uint32_t who = (uint32_t)s & 0x7fff;
    // Readers of this warp that include this thread itself: the others' reads
    // are what races.
    bool own = who == severalOfWarp + w.id && (uint32_t)(s >> 32) < w.syncClock;
    if (!own && !ordered(s, w, t) && !(strong && (s >> 15 & 1)) &&
        !(value && p[i] == static_cast<const uint8_t *>(value)[i]))
      race(w, lane, addr, n, kind, s, false);
    wr[i] = stamp;
    written[i] = 1;
  }
  return p;
}

uint8_t *localAccess(Warp &w, int lane, uint64_t addr, unsigned n,
                     Access kind) {
  Block &b = *w.block;
  // A function's variables lie at the frame's base: the decoder's offsets are
  // relative to it, the machine adds it.
  if (addr + n > b.localBytes || addr + n < n)
    w.faultAt(cuda::ILLEGAL_ADDRESS, lane,
              accessText(kind, n, Space::Local, addr) + " is out of bounds",
              addr, Space::Local);
  if (addr & (n - 1))
    w.faultAt(cuda::MISALIGNED_ADDRESS, lane,
              accessText(kind, n, Space::Local, addr) + " is misaligned", addr,
              Space::Local);
  uint64_t at = (uint64_t)(w.id * 32 + lane) * b.localBytes + addr;
  uint8_t *written = b.localWritten.data() + at;
  for (unsigned i = 0; i < n; ++i) {
    if (kind == Access::Write)
      written[i] = 1;
    else if (!written[i])
      w.faultAt(cuda::LAUNCH_FAILED, lane,
                accessText(kind, n, Space::Local, addr) +
                    ": nobody wrote byte " + std::to_string(i) + " of it",
                addr, Space::Local);
  }
  return b.local.data() + at;
}

[[noreturn]] void globalFault(Warp &w, int lane, uint64_t addr, unsigned n,
                              Access kind, const Allocation *a) {
  std::string text = accessText(kind, n, Space::Global, addr);
  if (addr & (n - 1))
    w.faultAt(cuda::MISALIGNED_ADDRESS, lane, text + " is misaligned", addr,
              Space::Global);
  if (addr < 4096)
    text += " (a null pointer)";
  w.faultAt(cuda::ILLEGAL_ADDRESS, lane,
            text + (!a         ? " is out of bounds"
                    : !a->live ? " is a use after free"
                    : a->device >= 0 && a->device != w.block->launch->device
                        ? " is in the memory of another device"
                        : " is out of bounds: its last bytes lie outside"),
            addr, Space::Global);
}
} // namespace

bool accessGlobalWarp(Warp &w, uint32_t mask, const uint64_t *addr, unsigned n,
                      int64_t &delta) {
  uint64_t low = ~0ull, high = 0, all = 0;
  for (unsigned i = 0; i < 32; ++i) {
    bool on = mask >> i & 1;
    low = on && addr[i] < low ? addr[i] : low;
    high = on && addr[i] > high ? addr[i] : high;
    all |= on ? addr[i] : 0;
  }
  Allocation &c = w.cached;
  if (low < c.addr || high - c.addr + n > c.size || high < c.addr) {
    const Allocation *a = Memory::get().find(low);
    if (!a || !a->live || high + n > a->addr + a->size ||
        (a->device >= 0 && a->device != w.block->launch->device))
      return false;
    c = *a;
  }
  if (all & (n - 1))
    return false;
  delta = c.hostDelta;
  return true;
}

uint8_t *access(Warp &w, int lane, uint64_t addr, unsigned n, Space space,
                Access kind, bool strong, const void *value) {
  if (space == Space::None) {
    switch (addr & windowMask) {
    case sharedWindow:
      space = Space::Shared, addr &= ~windowMask;
      break;
    case localWindow:
      space = Space::Local, addr &= ~windowMask;
      break;
    case paramWindow:
      space = Space::Param, addr &= ~windowMask;
      break;
    default:
      space = Space::Global;
      break;
    }
  }
  if (space == Space::Shared) {
    if ((addr & windowMask) == sharedWindow)
      w.fault(cuda::INVALID_ADDRESS_SPACE, lane,
              "a generic address, " + hex(addr) +
                  ", where a shared one is meant");
    return sharedAccess(w, lane, addr, n, kind, strong, value);
  }
  if (space == Space::Local)
    return localAccess(w, lane, addr, n, kind);
  if (space == Space::Param) {
    Frame *f = w.cur.frame;
    if (addr + n > f->fn->paramBytes)
      w.fault(cuda::ILLEGAL_ADDRESS, lane,
              accessText(kind, n, space, addr) + " is out of bounds");
    return f->params.data() + (uint64_t)lane * f->fn->paramBytes + addr;
  }
  Allocation &c = w.cached;
  if (addr - c.addr >= c.size || addr - c.addr + n > c.size || !c.size) {
    const Allocation *a = Memory::get().find(addr);
    if (!a || !a->live || addr - a->addr + n > a->size ||
        (a->device >= 0 && a->device != w.block->launch->device))
      globalFault(w, lane, addr, n, kind, a);
    c = *a;
  }
  if (addr & (n - 1))
    globalFault(w, lane, addr, n, kind, &c);
  if (space == Space::Const && kind != Access::Read)
    w.faultAt(cuda::ILLEGAL_ADDRESS, lane,
              accessText(kind, n, space, addr) + ": constants are read only",
              addr, space);
  if (c.hasShadow) {
    uint8_t *s = Memory::get().shadow(addr);
    uint32_t bits = ((1u << n) - 1) << (addr & 7), have = *s;
    if (n == 16)
      have |= (uint32_t)s[1] << 8;
    if ((have & bits) != bits) {
      if (kind != Access::Write)
        w.faultAt(cuda::LAUNCH_FAILED, lane,
                  accessText(kind, n, Space::Global, addr) +
                      ": nobody wrote this memory",
                  addr, Space::Global);
      __atomic_fetch_or(s, (uint8_t)bits, __ATOMIC_RELAXED);
      if (n == 16)
        __atomic_fetch_or(s + 1, (uint8_t)(bits >> 8), __ATOMIC_RELAXED);
    }
  }
  return reinterpret_cast<uint8_t *>(addr + c.hostDelta);
}

void Warp::completeCopies(int lane, size_t keep) {
  auto &groups = copies[lane];
  const Op *now = op;
  while (groups.size() > keep) {
    for (const Copy &c : groups.front()) {
      uint8_t data[16] = {};
      op = c.op; // errors name the instruction that asked for the copy
      if (c.size > c.zeros)
        memcpy(data,
               access(*this, lane, c.src, c.size - c.zeros, Space::Global,
                      Access::Read, false, nullptr),
               c.size - c.zeros);
      memcpy(access(*this, lane, c.dst, c.size, Space::Shared, Access::Write,
                    false, data),
             data, c.size);
    }
    groups.erase(groups.begin());
  }
  op = now;
}

} // namespace standin::exec
