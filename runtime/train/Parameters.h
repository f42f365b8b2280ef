//===- Parameters.h - The parameters that a rank owns ---------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_PARAMETERS_H
#define FF_RUNTIME_TRAIN_PARAMETERS_H

#include "runtime/comm/Communicator.h"
#include "runtime/core/Arena.h"
#include "runtime/train/BlockReader.h"

namespace ff::rt {

/// The part of one parameter in the slice of one rank.
struct OwnedPiece {
  size_t group;
  size_t param;
  int64_t sliceBegin; ///< first element in the slice of the group
  int64_t paramBegin; ///< first element in the parameter, row-major
  int64_t count;      ///< in elements of the group, see Param::span
};

/// Calls body(first, count, address) for the elements from `begin` on of a
/// region of `dtype`, in pieces: `first` counts from `begin`. The host reads
/// there what the region holds, or writes what it will hold.
template <typename Body>
void readSlice(const Arena &arena, const Region &region, DType dtype,
               int64_t begin, int64_t count, Body &&body) {
  size_t size = dtypeSize(dtype);
  arena.read(region, static_cast<size_t>(begin) * size,
             static_cast<size_t>(count) * size,
             [&](const char *data, size_t at, size_t bytes) {
               body(static_cast<int64_t>(at / size),
                    static_cast<int64_t>(bytes / size), data);
             });
}
template <typename Body>
void writeSlice(const Arena &arena, const Region &region, DType dtype,
                int64_t begin, int64_t count, Body &&body) {
  size_t size = dtypeSize(dtype);
  arena.write(region, static_cast<size_t>(begin) * size,
              static_cast<size_t>(count) * size,
              [&](char *data, size_t at, size_t bytes) {
                body(static_cast<int64_t>(at / size),
                     static_cast<int64_t>(bytes / size), data);
              });
}

/// What of a parameter a rank owns, in its elements: row-major, as the group
/// counts (see Param::span).
Interval ownedRange(const GroupLayout &place, const Param &param,
                    int shardIndex);

/// The pieces of the rank with `shardIndex`, in the order of groups and
/// parameters.
std::vector<OwnedPiece> ownedPieces(const Metadata &metadata,
                                    const Layout &layout, int shardIndex);

/// The pieces that `rank` writes of what it owns: replicas hold the same
/// elements, and each writes a part of them, so that all ranks together write
/// every element once.
std::vector<OwnedPiece> writtenPieces(const Metadata &metadata,
                                      const Layout &layout, MeshShape mesh,
                                      int rank);

/// Fills the master slices: parameters with a source from their files, the
/// others from the initialisers. The same values on any number of ranks.
///
/// All headers are checked before anything is read: a file that is no longer
/// what the spec was compiled against is an Error. Tensors are then read in the
/// order of the files, in blocks, and only what the ranks of the team own of
/// them. Returns the bytes that this rank has read. All ranks of a team with a
/// ring call it.
size_t loadParameters(const Metadata &metadata, const Layout &layout,
                      const Arena &arena, const LoadTeam &team);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_PARAMETERS_H
