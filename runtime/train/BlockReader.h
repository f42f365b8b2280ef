//===- BlockReader.h - How bytes of weight files reach a rank -------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank needs of the files is a list of blocks, in the order in which it
// uses them. A rank that loads alone reads each of them from the file. Ranks of
// a node that load together have the same list of the blocks that several of
// them need: they read those in turn, ahead of their use, to a NodeRing. What
// only one of them needs it reads itself, in either case, and nobody copies it.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_BLOCKREADER_H
#define FF_RUNTIME_TRAIN_BLOCKREADER_H

#include "runtime/comm/NodeRing.h"
#include "runtime/train/Safetensors.h"

#include <optional>
#include <thread>

namespace ff::rt {

/// The ranks that load together: those of a node, or one alone.
struct LoadTeam {
  std::vector<int> shardIndices; ///< of each of them
  size_t self = 0;
  NodeRing *ring = nullptr; ///< of several

  static LoadTeam alone(int shardIndex) { return {{shardIndex}, 0, nullptr}; }
  /// All ranks of the node of `ring`.
  static LoadTeam of(NodeRing &ring, MeshShape mesh);

  int shardIndex() const { return shardIndices[self]; }
};

/// How the ranks of `comm` load, which all make one.
struct Loading {
  Loading(Communicator &comm, bool perNode);

  std::optional<NodeRing> ring;
  LoadTeam team;
};

/// A range, of elements or bytes; empty where begin >= end.
struct Interval {
  int64_t begin = 0, end = 0;

  bool empty() const { return begin >= end; }
  int64_t size() const { return empty() ? 0 : end - begin; }
  Interval within(Interval other) const;
};

inline Interval scaled(Interval range, int64_t factor) {
  return {range.begin * factor, range.end * factor};
}
inline Interval shifted(Interval range, int64_t by) {
  return {range.begin + by, range.end + by};
}

/// A part of a tensor.
struct Block {
  const SafetensorsFile *file;
  const FileTensor *tensor;
  Interval all;        ///< what ranks of the team need, in bytes of the tensor
  Interval own;        ///< what this one needs of it
  size_t takers = 0;   ///< ranks of the team that need some of it
  bool shared = false; ///< several need the same bytes
};

class BlockReader {
public:
  explicit BlockReader(const LoadTeam &team);
  ~BlockReader();

  /// Adds the bytes `range` of a tensor as the next block, at most blockBytes,
  /// of which each rank of the team needs a part. Nothing is added where this
  /// rank has nothing to do with it: the number is there where it needs it.
  std::optional<size_t> add(const SafetensorsFile &file,
                            const FileTensor &tensor, Interval range,
                            const std::vector<Interval> &needs);

  /// Once all are added.
  void start();

  /// The own bytes of a block, until it is released. Blocks are opened in their
  /// order, and each that was added for this rank is: others wait for it.
  const char *open(size_t block);
  size_t ownBytes(size_t block) const {
    return static_cast<size_t>(blocks[block].own.size());
  }
  /// Copies `bytes` of them, from byte `at` on, without a buffer between.
  void copy(size_t block, int64_t at, size_t bytes, char *to);
  void release(size_t block);

  /// Returns when this rank has read all that others wait for, too.
  void finish();

  /// Bytes of files that this rank has read.
  size_t bytesRead() const { return total; }

private:
  void read(const Block &block, Interval range, char *to);
  void fill();
  /// Has the system fetch what this rank reads itself after block `number`.
  void expectAfter(size_t number);

  const LoadTeam &team;
  std::vector<Block> blocks;
  std::vector<size_t> shared; ///< blocks that several ranks need
  int64_t firstChunk = 0;
  size_t nextShared = 0; ///< the first of them that was not released
  size_t expected = 0;   ///< blocks that the system was told of
  std::vector<char> staging;
  std::atomic<size_t> total{0};
  std::atomic<bool> stop{false};
  std::thread filler;
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_BLOCKREADER_H
