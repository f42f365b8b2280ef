//===- Shapes.cpp - Shapes are those of the parameters (V8) --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYSHAPES
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct VerifyShapesPass : ff::impl::VerifyShapesBase<VerifyShapesPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      auto result = func.walk([&](Operation *op) -> WalkResult {
        if (auto view = dyn_cast<ViewOp>(op))
          return verify(view, index.getUnit(view.getUnitSymbol()),
                        view.getParamAttr(), view.getType(),
                        /*isGradient=*/false);
        if (auto reduce = dyn_cast<ReduceGradientsOp>(op))
          for (auto [grad, name] :
               llvm::zip_equal(reduce.getGrads(),
                               reduce.getParams().getAsRange<StringAttr>()))
            if (failed(verify(reduce, index.getUnit(reduce.getUnitAttr()), name,
                              grad.getType(), /*isGradient=*/true)))
              return WalkResult::interrupt();
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
  }

private:
  /// `name` is a parameter of the unit; `type` is what it is gathered in, or
  /// has the shape of its gradient.
  LogicalResult verify(Operation *op, UnitOp unit, StringAttr name, Type type,
                       bool isGradient) {
    if (!isMember(unit, name))
      return op->emitOpError() << "names '" << name.getValue()
                               << "', which is not in @" << unit.getSymName();
    ParameterOp param = getAnalysis<ModuleIndex>().getParameter(unit, name);
    RankedTensorType want = param.getGatheredType();
    if (isGradient) // its dtype: ff-verify-reduce-dtypes
      want = want.clone(getElementTypeOrSelf(type));
    if (type == want)
      return success();
    InFlightDiagnostic diag = op->emitOpError()
                              << "has type " << type << " for '"
                              << name.getValue() << "', which is " << want;
    diag.attachNote(param.getLoc()) << "the parameter";
    return diag;
  }

  bool isMember(UnitOp unit, StringAttr name) {
    auto [it, fresh] = members.try_emplace(unit);
    if (fresh)
      for (auto group : unit.getGroups().getAsRange<GroupAttr>())
        it->second.insert(group.getParams().begin(), group.getParams().end());
    return it->second.contains(name);
  }

  llvm::DenseMap<Operation *, llvm::DenseSet<Attribute>> members;
};
} // namespace
