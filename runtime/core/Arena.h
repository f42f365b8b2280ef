//===- Arena.h - The one allocation of a rank -----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_ARENA_H
#define FF_RUNTIME_CORE_ARENA_H

#include "runtime/core/Layout.h"

#include <functional>

namespace ff::rt {

/// Zeroed memory that is reserved once, at start: the host's, or a device's.
class Arena {
public:
  virtual ~Arena() = default;

  /// The address of a region, for those who compute on it. The host reads and
  /// writes elements through read() and write() alone, unless the arena is a
  /// HostArena.
  template <typename T = void> T *at(const Region &region) const {
    return reinterpret_cast<T *>(base + region.offset);
  }
  size_t size() const { return bytes; }

  using Reader = std::function<void(const char *data, size_t at, size_t bytes)>;
  using Writer = std::function<void(char *data, size_t at, size_t bytes)>;

  /// Calls `body` for the bytes [begin, begin + count) of a region, as the host
  /// sees them, in consecutive pieces of whole 64 bytes (but the last): `at`
  /// counts from `begin`. Memory of the host is one piece, in place.
  virtual void read(const Region &region, size_t begin, size_t count,
                    const Reader &body) const = 0;

  /// Likewise; `body` writes every byte of each piece.
  virtual void write(const Region &region, size_t begin, size_t count,
                     const Writer &body) const = 0;

protected:
  Arena(char *base, size_t bytes) : base(base), bytes(bytes) {}

  char *base;
  size_t bytes;
};

/// Page-aligned memory of the host.
class HostArena final : public Arena {
public:
  /// An Error where the machine does not have `bytes`.
  explicit HostArena(size_t bytes);
  ~HostArena() override;
  HostArena(const HostArena &) = delete;
  HostArena &operator=(const HostArena &) = delete;

  void read(const Region &region, size_t begin, size_t count,
            const Reader &body) const override;
  void write(const Region &region, size_t begin, size_t count,
             const Writer &body) const override;
};

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_ARENA_H
