//===- Communicator.h - Collectives between ranks -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three groups of ranks exchange messages: the shard axis and the replicate
// axis of the mesh, and the world. The collectives of an axis run on the
// communication thread, those of the world on the step thread. Every rank calls
// them in the same order; sums have a fixed order, so they are the same bits in
// every run.
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

/// A gradient buffer of one chunk of `owned` elements for each rank of the
/// shard axis, whose sum over the ranks goes to `sum`.
struct ReducePart {
  DType dtype; ///< of the buffer
  const void *buffer;
  int64_t owned;
  DType sumDtype; ///< f32 or f64
  void *sum;
  bool overwrite; ///< the sum starts at zero, not at what `sum` holds
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

  /// Fills the other parts of all buffers, over the shard axis.
  virtual void allGather(const std::vector<GatherPart> &parts) = 0;

  /// Adds the chunks that belong to this rank, over the shard axis. `scratch`
  /// holds two chunks of the largest part, each aligned to 64 bytes.
  virtual void reduceScatter(const std::vector<ReducePart> &parts,
                             void *scratch, size_t scratchBytes) = 0;

  int64_t size(Axis axis) const {
    return axis == Axis::Shard ? mesh.shard : mesh.replicate;
  }

  /// Sums n elements of f32 or f64 in place over an axis; all its ranks get the
  /// same bits. `scratch` holds two pieces of ceil(n / size of the axis).
  virtual void allReduce(Axis axis, DType dtype, void *data, int64_t n,
                         void *scratch, size_t scratchBytes) = 0;

  /// The byte strings of all ranks of the world, in the order of ranks.
  virtual std::vector<std::string> exchange(const std::string &mine) = 0;

  /// Returns when all ranks of the world have called it.
  void barrier() { exchange(std::string()); }

  /// The byte string of rank 0, on all ranks.
  std::string fromRankZero(const std::string &mine) {
    return exchange(rank == 0 ? mine : std::string())[0];
  }
};

/// One rank alone: nothing to exchange.
std::unique_ptr<Communicator> makeSoloCommunicator();

} // namespace ff::rt

#endif // FF_RUNTIME_COMM_COMMUNICATOR_H
