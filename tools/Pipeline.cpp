//===- Pipeline.cpp - The stages from a spec to machine code -------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole compiler, top to bottom. Each stage lists its passes with the
// reason for their place, says what is true after it, and ends with the
// verifiers of the invariants that it could break: addInvariants.
//
//===----------------------------------------------------------------------===//

#include "tools/Pipeline.h"

#include "codegen/Passes.h"
#include "codegen/host/Host.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace ff;

/// The verifiers (V1 to V15, docs/invariants.md) of what is true after a stage:
/// each after every stage that could break it.
static void addInvariants(OpPassManager &pm, Stage stage) {
  auto trainable = [&](bool gradients) {
    VerifyTrainableOptions options;
    options.gradients = gradients;
    pm.addPass(createVerifyTrainable(options));
  };
  auto collectives = [&](CollectiveForm form) {
    VerifyCollectivesOptions options;
    options.form = form;
    pm.addPass(createVerifyCollectives(options));
  };
  switch (stage) {
  case Stage::Import: {
    // What no later stage changes, and what it must begin with.
    VerifySpecOptions spec;
    spec.complete = true;
    pm.addPass(createVerifySpec(spec));     // V15
    pm.addPass(createVerifyBatch());        // V11
    pm.addPass(createVerifyInitializers()); // V7
    pm.addPass(createVerifyPrecision());    // V13
    pm.addPass(createVerifyManifest());     // V10
    trainable(/*gradients=*/false);         // V2
    pm.addPass(createVerifyRandomness());   // V12
    collectives(CollectiveForm::None);      // V5
    return;
  }
  case Stage::FormUnits:
    pm.addPass(createVerifyGroups()); // V1
    pm.addPass(createVerifyNorm());   // V9
    return;
  case Stage::Differentiate:
    // Rewrites every function; SymbolDCE could take a program.
    pm.addPass(createVerifySpec());         // V15
    pm.addPass(createVerifyBatch());        // V11
    trainable(/*gradients=*/true);          // V2
    pm.addPass(createVerifyReachability()); // V4
    pm.addPass(createVerifyReduceDtypes()); // V6
    pm.addPass(createVerifyRandomness());   // V12
    pm.addPass(createVerifyPrecision());    // V13
    collectives(CollectiveForm::None);      // V5
    return;
  case Stage::Kernels:
    // Moves and merges operations.
    trainable(/*gradients=*/true);          // V2
    pm.addPass(createVerifyReachability()); // V4
    pm.addPass(createVerifyRandomness());   // V12
    pm.addPass(createVerifyPrecision());    // V13
    collectives(CollectiveForm::None);      // V5
    return;
  case Stage::Shard:
    // Replaces each use of a parameter and each gradient.
    collectives(CollectiveForm::Sharded);   // V5
    pm.addPass(createVerifyReductions());   // V3, and V2 of what is reduced
    pm.addPass(createVerifyReachability()); // V4
    pm.addPass(createVerifyShapes());       // V8
    pm.addPass(createVerifyReduceDtypes()); // V6
    pm.addPass(createVerifyPrecision());    // V13
    return;
  case Stage::Schedule:
    // Splits and moves collectives.
    collectives(CollectiveForm::Scheduled); // V5
    pm.addPass(createVerifyReductions());   // V3
    pm.addPass(createVerifyShapes());       // V8
    return;
  case Stage::PlanMemory:
    // Replaces all compute by launches, and moves nothing.
    collectives(CollectiveForm::Scheduled); // V5
    pm.addPass(createVerifyReductions());   // V3
    pm.addPass(createVerifyShapes());       // V8
    pm.addPass(createVerifyReduceDtypes()); // V6
    pm.addPass(createVerifyNorm());         // V9
    pm.addPass(createVerifyMemory());       // V14
    return;
  case Stage::RuntimeCalls:
  case Stage::LLVM:
    // Nothing is left to read them off: test/e2e and test/unit/runtime run.
    return;
  }
}

