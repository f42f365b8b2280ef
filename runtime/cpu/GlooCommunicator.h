//===- GlooCommunicator.h - Collectives over Gloo -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CPU_GLOOCOMMUNICATOR_H
#define FF_RUNTIME_CPU_GLOOCOMMUNICATOR_H

#include "runtime/comm/Store.h"
#include "runtime/cpu/HostCommunicator.h"

namespace ff::rt {

/// Connects the ranks of `mesh`, which meet in `store`.
std::unique_ptr<HostCommunicator>
makeGlooCommunicator(const LaunchInfo &info, MeshShape mesh, RankStore &store);

} // namespace ff::rt

#endif // FF_RUNTIME_CPU_GLOOCOMMUNICATOR_H
