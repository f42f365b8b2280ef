//===- Resume.cpp - Whether a run may go on from a checkpoint -------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/Manifest.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace ff::rt {

Manifest manifestOf(const Metadata &metadata,
                    const std::vector<std::string> &data) {
  Manifest manifest;
  manifest.name = metadata.name;
  manifest.seed = metadata.seed;
  manifest.trained.emplace();
  std::set<std::string> precisions, frozen;
  for (const Group &group : metadata.groups) {
    if (!group.trainable) {
      frozen.insert(fmt::format("{} of '{}'", dtypeName(group.masterDtype),
                                metadata.components[group.component].name));
      continue;
    }
    precisions.insert(fmt::format(
        "{} gathered from {}, reduced in {}", dtypeName(group.dtype),
        dtypeName(group.masterDtype), dtypeName(group.reduceDtype)));
    for (const Param &param : group.params)
      manifest.trained->push_back({metadata.fullName(group, param),
                                   dtypeName(group.masterDtype), param.shape});
  }
  std::sort(manifest.trained->begin(), manifest.trained->end(),
            [](const auto &a, const auto &b) { return a.name < b.name; });
  if (metadata.optimizer)
    manifest.settings.lr = metadata.optimizer->lr;
  if (metadata.train)
    manifest.settings.globalBatch = metadata.train->globalBatch;
  manifest.settings.data = data;
  manifest.settings.precision = fmt::format("{}", fmt::join(precisions, "; "));
  for (const Component &component : metadata.components)
    if (!component.trained || component.lora)
      for (const std::string &file : component.files)
        manifest.settings.weights += fmt::format(
            "{}{}", manifest.settings.weights.empty() ? "" : "; ",
            std::filesystem::path(file).lexically_normal().string());
  manifest.settings.frozen = fmt::format("{}", fmt::join(frozen, "; "));
  for (const Group &group : metadata.groups)
    for (const Param &param : group.params)
      if (param.merge)
        manifest.settings.adapters +=
            fmt::format("{}'{}' scaled by {}",
                        manifest.settings.adapters.empty() ? "" : "; ",
                        metadata.fullName(group, param), param.merge->scale);
  return manifest;
}

namespace {

/// At most five names of `a` that are not in `b`, or differ there.
std::string difference(const std::map<std::string, std::string> &a,
                       const std::map<std::string, std::string> &b,
                       size_t &count) {
  std::string text;
  count = 0;
  for (const auto &entry : a) {
    auto it = b.find(entry.first);
    if (it != b.end() && it->second == entry.second)
      continue;
    if (++count <= 5)
      text += fmt::format("{}'{}' ({})", text.empty() ? "" : ", ", entry.first,
                          entry.second);
  }
  if (count > 5)
    text += fmt::format(" and {} more", count - 5);
  return text.empty() ? "nothing" : text;
}

std::map<std::string, std::string> describe(const Manifest &manifest) {
  std::map<std::string, std::string> result;
  for (const Manifest::Trained &entry : *manifest.trained)
    result[entry.name] = entry.dtype + " " + shapeText(entry.shape);
  return result;
}

/// The first entry of a list, and how many follow.
std::string firstOf(const std::string &list) {
  auto more = std::count(list.begin(), list.end(), ';');
  std::string first = list.substr(0, list.find(';'));
  return more ? fmt::format("{} (and {} more)", first, more) : first;
}

std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

} // namespace

std::vector<std::string> compareManifests(const std::string &path,
                                          const Manifest &then,
                                          const Manifest &now) {
  std::vector<std::string> warnings;
  if (!then.trained) // of version 1; names are still checked while loading
    return warnings;
  auto before = describe(then), after = describe(now);
  if (before != after) {
    size_t gone, added;
    std::string goneText = difference(before, after, gone);
    std::string addedText = difference(after, before, added);
    fail("{} was made by a run that trained other parameters: {} of the {} "
         "there are not trained now: {}; {} of the {} now are not there: {}; "
         "fix: the spec that made the checkpoint, or --resume none to start "
         "over",
         path, gone, before.size(), goneText, added, after.size(), addedText);
  }
  auto compare = [&](const char *what, const std::string &a,
                     const std::string &b) {
    if (a != b)
      warnings.push_back(fmt::format(
          "{} was made with {} {}, the run goes on with {}", path, what, a, b));
  };
  compare("lr", fmt::format("{}", then.settings.lr),
          fmt::format("{}", now.settings.lr));
  compare("global_batch", std::to_string(then.settings.globalBatch),
          std::to_string(now.settings.globalBatch));
  compare("the data", join(then.settings.data), join(now.settings.data));
  // Not in checkpoints of earlier versions.
  if (!then.settings.order.empty() && then.settings.order != now.settings.order)
    warnings.push_back(fmt::format(
        "{} was made on {}, the run goes on with {}: some samples come again "
        "before others of the epoch",
        path, then.settings.order, now.settings.order));
  compare("the precision", then.settings.precision, now.settings.precision);
  // Not in checkpoints of earlier versions.
  if (!then.settings.frozen.empty())
    compare("frozen tensors in", then.settings.frozen, now.settings.frozen);
  if (!then.settings.weights.empty() &&
      then.settings.weights != now.settings.weights)
    warnings.push_back(fmt::format(
        "{} was made on the weights {}, the run goes on with {}", path,
        firstOf(then.settings.weights), firstOf(now.settings.weights)));
  if (!then.settings.adapters.empty() &&
      then.settings.adapters != now.settings.adapters)
    warnings.push_back(fmt::format(
        "{} was made with other scales of adapters (alpha / rank): {}; the run "
        "goes on with {}",
        path, firstOf(then.settings.adapters), firstOf(now.settings.adapters)));
  return warnings;
}

} // namespace ff::rt
