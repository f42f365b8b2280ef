//===- UnitExchange.cpp - Gathering and reducing of units -----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/UnitExchange.h"
#include "runtime/core/Error.h"

#include <algorithm>

namespace ff::rt {

UnitExchange::UnitExchange(const Metadata &metadata, const Program &program,
                           const Layout &layout, const Arena &arena)
    : metadata(metadata), program(program), layout(layout), arena(arena),
      gaps(metadata.groups.size()), fresh(metadata.groups.size(), 1),
      units(metadata.units.size()) {
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
  if (place.resident)
    return arena.at<char>(place.copy.bytes ? place.copy : place.master);
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
  startGather(unit, slot);
}

void UnitExchange::gatherWait(int unit) {
  UnitState &state = units.at(unit);
  if (state.gather == State::Idle)
    failInternal("unit '{}' is awaited but not gathered",
                 metadata.units[unit].name);
  awaitGather(unit);
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
  startReduce(unit, slot);
}

void UnitExchange::reduceWait(int unit) {
  UnitState &state = units.at(unit);
  if (!state.reducing)
    failInternal("unit '{}' is awaited but not reduced",
                 metadata.units[unit].name);
  awaitReduce(unit);
  state.reducing = false;
}

void UnitExchange::beginStep() { std::fill(fresh.begin(), fresh.end(), 1); }

void UnitExchange::finishStep() {
  for (const UnitState &state : units)
    if (state.gather != State::Idle || state.reducing)
      failInternal("program '{}' ends while a unit is gathered or reduced",
                   program.name);
  sumOverReplicas();
}

} // namespace ff::rt
