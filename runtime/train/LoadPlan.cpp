//===- LoadPlan.cpp - What a rank reads of the weight files ---------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/LoadPlan.h"
#include "runtime/core/Error.h"
#include "runtime/train/Parameters.h"

#include <algorithm>
#include <tuple>

namespace ff::rt {

namespace {

/// The elements of a parameter that come from one tensor, on whatever ranks.
struct Source {
  int component;
  size_t group, param;
  const SourcePiece *piece;
  const FileTensor *tensor;
  Interval elements; ///< of the parameter
  int64_t first;     ///< element of the tensor, as the group counts

  auto order() const {
    return std::tuple(component, piece->file, tensor->begin, first, group,
                      param);
  }
};

std::vector<Source> sourcesOf(const Metadata &metadata,
                              const std::vector<Files> &files) {
  std::vector<Source> sources;
  for (size_t g = 0; g < metadata.groups.size(); ++g) {
    const Group &group = metadata.groups[g];
    for (size_t p = 0; p < group.params.size(); ++p) {
      const Param &param = group.params[p];
      if (!param.source)
        continue;
      // Of types that we do not know, elements of the group are bytes.
      int64_t unit = param.span / std::max<int64_t>(param.numel(), 1);
      int64_t end = 0;
      for (const SourcePiece &piece : param.source->pieces) {
        int64_t begin = end;
        end += piece.count * unit;
        const Files &own = files[static_cast<size_t>(group.component)];
        const SafetensorsFile &file = *own[static_cast<size_t>(piece.file)];
        sources.push_back({group.component,
                           g,
                           p,
                           &piece,
                           &file.tensor(piece.tensor),
                           {begin, end},
                           piece.first * unit});
      }
    }
  }
  std::sort(sources.begin(), sources.end(),
            [](const auto &a, const auto &b) { return a.order() < b.order(); });
  return sources;
}

/// Bytes of an element of a tensor, as groups count elements.
int64_t elementBytes(const FileTensor &tensor) {
  DType dtype;
  return parseFileDtype(tensor.dtype, dtype)
             ? static_cast<int64_t>(dtypeSize(dtype))
             : 1;
}

DType floatDtype(const FileTensor &tensor) {
  DType dtype;
  if (!parseFileDtype(tensor.dtype, dtype))
    failInternal("an adapter of {}", tensor.dtype);
  return dtype;
}

/// Plans the parts of one rank of a team.
class Planner {
public:
  Planner(const Metadata &metadata, const Layout &layout,
          const std::vector<Files> &files, const LoadTeam &team,
          BlockReader &reader)
      : metadata(metadata), layout(layout), files(files), team(team),
        reader(reader) {}

