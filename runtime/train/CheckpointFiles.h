//===- CheckpointFiles.h - The files of a checkpoint ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_CHECKPOINTFILES_H
#define FF_RUNTIME_TRAIN_CHECKPOINTFILES_H

#include "runtime/train/ModelText.h"

#include <string>
#include <vector>

namespace ff::rt {

/// All files of a checkpoint but its manifest; see Checkpoint.h. What the
/// trainer writes and what the plan counts.
struct CheckpointFiles {
  CheckpointFiles(const Metadata &metadata, const Layout &layout);

  std::vector<ParameterFile> files; ///< model/, state/, merged/
  size_t firstState = 0;            ///< the files from here on are state
  size_t firstMerged = 0; ///< the files from here on are merged weights
  std::vector<TextFile> texts;

  size_t bytes() const;
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_CHECKPOINTFILES_H
