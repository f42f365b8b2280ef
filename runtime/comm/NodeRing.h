//===- NodeRing.h - Bytes that one rank of a node reads for others --------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory that the ranks of a node share: a ring of slots, each of which holds
// one chunk at a time. One rank fills it, those that need the chunk take from
// it, and the last of them frees it for the chunk that comes `slots` later.
// Chunks are numbered from 0, alike on all ranks of the node.
//
// A rank that dies leaves the others waiting here: the store ends them (see
// Store.h).
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMM_NODERING_H
#define FF_RUNTIME_COMM_NODERING_H

#include "runtime/comm/Communicator.h"

#include <atomic>

namespace ff::rt {

class NodeRing {
public:
  static constexpr size_t slotBytes = blockBytes;
  static constexpr size_t slots = 16;

  /// All ranks call it. A node are the ranks that see each other's processes.
  explicit NodeRing(Communicator &comm);
  ~NodeRing();
  NodeRing(const NodeRing &) = delete;
  NodeRing &operator=(const NodeRing &) = delete;

  /// The ranks of this node, ascending, and the position of this one there.
  const std::vector<int> &ranks() const { return members; }
  size_t position() const { return self; }

  /// Numbers for `count` chunks: the first of them. All ranks of the node call
  /// it with the same counts.
  int64_t claim(int64_t count);

  /// Waits until the slot of the chunk is free; null once `stop` is true.
  char *beginFill(int64_t chunk, const std::atomic<bool> &stop);
  void endFill(int64_t chunk, size_t takers);

  /// Waits until the chunk is there.
  const char *beginTake(int64_t chunk);
  void endTake(int64_t chunk);

private:
  struct Slot;
  Slot &slotOf(int64_t chunk) const;
  char *bytesOf(int64_t chunk) const;

  std::vector<int> members;
  size_t self = 0;
  int64_t claimed = 0;
  char *memory = nullptr; ///< null where this rank is alone
};

} // namespace ff::rt

#endif // FF_RUNTIME_COMM_NODERING_H
