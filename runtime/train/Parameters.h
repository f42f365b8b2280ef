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

#include <functional>

namespace ff::rt {

/// The part of one parameter in the slice of one rank.
struct OwnedPiece {
  size_t group;
  size_t param;
  int64_t sliceBegin; ///< first element in the slice of the group
  int64_t paramBegin; ///< first element in the parameter, row-major
  int64_t count;
};

/// The pieces of the rank with `shardIndex`, in the order of groups and
/// parameters.
std::vector<OwnedPiece> ownedPieces(const Metadata &metadata,
                                    const Layout &layout, int shardIndex);

/// Fills the master slices: components with `weights` from their files, the
/// others from the initialisers. The same values on any number of ranks. An
/// Error where names, shapes or dtypes of a file do not match.
void loadParameters(const Metadata &metadata, const Layout &layout,
                    const Arena &arena, int shardIndex);

/// Paths of the files behind `weights`: a file, a folder or an index.
std::vector<std::string> weightFiles(const std::string &weights);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_PARAMETERS_H
