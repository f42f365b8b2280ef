//===- Batch.cpp - Batch sizes and step counts agree (V11) ---------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYBATCH
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct VerifyBatchPass : ff::impl::VerifyBatchBase<VerifyBatchPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifySizes()) || failed(verifySteps()))
      return signalPassFailure();
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    StringRef sample = getSpecString(getOperation(), "sample.program");
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!func->hasAttr(kProgramAttr))
        continue;
      bool isTrain = index.isTrainProgram(func);
      if (isTrain &&
          failed(verifyInputs(func, "train.micro_batch",
                              getMicroBatch(getOperation(), func.getName()))))
        return signalPassFailure();
      if (!isTrain && func.getName() == sample &&
          failed(verifyInputs(func, "sample.micro_batch",
                              get("sample.micro_batch"))))
        return signalPassFailure();
    }
  }

private:
  std::optional<int64_t> get(StringRef path) {
    return getSpecInteger(getOperation(), path);
  }

  /// global_batch = micro_batch x a whole number.
  LogicalResult verifySizes() {
    std::optional<int64_t> global = get("train.global_batch"),
                           micro = get("train.micro_batch");
    for (auto [name, size] :
         {std::pair("global", global), std::pair("micro", micro)})
      if (size && *size < 1)
        return getOperation().emitError()
               << "train." << name << "_batch is " << *size;
    if (global && micro && *global % *micro != 0)
      return getOperation().emitError()
             << "train.global_batch = " << *global
             << " is not a multiple of train.micro_batch = " << *micro;
    for (const std::string &name : getTrainPrograms(getOperation())) {
      std::optional<int64_t> own = getMicroBatch(getOperation(), name);
      if (global && own && (*own < 1 || *global % *own != 0))
        return getOperation().emitError()
               << "train.global_batch = " << *global
               << " is not a multiple of the micro_batch = " << *own
               << " of bucket '" << name << "'";
    }
    return success();
  }

  /// A schedule counts optimizer steps, whatever the number of ranks.
  LogicalResult verifySteps() {
    std::optional<int64_t> steps = get("train.steps"),
                           total = get("schedule.total_steps"),
                           warmup = get("schedule.warmup_steps");
    if (steps && total && *steps != *total)
      return getOperation().emitError() << "schedule.total_steps = " << *total
                                        << ", but train.steps = " << *steps;
    if (steps && warmup && (*warmup < 0 || *warmup > *steps))
      return getOperation().emitError() << "schedule.warmup_steps = " << *warmup
                                        << ", but train.steps = " << *steps;
    return success();
  }

  LogicalResult verifyInputs(func::FuncOp func, StringRef path,
                             std::optional<int64_t> batch) {
    if (!batch)
      return success();
    for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
      auto name = func.getArgAttrOfType<StringAttr>(i, kInputAttr);
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!name || !tensor)
        return func.emitError() << "argument " << i << " of program '"
                                << func.getName() << "' is no input";
      if (tensor.getRank() == 0 || tensor.getDimSize(0) != *batch)
        return func.emitError()
               << "input " << name << " of program '" << func.getName()
               << "' is " << tensor << ", but " << path << " = " << *batch;
    }
    return success();
  }
};
} // namespace
