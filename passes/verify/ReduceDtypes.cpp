//===- ReduceDtypes.cpp - Gradients have the reduce dtype (V6) -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYREDUCEDTYPES
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct VerifyReduceDtypesPass
    : ff::impl::VerifyReduceDtypesBase<VerifyReduceDtypesPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    index = &getAnalysis<ModuleIndex>();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!holdsCollectives(func) || func.isDeclaration())
        continue;
      for (Operation &op : func.getBody().front()) {
        visited.clear();
        if (auto gradient = dyn_cast<GradientOp>(op)) {
          // That it has the dtype states the verifier of ff.gradient.
          ParameterOp param = index->getParameter(gradient.getParam());
          if (failed(verifySum(&op, param, gradient.getGrad())))
            return signalPassFailure();
        } else if (auto reduce = dyn_cast<ReduceGradientsOp>(op)) {
          if (failed(verifyReduction(reduce)))
            return signalPassFailure();
        }
      }
    }
  }

private:
  LogicalResult verifyReduction(ReduceGradientsOp reduce) {
    UnitOp unit = index->getUnit(reduce.getUnitAttr());
    for (auto [grad, name] : llvm::zip(
             reduce.getGrads(), reduce.getParams().getAsRange<StringAttr>())) {
      ParameterOp param = index->getParameter(unit, name);
      if (!param)
        continue; // ff-verify-shapes says so
      Type dtype = getElementTypeOrSelf(grad);
      if (dtype == param.getReduceDtype())
        continue;
      InFlightDiagnostic diag = reduce.emitOpError()
                                << "has a gradient of " << dtype << " for '"
                                << nameOf(param) << "', which is reduced in "
                                << param.getReduceDtype();
      diag.attachNote(param.getLoc()) << "the parameter";
      return diag;
    }
    return success();
  }

  /// What is added up to the gradient of a parameter, and to nothing else, is
  /// added in its reduce dtype or a wider one. Follows conversions, views and
  /// calls back from the gradient.
  LogicalResult verifySum(Operation *gradient, ParameterOp param, Value value) {
    if (!visited.insert(value).second)
      return success();
    Operation *def = value.getDefiningOp();
    if (!def)
      return success();
    if (auto call = dyn_cast<func::CallOp>(def)) {
      func::FuncOp callee = index->getFunction(call);
      if (!callee || callee.isDeclaration())
        return success();
      unsigned number = cast<OpResult>(value).getResultNumber();
      return verifySum(
          gradient, param,
          callee.getBody().front().getTerminator()->getOperand(number));
    }
    if (isa<arith::ExtFOp, arith::TruncFOp, ReshapeOp, TransposeOp>(def))
      return verifySum(gradient, param, def->getOperand(0));
    if (!isa<arith::AddFOp, ConcatOp>(def))
      return success();
    Type dtype = getElementTypeOrSelf(value);
    if (isa<arith::AddFOp>(def) && value.hasOneUse() &&
        dtype.getIntOrFloatBitWidth() <
            param.getReduceDtype().getIntOrFloatBitWidth()) {
      InFlightDiagnostic diag = def->emitOpError()
                                << "adds up the gradient of '" << nameOf(param)
                                << "' in " << dtype << ", which is reduced in "
                                << param.getReduceDtype();
      diag.attachNote(gradient->getLoc()) << "the gradient";
      return diag;
    }
    for (Value operand : def->getOperands())
      if (failed(verifySum(gradient, param, operand)))
        return failure();
    return success();
  }

  const ModuleIndex *index = nullptr;
  llvm::DenseSet<Value> visited;
};
} // namespace
