//===- Memory.h - What the system says about memory -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_MEMORY_H
#define FF_RUNTIME_CORE_MEMORY_H

#include <cstddef>

namespace ff::rt {

/// Bytes of this process that are in memory, now and at most so far.
size_t residentBytes();
size_t peakResidentBytes();

/// Bytes that this process has read by read() and its like; 0 where the system
/// does not say.
size_t systemReadBytes();

/// Bytes that processes of this machine may still take without swapping; 0
/// where the system does not say.
size_t availableBytes();

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_MEMORY_H
