//===- Verify.cpp - Exit forms of the stages before scheduling -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/FF.h"
#include "dialect/Units.h"
#include "dialect/View.h"
#include "passes/Passes.h"
#include "passes/Spec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYUNITS
#define GEN_PASS_DEF_VERIFYDIFFERENTIATED
#define GEN_PASS_DEF_VERIFYSHARDED
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

struct VerifyUnitsPass : ff::impl::VerifyUnitsBase<VerifyUnitsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::DenseMap<Attribute, UnitOp> owner; // @component::@parameter -> unit
    for (auto unit : module.getOps<UnitOp>()) {
      auto component =
          module.lookupSymbol<ComponentOp>(unit.getComponentAttr());
      for (auto group : unit.getGroups().getAsRange<GroupAttr>()) {
        for (StringAttr name : group.getParams()) {
          auto ref = SymbolRefAttr::get(component.getSymNameAttr(),
                                        {FlatSymbolRefAttr::get(name)});
          auto [it, fresh] = owner.try_emplace(ref, unit);
          if (fresh)
            continue;
          InFlightDiagnostic diag = unit.emitOpError()
                                    << "holds '" << name.getValue()
                                    << "', which another unit holds too";
          diag.attachNote(it->second.getLoc()) << "the other unit";
          return signalPassFailure();
        }
      }
    }
    for (auto component : module.getOps<ComponentOp>())
      for (auto param : component.getBody().getOps<ParameterOp>())
        if (!owner.contains(SymbolRefAttr::get(
                component.getSymNameAttr(),
                {FlatSymbolRefAttr::get(param.getSymNameAttr())}))) {
          param.emitOpError("belongs to no unit");
          return signalPassFailure();
        }
  }
};

//===----------------------------------------------------------------------===//
// Differentiated
//===----------------------------------------------------------------------===//

struct VerifyDifferentiatedPass
    : ff::impl::VerifyDifferentiatedBase<VerifyDifferentiatedPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string train = getTrainProgram(module);
    for (auto func : module.getOps<func::FuncOp>()) {
      llvm::DenseMap<Attribute, GradientOp> seen;
      auto result = func.walk([&](GradientOp gradient) -> WalkResult {
        if (func.getName() != train)
          return gradient.emitOpError() << "stands in '" << func.getName()
                                        << "', which does not train";
        auto [it, fresh] = seen.try_emplace(gradient.getParam(), gradient);
        if (fresh)
          return WalkResult::advance();
        InFlightDiagnostic diag = gradient.emitOpError()
                                  << "is the second gradient of "
                                  << gradient.getParam();
        diag.attachNote(it->second.getLoc()) << "the first";
        return diag;
      });
      if (result.wasInterrupted() ||
          (func.getName() == train && failed(verifySet(module, seen))))
        return signalPassFailure();
    }
  }

private:
  /// The trainable set is the set with gradients (V2).
  static LogicalResult
  verifySet(ModuleOp module,
            const llvm::DenseMap<Attribute, GradientOp> &seen) {
    for (auto component : module.getOps<ComponentOp>()) {
      for (auto param : component.getBody().getOps<ParameterOp>()) {
        auto ref = SymbolRefAttr::get(
            component.getSymNameAttr(),
            {FlatSymbolRefAttr::get(param.getSymNameAttr())});
        bool trained = param.isTrainable();
        if (trained && !seen.contains(ref))
          return param.emitOpError("is trainable and has no gradient");
        if (!trained && seen.contains(ref))
          return param.emitOpError("is frozen and has a gradient");
      }
    }
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Sharded
//===----------------------------------------------------------------------===//

struct VerifyShardedPass : ff::impl::VerifyShardedBase<VerifyShardedPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string train = getTrainProgram(module);
    parameters = parametersOfUnits(module);
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isDeclaration())
        continue;
      if (failed(verifyPlacement(func)) || failed(verifyNames(func)) ||
          failed(verifyReleases(func)) ||
          (func.getName() == train && failed(verifyReductions(module, func))))
        return signalPassFailure();
    }
  }

