//===- UnitExchange.cpp - Gathers and reduces units -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/UnitExchange.h"
#include "runtime/compute/Threads.h"
#include "runtime/core/Error.h"

#include <algorithm>

namespace ff::rt {

namespace {
enum TaskKind { GatherTask, ReduceTask, ReplicateTask };
} // namespace

UnitExchange::UnitExchange(const Metadata &metadata, const Program &program,
                           const Layout &layout, const Arena &arena,
                           Communicator &comm)
    : metadata(metadata), program(program), layout(layout), arena(arena),
      comm(comm), units(metadata.units.size()), gaps(metadata.groups.size()),
      fresh(metadata.groups.size(), 1),
      thread([this](const CommThread::Task &task) { runTask(task); },
             comm.world() > 1) {
  for (size_t i = 0; i < metadata.groups.size(); ++i) {
    const Group &group = metadata.groups[i];
    int64_t end = 0;
    for (const Param &param : group.params) {
      if (param.offset > end)
        gaps[i].push_back({end, param.offset});
      end = param.offset + param.span;
    }
    int64_t whole = layout.groups[i].whole();
    if (whole > end)
      gaps[i].push_back({end, whole});
  }
}

void UnitExchange::checkSlot(const std::vector<std::vector<int>> &slots,
                             int unit, int slot, const char *what) const {
  if (unit < 0 || size_t(unit) >= units.size() || slot < 0 ||
      size_t(slot) >= slots.size() ||
      std::find(slots[slot].begin(), slots[slot].end(), unit) ==
          slots[slot].end())
    failInternal("{} slot {} of program '{}' is not for unit {}", what, slot,
                 program.name, unit);
}

char *UnitExchange::gathered(int group, int slot) const {
  const GroupLayout &place = layout.groups[group];
  if (place.aliased)
    return arena.at<char>(place.master);
  return arena.at<char>(layout.gatherSlots[slot]) + place.slotOffset;
}

char *UnitExchange::gradient(int group, int slot) const {
  return arena.at<char>(layout.gradSlots[slot]) +
         layout.groups[group].gradSlotOffset;
}

void UnitExchange::gatherStart(int unit, int slot) {
  checkSlot(program.gatherSlots, unit, slot, "gather");
  UnitState &state = units[unit];
  if (state.gather != State::Idle)
    failInternal("unit '{}' is gathered twice", metadata.units[unit].name);
  for (size_t other = 0; other < units.size(); ++other)
    if (units[other].gather != State::Idle && units[other].slot == slot)
      failInternal("gather slot {} still holds unit '{}'", slot,
                   metadata.units[other].name);
  state.gather = State::Started;
  state.slot = slot;
  state.gatherTicket = thread.push({GatherTask, unit, slot});
}

void UnitExchange::gatherWait(int unit) {
  UnitState &state = units.at(unit);
  if (state.gather == State::Idle)
    failInternal("unit '{}' is awaited but not gathered",
                 metadata.units[unit].name);
  thread.wait(state.gatherTicket);
  state.gather = State::Ready;
}

void UnitExchange::release(int unit) {
  UnitState &state = units.at(unit);
  if (state.gather != State::Ready)
    failInternal("unit '{}' is released but not gathered",
                 metadata.units[unit].name);
  state.gather = State::Idle;
}

const void *UnitExchange::groupData(int group) const {
  const UnitState &state = units[metadata.groups.at(group).unit];
  if (state.gather != State::Ready)
    failInternal("group {} of unit '{}' is used while it is not gathered",
                 group, metadata.units[metadata.groups[group].unit].name);
  return gathered(group, state.slot);
}

void *UnitExchange::groupGrad(int group, int slot) const {
  const Group &g = metadata.groups.at(group);
  if (!g.trainable)
    failInternal("group {} is frozen and has no gradient", group);
  checkSlot(program.gradSlots, g.unit, slot, "gradient");
  if (units[g.unit].reducing)
    failInternal("the gradient of unit '{}' is written while it is reduced",
                 metadata.units[g.unit].name);
  return gradient(group, slot);
}

void UnitExchange::reduceStart(int unit, int slot) {
  checkSlot(program.gradSlots, unit, slot, "gradient");
  UnitState &state = units[unit];
  if (state.reducing)
    failInternal("unit '{}' is reduced twice", metadata.units[unit].name);
  state.reducing = true;
  state.reduceTicket = thread.push({ReduceTask, unit, slot});
}

void UnitExchange::reduceWait(int unit) {
  UnitState &state = units.at(unit);
  if (!state.reducing)
    failInternal("unit '{}' is awaited but not reduced",
                 metadata.units[unit].name);
  thread.wait(state.reduceTicket);
  state.reducing = false;
}

void UnitExchange::beginStep() { std::fill(fresh.begin(), fresh.end(), 1); }

void UnitExchange::finishStep() {
  for (const UnitState &state : units)
    if (state.gather != State::Idle || state.reducing)
      failInternal("program '{}' ends while a unit is gathered or reduced",
                   program.name);
  thread.wait(thread.push({ReplicateTask, 0, 0}));
}

void UnitExchange::runTask(const CommThread::Task &task) {
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

void UnitExchange::gather(int unit, int slot) {
  std::vector<GatherPart> parts;
  for (int index : metadata.units[unit].groups) {
    const Group &group = metadata.groups[index];
    const GroupLayout &place = layout.groups[index];
    if (place.aliased)
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

void UnitExchange::reduce(int unit, int slot) {
  std::vector<ReducePart> parts;
  for (int index : metadata.units[unit].groups) {
    const Group &group = metadata.groups[index];
    const GroupLayout &place = layout.groups[index];
    if (!group.trainable)
      continue;
    char *buffer = gradient(index, slot);
    // Slots are shared, so the gaps hold what another unit left there.
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
