//===- Reachability.cpp - Each trainable parameter reaches the loss (V4) -===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/verify/Dependence.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYREACHABILITY
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct VerifyReachabilityPass
    : ff::impl::VerifyReachabilityBase<VerifyReachabilityPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    for (auto component : getOperation().getOps<ComponentOp>())
      if (failed(verifyAdapters(component, index)))
        return signalPassFailure();
    for (func::FuncOp train : index.getTrainPrograms())
      if (failed(verifyUse(index, train)) ||
          failed(verifyGradients(index, train)))
        return signalPassFailure();
  }

private:
  /// Each adapter parameter is A or B of exactly one frozen base weight.
  static LogicalResult verifyAdapters(ComponentOp component,
                                      const ModuleIndex &index) {
    llvm::DenseMap<Attribute, ParameterOp> baseOf;
    for (auto base : component.getBody().getOps<ParameterOp>()) {
      std::optional<MergeAttr> merge = base.getMerge();
      if (!merge)
        continue;
      for (StringAttr name : {merge->getA(), merge->getB()}) {
        ParameterOp part = index.getParameter(component, name);
        if (!part)
          return base.emitOpError() << "names the adapter '" << name.getValue()
                                    << "', which does not exist";
        auto [it, fresh] = baseOf.try_emplace(name, base);
        if (fresh)
          continue;
        InFlightDiagnostic diag = part.emitOpError()
                                  << "is the adapter of '" << base.getSymName()
                                  << "' and of another weight";
        diag.attachNote(it->second.getLoc()) << "the other weight";
        return diag;
      }
      if (failed(verifyFit(base, index.getParameter(component, merge->getA()),
                           index.getParameter(component, merge->getB()))))
        return failure();
    }
    if (component.getTrain() != TrainMode::LoRA)
      return success();
    for (auto param : component.getBody().getOps<ParameterOp>()) {
      if (!param.isTrainable() || baseOf.contains(param.getSymNameAttr()))
        continue;
      if (!getQuantizedBase(component, param, index))
        return param.emitOpError("is trainable and the adapter of no weight");
    }
    return success();
  }

  /// W [out, in] + B [out, r] A [r, in].
  static LogicalResult verifyFit(ParameterOp base, ParameterOp a,
                                 ParameterOp b) {
    ArrayRef<int64_t> w = base.getTensorType().getShape(),
                      as = a.getTensorType().getShape(),
                      bs = b.getTensorType().getShape();
    if (w.size() == 2 && as.size() == 2 && bs.size() == 2 && w[0] == bs[0] &&
        w[1] == as[1] && as[0] == bs[1])
      return success();
    InFlightDiagnostic diag = base.emitOpError()
                              << "of " << base.getTensorType()
                              << " has an adapter of other sizes";
    diag.attachNote(a.getLoc()) << "A is " << a.getTensorType();
    diag.attachNote(b.getLoc()) << "B is " << b.getTensorType();
    return diag;
  }

  /// Each trainable parameter is read on a way to the loss.
  LogicalResult verifyUse(const ModuleIndex &index, func::FuncOp train) {
    Operation *terminator = train.getBody().front().getTerminator();
    if (terminator->getNumOperands() < 1)
      return success(); // ff-differentiate asks for a loss
    llvm::DenseSet<Value> needed =
        Dependence(index).dependencies(train, terminator->getOperand(0));
    llvm::DenseSet<Operation *> used;
    for (Operation &op : train.getBody().front())
      if (isa<ParamOp, ViewOp>(op) && needed.contains(op.getResult(0)))
        used.insert(index.getRead(&op));
    LogicalResult result = success();
    forEachParameter(getOperation(), [&](ComponentOp, ParameterOp param) {
      if (!param.isTrainable() || used.contains(param) || failed(result))
        return;
      InFlightDiagnostic diag = param.emitOpError()
                                << "is trainable and has no path to the loss "
                                   "of program '"
                                << train.getName() << "'";
      diag.attachNote(terminator->getLoc()) << "the loss";
      result = diag;
    });
    return result;
  }

  /// Each gradient depends on the loss: it is no constant, and no value of the
  /// forward.
  static LogicalResult verifyGradients(const ModuleIndex &index,
                                       func::FuncOp train) {
    SmallVector<Value> seeds;
    for (auto seed : train.getBody().getOps<LossSeedOp>())
      seeds.push_back(seed);
    llvm::DenseSet<Value> values = Dependence(index).dependents(train, seeds);
    auto verify = [&](Operation *op, Value grad, StringRef name) {
      if (values.contains(grad))
        return success();
      return LogicalResult(op->emitOpError()
                           << "has a gradient of '" << name
                           << "' that does not depend on the loss");
    };
    for (Operation &op : train.getBody().front()) {
      if (auto gradient = dyn_cast<GradientOp>(op)) {
        if (failed(verify(&op, gradient.getGrad(),
                          gradient.getParam().getLeafReference().getValue())))
          return failure();
      } else if (auto reduce = dyn_cast<ReduceGradientsOp>(op)) {
        for (auto [grad, name] :
             llvm::zip(reduce.getGrads(),
                       reduce.getParams().getAsRange<StringAttr>()))
          if (failed(verify(&op, grad, name.getValue())))
            return failure();
      }
    }
    return success();
  }
};
} // namespace
