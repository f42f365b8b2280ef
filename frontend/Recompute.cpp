//===- Recompute.cpp - Which blocks the backward computes again -*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [train] recompute, also known as activation checkpointing: "none", "block",
// or patterns over the paths of blocks.
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"
#include "frontend/Pattern.h"

#include "llvm/ADT/STLExtras.h"

using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

void Importer::resolveRecompute(ComponentInfo &info) {
  const Node *recompute = spec.get("train", "recompute");
  if (!recompute || (recompute->isString() && recompute->string == "none"))
    return;
  for (const ComponentParam &param : info.params) {
    if (param.block.empty())
      continue;
    if (recompute->isString()) {
      info.recomputed.insert(param.block);
      continue;
    }
    for (const auto &pattern : recompute->items)
      if (matchesPattern(pattern->string, param.block) ||
          matchesPattern(pattern->string, info.name + "." + param.block)) {
        usedRecompute.insert(pattern.get());
        info.recomputed.insert(param.block);
      }
  }
}

void Importer::checkRecomputePatterns() {
  const Node *recompute = spec.get("train", "recompute");
  if (!recompute || !recompute->isArray())
    return;
  std::vector<std::string> blocks;
  for (auto &info : components)
    for (const ComponentParam &param : info->params)
      if (!param.block.empty() &&
          (blocks.empty() || blocks.back() != param.block))
        blocks.push_back(param.block);
  for (const auto &pattern : recompute->items)
    if (!usedRecompute.contains(pattern.get()))
      reportDeadPattern(pattern->string, pattern->loc, "block of the bundle",
                        blocks);
}
