//===- Parameters.cpp - The parameters that a rank owns -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parameter that comes from files goes through these steps, in blocks of at
// most 1 MiB of the file, so that no tensor is ever whole on the host:
//
//   read     BlockReader: from the file, or from the ring of the node. Straight
//            to the slice where neither patches nor a cast come between. The
//            system fetches the next blocks meanwhile.
//            Memory: one block; the ring of a node, 16 MiB.
//   patch    Patches: adapters are added to the block, as floats. Memory: the
//            block in f32 (f64), one more for a difference, and the factors of
//            the part: A whole and the rows of B that this rank has.
//   cast     Loader::cast: to the master dtype, once. Memory: none.
//   slice    Loader::slice: to the elements that this rank owns, in the arena;
//            on a GPU through the page-locked buffer of its arena, 4 MiB.
//   release  BlockReader::release: the block may be filled anew. Factors go
//            when their part is loaded, files when all is.
//
// LoadPlan says beforehand which blocks these are, for the ranks of a node
// alike.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Parameters.h"
#include "runtime/compute/Random.h"
#include "runtime/compute/Threads.h"
#include "runtime/core/Error.h"
#include "runtime/train/LoadPlan.h"

#include <algorithm>
#include <mutex>

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

/// All headers, before anything is read.
void checkFiles(const Metadata &metadata, const std::vector<Files> &files) {
  for (const Group &group : metadata.groups)
    for (const Param &param : group.params)
      if (param.source)
        checkSource(metadata, group, param, files[group.component]);
  for (const Group &group : metadata.groups)
    for (const Param &param : group.params)
      for (const ParamPatch &patch : param.patches)
        checkPatch(patch, files[group.component], metadata.spec,
                   metadata.fullName(group, param));
}

/// Loads the parameters of a rank: the pipeline of the head of this file.
class Loader {
public:
  Loader(const Metadata &metadata, const Layout &layout, const Arena &arena,
         int shardIndex, BlockReader &reader)
      : metadata(metadata), layout(layout), arena(arena),
        shardIndex(shardIndex), reader(reader) {}

  void load(const LoadPart &part) {
    overflow = 0;
    if (part.patches.empty())
      loadPlain(part);
    else if (wideDtype(groupOf(part).masterDtype) == FF_F64)
      loadPatched<double>(part);
    else
      loadPatched<float>(part);
    if (overflow > 0)
      failOverflow(part);
  }

  void start(const OwnedPiece &piece) const {
    const Group &group = metadata.groups[piece.group];
    const Param &param = group.params[piece.param];
    writeSlice(arena, layout.groups[piece.group].master, group.masterDtype,
               piece.sliceBegin, piece.count,
               [&](int64_t first, int64_t count, char *to) {
                 int64_t begin = piece.paramBegin + first;
                 initialize(metadata.seed, metadata.fullName(group, param),
                            *param.init, group.masterDtype, begin,
                            begin + count, to);
               });
  }

private:
  void loadPlain(const LoadPart &part) {
    DType master = groupOf(part).masterDtype, from;
    // Elements of a type that we do not know are bytes, as in the group.
    bool same = !parseFileDtype(part.tensor->dtype, from) || from == master;
    for (const LoadChunk &chunk : part.chunks) {
      if (same) {
        size_t size = dtypeSize(master);
        slice(part, chunk.elements, [&](int64_t first, int64_t n, char *to) {
          reader.copy(chunk.block, first * static_cast<int64_t>(size),
                      static_cast<size_t>(n) * size, to);
        });
      } else {
        const char *bytes = reader.open(chunk.block);
        slice(part, chunk.elements, [&](int64_t first, int64_t n, char *to) {
          cast(from, bytes + static_cast<size_t>(first) * dtypeSize(from),
               master, to, n);
        });
      }
      reader.release(chunk.block);
    }
  }

  /// Widens, adds the patches, and rounds once.
  template <typename T> void loadPatched(const LoadPart &part) {
    constexpr DType wide = sizeof(T) == 8 ? FF_F64 : FF_F32;
    DType master = groupOf(part).masterDtype, from;
    if (!parseFileDtype(part.tensor->dtype, from))
      failInternal("'{}' of {} has adapters", part.source->tensor,
                   part.tensor->dtype);
    Patches<T> patches(part, reader);
    std::vector<T> values;
    for (const LoadChunk &chunk : part.chunks) {
      widenBlock(reader, chunk.block, from, chunk.elements.size(), values);
      patches.add(chunk, values.data());
      slice(part, chunk.elements, [&](int64_t first, int64_t n, char *to) {
        cast(wide, values.data() + first, master, to, n);
      });
    }
  }

