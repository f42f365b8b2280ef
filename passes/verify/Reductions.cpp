//===- Reductions.cpp - Each trainable parameter is reduced once (V3) ----===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYREDUCTIONS
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct VerifyReductionsPass
    : ff::impl::VerifyReductionsBase<VerifyReductionsPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(index.isTrainProgram(func) ? verifyReductions(func)
                                            : verifyNone(func)))
        return signalPassFailure();
  }

private:
  static LogicalResult verifyNone(func::FuncOp func) {
    auto result = func.walk([&](ReduceGradientsOp reduce) -> WalkResult {
      return reduce.emitOpError()
             << "stands in '" << func.getName() << "', which does not train";
    });
    return failure(result.wasInterrupted());
  }

  /// Each trainable parameter is in one reduction, no other is in any.
  LogicalResult verifyReductions(func::FuncOp func) {
    llvm::DenseMap<Attribute, ReduceGradientsOp> seen; // unit -> reduction
    for (auto reduce : func.getBody().getOps<ReduceGradientsOp>()) {
      auto [it, fresh] = seen.try_emplace(reduce.getUnitAttr(), reduce);
      if (fresh)
        continue;
      InFlightDiagnostic diag = reduce.emitOpError()
                                << "is the second reduction of "
                                << reduce.getUnitAttr();
      diag.attachNote(it->second.getLoc()) << "the first";
      return diag;
    }
    for (auto unit : getOperation().getOps<UnitOp>()) {
      llvm::DenseSet<Attribute> want, have;
      for (auto group : unit.getGroups().getAsRange<GroupAttr>())
        if (group.getTrainable())
          want.insert(group.getParams().begin(), group.getParams().end());
      ReduceGradientsOp reduce =
          seen.lookup(FlatSymbolRefAttr::get(unit.getSymNameAttr()));
      if (reduce)
        for (auto name : reduce.getParams().getAsRange<StringAttr>())
          if (!have.insert(name).second || !want.contains(name))
            return reduce.emitOpError()
                   << "reduces '" << name.getValue() << "', which is "
                   << (want.contains(name) ? "in it twice" : "not trainable");
      for (auto group : unit.getGroups().getAsRange<GroupAttr>())
        for (StringAttr name : group.getParams())
          if (want.contains(name) && !have.contains(name))
            return unit.emitOpError() << "has trainable '" << name.getValue()
                                      << "', which nothing reduces";
    }
    return success();
  }
};
} // namespace
