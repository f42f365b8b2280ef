//===- SoloCommunicator.cpp - The collectives of one rank alone -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Threads.h"
#include "runtime/cpu/HostCommunicator.h"

namespace ff::rt {

namespace {
/// The step thread calls it, so sums may use the worker threads.
class SoloCommunicator : public HostCommunicator {
public:
  SoloCommunicator() : HostCommunicator(0, MeshShape{1, 1}) {}

  void allGather(const std::vector<GatherPart> &) override {}

  void reduceScatter(const std::vector<ReducePart> &parts, void *,
                     size_t) override {
    for (const ReducePart &part : parts) {
      const char *from = static_cast<const char *>(part.buffer);
      char *to = static_cast<char *>(part.sum);
      size_t fromSize = dtypeSize(part.dtype);
      size_t toSize = dtypeSize(part.sumDtype);
      parallelFor(part.owned, 1 << 14, [&](int64_t begin, int64_t end) {
        size_t at = static_cast<size_t>(begin);
        auto combine = part.overwrite ? convertElements : addElements;
        combine(part.dtype, from + at * fromSize, part.sumDtype,
                to + at * toSize, end - begin);
      });
    }
  }

  void allReduce(Axis, DType, void *, int64_t, void *, size_t) override {}

  std::vector<std::string> exchange(const std::string &mine) override {
    return {mine};
  }
};
} // namespace

std::unique_ptr<HostCommunicator> makeSoloCommunicator() {
  return std::make_unique<SoloCommunicator>();
}

} // namespace ff::rt
