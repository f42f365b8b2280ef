//===- Communicator.h - Collectives between ranks -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the host of a rank exchanges with the others: a few bytes for each step,
// and what checkpoints need. The collectives of parameters and gradients are
// the target's own (runtime/cpu, runtime/cuda).
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMM_COMMUNICATOR_H
#define FF_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/core/Layout.h"

#include <memory>
#include <string>
#include <vector>

namespace ff::rt {

/// A buffer of one part for each rank of the shard axis; the own part is
/// filled.
struct GatherPart {
  void *buffer;
  size_t bytesPerRank;
};

/// The axes of the mesh.
enum class Axis { Shard, Replicate };

class Communicator {
public:
  Communicator(int rank, MeshShape mesh) : rank(rank), mesh(mesh) {}
  virtual ~Communicator() = default;

  const int rank;
  const MeshShape mesh;

  int world() const { return static_cast<int>(mesh.world()); }
  int shardIndex() const { return rank % static_cast<int>(mesh.shard); }
  int replicateIndex() const { return rank / static_cast<int>(mesh.shard); }

  /// Fills the other parts of all buffers, which are the host's, over the shard
  /// axis.
  virtual void allGather(const std::vector<GatherPart> &parts) = 0;

  int64_t size(Axis axis) const {
    return axis == Axis::Shard ? mesh.shard : mesh.replicate;
  }

  /// The byte strings of all ranks of the world, in the order of ranks.
  virtual std::vector<std::string> exchange(const std::string &mine) = 0;

  /// Returns when all ranks of the world have called it.
  void barrier() { exchange(std::string()); }

  /// The byte string of rank 0, on all ranks.
  std::string fromRankZero(const std::string &mine) {
    return exchange(rank == 0 ? mine : std::string())[0];
  }
};

} // namespace ff::rt

#endif // FF_RUNTIME_COMM_COMMUNICATOR_H
