//===- Units.h - Units by parameter ----------------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_UNITS_H
#define FF_DIALECT_UNITS_H

#include "dialect/FF.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace ff {

/// Which unit a parameter belongs to. Valid while the module's units
/// are not changed.
class UnitTable {
public:
  explicit UnitTable(mlir::ModuleOp module) {
    mlir::SymbolTable symbols(module);
    for (auto unit : module.getOps<UnitOp>()) {
      auto component =
          symbols.lookup<ComponentOp>(unit.getComponentAttr().getValue());
      reshard[unit] = component.getReshardAfterForward();
      for (auto group : unit.getGroups().getAsRange<GroupAttr>())
        for (mlir::StringAttr name : group.getParams())
          units[{unit.getComponentAttr().getAttr(), name}] = unit;
    }
  }

  /// The unit of parameter @component::@name.
  UnitOp getUnit(mlir::SymbolRefAttr param) const {
    auto it = units.find({param.getRootReference(), param.getLeafReference()});
    assert(it != units.end() && "ff-verify-groups holds");
    return it->second;
  }
  bool isRoot(UnitOp unit) const {
    UnitOp op = unit;
    return op.getRoot();
  }
  bool reshardsAfterForward(UnitOp unit) const { return reshard.lookup(unit); }

private:
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, UnitOp> units;
  llvm::DenseMap<mlir::Operation *, bool> reshard;
};

} // namespace ff

#endif // FF_DIALECT_UNITS_H
