//===- Layout.h - Where everything lies in memory -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout is a pure function of the metadata, the mesh and the mode, so that
// what `ff-compile --plan` prints is what the trainer reserves, to the byte.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_LAYOUT_H
#define FF_RUNTIME_CORE_LAYOUT_H

#include "runtime/core/Metadata.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace ff::rt {

/// Alignment of every buffer, in bytes.
constexpr size_t arenaAlignment = 64;

/// The buffer through which tensors are written, where dtypes differ. It is not
/// in the arena: it lives while saving.
constexpr size_t stagingBytes = size_t{4} << 20;

/// Bytes of a weight file that are loaded at a time.
constexpr size_t blockBytes = size_t{1} << 20;

/// Elements of weights that are merged with adapters at a time.
constexpr int64_t mergeChunk = 1 << 17;

/// Input sets of a program: one in use and two that are read ahead.
constexpr int inputSets = 3;

/// On a GPU: sets in its memory, one in use and one that is copied; the others
/// are in page-locked memory of the host.
constexpr int deviceInputSets = 2;

/// On a GPU: workspace of its matmul library, for every chip, since the plan
/// does not depend on the machine. NVIDIA recommends as much for sm_90.
constexpr size_t deviceMatmulScratch = size_t{32} << 20;
/// Of that workspace: what cublasLtMatmul asks for.
constexpr size_t deviceScratchAlignment = 256;

/// On a GPU: bytes that a rank sends in one exchange of the hosts.
constexpr size_t exchangeBytes = size_t{64} << 10;

/// Elements of a parameter whose gradient statistics are one partial sum.
constexpr int64_t statsChunk = 16384;

/// Bytes for the tables and partial sums of the runtime's kernels on a GPU, at
/// most.
constexpr size_t deviceTableBytes(int64_t pieces, int64_t elements,
                                  int64_t zeroRanges) {
  return static_cast<size_t>(256 * (pieces + 8) + 32 * (zeroRanges + 8) +
                             48 * (elements / statsChunk + pieces + 8));
}

/// Where the parts of Layout::records begin: what the host reads after a step,
/// what it writes before each micro-batch (one for each input set), tables.
constexpr size_t recordBytes = 256, scalarBytes = 64, tablesOffset = 512;

enum class RunMode { Train, Sample };

/// Sizes of the mesh axes. Rank r has shard index r % shard and replicate index
/// r / shard.
struct MeshShape {
  int64_t replicate = 1;
  int64_t shard = 1;

  int64_t world() const { return replicate * shard; }
};

struct LayoutRequest {
  RunMode mode = RunMode::Train;
  MeshShape mesh;
  /// The largest scratchpad of a matmul, from matmulScratchBytes() in
  /// compute/Matmul.h. It depends on the machine.
  size_t matmulScratchBytes = 0;
};

/// A part of the arena, in bytes.
struct Region {
  size_t offset = 0;
  size_t bytes = 0;
};

struct GroupLayout {
  int64_t owned = 0;  ///< elements of the slice of one rank
  int64_t shards = 1; ///< slices of the gathered buffer; 1: not sharded
  /// Nothing is gathered, since there is one slice: the buffer is the master
  /// slice itself, or its copy.
  bool resident = false;
  DType gradDtype = FF_F32;  ///< of the accumulated gradient slice
  DType stateDtype = FF_F32; ///< of moments and EMA
  size_t slotOffset = 0;     ///< of the gathered buffer in a gather slot
  size_t gradSlotOffset = 0; ///< of the gradient buffer in a gradient slot
  Region master, grad, expAvg, expAvgSq, ema;
  /// On a GPU, of what is trained: the slice in the gathered dtype, where that
  /// is not the master's. The optimizer writes both at once.
  Region copy;

  /// Elements of the gathered buffer.
  int64_t whole() const { return owned * shards; }
};

struct Layout {
  std::vector<GroupLayout> groups;
  std::vector<Region> gatherSlots, gradSlots;
  /// Offsets of each input in a set, for each program that runs (the buckets of
  /// the train program), and of each output in its region.
  std::vector<std::vector<size_t>> inputOffsets;
  std::vector<size_t> outputOffsets;
  size_t inputSetBytes = 0;
  Region activations, inputs, outputs, collectives, matmulScratch;
  Region records; ///< on a GPU: see recordBytes
  size_t totalBytes = 0;
  /// Bytes that a rank takes besides, at most: buffers of loading and saving,
  /// not the files that are mapped. On a GPU also page-locked inputs.
  size_t hostBytes = 0;
  bool onDevice = false; ///< the arena is not memory of the host

  size_t peakHostBytes() const {
    return hostBytes + (onDevice ? 0 : totalBytes);
  }
};

/// The groups that hold adapters of the weights of a unit.
std::set<size_t> adapterGroups(const Metadata &metadata, size_t unit);

/// Elements of a group that each of `shard` ranks owns, as metadata.md says.
int64_t ownedElements(int64_t numel, int64_t shard);

/// The program that runs in `mode`, of several buckets the first; an Error
/// where the spec has none.
const Program &programOf(const Metadata &metadata, RunMode mode);

/// All that run in `mode`: one for each bucket. They differ in their inputs.
std::vector<const Program *> programsOf(const Metadata &metadata, RunMode mode);

Layout computeLayout(const Metadata &metadata, const LayoutRequest &request);

/// What the regions of a layout hold, in bytes.
struct LayoutTotals {
  size_t trained = 0, frozen = 0; ///< slices of parameters
  size_t gradients = 0, moments = 0, ema = 0, copies = 0;
  size_t gatherSlots = 0, gradSlots = 0;
};
LayoutTotals totalsOf(const Metadata &metadata, const Layout &layout);

/// An Error where the layout takes more than the device_memory or host_memory
/// of the spec.
void checkLimits(const Metadata &metadata, const Layout &layout);

/// A table of the regions with their bytes, for --print-layout.
std::string formatLayout(const Metadata &metadata, const LayoutRequest &request,
                         const Layout &layout);

/// The mesh of `world` ranks under the axis sizes of the spec (0 = whatever is
/// left). An Error where the product cannot be `world`, with the
/// factorisations that fit.
MeshShape resolveMesh(int64_t replicate, int64_t shard, int64_t world);

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_LAYOUT_H
