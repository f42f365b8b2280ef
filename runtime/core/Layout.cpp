//===- Layout.cpp - Where everything lies in memory -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Layout.h"
#include "runtime/core/Error.h"

#include <algorithm>

namespace ff::rt {

namespace {

size_t alignUp(size_t bytes) {
  return (bytes + arenaAlignment - 1) / arenaAlignment * arenaAlignment;
}

/// Hands out consecutive aligned regions.
class Cursor {
public:
  void align(size_t alignment) {
    end = (end + alignment - 1) / alignment * alignment;
  }
  Region take(size_t bytes) {
    Region region{end, bytes};
    end = alignUp(end + bytes);
    return region;
  }
  size_t total() const { return end; }

private:
  size_t end = 0;
};

/// Places the groups of each unit behind each other in its slots.
void placeInSlots(const Metadata &metadata, Layout &layout) {
  for (const Unit &unit : metadata.units) {
    size_t gathered = 0, gradients = 0;
    for (int index : unit.groups) {
      const Group &group = metadata.groups[index];
      GroupLayout &place = layout.groups[index];
      size_t elements = static_cast<size_t>(place.whole());
      place.slotOffset = gathered;
      place.gradSlotOffset = gradients;
      if (!place.resident)
        gathered += alignUp(elements * dtypeSize(group.dtype));
      if (group.trainable)
        gradients += alignUp(elements * dtypeSize(group.reduceDtype));
    }
  }
}

size_t unitSlotBytes(const Metadata &metadata, const Layout &layout, int unit,
                     bool gradients) {
  size_t bytes = 0;
  for (int index : metadata.units[unit].groups) {
    const Group &group = metadata.groups[index];
    const GroupLayout &place = layout.groups[index];
    size_t elements = static_cast<size_t>(place.whole());
    if (gradients && group.trainable)
      bytes += alignUp(elements * dtypeSize(group.reduceDtype));
    if (!gradients && !place.resident)
      bytes += alignUp(elements * dtypeSize(group.dtype));
  }
  return bytes;
}

void takeSlots(const Metadata &metadata,
               const std::vector<std::vector<int>> &slots, bool gradients,
               Cursor &cursor, Layout &layout) {
  std::vector<Region> &regions =
      gradients ? layout.gradSlots : layout.gatherSlots;
  for (const std::vector<int> &slot : slots) {
    size_t bytes = 0;
    for (int unit : slot)
      bytes = std::max(bytes, unitSlotBytes(metadata, layout, unit, gradients));
    regions.push_back(cursor.take(bytes));
  }
}

/// Whether the optimizer writes a copy of the slice in the gathered dtype.
bool isCopied(const Metadata &metadata, const Group &group) {
  return metadata.target && group.trainable && group.dtype != group.masterDtype;
}

void takeState(const Metadata &metadata, RunMode mode, Cursor &cursor,
               Layout &layout) {
  bool training = mode == RunMode::Train;
  auto each = [&](auto &&body) {
    for (size_t i = 0; i < metadata.groups.size(); ++i)
      body(metadata.groups[i], layout.groups[i]);
  };
  auto bytes = [](const GroupLayout &place, DType dtype) {
    return static_cast<size_t>(place.owned) * dtypeSize(dtype);
  };
  // One kind behind the other, so that the plan is a short list.
  each([&](const Group &group, GroupLayout &place) {
    place.master = cursor.take(bytes(place, group.masterDtype));
  });
  each([&](const Group &group, GroupLayout &place) {
    if (isCopied(metadata, group))
      place.copy = cursor.take(bytes(place, group.dtype));
  });
  if (!training)
    return;
  auto eachTrained = [&](auto &&body) {
    each([&](const Group &group, GroupLayout &place) {
      if (group.trainable)
        body(place);
    });
  };
  eachTrained([&](GroupLayout &place) {
    place.grad = cursor.take(bytes(place, place.gradDtype));
  });
  eachTrained([&](GroupLayout &place) {
    place.expAvg = cursor.take(bytes(place, place.stateDtype));
  });
  eachTrained([&](GroupLayout &place) {
    place.expAvgSq = cursor.take(bytes(place, place.stateDtype));
  });
  if (metadata.train && metadata.train->emaDecay)
    eachTrained([&](GroupLayout &place) {
      place.ema = cursor.take(bytes(place, place.stateDtype));
    });
}

/// Chunks that arrive from other ranks while the one before is added: two of
/// the largest chunk of a reduce-scatter or an all-reduce.
size_t collectiveBytes(const Metadata &metadata, const MeshShape &mesh,
                       const Layout &layout) {
  size_t largest = 0;
  for (size_t i = 0; i < metadata.groups.size(); ++i) {
    const Group &group = metadata.groups[i];
    const GroupLayout &place = layout.groups[i];
    if (!group.trainable)
      continue;
    auto allReduceOver = [&](int64_t ranks) {
      size_t chunk = static_cast<size_t>((place.owned + ranks - 1) / ranks);
      if (ranks > 1)
        largest = std::max(largest, chunk * dtypeSize(place.gradDtype));
    };
    if (place.shards > 1)
      largest = std::max(largest, static_cast<size_t>(place.owned) *
                                      dtypeSize(group.reduceDtype));
    else
      allReduceOver(mesh.shard);
    allReduceOver(mesh.replicate);
  }
  return 2 * alignUp(largest);
}

/// The tables of one rank, at most: a rank may own a piece of every parameter.
size_t recordsBytes(const Metadata &metadata, bool training,
                    const Layout &layout) {
  int64_t pieces = 0, elements = 0, gaps = 0;
  for (size_t i = 0; training && i < metadata.groups.size(); ++i) {
    const Group &group = metadata.groups[i];
    if (!group.trainable)
      continue;
    pieces += static_cast<int64_t>(group.params.size());
    gaps += static_cast<int64_t>(group.params.size()) + 1;
    elements += layout.groups[i].owned;
  }
  return tablesOffset + deviceTableBytes(pieces, elements, gaps);
}

void takeInputsAndOutputs(const std::vector<const Program *> &programs,
                          Cursor &cursor, Layout &layout) {
  for (const Program *program : programs) {
    size_t bytes = 0;
    std::vector<size_t> &offsets = layout.inputOffsets.emplace_back();
    for (const TensorType &input : program->inputs) {
      offsets.push_back(bytes);
      bytes += alignUp(input.bytes());
    }
    layout.inputSetBytes = std::max(layout.inputSetBytes, bytes);
  }
  const Program &program = *programs.front();
  layout.inputs = cursor.take(layout.inputSetBytes *
                              (layout.onDevice ? deviceInputSets : inputSets));
  size_t outputBytes = 0;
  for (const TensorType &output : program.outputs) {
    layout.outputOffsets.push_back(outputBytes);
    outputBytes += alignUp(output.bytes());
  }
  layout.outputs = cursor.take(outputBytes);
}

/// Adapters are added to a block of a weight as floats: those of one parameter,
/// whole, two blocks of at least two bytes each, and the block itself.
size_t foldBytes(const Metadata &metadata) {
  size_t largest = 0;
  for (const Group &group : metadata.groups) {
    size_t wide = dtypeSize(wideDtype(group.masterDtype));
    for (const Param &param : group.params) {
      if (param.patches.empty())
        continue;
      size_t bytes = blockBytes + 2 * (blockBytes / 2) * wide;
      for (const ParamPatch &patch : param.patches) {
        if (patch.down.empty() || patch.shape.empty() || !patch.shape[0])
          continue;
        int64_t up = 1;
        for (int64_t dim : patch.shape)
          up *= dim;
        int64_t rows = patch.shape[0], rank = up / rows;
        bytes += static_cast<size_t>(up + rank * (patch.count / rows)) * wide;
      }
      largest = std::max(largest, bytes);
    }
  }
  return largest;
}

/// Loading and saving convert in one buffer; to merge takes the adapters of one
/// unit, gathered and as floats, and weights before and after. What is folded
/// on load is gone by then.
size_t hostBytes(const Metadata &metadata, RunMode mode, const Layout &layout) {
  size_t largest = 0;
  for (size_t unit = 0; unit < metadata.units.size(); ++unit) {
    size_t bytes = 0;
    if (mode == RunMode::Train &&
        metadata.merges(metadata.components[metadata.units[unit].component]))
      for (size_t group : adapterGroups(metadata, unit))
        bytes += static_cast<size_t>(layout.groups[group].whole()) *
                 (dtypeSize(metadata.groups[group].masterDtype) +
                  dtypeSize(layout.groups[group].stateDtype));
    largest = std::max(largest, bytes);
  }
  size_t inputs =
      layout.onDevice ? inputSets * (layout.inputSetBytes + scalarBytes) : 0;
  return stagingBytes * (layout.onDevice ? 2 : 1) + inputs +
         std::max(largest ? largest + 2 * mergeChunk * sizeof(double) : 0,
                  foldBytes(metadata));
}

} // namespace

std::set<size_t> adapterGroups(const Metadata &metadata, size_t unit) {
  std::set<size_t> groups;
  for (int index : metadata.units[unit].groups) {
    const Group &group = metadata.groups[index];
    for (const Param &param : group.params)
      if (param.merge)
        for (const std::string &name : {param.merge->a, param.merge->b})
          groups.insert(metadata.findParam(group.component, name)->first);
  }
  return groups;
}

int64_t ownedElements(int64_t numel, int64_t shard) {
  int64_t piece = (numel + shard - 1) / shard;
  return (piece + 15) / 16 * 16;
}

const Program &programOf(const Metadata &metadata, RunMode mode) {
  if (mode == RunMode::Train) {
    if (!metadata.train || !metadata.optimizer || !metadata.data)
      fail("'{}' has nothing to train; fix: give [train], [optimizer] and "
           "[data] in {}",
           metadata.name, metadata.spec);
    return metadata.program(metadata.train->program);
  }
  if (!metadata.sample)
    fail("'{}' has nothing to sample; fix: give [sample] in {}", metadata.name,
         metadata.spec);
  return metadata.program(metadata.sample->program);
}

std::vector<const Program *> programsOf(const Metadata &metadata,
                                        RunMode mode) {
  std::vector<const Program *> programs = {&programOf(metadata, mode)};
  if (mode == RunMode::Sample)
    return programs;
  programs.clear();
  for (const BucketPolicy &bucket : metadata.train->buckets)
    programs.push_back(&metadata.program(bucket.program));
  return programs;
}

Layout computeLayout(const Metadata &metadata, const LayoutRequest &request) {
  const Program &program = programOf(metadata, request.mode);
  const MeshShape &mesh = request.mesh;
  bool training = request.mode == RunMode::Train;
  Layout layout;
  layout.onDevice = metadata.target.has_value();
  layout.groups.resize(metadata.groups.size());
  for (size_t i = 0; i < metadata.groups.size(); ++i) {
    const Group &group = metadata.groups[i];
    GroupLayout &place = layout.groups[i];
    place.shards = group.sharded ? mesh.shard : 1;
    place.owned = ownedElements(group.numel, place.shards);
    place.resident = place.shards == 1 && (group.dtype == group.masterDtype ||
                                           isCopied(metadata, group));
    place.stateDtype = wideDtype(group.masterDtype);
    place.gradDtype =
        group.reduceDtype == FF_F64 ? FF_F64 : wideDtype(group.masterDtype);
  }
  placeInSlots(metadata, layout);

  Cursor cursor;
  takeState(metadata, request.mode, cursor, layout);
  takeSlots(metadata, program.gatherSlots, false, cursor, layout);
  if (training)
    takeSlots(metadata, program.gradSlots, true, cursor, layout);
  layout.activations = cursor.take(program.arenaBytes);
  takeInputsAndOutputs(programsOf(metadata, request.mode), cursor, layout);
  if (layout.onDevice) {
    layout.collectives =
        cursor.take(mesh.world() > 1 ? exchangeBytes * (mesh.world() + 1) : 0);
    layout.records = cursor.take(recordsBytes(metadata, training, layout));
    cursor.align(deviceScratchAlignment);
  } else if (training) {
    layout.collectives = cursor.take(collectiveBytes(metadata, mesh, layout));
  }
  layout.matmulScratch = cursor.take(request.matmulScratchBytes);
  layout.totalBytes = cursor.total();
  layout.hostBytes = hostBytes(metadata, request.mode, layout);
  return layout;
}

LayoutTotals totalsOf(const Metadata &metadata, const Layout &layout) {
  LayoutTotals totals;
  for (size_t i = 0; i < layout.groups.size(); ++i) {
    const GroupLayout &place = layout.groups[i];
    (metadata.groups[i].trainable ? totals.trained : totals.frozen) +=
        place.master.bytes;
    totals.gradients += place.grad.bytes;
    totals.moments += place.expAvg.bytes + place.expAvgSq.bytes;
    totals.ema += place.ema.bytes;
    totals.copies += place.copy.bytes;
  }
  for (const Region &region : layout.gatherSlots)
    totals.gatherSlots += region.bytes;
  for (const Region &region : layout.gradSlots)
    totals.gradSlots += region.bytes;
  return totals;
}

void checkLimits(const Metadata &metadata, const Layout &layout) {
  auto check = [&](const char *key, std::optional<int64_t> limit,
                   size_t bytes) {
    if (limit && bytes > static_cast<size_t>(*limit))
      fail("a rank takes {} bytes, and {} of [mesh] in {} is {} bytes; fix: "
           "more ranks on the shard axis, or what ff-compile --plan proposes",
           bytes, key, metadata.spec, *limit);
  };
  check("device_memory", metadata.deviceMemory, layout.totalBytes);
  check("host_memory", metadata.hostMemory, layout.peakHostBytes());
}

std::string formatLayout(const Metadata &metadata, const LayoutRequest &request,
                         const Layout &layout) {
  LayoutTotals totals = totalsOf(metadata, layout);
  const std::pair<const char *, size_t> rows[] = {
      {"trained parameters", totals.trained},
      {"frozen parameters", totals.frozen},
      {"gradients", totals.gradients},
      {"optimizer moments", totals.moments},
      {"ema", totals.ema},
      {"compute copies", totals.copies},
      {"gather slots", totals.gatherSlots},
      {"gradient slots", totals.gradSlots},
      {"activations", layout.activations.bytes},
      {"inputs", layout.inputs.bytes},
      {"outputs", layout.outputs.bytes},
      {"collectives", layout.collectives.bytes},
      {"matmul scratch", layout.matmulScratch.bytes},
      {"records", layout.records.bytes}};
  std::string text = fmt::format("memory of one rank, mesh replicate={} "
                                 "shard={}\n",
                                 request.mesh.replicate, request.mesh.shard);
  size_t named = 0;
  for (const auto &row : rows) {
    bool ofDevice = row.second || layout.onDevice;
    named += row.second;
    if (!ofDevice && (std::string_view(row.first) == "compute copies" ||
                      std::string_view(row.first) == "records"))
      continue;
    text += fmt::format("  {:<20}{:>16} bytes\n", row.first, row.second);
  }
  text += fmt::format("  {:<20}{:>16} bytes\n", "alignment",
                      layout.totalBytes - named);
  text += fmt::format("  {:<20}{:>16} bytes\n", "total", layout.totalBytes);
  text += fmt::format("  {:<20}{:>16} bytes\n", "besides, on the host",
                      layout.hostBytes);
  return text;
}

MeshShape resolveMesh(int64_t replicate, int64_t shard, int64_t world) {
  MeshShape mesh{replicate, shard};
  if (!mesh.shard && !mesh.replicate)
    mesh.replicate = 1;
  if (!mesh.shard && world % mesh.replicate == 0)
    mesh.shard = world / mesh.replicate;
  if (!mesh.replicate && world % mesh.shard == 0)
    mesh.replicate = world / mesh.shard;
  if (mesh.shard > 0 && mesh.replicate > 0 && mesh.world() == world)
    return mesh;
  std::string fits;
  for (int64_t size = 1; size <= world; ++size)
    if (world % size == 0)
      fits += fmt::format("{}{} x {}", fits.empty() ? "" : ", ", size,
                          world / size);
  auto show = [](int64_t size) {
    return size ? std::to_string(size) : std::string("auto");
  };
  fail("[mesh] replicate = {}, shard = {} does not fit {} rank{}; fix: "
       "replicate x shard may be {}",
       show(replicate), show(shard), world, world == 1 ? "" : "s", fits);
}

} // namespace ff::rt
