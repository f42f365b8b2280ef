//===- Trainable.cpp - Trainable = in the spec = with gradients (V2) -----===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "passes/verify/Dependence.h"
#include "passes/verify/ModuleIndex.h"
#include "llvm/ADT/SetVector.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYTRAINABLE
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct VerifyTrainablePass
    : ff::impl::VerifyTrainableBase<VerifyTrainablePass> {
  using VerifyTrainableBase::VerifyTrainableBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto component : getOperation().getOps<ComponentOp>())
      if (failed(verifyMode(component, getAnalysis<ModuleIndex>())))
        return signalPassFailure();
    if (gradients && failed(verifyGradients()))
      return signalPassFailure();
  }

private:
  /// What is trainable is what the spec says: everything but buffers, the
  /// adapters, or nothing.
  static LogicalResult verifyMode(ComponentOp component,
                                  const ModuleIndex &index) {
    llvm::DenseSet<Attribute> adapters;
    for (auto param : component.getBody().getOps<ParameterOp>())
      if (auto merge = param.getMerge())
        for (StringAttr half : {merge->getA(), merge->getB()})
          adapters.insert(half);
    for (auto param : component.getBody().getOps<ParameterOp>()) {
      bool want = false;
      switch (component.getTrain()) {
      case TrainMode::Full:
        want = !param.getBuffer();
        break;
      case TrainMode::LoRA:
        want = adapters.contains(param.getSymNameAttr()) ||
               getQuantizedBase(component, param, index);
        break;
      case TrainMode::Frozen:
        break;
      }
      if (want == param.isTrainable())
        continue;
      InFlightDiagnostic diag =
          param.emitOpError()
          << "is " << (want ? "frozen" : "trainable") << ", but component @"
          << component.getSymName()
          << " has train = " << stringifyTrainMode(component.getTrain());
      diag.attachNote(component.getLoc()) << "the component";
      return diag;
    }
    return success();
  }

  LogicalResult verifyGradients() {
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (index.isTrainProgram(func)) {
        if (failed(verifyGradients(index, func)))
          return failure();
        continue;
      }
      auto result = func.walk([&](GradientOp gradient) -> WalkResult {
        return gradient.emitOpError()
               << "stands in '" << func.getName() << "', which does not train";
      });
      if (result.wasInterrupted())
        return failure();
    }
    return success();
  }

  LogicalResult verifyGradients(const ModuleIndex &index, func::FuncOp train) {
    llvm::DenseMap<Operation *, GradientOp> seen;
    auto walked = train.walk([&](GradientOp gradient) -> WalkResult {
      auto [it, fresh] =
          seen.try_emplace(index.getParameter(gradient.getParam()), gradient);
      if (fresh)
        return WalkResult::advance();
      InFlightDiagnostic diag = gradient.emitOpError()
                                << "is the second gradient of "
                                << gradient.getParam();
      diag.attachNote(it->second.getLoc()) << "the first";
      return diag;
    });
    if (walked.wasInterrupted())
      return failure();
    LogicalResult result = success();
    forEachParameter(getOperation(), [&](ComponentOp, ParameterOp param) {
      GradientOp gradient = seen.lookup(param);
      if (param.isTrainable() == bool(gradient))
        return;
      result = failure();
      if (!gradient) {
        param.emitOpError("is trainable and has no gradient");
        return;
      }
      InFlightDiagnostic diag =
          param.emitOpError("is frozen and has a gradient");
      diag.attachNote(gradient.getLoc()) << "the gradient";
    });
    return succeeded(result) ? verifyNoOthers(index, train) : result;
  }

  /// Everything that depends on the loss seed leads to a gradient: what leads
  /// nowhere is the gradient of something that is not trained.
  LogicalResult verifyNoOthers(const ModuleIndex &index, func::FuncOp train) {
    SmallVector<Value> seeds;
    for (auto seed : train.getBody().getOps<LossSeedOp>())
      seeds.push_back(seed);
    llvm::DenseSet<Value> values = Dependence(index).dependents(train, seeds);
    llvm::SetVector<Operation *> backward;
    for (Operation &op : train.getBody().front()) {
      bool isCall = isa<func::CallOp>(op);
      unsigned dead = 0, count = 0;
      for (OpResult result : op.getResults()) {
        if (!values.contains(result))
          continue;
        ++count;
        dead += result.use_empty();
        if (isCall && result.use_empty())
          return reportDead(&op, result.getResultNumber(), index);
      }
      if (count && dead == count)
        return op.emitOpError("is a gradient that nothing uses: what it is "
                              "the gradient of is not trained");
      if (isCall && count)
        backward.insert(index.getFunction(cast<func::CallOp>(op)));
    }
    // In the functions that compute gradients nothing is dead either.
    for (Operation *op : backward) {
      auto func = cast<func::FuncOp>(op);
      for (Operation &inner : func.getBody().front())
        if (inner.getNumResults() > 0 && inner.use_empty())
          return inner.emitOpError()
                 << "in '" << func.getName()
                 << "' is a gradient that nothing uses: what it is the "
                    "gradient of is not trained";
    }
    return success();
  }

  static LogicalResult reportDead(Operation *op, unsigned number,
                                  const ModuleIndex &index) {
    auto call = cast<func::CallOp>(op);
    InFlightDiagnostic diag =
        call.emitOpError()
        << "of '" << call.getCallee() << "' has result " << number
        << ", a gradient that nothing uses: what it is the gradient of is not "
           "trained";
    if (func::FuncOp callee = index.getFunction(call))
      diag.attachNote(callee.getLoc()) << "the function that computes it";
    return diag;
  }
};
} // namespace
