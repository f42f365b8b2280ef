//===- Merge.cpp - Weights with their adapters added ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Merge.h"
#include "runtime/compute/LowRank.h"
#include "runtime/core/Error.h"
#include "runtime/train/ModelText.h"

#include <algorithm>
#include <exception>
#include <set>

namespace ff::rt {

namespace {

size_t wholeBytes(const Metadata &metadata, const Layout &layout,
                  size_t group) {
  return static_cast<size_t>(layout.groups[group].whole()) *
         dtypeSize(metadata.groups[group].masterDtype);
}

/// The adapters of one unit, as masters, on every rank.
class Adapters {
public:
  Adapters(const Metadata &metadata, const Layout &layout, const Arena &arena,
           Communicator &comm, size_t unit)
      : metadata(metadata) {
    std::vector<GatherPart> parts;
    for (size_t group : adapterGroups(metadata, unit)) {
      const GroupLayout &place = layout.groups[group];
      std::vector<char> &whole = gathered[group];
      whole.resize(wholeBytes(metadata, layout, group));
      size_t slice = place.master.bytes;
      size_t at =
          place.shards > 1 ? slice * static_cast<size_t>(comm.shardIndex()) : 0;
      arena.read(place.master, 0, slice,
                 [&](const char *data, size_t begin, size_t bytes) {
                   std::memcpy(whole.data() + at + begin, data, bytes);
                 });
      if (place.shards > 1 && slice)
        parts.push_back({whole.data(), slice});
    }
    if (!parts.empty())
      comm.allGather(parts);
  }

  /// A parameter as T.
  template <typename T>
  std::vector<T> load(int component, const std::string &name) const {
    auto [g, p] = *metadata.findParam(component, name);
    const Group &group = metadata.groups[g];
    const Param &param = group.params[p];
    std::vector<T> values(static_cast<size_t>(param.numel()));
    convertElements(group.masterDtype,
                    gathered.at(g).data() + static_cast<size_t>(param.offset) *
                                                dtypeSize(group.masterDtype),
                    sizeof(T) == 8 ? FF_F64 : FF_F32, values.data(),
                    param.numel());
    return values;
  }

private:
  const Metadata &metadata;
  std::map<size_t, std::vector<char>> gathered;
};

/// Writes the merged pieces of one file.
class MergeWriter {
public:
  MergeWriter(const ParameterFile &file, const std::string &path,
              const Metadata &metadata, const Layout &layout,
              const Arena &arena)
      : file(file), path(path), out(path, false), metadata(metadata),
        layout(layout), arena(arena) {}

  template <typename T>
  void write(size_t index, const OwnedPiece &piece, const Adapters &adapters) {
    const Group &group = metadata.groups[piece.group];
    const Param &param = group.params[piece.param];
    const PlannedTensor &tensor = file.plan.tensors()[index];
    std::vector<T> a = adapters.load<T>(group.component, param.merge->a);
    std::vector<T> b = adapters.load<T>(group.component, param.merge->b);
    int64_t columns = param.numel() / param.shape[0];
    int64_t rank = static_cast<int64_t>(a.size()) / columns;
    constexpr DType wide = sizeof(T) == 8 ? FF_F64 : FF_F32;
    std::vector<T> w(mergeChunk), sum(mergeChunk);
    size_t fileSize = fileDtypeSize(tensor.dtype);
    for (int64_t i = 0; i < piece.count; i += mergeChunk) {
      int64_t n = std::min(mergeChunk, piece.count - i);
      readSlice(arena, layout.groups[piece.group].master, group.masterDtype,
                piece.sliceBegin + i, n,
                [&](int64_t begin, int64_t count, const char *from) {
                  convertElements(group.masterDtype, from, wide,
                                  w.data() + begin, count);
                });
      addProduct(a, b, rank, columns, static_cast<T>(param.merge->scale),
                 piece.paramBegin + i, n, w.data(), sum.data());
      size_t offset = file.plan.offset(index) +
                      static_cast<size_t>(piece.paramBegin + i) * fileSize;
      double overflow = writeElements(out, offset, tensor.dtype, wide,
                                      sum.data(), n, staging);
      if (overflow > 0)
        fail("'{}' with its adapter has values up to {:g}, which are infinite "
             "in the {} of {}; fix: a wider storage dtype, or merge = false",
             tensor.name, overflow, tensor.dtype, path);
      spans.push_back({offset, static_cast<size_t>(n) * fileSize});
    }
  }

