//===- BlockReader.cpp - How bytes of weight files reach a rank -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/BlockReader.h"
#include "runtime/core/Error.h"
#include "runtime/train/DurableFile.h"

#include <algorithm>
#include <cerrno>

namespace ff::rt {

/// Blocks that the system fetches ahead of their use.
constexpr size_t blocksAhead = 8;

LoadTeam LoadTeam::of(NodeRing &ring, MeshShape mesh) {
  LoadTeam team{{}, ring.position(), &ring};
  for (int rank : ring.ranks())
    team.shardIndices.push_back(rank % static_cast<int>(mesh.shard));
  return team;
}

Loading::Loading(Communicator &comm, bool perNode)
    : team(LoadTeam::alone(comm.shardIndex())) {
  if (!perNode)
    return;
  ring.emplace(comm);
  team = LoadTeam::of(*ring, comm.mesh);
}

Interval Interval::within(Interval other) const {
  return {std::max(begin, other.begin), std::min(end, other.end)};
}

BlockReader::BlockReader(const LoadTeam &team) : team(team) {}

BlockReader::~BlockReader() {
  stop = true; // an Error: nobody takes what is still to be filled
  if (filler.joinable())
    filler.join();
}

std::optional<size_t> BlockReader::add(const SafetensorsFile &file,
                                       const FileTensor &tensor, Interval range,
                                       const std::vector<Interval> &needs) {
  Block block{&file, &tensor, {range.end, range.begin}, {}, 0, false};
  std::vector<Interval> some;
  for (size_t i = 0; i < needs.size(); ++i) {
    Interval need = needs[i].within(range);
    if (need.empty())
      continue;
    block.all = {std::min(block.all.begin, need.begin),
                 std::max(block.all.end, need.end)};
    if (i == team.self)
      block.own = need;
    for (const Interval &other : some)
      block.shared |= !need.within(other).empty();
    some.push_back(need);
  }
  block.takers = some.size();
  if (block.own.empty() && !block.shared)
    return std::nullopt;
  if (block.shared)
    shared.push_back(blocks.size());
  blocks.push_back(block);
  return block.own.empty() ? std::nullopt : std::optional(blocks.size() - 1);
}

void BlockReader::start() {
  for (const Block &block : blocks)
    block.file->open(); // two threads read
  if (shared.empty())
    return;
  firstChunk = team.ring->claim(static_cast<int64_t>(shared.size()));
  filler = std::thread([this] { orFatal([&] { fill(); }); });
}

void BlockReader::read(const Block &block, Interval range, char *to) {
  auto bytes = static_cast<size_t>(range.size());
  if (isUnreadable())
    fail("cannot read {} bytes of {}: {}", bytes, block.file->path(),
         std::strerror(EIO));
  block.file->read(*block.tensor, static_cast<size_t>(range.begin), bytes, to);
  total += bytes;
}

void BlockReader::expectAfter(size_t number) {
  for (; expected < blocks.size() && expected <= number + blocksAhead;
       ++expected) {
    const Block &block = blocks[expected];
    if (expected > number && !block.shared)
      block.file->expect(*block.tensor, static_cast<size_t>(block.own.begin),
                         static_cast<size_t>(block.own.size()));
  }
}

/// Reads the shared blocks whose turn it is.
void BlockReader::fill() {
  for (size_t i = 0; i < shared.size(); ++i) {
    int64_t chunk = firstChunk + static_cast<int64_t>(i);
    if (static_cast<size_t>(chunk) % team.shardIndices.size() != team.self)
      continue;
    char *to = team.ring->beginFill(chunk, stop);
    if (!to)
      return;
    const Block &block = blocks[shared[i]];
    read(block, block.all, to);
    team.ring->endFill(chunk, block.takers);
  }
}

const char *BlockReader::open(size_t number) {
  const Block &block = blocks[number];
  if (!block.shared) {
    expectAfter(number);
    staging.resize(blockBytes);
    read(block, block.own, staging.data());
    return staging.data();
  }
  while (shared[nextShared] < number)
    ++nextShared;
  return team.ring->beginTake(firstChunk + static_cast<int64_t>(nextShared)) +
         (block.own.begin - block.all.begin);
}

void BlockReader::copy(size_t number, int64_t at, size_t bytes, char *to) {
  const Block &block = blocks[number];
  if (block.shared) {
    std::memcpy(to, open(number) + at, bytes);
    return;
  }
  expectAfter(number);
  int64_t begin = block.own.begin + at;
  read(block, {begin, begin + static_cast<int64_t>(bytes)}, to);
}

void BlockReader::release(size_t number) {
  if (blocks[number].shared)
    team.ring->endTake(firstChunk + static_cast<int64_t>(nextShared));
}

void BlockReader::finish() {
  if (filler.joinable())
    filler.join();
  staging = {};
}

} // namespace ff::rt
