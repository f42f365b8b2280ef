//===- Norm.cpp - Each element counts once for the norm (V9) -------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYNORM
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct VerifyNormPass : ff::impl::VerifyNormBase<VerifyNormPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    if (auto clip = dyn_cast_or_null<FloatAttr>(
            getSpecValue(getOperation(), "train.clip_norm")))
      if (!(clip.getValueAsDouble() > 0)) {
        getOperation().emitError()
            << "train.clip_norm is " << clip.getValueAsDouble();
        return signalPassFailure();
      }
    // The norm is the sum over the trainable groups of each component; groups
    // of a component that is not sharded are counted on one rank of an axis.
    llvm::DenseMap<Operation *, int64_t> elements;
    llvm::DenseMap<Operation *, UnitOp> counted;
    for (auto unit : getOperation().getOps<UnitOp>())
      for (auto group : unit.getGroups().getAsRange<GroupAttr>()) {
        if (!group.getTrainable())
          continue;
        for (StringAttr name : group.getParams()) {
          ParameterOp param = index.getParameter(unit, name);
          auto [it, fresh] = counted.try_emplace(param, unit);
          if (!fresh) {
            InFlightDiagnostic diag = unit.emitOpError()
                                      << "counts '" << nameOf(param)
                                      << "' a second time for the norm";
            diag.attachNote(it->second.getLoc()) << "the first";
            return signalPassFailure();
          }
          elements[param->getParentOp()] +=
              param.getTensorType().getNumElements();
        }
      }
    for (auto component : getOperation().getOps<ComponentOp>()) {
      int64_t want = 0;
      for (auto param : component.getBody().getOps<ParameterOp>())
        if (param.isTrainable())
          want += param.getTensorType().getNumElements();
      int64_t have = elements.lookup(component);
      if (have == want)
        continue;
      InFlightDiagnostic diag = component.emitOpError()
                                << "trains " << want
                                << " elements, of which its groups count "
                                << have << " for the norm";
      for (auto param : component.getBody().getOps<ParameterOp>())
        if (param.isTrainable() && !counted.contains(param)) {
          diag.attachNote(param.getLoc())
              << "'" << param.getSymName() << "' is in none";
          break;
        }
      return signalPassFailure();
    }
  }
};
} // namespace