private:
  /// By unit and name: a module has tens of thousands of uses to look up.
  using Parameters = llvm::StringMap<llvm::StringMap<ParameterOp>>;

  static Parameters parametersOfUnits(ModuleOp module) {
    Parameters result;
    SymbolTable symbols(module);
    llvm::DenseMap<Operation *, std::unique_ptr<SymbolTable>> tables;
    for (auto unit : module.getOps<UnitOp>()) {
      auto component =
          symbols.lookup<ComponentOp>(unit.getComponentAttr().getValue());
      std::unique_ptr<SymbolTable> &table = tables[component];
      if (!table)
        table = std::make_unique<SymbolTable>(component);
      for (auto group : unit.getGroups().getAsRange<GroupAttr>())
        for (StringAttr name : group.getParams())
          result[unit.getSymName()][name.getValue()] =
              table->lookup<ParameterOp>(name.getValue());
    }
    return result;
  }

  Parameters parameters;

  /// Collectives are in the straight line of a program (V5); nothing is left
  /// that the stage replaces.
  static LogicalResult verifyPlacement(func::FuncOp func) {
    auto module = func->getParentOfType<ModuleOp>();
    auto result = func.walk([&](Operation *op) -> WalkResult {
      if (auto call = dyn_cast<func::CallOp>(op)) {
        auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
        if (callee && holdsCollectives(callee) &&
            (op->getParentOp() != func || !func->hasAttr(kProgramAttr)))
          return op->emitOpError("calls a function with collectives from "
                                 "elsewhere than the straight line of a "
                                 "program");
      }
      if (isa<ParamOp, GradientOp>(op))
        return op->emitOpError("is left after sharding");
      if (!isa<GatherOp, GatherStartOp, GatherWaitOp, ReleaseOp,
               ReduceGradientsOp, ReduceWaitOp>(op))
        return WalkResult::advance();
      if (op->getParentOp() != func)
        return op->emitOpError(
            "is a collective inside a region: ranks could differ in it");
      if (!holdsCollectives(func))
        return op->emitOpError("is a collective outside a program");
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// Readers through views read the parameter itself.
  static LogicalResult verifyReaders(ViewOp view, Value value,
                                     Operation *release) {
    for (Operation *reader : value.getUsers()) {
      if (isViewOp(reader)) {
        if (failed(verifyReaders(view, reader->getResult(0), release)))
          return failure();
        continue;
      }
      if (reader->isBeforeInBlock(release))
        continue;
      InFlightDiagnostic diag = reader->emitOpError()
                                << "reads '" << view.getParam()
                                << "' after its release";
      diag.attachNote(release->getLoc()) << "released here";
      return diag;
    }
    return success();
  }

  /// `name` is a parameter of the unit; `type` is what it is gathered in, or
  /// that of its gradient.
  LogicalResult verifyName(Operation *op, FlatSymbolRefAttr unitName,
                           StringRef name, Type type, bool isGradient) {
    auto unit = parameters.find(unitName.getValue());
    ParameterOp param =
        unit == parameters.end() ? ParameterOp() : unit->second.lookup(name);
    if (!param)
      return op->emitOpError()
             << "names '" << name << "', which is not in " << unitName;
    RankedTensorType want = param.getGatheredType();
    if (isGradient)
      want = want.clone(param.getReduceDtype());
    if (type != want)
      return op->emitOpError() << "has type " << type << " for '" << name
                               << "', which is " << want;
    return success();
  }

  LogicalResult verifyNames(func::FuncOp func) {
    for (auto view : func.getBody().getOps<ViewOp>())
      if (failed(verifyName(view, view.getUnitSymbol(), view.getParam(),
                            view.getType(), /*isGradient=*/false)))
        return failure();
    for (auto reduce : func.getBody().getOps<ReduceGradientsOp>())
      for (auto [grad, name] : llvm::zip_equal(
               reduce.getGrads(), reduce.getParams().getAsRange<StringAttr>()))
        if (failed(verifyName(reduce, reduce.getUnitAttr(), name.getValue(),
                              grad.getType(),
                              /*isGradient=*/true)))
          return failure();
    return success();
  }

  static LogicalResult verifyReleases(func::FuncOp func) {
    for (auto gather : func.getBody().getOps<GatherOp>()) {
      Operation *release = nullptr;
      for (Operation *user : gather->getUsers()) {
        if (!isa<ReleaseOp>(user))
          continue;
        if (release)
          return user->emitOpError("releases the unit a second time");
        release = user;
      }
      if (!release)
        return gather.emitOpError("is never released");
      for (Operation *user : gather->getUsers())
        if (auto view = dyn_cast<ViewOp>(user))
          if (failed(verifyReaders(view, view.getResult(), release)))
            return failure();
    }
    return success();
  }

  /// Each trainable parameter is in one reduction, no other is in any (V3).
  static LogicalResult verifyReductions(ModuleOp module, func::FuncOp func) {
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
    for (auto unit : module.getOps<UnitOp>()) {
      llvm::SmallDenseSet<StringRef> want, have;
      for (auto group : unit.getGroups().getAsRange<GroupAttr>())
        if (group.getTrainable())
          for (StringAttr name : group.getParams())
            want.insert(name.getValue());
      auto it = seen.find(FlatSymbolRefAttr::get(unit.getSymNameAttr()));
      if (it != seen.end())
        for (auto name : it->second.getParams().getAsRange<StringAttr>())
          if (!have.insert(name.getValue()).second || !want.contains(name))
            return it->second.emitOpError()
                   << "reduces '" << name.getValue() << "', which is "
                   << (want.contains(name) ? "in it twice" : "not trainable");
      for (StringRef name : want)
        if (!have.contains(name))
          return unit.emitOpError()
                 << "has trainable '" << name << "', which nothing reduces";
    }
    return success();
  }
};

} // namespace
