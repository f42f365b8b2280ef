//===- Parameters.cpp - The parameters that a rank owns -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Parameters.h"
#include "runtime/compute/Random.h"
#include "runtime/core/Error.h"
#include "runtime/train/TensorFile.h"

#include <algorithm>

namespace ff::rt {

namespace {

using Files = std::vector<std::unique_ptr<SafetensorsFile>>;

/// The weight files of a component, with their headers.
Files openFiles(const Metadata &metadata, const Component &component) {
  Files files;
  for (const std::string &path : component.files) {
    try {
      files.push_back(std::make_unique<SafetensorsFile>(path));
    } catch (const Error &e) {
      fail("{}; component '{}' was compiled against this file; fix: put it "
           "back, "
           "or compile {} again",
           e.what(), component.name, metadata.spec);
    }
  }
  return files;
}

void checkSource(const Metadata &metadata, const Group &group,
                 const Param &param, const SafetensorsFile &file) {
  const ParamSource &source = *param.source;
  auto it = file.tensors().find(source.tensor);
  std::string found = "no such tensor";
  if (it != file.tensors().end())
    found = it->second.dtype + " " + shapeText(it->second.shape);
  std::string expected = source.dtype + " " + shapeText(param.shape);
  if (found != expected)
    fail("'{}' in {}, the start of '{}', was {} when {} was compiled, the file "
         "now has {}; fix: compile the spec again, or put the file back",
         source.tensor, file.path(), metadata.fullName(group, param), expected,
         metadata.spec, found);
}

/// Reads pieces of tensors to the master slices of a rank.
class Loader {
public:
  Loader(const Metadata &metadata, const Layout &layout, const Arena &arena)
      : metadata(metadata), layout(layout), arena(arena) {}

  void read(const SafetensorsFile &file, const OwnedPiece &piece) {
    const Group &group = metadata.groups[piece.group];
    const Param &param = group.params[piece.param];
    const FileTensor &tensor = file.tensor(param.source->tensor);
    // Elements of a type that we do not know are bytes, as in the group.
    double overflow = 0;
    writeMaster(piece, [&](int64_t first, int64_t count, char *to) {
      overflow = std::max(overflow,
                          readElements(file, tensor, piece.paramBegin + first,
                                       count, group.masterDtype, to, staging));
    });
    if (overflow > 0)
      fail(
          "'{}' in {} has {} values up to {:g}, which are infinite in {}, the "
          "master dtype of '{}'; fix: a wider dtype for the parameters of '{}'",
          param.source->tensor, file.path(), tensor.dtype, overflow,
          dtypeName(group.masterDtype), metadata.fullName(group, param),
          metadata.components[group.component].name);
  }

  void start(const OwnedPiece &piece) {
    const Group &group = metadata.groups[piece.group];
    const Param &param = group.params[piece.param];
    writeMaster(piece, [&](int64_t first, int64_t count, char *to) {
      int64_t begin = piece.paramBegin + first;
      initialize(metadata.seed, metadata.fullName(group, param), *param.init,
                 group.masterDtype, begin, begin + count, to);
    });
  }

private:
  template <typename Body>
  void writeMaster(const OwnedPiece &piece, Body &&body) const {
    DType dtype = metadata.groups[piece.group].masterDtype;
    writeSlice(arena, layout.groups[piece.group].master, dtype,
               piece.sliceBegin, piece.count, body);
  }

  const Metadata &metadata;
  const Layout &layout;
  const Arena &arena;
  std::vector<char> staging;
};

} // namespace

std::vector<OwnedPiece> ownedPieces(const Metadata &metadata,
                                    const Layout &layout, int shardIndex) {
  std::vector<OwnedPiece> pieces;
  for (size_t g = 0; g < metadata.groups.size(); ++g) {
    const Group &group = metadata.groups[g];
    const GroupLayout &place = layout.groups[g];
    int64_t begin = place.shards > 1 ? place.owned * shardIndex : 0;
    int64_t end = begin + place.owned;
    for (size_t p = 0; p < group.params.size(); ++p) {
      const Param &param = group.params[p];
      int64_t from = std::max(begin, param.offset);
      int64_t to = std::min(end, param.offset + param.span);
      if (from < to)
        pieces.push_back({g, p, from - begin, from - param.offset, to - from});
    }
  }
  return pieces;
}

std::vector<OwnedPiece> writtenPieces(const Metadata &metadata,
                                      const Layout &layout, MeshShape mesh,
                                      int rank) {
  std::vector<OwnedPiece> pieces;
  for (OwnedPiece piece :
       ownedPieces(metadata, layout, rank % static_cast<int>(mesh.shard))) {
    const GroupLayout &place = layout.groups[piece.group];
    bool sharded = place.shards > 1;
    int64_t copies = sharded ? mesh.replicate : mesh.world();
    int64_t index = sharded ? rank / mesh.shard : rank;
    int64_t part = ownedElements(place.owned, copies);
    int64_t from = std::max(piece.sliceBegin, part * index);
    int64_t to = std::min(piece.sliceBegin + piece.count, part * (index + 1));
    if (from >= to)
      continue;
    piece.paramBegin += from - piece.sliceBegin;
    piece.sliceBegin = from;
    piece.count = to - from;
    pieces.push_back(piece);
  }
  return pieces;
}

void loadParameters(const Metadata &metadata, const Layout &layout,
                    const Arena &arena, int shardIndex) {
  std::vector<Files> files;
  for (const Component &component : metadata.components)
    files.push_back(openFiles(metadata, component));
  auto fileOf = [&](const Group &group,
                    const Param &param) -> const SafetensorsFile & {
    return *files[group.component][param.source->file];
  };
  for (const Group &group : metadata.groups)
    for (const Param &param : group.params)
      if (param.source)
        checkSource(metadata, group, param, fileOf(group, param));

  Loader loader(metadata, layout, arena);
  using Position = std::tuple<int, int, size_t, int64_t>;
  std::vector<std::pair<Position, OwnedPiece>> reads;
  for (const OwnedPiece &piece : ownedPieces(metadata, layout, shardIndex)) {
    const Group &group = metadata.groups[piece.group];
    const Param &param = group.params[piece.param];
    if (!param.source) {
      loader.start(piece);
      continue;
    }
    size_t begin = fileOf(group, param).tensor(param.source->tensor).begin;
    reads.push_back(
        {{group.component, param.source->file, begin, piece.paramBegin},
         piece});
  }
  std::sort(reads.begin(), reads.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  for (const auto &read : reads) {
    const Group &group = metadata.groups[read.second.group];
    loader.read(fileOf(group, group.params[read.second.param]), read.second);
  }
}

} // namespace ff::rt