static void addPasses(OpPassManager &pm, Stage stage,
                      const PipelineOptions &options) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  switch (stage) {
  case Stage::Import:
    // True after it: the module holds the spec. Components list every parameter
    // instance with name, shape, dtype and initialiser; programs are functions
    // on tensors of static shape; each distinct module configuration that is
    // used as a block is one function; every operation has a place in the TOML.
    // The frontend does this.
    return;

  case Stage::FormUnits:
    // True after it: each parameter is in one group of one unit; groups are
    // uniform in (storage dtype, trainable, reduction dtype).
    pm.addPass(createFormUnits());
    return;

  case Stage::Differentiate:
    // True after it: each trainable parameter has one gradient, frozen ones
    // have no gradient value anywhere. Uses of one parameter are one value
    // first, so that its gradient is one sum.
    functions.addPass(createCSEPass());
    pm.addPass(createDifferentiate());
    // The forward of a block without gradients, if nothing calls it any more.
    pm.addPass(createSymbolDCEPass());
    // Takes out what only frozen gradients would need, and folds views.
    pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
    pm.addNestedPass<func::FuncOp>(createCSEPass());
    return;

  case Stage::Kernels:
    // True after it: compute is fused loops, matmuls, attention, lookups and
    // random values, each of which reads strided views of buffers.
    buildFormKernelsPipeline(pm, options.target);
    return;

  case Stage::Shard:
    // True after it: each unit is gathered before use and released after; each
    // trainable group has one reduction.
    // After fusion, which reorders operations; from here on order is meaning.
    pm.addPass(createInsertGathers());
    pm.addPass(createInsertReductions());
    return;

  case Stage::Schedule:
    // True after it: collectives are in one order, started early enough to
    // overlap with compute.
    pm.addPass(createScheduleCollectives());
    return;

  case Stage::PlanMemory: {
    // True after it: fused loops and attention are launches of kernels; every
    // buffer has an offset, every collective a slot, and no two live buffers
    // overlap.
    // Lowered here since kernels ask for scratch buffers.
    if (options.target.isCuda()) {
      LowerKernelsToGPUPassOptions deviceOptions;
      deviceOptions.chip = options.target.chip;
      pm.addPass(createLowerKernelsToGPUPass(deviceOptions));
      pm.addPass(createMergeLaunchesPass());
    } else {
      LowerKernelsPassOptions kernelOptions;
      kernelOptions.vectorBytes = options.vectorBytes;
      pm.addPass(createLowerKernelsPass(kernelOptions));
    }
    pm.addPass(createPlanMemory());
    return;
  }

  case Stage::RuntimeCalls:
    // True after it: nothing of tensors is left; a step is a function of calls
    // into runtime/abi/ff_rt.h.
    pm.addPass(createLowerToRuntimeCalls());
    return;

  case Stage::LLVM:
    // True after it: the module is in the LLVM dialect. Kernels of a GPU are
    // constants of it.
    if (options.target.isCuda()) {
      EmbedDeviceCodePassOptions deviceOptions;
      deviceOptions.ptxas = options.ptxas;
      pm.addPass(createEmbedDeviceCodePass(deviceOptions));
    }
    buildKernelToLLVMPipeline(pm);
    return;
  }
}

void ff::buildStage(OpPassManager &pm, Stage stage,
                    const PipelineOptions &options) {
  addPasses(pm, stage, options);
  addInvariants(pm, stage);
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

StringRef ff::getStageName(Stage stage) {
  switch (stage) {
  case Stage::Import:
    return "import";
  case Stage::FormUnits:
    return "form-units";
  case Stage::Differentiate:
    return "differentiate";
  case Stage::Kernels:
    return "kernels";
  case Stage::Shard:
    return "shard";
  case Stage::Schedule:
    return "schedule";
  case Stage::PlanMemory:
    return "plan-memory";
  case Stage::RuntimeCalls:
    return "runtime-calls";
  case Stage::LLVM:
    return "llvm";
  }
  llvm_unreachable("every stage has a name");
}

std::optional<Stage> ff::parseStage(StringRef name) {
  for (Stage stage : kAllStages)
    if (getStageName(stage) == name)
      return stage;
  return std::nullopt;
}

static LogicalResult dump(ModuleOp module, Stage stage, StringRef dir) {
  SmallString<128> path(dir);
  llvm::sys::path::append(
      path,
      llvm::formatv("{0:02}-{1}.mlir", int(stage), getStageName(stage)).str());
  std::error_code error = llvm::sys::fs::create_directories(dir);
  llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_Text);
  if (error)
    return module.emitError()
           << "cannot write '" << path << "': " << error.message();
  module.print(file.os());
  file.keep();
  return success();
}

LogicalResult ff::runPipeline(ModuleOp module, const PipelineOptions &options) {
  setTarget(module, options.target);
  if (!options.dumpDir.empty() &&
      failed(dump(module, Stage::Import, options.dumpDir)))
    return failure();
  for (Stage stage : kAllStages) {
    if (stage > options.stopAfter)
      break;
    PassManager pm(module.getContext());
    if (options.timing)
      pm.enableTiming();
    buildStage(pm, stage, options);
    if (failed(pm.run(module)))
      return failure();
    if (!options.dumpDir.empty() && stage != Stage::Import &&
        failed(dump(module, stage, options.dumpDir)))
      return failure();
    if (stage == Stage::PlanMemory && options.afterPlan &&
        failed(options.afterPlan(module)))
      return failure();
  }
  return success();
}

/// PassPipelineRegistration keeps references to its texts.
static StringRef keep(const Twine &text) {
  static std::vector<std::unique_ptr<std::string>> texts;
  texts.push_back(std::make_unique<std::string>(text.str()));
  return *texts.back();
}

void ff::registerStagePipelines() {
  for (Stage stage : kAllStages) {
    StringRef name = getStageName(stage);
    PassPipelineRegistration<>(
        keep("ff-invariants-" + name),
        keep("Verifies what is true after the stage " + name),
        [stage](OpPassManager &pm) { addInvariants(pm, stage); });
    if (stage == Stage::Import)
      continue;
    PassPipelineRegistration<>(keep("ff-stage-" + name),
                               keep("Runs the stage " + name),
                               [stage](OpPassManager &pm) {
                                 buildStage(pm, stage, PipelineOptions());
                               });
  }
}
