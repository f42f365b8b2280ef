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
#include "runtime/train/Patch.h"
#include "runtime/train/TensorFile.h"

#include <algorithm>
#include <tuple>

namespace ff::rt {

namespace {

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
                 const Param &param, const Files &files) {
  for (const SourcePiece &piece : param.source->pieces) {
    const SafetensorsFile &file = *files[static_cast<size_t>(piece.file)];
    auto it = file.tensors().find(piece.tensor);
    std::string found = "no such tensor";
    if (it != file.tensors().end())
      found = it->second.dtype + " " + shapeText(it->second.shape);
    std::string expected = param.source->dtype + " " + shapeText(piece.shape);
    if (found != expected)
      fail("'{}' in {}, the start of '{}', was {} when {} was compiled, the "
           "file now has {}; fix: compile the spec again, or put the file back",
           piece.tensor, file.path(), metadata.fullName(group, param), expected,
           metadata.spec, found);
  }
}

/// A part of what a rank owns that comes from one tensor.
struct Read {
  int component, file;
  size_t begin;  ///< of the tensor in its file
  int64_t first; ///< element of the tensor, as the group counts
  const SourcePiece *source;
  OwnedPiece piece;

  auto order() const { return std::tuple(component, file, begin, first); }
};

/// Reads pieces of tensors to the master slices of a rank.
class Loader {
public:
  Loader(const Metadata &metadata, const Layout &layout, const Arena &arena)
      : metadata(metadata), layout(layout), arena(arena) {}

  /// `files` are those of the component.
  void read(const Files &files, const Read &read) {
    const OwnedPiece &piece = read.piece;
    const Group &group = metadata.groups[piece.group];
    const Param &param = group.params[piece.param];
    const SafetensorsFile &file = *files[static_cast<size_t>(read.file)];
    if (!param.patches.empty()) {
      if (wideDtype(group.masterDtype) == FF_F64)
        return readPatched<double>(files, file, read);
      return readPatched<float>(files, file, read);
    }
    const FileTensor &tensor = file.tensor(read.source->tensor);
    // Elements of a type that we do not know are bytes, as in the group.
    double overflow = 0;
    writeMaster(piece, [&](int64_t first, int64_t count, char *to) {
      overflow = std::max(overflow,
                          readElements(file, tensor, read.first + first, count,
                                       group.masterDtype, to, staging));
    });
    if (overflow > 0)
      failOverflow(read, file, overflow);
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
  /// Widens, adds the patches, and rounds once.
  template <typename T>
  void readPatched(const Files &files, const SafetensorsFile &file,
                   const Read &read) {
    const Group &group = metadata.groups[read.piece.group];
    constexpr DType wide = sizeof(T) == 8 ? FF_F64 : FF_F32;
    const FileTensor &tensor = file.tensor(read.source->tensor);
    Patches<T> patches(group.params[read.piece.param], files);
    std::vector<T> values(mergeChunk);
    double overflow = 0;
    writeMaster(read.piece, [&](int64_t first, int64_t count, char *to) {
      for (int64_t i = 0; i < count; i += mergeChunk) {
        int64_t n = std::min(mergeChunk, count - i);
        readElements(file, tensor, read.first + first + i, n, wide,
                     values.data(), staging);
        patches.add(read.piece.paramBegin + first + i, n, values.data());
        char *at = to + static_cast<size_t>(i) * dtypeSize(group.masterDtype);
        convertElements(wide, values.data(), group.masterDtype, at, n);
        overflow =
            std::max(overflow, largestOverflow(wide, values.data(),
                                               group.masterDtype, at, n));
      }
    });
    if (overflow > 0)
      failOverflow(read, file, overflow);
  }

  [[noreturn]] void failOverflow(const Read &read, const SafetensorsFile &file,
                                 double overflow) const {
    const Group &group = metadata.groups[read.piece.group];
    const Param &param = group.params[read.piece.param];
    fail("'{}' in {}{} has {} values up to {:g}, which are infinite in {}, the "
         "master dtype of '{}'; fix: a wider dtype for the parameters of '{}'",
         read.source->tensor, file.path(),
         param.patches.empty() ? "" : ", with its adapters,",
         param.source->dtype, overflow, dtypeName(group.masterDtype),
         metadata.fullName(group, param),
         metadata.components[group.component].name);
  }

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
  for (const Group &group : metadata.groups)
    for (const Param &param : group.params)
      if (param.source)
        checkSource(metadata, group, param, files[group.component]);
  for (const Group &group : metadata.groups)
    for (const Param &param : group.params)
      for (const ParamPatch &patch : param.patches)
        checkPatch(patch, files[group.component], metadata.spec,
                   metadata.fullName(group, param));

  Loader loader(metadata, layout, arena);
  std::vector<Read> reads;
  for (const OwnedPiece &piece : ownedPieces(metadata, layout, shardIndex)) {
    const Group &group = metadata.groups[piece.group];
    const Param &param = group.params[piece.param];
    if (!param.source) {
      loader.start(piece);
      continue;
    }
    // Of types that we do not know, elements of the group are bytes.
    int64_t unit = param.span / std::max<int64_t>(param.numel(), 1);
    int64_t end = 0; // of the source piece, in the parameter
    for (const SourcePiece &source : param.source->pieces) {
      int64_t begin = end;
      end += source.count * unit;
      int64_t from = std::max(begin, piece.paramBegin);
      int64_t to = std::min(end, piece.paramBegin + piece.count);
      if (from >= to)
        continue;
      OwnedPiece part = piece;
      part.sliceBegin += from - piece.paramBegin;
      part.paramBegin = from;
      part.count = to - from;
      const SafetensorsFile &file =
          *files[group.component][static_cast<size_t>(source.file)];
      reads.push_back({group.component, source.file,
                       file.tensor(source.tensor).begin,
                       source.first * unit + from - begin, &source, part});
    }
  }
  std::sort(reads.begin(), reads.end(),
            [](const Read &a, const Read &b) { return a.order() < b.order(); });
  for (const Read &read : reads)
    loader.read(files[static_cast<size_t>(read.component)], read);
}

} // namespace ff::rt
