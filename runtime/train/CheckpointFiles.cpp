//===- CheckpointFiles.cpp - The files of a checkpoint --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/CheckpointFiles.h"
#include "runtime/train/Merge.h"

namespace ff::rt {

CheckpointFiles::CheckpointFiles(const Metadata &metadata,
                                 const Layout &layout) {
  for (size_t c = 0; c < metadata.components.size(); ++c) {
    const Component &component = metadata.components[c];
    if (!component.save)
      continue;
    std::vector<ParameterFile> model = modelFiles(metadata, c);
    for (TextFile &text : modelTexts(component, model))
      texts.push_back(std::move(text));
    for (ParameterFile &file : model)
      files.push_back(std::move(file));
  }
  firstState = files.size();
  auto add = [&](const char *name, StateKind kind) {
    files.push_back(stateFile(metadata, layout, name, kind));
  };
  add("state/master.safetensors", StateKind::Master);
  add("state/exp_avg.safetensors", StateKind::ExpAvg);
  add("state/exp_avg_sq.safetensors", StateKind::ExpAvgSq);
  if (metadata.train && metadata.train->emaDecay)
    add("state/ema.safetensors", StateKind::Ema);
  firstMerged = files.size();
  for (size_t c = 0; c < metadata.components.size(); ++c)
    if (metadata.merges(metadata.components[c])) {
      files.push_back(mergedFile(metadata, c));
      for (TextFile &text : modelTexts(metadata.components[c], {files.back()}))
        texts.push_back(std::move(text));
    }
}

size_t CheckpointFiles::bytes() const {
  size_t total = 0;
  for (const ParameterFile &file : files)
    total += file.plan.totalBytes();
  for (const TextFile &file : texts)
    total += file.text.size();
  return total;
}

} // namespace ff::rt
