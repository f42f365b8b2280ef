//===- ModuleIndex.h - What verifiers look up, indexed once --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_PASSES_VERIFY_MODULEINDEX_H
#define FF_PASSES_VERIFY_MODULEINDEX_H

#include "dialect/FF.h"
#include "passes/Spec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ff {

/// Every symbol of a module by name. An analysis: the verifiers of a stage
/// change nothing, so they share one.
class ModuleIndex {
public:
  explicit ModuleIndex(mlir::Operation *module);

  /// The parameter @component::@name, or null.
  ParameterOp getParameter(mlir::SymbolRefAttr ref) const;
  ParameterOp getParameter(ComponentOp component, mlir::StringAttr name) const {
    return parameters.lookup({component.getSymNameAttr(), name});
  }
  /// The parameter `name` of the component of `unit`, or null.
  ParameterOp getParameter(UnitOp unit, mlir::StringAttr name) const;
  ComponentOp getComponent(mlir::StringAttr name) const {
    return components.lookup(name);
  }
  UnitOp getUnit(mlir::FlatSymbolRefAttr ref) const {
    return units.lookup(ref.getAttr());
  }
  mlir::func::FuncOp getFunction(mlir::func::CallOp call) const {
    return functions.lookup(call.getCalleeAttr().getAttr());
  }
  /// The programs that are differentiated: one for each bucket of shapes.
  llvm::ArrayRef<mlir::func::FuncOp> getTrainPrograms() const { return train; }
  bool isTrainProgram(mlir::func::FuncOp func) const {
    return llvm::is_contained(train, func);
  }
  /// The parameter that `op`, an ff.param or ff.view, reads, or null.
  ParameterOp getRead(mlir::Operation *op) const;

private:
  using Key = std::pair<mlir::Attribute, mlir::Attribute>;
  llvm::DenseMap<mlir::Attribute, ComponentOp> components;
  llvm::DenseMap<mlir::Attribute, UnitOp> units;
  llvm::DenseMap<mlir::Attribute, mlir::func::FuncOp> functions;
  llvm::DenseMap<Key, ParameterOp> parameters;
  llvm::SmallVector<mlir::func::FuncOp> train;
};

/// All parameters of a module, in order.
template <typename Fn> void forEachParameter(mlir::ModuleOp module, Fn &&fn) {
  for (auto component : module.getOps<ComponentOp>())
    for (auto param : component.getBody().getOps<ParameterOp>())
      fn(component, param);
}

/// The weight that `param` adapts by its name, as PEFT forms it, where no
/// #ff.merge can say so: W of 8 bits cannot hold W + B A. Null: none.
ParameterOp getQuantizedBase(ComponentOp component, ParameterOp param,
                             const ModuleIndex &index);

/// "component.parameter"
std::string nameOf(ParameterOp param);

/// An integer of the spec, or none.
std::optional<int64_t> getSpecInteger(mlir::ModuleOp module,
                                      llvm::StringRef path);
/// A string of the spec, or "".
llvm::StringRef getSpecString(mlir::ModuleOp module, llvm::StringRef path);

} // namespace ff

#endif // FF_PASSES_VERIFY_MODULEINDEX_H
