//===- LoadPlan.h - What a rank reads of the weight files -----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_LOADPLAN_H
#define FF_RUNTIME_TRAIN_LOADPLAN_H

#include "runtime/core/Layout.h"
#include "runtime/train/BlockReader.h"
#include "runtime/train/Patch.h"

namespace ff::rt {

/// A part of a tensor that is added to a chunk.
struct LoadDifference {
  DType dtype; ///< in the file
  size_t block;
};

/// Some own elements of a parameter, which come in one block.
struct LoadChunk {
  Interval elements;
  size_t block = 0;
  /// Of the patches that are added as they are and have a part of it, in the
  /// order of patches.
  std::vector<LoadDifference> differences;
};

/// A low-rank patch of a part: what a rank needs of its two factors.
struct LoadFactors {
  const ParamPatch *patch = nullptr;
  DType downDtype = FF_F32, upDtype = FF_F32; ///< in the file
  int64_t rank = 0, columns = 0;
  Interval rows;                ///< of `up`; `down` is needed as a whole
  std::vector<size_t> down, up; ///< blocks
};

/// What a rank owns of the elements of a parameter that come from one tensor.
struct LoadPart {
  size_t group = 0, param = 0;
  const SourcePiece *source = nullptr;
  const SafetensorsFile *file = nullptr;
  const FileTensor *tensor = nullptr;
  std::vector<const ParamPatch *> patches; ///< that change some of it
  std::vector<LoadFactors> factors;        ///< of those that are low-rank
  std::vector<LoadChunk> chunks;
};

/// The parts of this rank, in the order of the files, with their blocks added
/// to `reader`. `files` are those of each component.
std::vector<LoadPart> planLoad(const Metadata &metadata, const Layout &layout,
                               const std::vector<Files> &files,
                               const LoadTeam &team, BlockReader &reader);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_LOADPLAN_H
