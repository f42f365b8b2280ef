//===- Cache.cpp - What was decoded last, within a limit of bytes ---------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/parquet/Cache.h"

#include <algorithm>
#include <cstdlib>

namespace ff::parquet {

std::shared_ptr<const void> Cache::getAny(const CacheKey &key,
                                          const std::function<Made()> &make) {
  std::shared_ptr<Slot> slot;
  {
    std::lock_guard lock(mutex);
    auto [it, isNew] = nodes.try_emplace(key);
    Node &node = it->second;
    if (isNew) {
      node.slot = std::make_shared<Slot>();
      uses.push_front(key);
      node.use = uses.begin();
    } else {
      uses.splice(uses.begin(), uses, node.use);
    }
    slot = node.slot;
  }
  std::lock_guard lock(slot->making);
  if (!slot->entry) {
    Made made = make(); // where it throws, the next one tries again
    slot->entry = std::move(made.entry);
    account(key, slot, made.bytes);
  }
  return slot->entry;
}

void Cache::account(const CacheKey &key, const std::shared_ptr<Slot> &slot,
                    int64_t bytes) {
  // What is dropped is freed after the lock: pages are large.
  std::list<std::shared_ptr<Slot>> dropped;
  std::lock_guard lock(mutex);
  auto it = nodes.find(key);
  if (it == nodes.end() || it->second.slot != slot)
    return; // it was dropped while it was made
  it->second.bytes = bytes;
  total += bytes;
  while (total > limit && uses.back() != key) {
    auto last = nodes.find(uses.back());
    total -= last->second.bytes;
    dropped.push_back(std::move(last->second.slot));
    nodes.erase(last);
    uses.pop_back();
  }
}

void Cache::forget(uint64_t file) {
  std::list<std::shared_ptr<Slot>> dropped;
  std::lock_guard lock(mutex);
  auto it = nodes.lower_bound({file, INT32_MIN, INT32_MIN, INT32_MIN});
  while (it != nodes.end() && it->first.file == file) {
    total -= it->second.bytes;
    uses.erase(it->second.use);
    dropped.push_back(std::move(it->second.slot));
    it = nodes.erase(it);
  }
}

// They are never destroyed: threads may still read while a process exits.

Cache &dataCache() {
  static Cache *cache = [] {
    int64_t megabytes = 256;
    if (const char *text = std::getenv("FF_PARQUET_CACHE_MB"))
      megabytes = std::strtoll(text, nullptr, 10);
    return new Cache(std::clamp<int64_t>(megabytes, 0, 1 << 30) << 20);
  }();
  return *cache;
}

Cache &indexCache() {
  static Cache *cache = new Cache(64 << 20);
  return *cache;
}

Cache &fileCache() {
  static Cache *cache = new Cache(128);
  return *cache;
}

} // namespace ff::parquet
