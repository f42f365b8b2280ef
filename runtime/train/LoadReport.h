//===- LoadReport.h - What loading took -----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_LOADREPORT_H
#define FF_RUNTIME_TRAIN_LOADREPORT_H

#include "runtime/comm/Communicator.h"

#include <chrono>

namespace ff::rt {

/// Measures what the ranks do between start and finish.
class LoadReport {
public:
  /// All ranks call it.
  explicit LoadReport(Communicator &comm);

  /// All ranks call it, each with the bytes of files that it has read. One line
  /// of JSON.
  std::string finish(const std::string &mode, size_t readBytes,
                     const Metadata &metadata, const Layout &layout,
                     size_t baselineRss);

private:
  Communicator &comm;
  std::chrono::steady_clock::time_point begin;
  size_t readBefore;
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_LOADREPORT_H
