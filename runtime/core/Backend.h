//===- Backend.h - What a target brings to a run --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_BACKEND_H
#define FF_RUNTIME_CORE_BACKEND_H

#include "runtime/comm/Store.h"
#include "runtime/core/Device.h"

namespace ff::rt {

/// A target: made by its main, before ranks are started, so it holds nothing
/// that a fork would break.
class Backend {
public:
  virtual ~Backend() = default;

  bool graphs = true;          ///< on a GPU: replay captured graphs
  bool profile = false;        ///< every call is waited for
  double timeoutSeconds = 600; ///< on a GPU: without progress

  /// For LayoutRequest, once threads are set.
  virtual size_t matmulScratchBytes(const Metadata &metadata) = 0;
  /// Joins the other ranks; `store` is null where there are none.
  virtual std::unique_ptr<Communicator>
  connect(const LaunchInfo &info, MeshShape mesh, RankStore *store) = 0;
  /// `comm` is one that connect() gave.
  virtual std::unique_ptr<Device> open(const Metadata &metadata,
                                       const Program &program,
                                       const Layout &layout,
                                       Communicator &comm) = 0;
};

/// What ff_rt_main does, for any target.
int runMain(int argc, char **argv, const char *metadata,
            const ff_entry *entries, int32_t numEntries, Backend &backend);

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_BACKEND_H
