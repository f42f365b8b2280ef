//===- Pipeline.h - The stages from a spec to machine code -----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_TOOLS_PIPELINE_H
#define FF_TOOLS_PIPELINE_H

#include "codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <optional>
#include <string>

namespace ff {

/// The stages, in order. Pipeline.cpp says what is true after each.
enum class Stage {
  Import,
  FormUnits,
  Differentiate,
  Kernels,
  Shard,
  Schedule,
  PlanMemory,
  RuntimeCalls,
  LLVM,
};

inline constexpr Stage kAllStages[] = {
    Stage::Import,     Stage::FormUnits,    Stage::Differentiate,
    Stage::Kernels,    Stage::Shard,        Stage::Schedule,
    Stage::PlanMemory, Stage::RuntimeCalls, Stage::LLVM};

/// The name of a stage in options: "form-units".
llvm::StringRef getStageName(Stage stage);
std::optional<Stage> parseStage(llvm::StringRef name);

struct PipelineOptions {
  /// What to compile for.
  Target target;
  /// Where the assembler for GPUs is: "" searches for it, "none" leaves cubins
  /// out.
  std::string ptxas;
  /// The width of vector registers that kernels are written for, in bytes.
  int64_t vectorBytes = 64;
  /// The last stage to run.
  Stage stopAfter = Stage::LLVM;
  /// A folder that gets the module after each stage (01-form-units.mlir), or
  /// "".
  std::string dumpDir;
  /// Print the time of each pass.
  bool timing = false;
  /// Called behind plan-memory; on failure the pipeline ends.
  std::function<mlir::LogicalResult(mlir::ModuleOp)> afterPlan;
};

/// Adds the passes of one stage and the verifiers of what is true after it.
void buildStage(mlir::OpPassManager &pm, Stage stage,
                const PipelineOptions &options);

/// Runs the stages after `import` on an imported module.
mlir::LogicalResult runPipeline(mlir::ModuleOp module,
                                const PipelineOptions &options);

/// Makes each stage a pipeline of ff-opt, --ff-stage-form-units, and its
/// verifiers alone, --ff-invariants-form-units.
void registerStagePipelines();

} // namespace ff

#endif // FF_TOOLS_PIPELINE_H
