//===- Plan.h - The plan of a spec, and what makes it fit ------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_TOOLS_PLAN_H
#define FF_TOOLS_PLAN_H

#include "frontend/Frontend.h"
#include "tools/Pipeline.h"

#include "runtime/core/Plan.h"

namespace ff {

/// What it takes to plan a spec again, with other values.
struct PlanSetup {
  std::string path;
  ImportOptions import;
  PipelineOptions pipeline;
  int64_t ranks = 0; ///< 0: what [mesh] says, else one
};

/// Whether [mesh] says how much memory there is.
bool hasMemoryLimit(mlir::ModuleOp module);

/// The plan of a module whose memory is planned. An error of the mesh is
/// reported at its key.
std::optional<rt::Plan> planModule(mlir::ModuleOp module, int64_t ranks);

/// Where the plan does not fit into the memory that [mesh] says: an error at
/// its key, with the cheapest changes after which it does.
mlir::LogicalResult checkFit(mlir::ModuleOp module, const rt::Plan &plan,
                             const PlanSetup &setup);

} // namespace ff

#endif // FF_TOOLS_PLAN_H
