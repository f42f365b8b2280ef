#include "tools/standin/exec/Memory.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>

namespace standin::exec {

namespace {
// Between allocations: no access within this distance of one hits another.
constexpr uint64_t redZone = 4096;
constexpr uint64_t page = 4096;

uint8_t *reserve(uint64_t size, int protection) {
  void *p = mmap(nullptr, size, protection,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : (uint8_t *)p;
}
} // namespace

Memory &Memory::get() {
  static Memory *memory = new Memory; // outlives every worker
  return *memory;
}

Memory::Memory() {
  const char *env = getenv("FF_STANDIN_MEMORY");
  capacity = (env ? strtoull(env, nullptr, 0) : 80ull) << 30;
  // As many addresses as the machine lends: three ranges of this size, the
  // shadow an eighth.
  for (uint64_t size = 4ull << 40; size >= (1ull << 30); size >>= 1) {
    uint8_t *addresses = reserve(size, PROT_NONE);
    arena = reserve(size, PROT_READ | PROT_WRITE);
    shadowBase = reserve(size / 8, PROT_READ | PROT_WRITE);
    if (addresses && arena && shadowBase) {
      arenaBase = (uint64_t)addresses, arenaSize = size;
      next = arenaBase + redZone;
      return;
    }
    if (addresses)
      munmap(addresses, size);
    if (arena)
      munmap(arena, size);
    if (shadowBase)
      munmap(shadowBase, size / 8);
    arena = shadowBase = nullptr;
  }
}

const Allocation *Memory::allocate(uint64_t size, int device,
                                   const std::string &what) {
  std::unique_lock lock(mutex);
  if (!arena || used[device] + size > capacity ||
      next + size + redZone + page > arenaBase + arenaSize)
    return nullptr;
  Allocation a;
  a.addr = next, a.size = size,
  a.hostDelta = (int64_t)((uint64_t)arena - arenaBase);
  a.device = device, a.hasShadow = true, a.id = ++ids, a.what = what;
  next = (next + size + redZone + page - 1) / page * page;
  used[device] += size;
  return &(byAddr[a.addr] = a);
}

const Allocation *Memory::addHost(void *p, uint64_t size,
                                  const std::string &what) {
  std::unique_lock lock(mutex);
  Allocation a;
  a.addr = (uint64_t)p, a.size = size, a.device = -1, a.id = ++ids,
  a.what = what;
  return &(byAddr[a.addr] = a);
}

bool Memory::release(uint64_t addr) {
  std::unique_lock lock(mutex);
  auto it = byAddr.find(addr);
  if (it == byAddr.end() || !it->second.live)
    return false;
  Allocation &a = it->second;
  if (a.device < 0) { // the host may reuse the addresses
    byAddr.erase(it);
    return true;
  }
  a.live = false;
  used[a.device] -= a.size;
  uint64_t begin = (a.addr + page - 1) / page * page,
           end = (a.addr + a.size) / page * page;
  if (end > begin)
    madvise((void *)(begin + a.hostDelta), end - begin, MADV_DONTNEED);
  return true;
}

const Allocation *Memory::find(uint64_t addr) {
  std::shared_lock lock(mutex);
  auto it = byAddr.upper_bound(addr);
  if (it == byAddr.begin())
    return nullptr;
  const Allocation &a = std::prev(it)->second;
  return addr - a.addr < a.size ? &a : nullptr;
}

std::string Memory::describe(uint64_t addr) {
  std::shared_lock lock(mutex);
  auto text = [](const Allocation &a) {
    char buf[200];
    snprintf(buf, sizeof buf,
             "allocation #%u (%s, %llu bytes at 0x%llx, device %d)", a.id,
             a.what.c_str(), (unsigned long long)a.size,
             (unsigned long long)a.addr, a.device);
    return std::string(buf);
  };
  auto it = byAddr.upper_bound(addr);
  const Allocation *before =
      it == byAddr.begin() ? nullptr : &std::prev(it)->second;
  const Allocation *after = it == byAddr.end() ? nullptr : &it->second;
  if (before && addr - before->addr < before->size)
    return (before->live
                ? "byte " + std::to_string(addr - before->addr) + " of "
                : "byte " + std::to_string(addr - before->addr) +
                      " of freed ") +
           text(*before);
  uint64_t past = before ? addr - (before->addr + before->size) : ~0ull,
           ahead = after ? after->addr - addr : ~0ull;
  if (past == ~0ull && ahead == ~0ull)
    return "there is no allocation";
  if (past <= ahead)
    return std::to_string(past) + " bytes after " +
           (before->live ? "" : "freed ") + text(*before);
  return std::to_string(ahead) + " bytes before " +
         (after->live ? "" : "freed ") + text(*after);
}

void Memory::usage(int device, uint64_t &free, uint64_t &total) {
  std::unique_lock lock(mutex);
  total = capacity, free = capacity - used[device];
}

void Memory::markWritten(const Allocation &a, uint64_t addr, uint64_t n) {
  if (!a.hasShadow || !n)
    return;
  uint8_t *s = shadow(addr);
  unsigned head = addr & 7;
  // Work on other threads may mark neighbouring bytes: the edges are atomic.
  if (head) {
    unsigned k = std::min<uint64_t>(8 - head, n);
    __atomic_fetch_or(s++, (uint8_t)(((1u << k) - 1) << head),
                      __ATOMIC_RELAXED);
    n -= k;
  }
  memset(s, 0xff, n / 8);
  if (n & 7)
    __atomic_fetch_or(s + n / 8, (uint8_t)((1u << (n & 7)) - 1),
                      __ATOMIC_RELAXED);
}

void Memory::markUnwritten(const Allocation &a, uint64_t addr, uint64_t n) {
  for (; a.hasShadow && n; ++addr, --n) {
    if (!(addr & 7) && n >= 8) {
      memset(shadow(addr), 0, n / 8);
      addr += n / 8 * 8 - 1, n -= n / 8 * 8 - 1;
      continue;
    }
    __atomic_fetch_and(shadow(addr), (uint8_t)~(1u << (addr & 7)),
                       __ATOMIC_RELAXED);
  }
}

uint64_t Memory::firstUnwritten(const Allocation &a, uint64_t addr,
                                uint64_t n) {
  if (!a.hasShadow)
    return n;
  for (uint64_t i = 0; i < n;) {
    uint64_t at = addr + i;
    if (!(at & 63) && n - i >= 64) {
      uint64_t word;
      memcpy(&word, shadow(at), 8);
      if (word == ~0ull) {
        i += 64;
        continue;
      }
    }
    if (!(*shadow(at) >> (at & 7) & 1))
      return i;
    ++i;
  }
  return n;
}

void Memory::copyShadow(const Allocation &to, uint64_t dst,
                        const Allocation &from, uint64_t src, uint64_t n) {
  if (!to.hasShadow)
    return;
  if (firstUnwritten(from, src, n) == n) {
    markWritten(to, dst, n);
    return;
  }
  for (uint64_t i = 0; i < n; ++i) {
    bool written = !from.hasShadow || (*shadow(src + i) >> ((src + i) & 7) & 1);
    if (written)
      markWritten(to, dst + i, 1);
    else
      markUnwritten(to, dst + i, 1);
  }
}

} // namespace standin::exec
