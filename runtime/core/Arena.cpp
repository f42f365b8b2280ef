//===- Arena.cpp - The one allocation of a rank ---------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Arena.h"
#include "runtime/core/Error.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace ff::rt {

Arena::Arena(size_t size) : bytes(size ? size : arenaAlignment) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail("cannot reserve {} bytes of memory: {}; fix: more ranks on the shard "
         "axis, or a smaller micro_batch",
         bytes, std::strerror(errno));
  base = static_cast<char *>(memory);
  // Fewer page-table misses in matmuls; only a hint.
  madvise(memory, bytes, MADV_HUGEPAGE);
}

Arena::~Arena() {
  if (base)
    munmap(base, bytes);
}

Arena::Arena(Arena &&other) noexcept
    : base(std::exchange(other.base, nullptr)),
      bytes(std::exchange(other.bytes, 0)) {}

Arena &Arena::operator=(Arena &&other) noexcept {
  std::swap(base, other.base);
  std::swap(bytes, other.bytes);
  return *this;
}

} // namespace ff::rt
