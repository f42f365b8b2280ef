//===- Arena.cpp - The one allocation of a rank ---------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Arena.h"
#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace ff::rt {

/// Takes the pages now: what the plan says is then in memory, or the run ends
/// here and not at some later step.
static bool populate(char *memory, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  int result;
  do
    result = madvise(memory, bytes, MADV_POPULATE_WRITE);
  while (result != 0 && errno == EINTR);
  if (result == 0 || errno != EINVAL)
    return result == 0;
#endif
  // A kernel without it: a write takes the page.
  for (size_t at = 0; at < bytes; at += 4096)
    const_cast<volatile char *>(memory)[at] = 0;
  return true;
}

HostArena::HostArena(size_t size)
    : Arena(nullptr, size ? size : arenaAlignment) {
  size_t available = availableBytes();
  if (available && bytes > available)
    fail("a rank needs {} bytes of memory, the machine has {} available; fix: "
         "more ranks on the shard axis of several machines, or a smaller "
         "micro_batch",
         bytes, available);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail("cannot reserve {} bytes of memory: {}; fix: more ranks on the shard "
         "axis, or a smaller micro_batch",
         bytes, std::strerror(errno));
  base = static_cast<char *>(memory);
  // Fewer page-table misses in matmuls; only a hint.
  madvise(memory, bytes, MADV_HUGEPAGE);
  if (!populate(base, bytes)) {
    int error = errno;
    munmap(memory, bytes);
    base = nullptr;
    fail("cannot take {} bytes of memory: {}; fix: more ranks on the shard "
         "axis, or a smaller micro_batch",
         bytes, std::strerror(error));
  }
}

HostArena::~HostArena() { munmap(base, bytes); }

void HostArena::read(const Region &region, size_t begin, size_t count,
                     const Reader &body) const {
  if (count)
    body(at<char>(region) + begin, 0, count);
}

void HostArena::write(const Region &region, size_t begin, size_t count,
                      const Writer &body) const {
  if (count)
    body(at<char>(region) + begin, 0, count);
}

} // namespace ff::rt
