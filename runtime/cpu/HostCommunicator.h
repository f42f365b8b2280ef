//===- HostCommunicator.h - Collectives on memory of the host -------------===//
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

#ifndef FF_RUNTIME_CPU_HOSTCOMMUNICATOR_H
#define FF_RUNTIME_CPU_HOSTCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"

namespace ff::rt {

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

class HostCommunicator : public Communicator {
public:
  using Communicator::Communicator;

  /// Adds the chunks that belong to this rank, over the shard axis. `scratch`
  /// holds two chunks of the largest part, each aligned to 64 bytes.
  virtual void reduceScatter(const std::vector<ReducePart> &parts,
                             void *scratch, size_t scratchBytes) = 0;

  /// Sums n elements of f32 or f64 in place over an axis; all its ranks get the
  /// same bits. `scratch` holds two pieces of ceil(n / size of the axis).
  virtual void allReduce(Axis axis, DType dtype, void *data, int64_t n,
                         void *scratch, size_t scratchBytes) = 0;
};

/// One rank alone: nothing to exchange.
std::unique_ptr<HostCommunicator> makeSoloCommunicator();

} // namespace ff::rt

#endif // FF_RUNTIME_CPU_HOSTCOMMUNICATOR_H
