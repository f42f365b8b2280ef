//===- Cache.h - What was decoded last, within a limit of bytes -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_PARQUET_CACHE_H
#define FF_RUNTIME_PARQUET_CACHE_H

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>

namespace ff::parquet {

/// What an entry is of. A file has a number of its own in the process.
struct CacheKey {
  uint64_t file = 0;
  int32_t column = 0;
  int32_t rowGroup = 0;
  int32_t page = 0;
  auto operator<=>(const CacheKey &) const = default;
};

/// Entries by key. Where they take more than `limit` bytes, those that were
/// used longest ago go, but never the newest: one that is larger than the limit
/// serves the reads that follow it. Whoever holds an entry keeps it alive.
class Cache {
public:
  explicit Cache(int64_t limit) : limit(limit) {}

  /// An entry and its bytes.
  struct Made {
    std::shared_ptr<const void> entry;
    int64_t bytes;
  };

  /// The entry of `key`. Where there is none, `make` makes it, once for all
  /// threads that want it now; others work on other entries meanwhile.
  template <typename T>
  std::shared_ptr<const T> get(const CacheKey &key,
                               const std::function<Made()> &make) {
    return std::static_pointer_cast<const T>(getAny(key, make));
  }

  /// Drops what is of `file`.
  void forget(uint64_t file);

private:
  struct Slot {
    std::mutex making;
    std::shared_ptr<const void> entry; ///< guarded by `making`
  };
  struct Node {
    std::shared_ptr<Slot> slot;
    int64_t bytes = 0;
    std::list<CacheKey>::iterator use;
  };

  std::shared_ptr<const void> getAny(const CacheKey &key,
                                     const std::function<Made()> &make);
  void account(const CacheKey &key, const std::shared_ptr<Slot> &slot,
               int64_t bytes);

  const int64_t limit;
  std::mutex mutex; ///< guards what follows
  std::map<CacheKey, Node> nodes;
  std::list<CacheKey> uses; ///< the last use first
  int64_t total = 0;
};

/// The caches of the process.
Cache &dataCache();  ///< decompressed pages, and columns of numbers
Cache &indexCache(); ///< where rows are, and what they are
Cache &fileCache();  ///< open files; each counts as one byte

} // namespace ff::parquet

#endif // FF_RUNTIME_PARQUET_CACHE_H
