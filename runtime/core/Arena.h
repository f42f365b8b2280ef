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

namespace ff::rt {

/// Zeroed, page-aligned memory that is reserved once, at start.
class Arena {
public:
  Arena() = default;
  /// An Error where the machine does not have `bytes`.
  explicit Arena(size_t bytes);
  ~Arena();
  Arena(Arena &&other) noexcept;
  Arena &operator=(Arena &&other) noexcept;

  template <typename T = void> T *at(const Region &region) const {
    return reinterpret_cast<T *>(base + region.offset);
  }
  size_t size() const { return bytes; }

private:
  char *base = nullptr;
  size_t bytes = 0;
};

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_ARENA_H
