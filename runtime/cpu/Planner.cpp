//===- Planner.cpp - Plans of a machine that compiles ---------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Matmul.h"
#include "runtime/compute/Threads.h"
#include "runtime/core/Error.h"
#include "runtime/core/Plan.h"
#include "runtime/launch/Launch.h"
#include "runtime/train/Data.h"

#include <algorithm>

namespace ff::rt {

template <typename Body>
static auto orError(std::string &error, Body &&body)
    -> std::optional<decltype(body())> {
  try {
    return body();
  } catch (const std::exception &e) {
    error = e.what();
    return std::nullopt;
  }
}

std::optional<Planner> Planner::create(const std::string &metadataText,
                                       std::string &error) {
  return orError(error, [&] {
    Planner planner;
    planner.data = parseMetadata(metadataText);
    return planner;
  });
}

int64_t Planner::defaultRanks() const {
  return std::max<int64_t>(data.replicate, 1) *
         std::max<int64_t>(data.shard, 1);
}

std::optional<Plan> Planner::plan(int64_t ranks, std::string &error) const {
  auto mesh = orError(error, [&] {
    return resolveMesh(data.replicate, data.shard,
                       ranks ? ranks : defaultRanks());
  });
  return mesh ? planOnMesh(*mesh, error) : std::nullopt;
}

std::optional<Plan> Planner::planOnMesh(MeshShape mesh,
                                        std::string &error) const {
  return orError(error, [&] {
    PlanRequest request{mesh, deviceMatmulScratch, std::nullopt};
    if (!data.target) {
      // As if all ranks ran on this machine: the scratch of a matmul depends on
      // its threads.
      setThreads(static_cast<int>(
          std::max<int64_t>(availableCores() / mesh.world(), 1)));
      request.matmulScratchBytes = matmulScratchBytes(data.matmuls);
    }
    if (data.data)
      request.samples = DataSet(data).size();
    return computePlan(data, request);
  });
}

} // namespace ff::rt