  /// Converts, on all threads, and notes what became infinite.
  void cast(DType from, const void *source, DType to, char *target, int64_t n) {
    std::mutex mutex;
    parallelFor(n, 1 << 15, [&](int64_t begin, int64_t end) {
      const char *in = static_cast<const char *>(source) +
                       static_cast<size_t>(begin) * dtypeSize(from);
      char *out = target + static_cast<size_t>(begin) * dtypeSize(to);
      convertElements(from, in, to, out, end - begin);
      double largest = largestOverflow(from, in, to, out, end - begin);
      if (largest > 0) {
        std::lock_guard<std::mutex> lock(mutex);
        overflow = std::max(overflow, largest);
      }
    });
  }

  /// `body` writes own elements of a parameter to where they are in the slice.
  template <typename Body>
  void slice(const LoadPart &part, Interval elements, Body &&body) const {
    const GroupLayout &place = layout.groups[part.group];
    const Group &group = groupOf(part);
    int64_t begin = place.shards > 1 ? place.owned * shardIndex : 0;
    writeSlice(arena, place.master, group.masterDtype,
               group.params[part.param].offset + elements.begin - begin,
               elements.size(), body);
  }

  const Group &groupOf(const LoadPart &part) const {
    return metadata.groups[part.group];
  }

  [[noreturn]] void failOverflow(const LoadPart &part) const {
    const Group &group = groupOf(part);
    const Param &param = group.params[part.param];
    fail("'{}' in {}{} has {} values up to {:g}, which are infinite in {}, the "
         "master dtype of '{}'; fix: a wider dtype for the parameters of '{}'",
         part.source->tensor, part.file->path(),
         part.patches.empty() ? "" : ", with its adapters,",
         param.source->dtype, overflow, dtypeName(group.masterDtype),
         metadata.fullName(group, param),
         metadata.components[group.component].name);
  }

  const Metadata &metadata;
  const Layout &layout;
  const Arena &arena;
  const int shardIndex;
  BlockReader &reader;
  double overflow = 0; ///< the largest value of the part that became infinite
};

} // namespace

Interval ownedRange(const GroupLayout &place, const Param &param,
                    int shardIndex) {
  int64_t begin = place.shards > 1 ? place.owned * shardIndex : 0;
  return Interval{0, param.span}.within(
      {begin - param.offset, begin + place.owned - param.offset});
}

std::vector<OwnedPiece> ownedPieces(const Metadata &metadata,
                                    const Layout &layout, int shardIndex) {
  std::vector<OwnedPiece> pieces;
  for (size_t g = 0; g < metadata.groups.size(); ++g) {
    const Group &group = metadata.groups[g];
    const GroupLayout &place = layout.groups[g];
    int64_t begin = place.shards > 1 ? place.owned * shardIndex : 0;
    for (size_t p = 0; p < group.params.size(); ++p) {
      const Param &param = group.params[p];
      Interval own = ownedRange(place, param, shardIndex);
      if (!own.empty())
        pieces.push_back(
            {g, p, param.offset + own.begin - begin, own.begin, own.size()});
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

size_t loadParameters(const Metadata &metadata, const Layout &layout,
                      const Arena &arena, const LoadTeam &team) {
  std::vector<Files> files;
  for (const Component &component : metadata.components)
    files.push_back(openFiles(metadata, component));
  checkFiles(metadata, files);
  BlockReader reader(team);
  std::vector<LoadPart> parts = planLoad(metadata, layout, files, team, reader);
  reader.start();
  Loader loader(metadata, layout, arena, team.shardIndex(), reader);
  for (const OwnedPiece &piece :
       ownedPieces(metadata, layout, team.shardIndex()))
    if (!metadata.groups[piece.group].params[piece.param].source)
      loader.start(piece);
  for (const LoadPart &part : parts)
    loader.load(part);
  reader.finish();
  return reader.bytesRead();
}

} // namespace ff::rt
