//===- LoadReport.cpp - What loading took ---------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/LoadReport.h"
#include "runtime/core/Memory.h"

#include <algorithm>
#include <fmt/core.h>

namespace ff::rt {

/// Of the tensors that the parameters come from.
static size_t largestTensor(const Metadata &metadata) {
  size_t largest = 0;
  for (const Group &group : metadata.groups)
    for (const Param &param : group.params) {
      if (!param.source)
        continue;
      const char *dtype = fileDtypeOf(param.source->dtype);
      for (const SourcePiece &piece : param.source->pieces) {
        size_t bytes =
            dtype ? fileDtypeSize(dtype) : fileDtypeSize(param.source->dtype);
        for (int64_t dim : piece.shape)
          bytes *= static_cast<size_t>(dim);
        largest = std::max(largest, bytes);
      }
    }
  return largest;
}

LoadReport::LoadReport(Communicator &comm) : comm(comm) {
  comm.barrier();
  readBefore = systemReadBytes();
  begin = std::chrono::steady_clock::now();
}

std::string LoadReport::finish(const std::string &mode, size_t readBytes,
                               const Metadata &metadata, const Layout &layout,
                               size_t baselineRss) {
  size_t slice = 0;
  for (const GroupLayout &place : layout.groups)
    slice += place.master.bytes;
  size_t counted = systemReadBytes() - readBefore;
  std::string mine = fmt::format(
      "{{\"rank\":{},\"slice_bytes\":{},\"baseline_rss\":{},\"peak_rss\":{},"
      "\"read_bytes\":{},\"system_read_bytes\":{}}}",
      comm.rank, slice, baselineRss, peakResidentBytes(), readBytes, counted);
  std::string ranks;
  for (const std::string &line : comm.exchange(mine))
    ranks += (ranks.empty() ? "" : ",") + line;
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  return fmt::format("{{\"load\":\"{}\",\"seconds\":{:.6f},\"largest_tensor_"
                     "bytes\":{},\"ranks\":[{}]}}",
                     mode, seconds.count(), largestTensor(metadata), ranks);
}

} // namespace ff::rt