  /// Writes what this rank has of the merged weights of a unit.
  void writeUnit(size_t unit, const std::vector<OwnedPiece> &pieces,
                 const Adapters &adapters) {
    eachPiece(file, pieces, [&](size_t index, const OwnedPiece &piece) {
      const Group &group = metadata.groups[piece.group];
      if (group.unit != static_cast<int>(unit) ||
          !group.params[piece.param].merge)
        return;
      if (wideDtype(group.masterDtype) == FF_F64)
        write<double>(index, piece, adapters);
      else
        write<float>(index, piece, adapters);
    });
  }

  std::vector<Span> finish() {
    out.sync();
    return std::move(spans);
  }

private:
  const ParameterFile &file;
  const std::string &path;
  DurableFile out;
  const Metadata &metadata;
  const Layout &layout;
  const Arena &arena;
  std::vector<Span> spans;
  std::vector<char> staging;
};

} // namespace

ParameterFile mergedFile(const Metadata &metadata, size_t component) {
  const Component &owner = metadata.components[component];
  std::set<std::string> adapters, names;
  for (const Group &group : metadata.groups)
    if (group.component == static_cast<int>(component))
      for (const Param &param : group.params)
        if (param.merge)
          adapters.insert({param.merge->a, param.merge->b});
  std::vector<std::pair<size_t, size_t>> params;
  std::vector<PlannedTensor> tensors;
  for (size_t g = 0; g < metadata.groups.size(); ++g) {
    const Group &group = metadata.groups[g];
    if (group.component != static_cast<int>(component))
      continue;
    for (size_t p = 0; p < group.params.size(); ++p) {
      const Param &param = group.params[p];
      bool kept =
          param.source || param.save || param.merge || owner.files.empty();
      if (!kept || adapters.count(param.name))
        continue;
      std::string name =
          param.source ? param.source->nameFor(param.name) : param.name;
      // What starts from an earlier adapter has PEFT's name there.
      const std::string prefix = "base_model.model.";
      if (name.compare(0, prefix.size(), prefix) == 0)
        name = name.substr(prefix.size());
      if (!names.insert(name).second)
        failInternal("two tensors of merged/{} are '{}'", owner.name, name);
      tensors.push_back({name, param.savedDtype, param.shape});
      params.emplace_back(g, p);
    }
  }
  return {"merged/" + owner.name + "/" + weightsStem(owner) + ".safetensors",
          StateKind::Master, std::move(params),
          TensorFilePlan(std::move(tensors), true)};
}

std::vector<Span> writeMerged(const ParameterFile &file,
                              const std::string &path, const Metadata &metadata,
                              const Layout &layout, const Arena &arena,
                              Communicator &comm,
                              const std::vector<OwnedPiece> &pieces) {
  std::exception_ptr failure;
  std::vector<Span> spans;
  std::unique_ptr<MergeWriter> writer;
  auto attempt = [&](auto &&body) {
    if (failure)
      return;
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  attempt([&] {
    std::vector<OwnedPiece> plain;
    for (const OwnedPiece &piece : pieces)
      if (!metadata.groups[piece.group].params[piece.param].merge)
        plain.push_back(piece);
    spans = writePieces(file, path, metadata, layout, arena, plain);
    writer = std::make_unique<MergeWriter>(file, path, metadata, layout, arena);
  });
  int component = metadata.groups[file.params.at(0).first].component;
  for (size_t unit = 0; unit < metadata.units.size(); ++unit) {
    if (metadata.units[unit].component != component ||
        adapterGroups(metadata, unit).empty())
      continue;
    Adapters adapters(metadata, layout, arena, comm, unit);
    attempt([&] { writer->writeUnit(unit, pieces, adapters); });
  }
  attempt([&] {
    std::vector<Span> merged = writer->finish();
    spans.insert(spans.end(), merged.begin(), merged.end());
  });
  if (failure)
    std::rethrow_exception(failure);
  return spans;
}

} // namespace ff::rt