  /// Nothing where this rank has no element of it.
  std::optional<LoadPart> plan(const Source &source) {
    const Group &group = metadata.groups[source.group];
    const Param &param = group.params[source.param];
    const Files &own = files[static_cast<size_t>(source.component)];
    std::vector<Interval> needs;
    Interval all{source.elements.end, source.elements.begin};
    for (int shardIndex : team.shardIndices) {
      Interval need = ownedRange(layout.groups[source.group], param, shardIndex)
                          .within(source.elements);
      needs.push_back(need);
      if (!need.empty())
        all = {std::min(all.begin, need.begin), std::max(all.end, need.end)};
    }
    if (all.empty())
      return std::nullopt;
    LoadPart part;
    part.group = source.group;
    part.param = source.param;
    part.source = source.piece;
    part.file = own[static_cast<size_t>(source.piece->file)].get();
    part.tensor = source.tensor;
    int64_t largest = elementBytes(*part.tensor);
    for (const ParamPatch &patch : param.patches) {
      Interval range{patch.first, patch.first + patch.count};
      if (range.within(all).empty())
        continue;
      part.patches.push_back(&patch);
      const SafetensorsFile &file = *own[static_cast<size_t>(patch.file)];
      if (!patch.down.empty())
        part.factors.push_back(planFactors(patch, file, needs));
      else
        largest = std::max(largest, elementBytes(file.tensor(patch.tensor)));
    }
    // The same on every rank, so that they agree on the blocks.
    int64_t step = static_cast<int64_t>(blockBytes) / largest;
    int64_t first = source.elements.begin +
                    (all.begin - source.elements.begin) / step * step;
    for (; first < all.end; first += step)
      planChunk(source, own, needs,
                Interval{first, first + step}.within(source.elements), part);
    if (needs[team.self].empty())
      return std::nullopt;
    return part;
  }

private:
  void planChunk(const Source &source, const Files &own,
                 const std::vector<Interval> &needs, Interval chunk,
                 LoadPart &part) {
    int64_t size = elementBytes(*part.tensor);
    auto bytesIn = [&](int64_t bytes, int64_t shift) {
      std::vector<Interval> result;
      for (Interval need : needs)
        result.push_back(scaled(shifted(need.within(chunk), shift), bytes));
      return result;
    };
    int64_t shift = source.first - source.elements.begin;
    std::optional<size_t> block =
        reader.add(*part.file, *part.tensor,
                   scaled(shifted(chunk, shift), size), bytesIn(size, shift));
    LoadChunk planned{needs[team.self].within(chunk), block.value_or(0), {}};
    for (const ParamPatch *patch : part.patches) {
      if (!patch->down.empty())
        continue;
      const SafetensorsFile &file = *own[static_cast<size_t>(patch->file)];
      const FileTensor &tensor = file.tensor(patch->tensor);
      int64_t bytes = elementBytes(tensor);
      Interval range =
          chunk.within({patch->first, patch->first + patch->count});
      auto difference =
          reader.add(file, tensor, scaled(shifted(range, -patch->first), bytes),
                     bytesIn(bytes, -patch->first));
      if (difference)
        planned.differences.push_back({floatDtype(tensor), *difference});
    }
    if (block)
      part.chunks.push_back(std::move(planned));
  }

  LoadFactors planFactors(const ParamPatch &patch, const SafetensorsFile &file,
                          const std::vector<Interval> &needs) {
    const FileTensor &up = file.tensor(patch.tensor);
    const FileTensor &down = file.tensor(patch.down);
    LoadFactors factors;
    factors.patch = &patch;
    factors.upDtype = floatDtype(up);
    factors.downDtype = floatDtype(down);
    factors.rank = up.numel() / patch.shape[0];
    factors.columns = down.numel() / factors.rank;
    std::vector<Interval> upNeeds, downNeeds;
    for (size_t i = 0; i < needs.size(); ++i) {
      Interval own =
          shifted(needs[i].within({patch.first, patch.first + patch.count}),
                  -patch.first);
      Interval rows;
      if (!own.empty())
        rows = {own.begin / factors.columns,
                (own.end - 1) / factors.columns + 1};
      if (i == team.self)
        factors.rows = rows;
      upNeeds.push_back(scaled(rows, factors.rank * elementBytes(up)));
      downNeeds.push_back(
          {0, own.empty() ? 0 : down.numel() * elementBytes(down)});
    }
    factors.down = planTensor(file, down, downNeeds);
    factors.up = planTensor(file, up, upNeeds);
    return factors;
  }

  std::vector<size_t> planTensor(const SafetensorsFile &file,
                                 const FileTensor &tensor,
                                 const std::vector<Interval> &needs) {
    std::vector<size_t> own;
    int64_t end = tensor.numel() * elementBytes(tensor);
    auto step = static_cast<int64_t>(blockBytes);
    for (int64_t at = 0; at < end; at += step)
      if (auto block =
              reader.add(file, tensor, {at, std::min(at + step, end)}, needs))
        own.push_back(*block);
    return own;
  }

  const Metadata &metadata;
  const Layout &layout;
  const std::vector<Files> &files;
  const LoadTeam &team;
  BlockReader &reader;
};

} // namespace

std::vector<LoadPart> planLoad(const Metadata &metadata, const Layout &layout,
                               const std::vector<Files> &files,
                               const LoadTeam &team, BlockReader &reader) {
  Planner planner(metadata, layout, files, team, reader);
  std::vector<LoadPart> parts;
  for (const Source &source : sourcesOf(metadata, files))
    if (auto part = planner.plan(source))
      parts.push_back(std::move(*part));
  return parts;
}

} // namespace ff::rt
