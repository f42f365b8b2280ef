//===- Units.cpp - The shard unit of each parameter -------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [sharding] units:
//
//   "blocks"            each instance of a block module
//   { min_params = N }  consecutive blocks, as many as it takes for N
//   [patterns]          each module whose path a pattern matches
//
// What no unit holds is the root unit of its component.
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"
#include "frontend/Pattern.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

/// Blocks 3, 4 and 5 as "blocks.3-5".
static std::string joinBlocks(StringRef first, StringRef last) {
  if (first == last)
    return first.str();
  auto [list, begin] = first.rsplit('.');
  auto [otherList, end] = last.rsplit('.');
  return list == otherList ? (first + "-" + end).str()
                           : (first + "-" + last).str();
}

static void formBySize(ComponentInfo &info, int64_t minimum) {
  std::vector<std::pair<StringRef, int64_t>> blocks; // in order, with sizes
  for (const ComponentParam &param : info.params) {
    if (param.block.empty())
      continue;
    if (blocks.empty() || blocks.back().first != param.block)
      blocks.push_back({param.block, 0});
    blocks.back().second += param.numel();
  }
  llvm::StringMap<std::string> unitOf;
  for (size_t begin = 0; begin < blocks.size();) {
    size_t end = begin;
    int64_t size = 0;
    while (end < blocks.size() && size < minimum)
      size += blocks[end++].second;
    // What is left at the end joins the unit before it.
    int64_t rest = 0;
    for (size_t i = end; i < blocks.size(); ++i)
      rest += blocks[i].second;
    if (rest < minimum)
      end = blocks.size();
    std::string name = joinBlocks(blocks[begin].first, blocks[end - 1].first);
    for (size_t i = begin; i < end; ++i)
      unitOf[blocks[i].first] = name;
    begin = end;
  }
  for (ComponentParam &param : info.params)
    if (!param.block.empty())
      param.unit = unitOf[param.block];
}

/// The paths of the modules around a parameter, outermost first.
static std::vector<StringRef> modulesAround(const ComponentParam &param) {
  std::vector<StringRef> paths;
  StringRef name = param.name;
  for (size_t dot = name.find('.'); dot != StringRef::npos;
       dot = name.find('.', dot + 1))
    paths.push_back(name.take_front(dot));
  return paths;
}

/// The outermost module around the parameter that a pattern matches.
static std::string unitByPattern(const ComponentInfo &info,
                                 const ComponentParam &param,
                                 const Node &patterns,
                                 llvm::SetVector<const Node *> &used) {
  std::string unit;
  for (StringRef path : modulesAround(param))
    for (const auto &pattern : patterns.items) {
      if (!pattern->isString() ||
          !(matchesPattern(pattern->string, path) ||
            matchesPattern(pattern->string, info.name + "." + path.str())))
        continue;
      // `*` also stands for dots: "blocks.*" means blocks.3, not blocks.3.attn.
      used.insert(pattern.get());
      if (unit.empty())
        unit = path.str();
    }
  return unit;
}

/// What to shard by, with how often: for an error.
static std::string describeBlocks(ArrayRef<ComponentInfo *> infos) {
  llvm::MapVector<StringRef, llvm::StringSet<>> lists;
  for (ComponentInfo *info : infos)
    for (const ComponentParam &param : info->params)
      if (!param.block.empty())
        lists[StringRef(param.block).rsplit('.').first].insert(
            info->name + "." + param.block);
  std::string text;
  for (auto &[list, members] : lists) {
    if (!text.empty())
      text += ", ";
    text += ("'" + list + ".*' (" + Twine(members.size()) + ")").str();
  }
  return text.empty() ? "the bundle has no blocks" : "the blocks are " + text;
}

bool Importer::resolveUnits(ArrayRef<ComponentInfo *> all) {
  bool ok = true;
  llvm::SetVector<const Node *> used;
  std::vector<const Node *> tables;
  for (ComponentInfo *info : all) {
    const Node *units = componentNode(*info, "sharding", "units");
    if (!units)
      continue;
    if (const Node *minimum =
            units->isTable() ? units->get("min_params") : nullptr) {
      if (minimum->isInteger() && minimum->integer > 0)
        formBySize(*info, minimum->integer);
    } else if (units->isArray()) {
      if (!llvm::is_contained(tables, units))
        tables.push_back(units);
      for (ComponentParam &param : info->params)
        param.unit = unitByPattern(*info, param, *units, used);
      ok &= checkTiedUnits(*info, *units, used);
    } else {
      for (ComponentParam &param : info->params)
        param.unit = param.block;
    }
  }
  for (const Node *patterns : tables)
    for (const auto &pattern : patterns->items) {
      if (!pattern->isString() || used.contains(pattern.get()))
        continue;
      diags
          .error(pattern->loc, "pattern '" + pattern->string +
                                   "' matches no module of the bundle")
          .note(describeBlocks(all));
      ok = false;
    }
  return ok;
}

/// A tied parameter has one owner: its other names cannot be in other units.
/// Adds the patterns that match them to `alive`.
bool Importer::checkTiedUnits(ComponentInfo &info, const Node &patterns,
                              llvm::SetVector<const Node *> &alive) {
  bool ok = true;
  for (auto &alias : info.tied) {
    const ComponentParam *owner = info.find(alias.second);
    ComponentParam other = *owner;
    other.name = alias.first().str();
    llvm::SetVector<const Node *> used, ownUsed;
    std::string unit = unitByPattern(info, other, patterns, used);
    alive.insert(used.begin(), used.end());
    if (unit.empty() || unit == owner->unit)
      continue;
    unitByPattern(info, *owner, patterns, ownUsed);
    auto report = diags.error(
        (*used.begin())->loc,
        "'" + other.name + "' would be in unit '" + unit + "', and '" +
            owner->name + "', to which it is tied, in '" +
            (owner->unit.empty() ? std::string("root") : owner->unit) + "'");
    if (!ownUsed.empty())
      report.note((*ownUsed.begin())->loc, "the other unit comes from here");
    report.note(owner->decl->loc, "one tensor has one owner; leave one of the "
                                  "two patterns out");
    ok = false;
  }
  return ok;
}

/// A unit that is most of the bundle is whole on every rank at some time.
void Importer::warnAboutUnits(ArrayRef<ComponentInfo *> all) {
  llvm::MapVector<std::pair<ComponentInfo *, StringRef>, double> bytes;
  double total = 0;
  for (ComponentInfo *info : all)
    for (const ComponentParam &param : info->params) {
      double size =
          double(param.numel()) * param.gather.getIntOrFloatBitWidth() / 8;
      bytes[{info, param.unit}] += size;
      total += size;
    }
  constexpr double worthIt = 256.0 * (1 << 20);
  for (auto &[unit, size] : bytes) {
    if (size < worthIt || size <= total / 2 || !unit.first->sharded)
      continue;
    std::string name =
        unit.second.empty() ? std::string("root") : unit.second.str();
    diags
        .warning(unit.first->loc,
                 "unit '" + unit.first->name + "." + name + "' holds " +
                     Twine(static_cast<int64_t>(100 * size / total)) +
                     " % of the bundle, " +
                     Twine(static_cast<int64_t>(size / (1 << 20))) +
                     " MiB, and every rank gathers all of it")
        .note(describeBlocks(all) +
              "; give its module blocks, or units to [sharding]");
  }
}
