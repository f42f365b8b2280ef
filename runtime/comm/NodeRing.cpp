//===- NodeRing.cpp - Bytes that one rank of a node reads for others ------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/NodeRing.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <linux/futex.h>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ff::rt {

/// The state is 2 r while the slot is free for its chunk number r (from 0), and
/// 2 r + 1 while it holds it.
struct alignas(64) NodeRing::Slot {
  std::atomic<uint32_t> state;
  std::atomic<uint32_t> takers; ///< that have not taken it yet
};

namespace {

constexpr size_t headBytes = 4096; ///< of the slots' states
constexpr size_t ringBytes = headBytes + NodeRing::slots * NodeRing::slotBytes;
constexpr long stopPollNanoseconds = 50'000'000;

uint32_t freeState(int64_t chunk) {
  return static_cast<uint32_t>(chunk / static_cast<int64_t>(NodeRing::slots)) *
         2;
}

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
              std::atomic<uint32_t>::is_always_lock_free);

/// Waits until the state is `wanted`; false once `stop` is true.
bool await(std::atomic<uint32_t> &state, uint32_t wanted,
           const std::atomic<bool> *stop) {
  for (;;) {
    uint32_t now = state.load(std::memory_order_acquire);
    if (now == wanted)
      return true;
    if (stop && *stop)
      return false;
    timespec poll{0, stopPollNanoseconds};
    // Of several processes, so not FUTEX_PRIVATE_FLAG. It returns at once where
    // the state is another by now.
    syscall(SYS_futex, &state, FUTEX_WAIT, now, stop ? &poll : nullptr, nullptr,
            0);
  }
}

void change(std::atomic<uint32_t> &state, uint32_t value) {
  state.store(value, std::memory_order_release);
  syscall(SYS_futex, &state, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// What ranks have in common that can open each other's /proc/PID/fd: the
/// machine, since it was started, and the namespace of processes. `fallback`
/// where the system does not say.
std::string nodeName(const std::string &fallback) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64] = {};
  if (boot.empty() ||
      readlink("/proc/self/ns/pid", space, sizeof space - 1) <= 0)
    return fallback;
  return boot + " " + space;
}

[[noreturn]] void failShared(const char *what) {
  fail("cannot {} the memory that the ranks of a node share: {}; fix: --load "
       "per-rank, or {} bytes of memory more",
       what, std::strerror(errno), ringBytes);
}

char *mapRing(int fd) {
  void *memory =
      mmap(nullptr, ringBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED)
    failShared("map");
  return static_cast<char *>(memory);
}

} // namespace

NodeRing::NodeRing(Communicator &comm) {
  std::vector<std::string> names =
      comm.exchange(nodeName(fmt::format("rank {}", comm.rank)));
  auto own = static_cast<size_t>(comm.rank);
  for (size_t rank = 0; rank < names.size(); ++rank)
    if (names[rank] == names[own]) {
      if (rank == own)
        self = members.size();
      members.push_back(static_cast<int>(rank));
    }
  // No name in a file system: what is left behind a crash is nothing.
  int fd = -1;
  std::string address;
  bool makes = self == 0 && members.size() > 1;
  if (makes) {
    fd = memfd_create("ff-node-ring", MFD_CLOEXEC);
    // Reserved now: else a write ends the process where memory is short.
    if (fd < 0 || fallocate(fd, 0, 0, ringBytes) != 0)
      failShared("make");
    memory = mapRing(fd); // zeros: all slots are free for their first chunk
    address = fmt::format("/proc/{}/fd/{}", getpid(), fd);
  }
  std::vector<std::string> addresses = comm.exchange(address);
  if (self > 0) {
    fd = open(addresses[static_cast<size_t>(members[0])].c_str(),
              O_RDWR | O_CLOEXEC);
    if (fd < 0)
      failShared("open");
    memory = mapRing(fd);
  }
  comm.barrier(); // all have opened it
  if (fd >= 0)
    close(fd);
}

NodeRing::~NodeRing() {
  if (memory)
    munmap(memory, ringBytes);
}

NodeRing::Slot &NodeRing::slotOf(int64_t chunk) const {
  static_assert(slots * sizeof(Slot) <= headBytes);
  return reinterpret_cast<Slot *>(memory)[static_cast<size_t>(chunk) % slots];
}

char *NodeRing::bytesOf(int64_t chunk) const {
  return memory + headBytes + static_cast<size_t>(chunk) % slots * slotBytes;
}

int64_t NodeRing::claim(int64_t count) {
  int64_t first = claimed;
  claimed += count;
  return first;
}

char *NodeRing::beginFill(int64_t chunk, const std::atomic<bool> &stop) {
  return await(slotOf(chunk).state, freeState(chunk), &stop) ? bytesOf(chunk)
                                                             : nullptr;
}

void NodeRing::endFill(int64_t chunk, size_t takers) {
  Slot &slot = slotOf(chunk);
  slot.takers.store(static_cast<uint32_t>(takers), std::memory_order_relaxed);
  change(slot.state, freeState(chunk) + 1);
}

const char *NodeRing::beginTake(int64_t chunk) {
  await(slotOf(chunk).state, freeState(chunk) + 1, nullptr);
  return bytesOf(chunk);
}

void NodeRing::endTake(int64_t chunk) {
  Slot &slot = slotOf(chunk);
  if (slot.takers.fetch_sub(1, std::memory_order_acq_rel) == 1)
    change(slot.state, freeState(chunk) + 2);
}

} // namespace ff::rt
