//===- HostUnitExchange.cpp - Units in memory of the host -----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/HostUnitExchange.h"
#include "runtime/compute/Threads.h"
#include "runtime/core/Error.h"

namespace ff::rt {

namespace {
enum TaskKind { GatherTask, ReduceTask, ReplicateTask };
} // namespace

HostUnitExchange::HostUnitExchange(const Metadata &metadata,
                                   const Program &program, const Layout &layout,
                                   const Arena &arena, HostCommunicator &comm)
    : UnitExchange(metadata, program, layout, arena), comm(comm),
      gatherTickets(metadata.units.size()),
      reduceTickets(metadata.units.size()),
      thread([this](const CommThread::Task &task) { runTask(task); },
             comm.world() > 1) {}

void HostUnitExchange::startGather(int unit, int slot) {
  gatherTickets[unit] = thread.push({GatherTask, unit, slot});
}

void HostUnitExchange::awaitGather(int unit) {
  thread.wait(gatherTickets[unit]);
}

void HostUnitExchange::startReduce(int unit, int slot) {
  reduceTickets[unit] = thread.push({ReduceTask, unit, slot});
}

void HostUnitExchange::awaitReduce(int unit) {
  thread.wait(reduceTickets[unit]);
}

void HostUnitExchange::sumOverReplicas() {
  thread.wait(thread.push({ReplicateTask, 0, 0}));
}

void HostUnitExchange::runTask(const CommThread::Task &task) {
  if (task.kind == GatherTask)
    return gather(task.unit, task.slot);
  if (task.kind == ReduceTask)
    return reduce(task.unit, task.slot);
  for (size_t i = 0; i < metadata.groups.size(); ++i) {
    const GroupLayout &place = layout.groups[i];
    if (!metadata.groups[i].trainable)
      continue;
    if (fresh[i]) // no micro-batch reduced it: its gradient is zero
      std::memset(arena.at(place.grad), 0, place.grad.bytes);
    // The sum over the shard axis of what is sharded was made by reduce().
    for (Axis axis : {Axis::Shard, Axis::Replicate})
      if (axis == Axis::Replicate || place.shards == 1)
        comm.allReduce(axis, place.gradDtype, arena.at(place.grad), place.owned,
                       arena.at(layout.collectives), layout.collectives.bytes);
  }
}

void HostUnitExchange::gather(int unit, int slot) {
  std::vector<GatherPart> parts;
  for (int index : metadata.units[unit].groups) {
    const Group &group = metadata.groups[index];
    const GroupLayout &place = layout.groups[index];
    if (place.resident)
      continue;
    char *buffer = gathered(index, slot);
    size_t bytes = static_cast<size_t>(place.owned) * dtypeSize(group.dtype);
    char *own = buffer;
    if (place.shards > 1)
      own += bytes * static_cast<size_t>(comm.shardIndex());
    const char *master = arena.at<char>(place.master);
    auto convert = [&](int64_t begin, int64_t end) {
      size_t at = static_cast<size_t>(begin);
      convertElements(group.masterDtype,
                      master + at * dtypeSize(group.masterDtype), group.dtype,
                      own + at * dtypeSize(group.dtype), end - begin);
    };
    // The worker threads belong to the step thread.
    if (comm.world() == 1)
      parallelFor(place.owned, 1 << 14, convert);
    else
      convert(0, place.owned);
    if (place.shards > 1 && bytes)
      parts.push_back({buffer, bytes});
  }
  if (!parts.empty())
    comm.allGather(parts);
}

void HostUnitExchange::reduce(int unit, int slot) {
  std::vector<ReducePart> parts;
  for (int index : metadata.units[unit].groups) {
    const Group &group = metadata.groups[index];
    const GroupLayout &place = layout.groups[index];
    if (!group.trainable)
      continue;
    char *buffer = gradient(index, slot);
    size_t size = dtypeSize(group.reduceDtype);
    for (const Gap &gap : gaps[index])
      std::memset(buffer + static_cast<size_t>(gap.begin) * size, 0,
                  static_cast<size_t>(gap.end - gap.begin) * size);
    ReducePart part{group.reduceDtype,    buffer,
                    place.owned,          place.gradDtype,
                    arena.at(place.grad), fresh[index] != 0};
    fresh[index] = 0;
    if (place.shards == comm.mesh.shard) {
      parts.push_back(part);
      continue;
    }
    // Not sharded: the sum over ranks is made once, at the end of the step.
    auto combine = part.overwrite ? convertElements : addElements;
    combine(part.dtype, buffer, part.sumDtype, part.sum, part.owned);
  }
  if (!parts.empty())
    comm.reduceScatter(parts, arena.at(layout.collectives),
                       layout.collectives.bytes);
}

} // namespace ff::rt
