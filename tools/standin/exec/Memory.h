// The memory of the stand-in devices. Device addresses are real addresses of a
// reserved range without access rights (a host that dereferences one faults, as
// with a GPU); the bytes lie in a second range at a constant distance, with one
// shadow bit a byte that says whether anybody wrote it. Addresses are never
// used twice, so that a use after free is always seen.
#ifndef FF_STANDIN_EXEC_MEMORY_H
#define FF_STANDIN_EXEC_MEMORY_H

#include <cstdint>
#include <map>
#include <shared_mutex>
#include <string>

namespace standin::exec {

struct Allocation {
  uint64_t addr = 0, size = 0;
  int64_t hostDelta = 0; // host address = addr + hostDelta
  int device = 0;        // -1: host memory, visible to all
  bool live = true, hasShadow = false;
  unsigned id = 0;
  std::string what; // "cuMemAlloc", "variable 'x'"
};

class Memory {
public:
  static Memory &get();
  bool ok() const { return arena != nullptr; }

  // Null when the device's memory or the addresses are spent.
  const Allocation *allocate(uint64_t size, int device,
                             const std::string &what);
  const Allocation *addHost(void *p, uint64_t size, const std::string &what);
  // False when addr is not the begin of a live allocation.
  bool release(uint64_t addr);
  // The allocation that holds addr, live or freed; null when none does.
  const Allocation *find(uint64_t addr);
  // For messages: what lies around addr.
  std::string describe(uint64_t addr);
  void usage(int device, uint64_t &free, uint64_t &total);
  bool inArena(uint64_t addr) const { return addr - arenaBase < arenaSize; }

  uint8_t *shadow(uint64_t addr) const {
    return shadowBase + ((addr - arenaBase) >> 3);
  }
  void markWritten(const Allocation &a, uint64_t addr, uint64_t n);
  void markUnwritten(const Allocation &a, uint64_t addr, uint64_t n);
  // The first byte of [addr, addr+n) that nobody wrote, or n.
  uint64_t firstUnwritten(const Allocation &a, uint64_t addr, uint64_t n);
  void copyShadow(const Allocation &to, uint64_t dst, const Allocation &from,
                  uint64_t src, uint64_t n);
  uint64_t totalPerDevice() const { return capacity; }

private:
  Memory();
  std::shared_mutex mutex;
  std::map<uint64_t, Allocation> byAddr;
  std::map<int, uint64_t> used;
  uint8_t *arena = nullptr, *shadowBase = nullptr;
  uint64_t arenaBase = 0, arenaSize = 0, next = 0, capacity = 0;
  unsigned ids = 0;
};

} // namespace standin::exec

#endif
