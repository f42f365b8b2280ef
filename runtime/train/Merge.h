//===- Merge.h - Weights with their adapters added ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_MERGE_H
#define FF_RUNTIME_TRAIN_MERGE_H

#include "runtime/comm/Communicator.h"
#include "runtime/train/ParameterFile.h"

namespace ff::rt {

/// The file of merged/COMPONENT: all weights of the component, of which some
/// have W + scale * B x A. metadata.md says which and under which names.
ParameterFile mergedFile(const Metadata &metadata, size_t component);

/// Writes the elements of `pieces` to the file. Only adapters are gathered,
/// unit by unit: a rank computes the elements that it owns. All ranks call it,
/// and make the same collectives even where one of them fails: it calls them to
/// the end, and then throws. No step may run.
std::vector<Span> writeMerged(const ParameterFile &file,
                              const std::string &path, const Metadata &metadata,
                              const Layout &layout, const Arena &arena,
                              Communicator &comm,
                              const std::vector<OwnedPiece> &pieces);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_MERGE_H
