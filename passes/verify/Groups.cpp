//===- Groups.cpp - Each parameter in one group of one unit (V1) ---------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYGROUPS
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

/// The unit that FormUnits makes for `param`.
static std::string unitNameOf(ComponentOp component, ParameterOp param) {
  return (component.getSymName() + "." + param.getBlock().value_or("root"))
      .str();
}

namespace {
struct VerifyGroupsPass : ff::impl::VerifyGroupsBase<VerifyGroupsPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    llvm::DenseMap<Operation *, UnitOp> owner;
    for (auto unit : getOperation().getOps<UnitOp>())
      for (auto group : unit.getGroups().getAsRange<GroupAttr>())
        for (StringAttr name : group.getParams()) {
          ParameterOp param = index.getParameter(unit, name);
          auto [it, fresh] = owner.try_emplace(param, unit);
          if (fresh)
            continue;
          InFlightDiagnostic diag = unit.emitOpError()
                                    << "holds '" << name.getValue()
                                    << "', which another unit holds too";
          diag.attachNote(it->second.getLoc()) << "the other unit";
          return signalPassFailure();
        }
    forEachParameter(getOperation(), [&](ComponentOp component,
                                         ParameterOp param) {
      UnitOp unit = owner.lookup(param);
      if (!unit) {
        param.emitOpError("belongs to no unit");
        return signalPassFailure();
      }
      std::string want = unitNameOf(component, param);
      if (unit.getSymName() == want && unit.getRoot() == !param.getBlock())
        return;
      InFlightDiagnostic diag =
          param.emitOpError() << "belongs to unit '" << want
                              << "', but lies in '" << unit.getSymName() << "'";
      diag.attachNote(unit.getLoc()) << "the unit that holds it";
      signalPassFailure();
    });
  }
};
} // namespace
