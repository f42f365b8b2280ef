//===- ParameterFile.cpp - Files of parameters and their state ------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/ParameterFile.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <map>

namespace ff::rt {

std::pair<Region, DType> stateRegion(const Metadata &metadata,
                                     const Layout &layout, size_t group,
                                     StateKind kind) {
  const GroupLayout &place = layout.groups[group];
  switch (kind) {
  case StateKind::Master:
    return {place.master, metadata.groups[group].masterDtype};
  case StateKind::ExpAvg:
    return {place.expAvg, place.stateDtype};
  case StateKind::ExpAvgSq:
    return {place.expAvgSq, place.stateDtype};
  case StateKind::Ema:
    return {place.ema, place.stateDtype};
  case StateKind::Gradient:
    return {place.grad, place.gradDtype};
  }
  failInternal("state kind {}", static_cast<int>(kind));
}

ParameterFile stateFile(const Metadata &metadata, const Layout &layout,
                        const std::string &path, StateKind kind) {
  std::vector<std::pair<size_t, size_t>> params;
  std::vector<PlannedTensor> tensors;
  for (size_t g = 0; g < metadata.groups.size(); ++g) {
    const Group &group = metadata.groups[g];
    if (!group.trainable)
      continue;
    DType dtype = stateRegion(metadata, layout, g, kind).second;
    for (size_t p = 0; p < group.params.size(); ++p) {
      tensors.push_back({metadata.fullName(group, group.params[p]),
                         fileDtypeName(dtype), group.params[p].shape});
      params.emplace_back(g, p);
    }
  }
  return {path, kind, std::move(params), TensorFilePlan(std::move(tensors))};
}

std::vector<ParameterFile> modelFiles(const Metadata &metadata,
                                      size_t component) {
  const Component &owner = metadata.components[component];
  std::vector<ParameterFile> files;
  for (size_t i = 0; owner.save && i < owner.save->files.size(); ++i) {
    std::vector<std::pair<size_t, size_t>> params;
    std::vector<PlannedTensor> tensors;
    for (size_t g = 0; g < metadata.groups.size(); ++g) {
      const Group &group = metadata.groups[g];
      for (size_t p = 0; p < group.params.size(); ++p) {
        const Param &param = group.params[p];
        if (group.component != static_cast<int>(component) || !param.save ||
            param.save->file != static_cast<int>(i))
          continue;
        tensors.push_back({param.save->name, param.savedDtype, param.shape});
        params.emplace_back(g, p);
      }
    }
    files.push_back({"model/" + owner.name + "/" + owner.save->files[i],
                     StateKind::Master, std::move(params),
                     TensorFilePlan(std::move(tensors), true)});
  }
  return files;
}

void eachPiece(const ParameterFile &file, const std::vector<OwnedPiece> &pieces,
               const std::function<void(size_t, const OwnedPiece &)> &body) {
  std::map<std::pair<size_t, size_t>, size_t> tensorOf;
  for (size_t i = 0; i < file.params.size(); ++i)
    tensorOf[file.params[i]] = i;
  for (const OwnedPiece &piece : pieces) {
    auto it = tensorOf.find({piece.group, piece.param});
    if (it != tensorOf.end())
      body(it->second, piece);
  }
}

/// A copy of f32 or f64 elements, times `scale`.
static const char *scaleElements(DType dtype, const char *from, double scale,
                                 int64_t count, std::vector<char> &scaled) {
  size_t size = dtypeSize(dtype);
  scaled.assign(from, from + static_cast<size_t>(count) * size);
  if (dtype == FF_F64)
    for (int64_t i = 0; i < count; ++i)
      reinterpret_cast<double *>(scaled.data())[i] *= scale;
  else
    for (int64_t i = 0; i < count; ++i)
      reinterpret_cast<float *>(scaled.data())[i] *= static_cast<float>(scale);
  return scaled.data();
}

std::vector<Span> writePieces(const ParameterFile &file,
                              const std::string &path, const Metadata &metadata,
                              const Layout &layout, const Arena &arena,
                              const std::vector<OwnedPiece> &pieces,
                              double scale) {
  DurableFile out(path, false);
  std::vector<Span> spans;
  std::vector<char> staging, scaled;
  eachPiece(file, pieces, [&](size_t index, const OwnedPiece &piece) {
    const PlannedTensor &tensor = file.plan.tensors()[index];
    auto [region, dtype] =
        stateRegion(metadata, layout, piece.group, file.kind);
    DType known;
    // The elements of types that are not ours are bytes.
    size_t size = parseFileDtype(tensor.dtype, known) ? dtypeSize(known) : 1;
    size_t offset =
        file.plan.offset(index) + static_cast<size_t>(piece.paramBegin) * size;
    double overflow = 0;
    readSlice(
        arena, region, dtype, piece.sliceBegin, piece.count,
        [&, dtype = dtype](int64_t first, int64_t count, const char *from) {
          size_t at = offset + static_cast<size_t>(first) * size;
          if (scale != 1.0)
            from = scaleElements(dtype, from, scale, count, scaled);
          overflow =
              std::max(overflow, writeElements(out, at, tensor.dtype, dtype,
                                               from, count, staging));
        });
    if (overflow > 0)
      fail("'{}' has values up to {:g}, which are infinite in the {} of {}; "
           "fix: a wider storage dtype, or a lower lr",
           tensor.name, overflow, tensor.dtype, path);
    spans.push_back({offset, static_cast<size_t>(piece.count) * size});
  });
  out.sync();
  return spans;
}

namespace {

/// Some own elements of a parameter, which come in one block.
struct StateChunk {
  size_t tensor; ///< in the file
  Interval elements;
  size_t block;
};

std::vector<StateChunk> planState(const ParameterFile &file,
                                  const SafetensorsFile &in,
                                  const Metadata &metadata,
                                  const Layout &layout, const LoadTeam &team,
                                  BlockReader &reader) {
  std::vector<StateChunk> chunks;
  for (size_t index = 0; index < file.params.size(); ++index) {
    auto [g, p] = file.params[index];
    const Param &param = metadata.groups[g].params[p];
    const FileTensor &tensor = in.tensor(file.plan.tensors()[index].name);
    auto size = static_cast<int64_t>(fileDtypeSize(tensor.dtype));
    std::vector<Interval> needs;
    for (int shardIndex : team.shardIndices)
      needs.push_back(
          scaled(ownedRange(layout.groups[g], param, shardIndex), size));
    Interval own = ownedRange(layout.groups[g], param, team.shardIndex());
    int64_t step = static_cast<int64_t>(blockBytes) / size;
    for (int64_t at = 0; at < param.span; at += step) {
      Interval range{at, std::min(at + step, param.span)};
      if (auto block = reader.add(in, tensor, scaled(range, size), needs))
        chunks.push_back({index, own.within(range), *block});
    }
  }
  return chunks;
}

} // namespace

void readPieces(const ParameterFile &file, const std::string &path,
                StateKind target, const Metadata &metadata,
                const Layout &layout, const Arena &arena,
                const LoadTeam &team) {
  SafetensorsFile in(path);
  const std::vector<PlannedTensor> &planned = file.plan.tensors();
  for (const PlannedTensor &expected : planned) {
    const FileTensor &tensor = in.tensor(expected.name);
    if (tensor.shape != expected.shape || tensor.dtype != expected.dtype)
      fail("'{}' in {} is {} {}, the spec needs {} {}", expected.name, path,
           tensor.dtype, shapeText(tensor.shape), expected.dtype,
           shapeText(expected.shape));
  }
  if (in.tensors().size() != planned.size())
    fail("{} has {} tensors, the spec trains {}", path, in.tensors().size(),
         planned.size());
  BlockReader reader(team);
  std::vector<StateChunk> chunks =
      planState(file, in, metadata, layout, team, reader);
  reader.start();
  for (const StateChunk &chunk : chunks) {
    auto [g, p] = file.params[chunk.tensor];
    auto [region, dtype] = stateRegion(metadata, layout, g, target);
    DType from = dtype;
    parseFileDtype(planned[chunk.tensor].dtype, from);
    const GroupLayout &place = layout.groups[g];
    int64_t begin = place.shards > 1 ? place.owned * team.shardIndex() : 0;
    const char *bytes = reader.open(chunk.block);
    writeSlice(
        arena, region, dtype,
        metadata.groups[g].params[p].offset + chunk.elements.begin - begin,
        chunk.elements.size(),
        [&, dtype = dtype](int64_t first, int64_t count, char *to) {
          convertElements(from,
                          bytes + static_cast<size_t>(first) * dtypeSize(from),
                          dtype, to, count);
        });
    reader.release(chunk.block);
  }
  reader.finish();
}

} // namespace ff::rt
