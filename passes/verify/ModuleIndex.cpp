//===- ModuleIndex.cpp - What verifiers look up, indexed once ------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/verify/ModuleIndex.h"

using namespace mlir;
using namespace ff;

ModuleIndex::ModuleIndex(Operation *op) {
  auto module = cast<ModuleOp>(op);
  std::vector<std::string> names = ff::getTrainPrograms(module);
  for (Operation &symbol : *module.getBody()) {
    if (auto component = dyn_cast<ComponentOp>(symbol)) {
      StringAttr owner = component.getSymNameAttr();
      components[owner] = component;
      for (auto param : component.getBody().getOps<ParameterOp>())
        parameters[{owner, param.getSymNameAttr()}] = param;
    } else if (auto unit = dyn_cast<UnitOp>(symbol)) {
      units[unit.getSymNameAttr()] = unit;
    } else if (auto func = dyn_cast<func::FuncOp>(symbol)) {
      functions[func.getSymNameAttr()] = func;
      if (llvm::is_contained(names, func.getSymName()) &&
          func->hasAttr(kProgramAttr))
        train.push_back(func);
    }
  }
}

ParameterOp ModuleIndex::getParameter(SymbolRefAttr ref) const {
  return parameters.lookup({ref.getRootReference(), ref.getLeafReference()});
}

ParameterOp ModuleIndex::getParameter(UnitOp unit, StringAttr name) const {
  return parameters.lookup({unit.getComponentAttr().getAttr(), name});
}

ParameterOp ModuleIndex::getRead(Operation *op) const {
  if (auto param = dyn_cast<ParamOp>(op))
    return getParameter(param.getParam());
  if (auto view = dyn_cast<ViewOp>(op))
    if (UnitOp unit = getUnit(view.getUnitSymbol()))
      return getParameter(unit, view.getParamAttr());
  return {};
}

ParameterOp ff::getQuantizedBase(ComponentOp component, ParameterOp param,
                                 const ModuleIndex &index) {
  StringRef path = param.getSymName();
  if (!path.consume_back(".lora_A.weight") &&
      !path.consume_back(".lora_B.weight"))
    return {};
  ParameterOp base = index.getParameter(
      component, StringAttr::get(param.getContext(), path + ".weight"));
  return base && !isa<FloatType>(base.getStorageDtype()) ? base : ParameterOp();
}

std::string ff::nameOf(ParameterOp param) {
  return (cast<ComponentOp>(param->getParentOp()).getSymName() + "." +
          param.getSymName())
      .str();
}

std::optional<int64_t> ff::getSpecInteger(ModuleOp module, StringRef path) {
  auto value = dyn_cast_or_null<IntegerAttr>(getSpecValue(module, path));
  return value ? std::optional(value.getInt()) : std::nullopt;
}

StringRef ff::getSpecString(ModuleOp module, StringRef path) {
  auto value = dyn_cast_or_null<StringAttr>(getSpecValue(module, path));
  return value ? value.getValue() : StringRef();
}
