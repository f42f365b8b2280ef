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

/// Which unit and group a parameter belongs to. Valid while the module's units
/// are not changed.
class UnitTable {
public:
  struct Place {
    UnitOp unit;
    unsigned group; ///< index among the unit's groups
    int64_t offset; ///< elements
  };

  explicit UnitTable(mlir::ModuleOp module) {
    mlir::SymbolTable symbols(module);
    for (auto unit : module.getOps<UnitOp>()) {
      auto component =
          symbols.lookup<ComponentOp>(unit.getComponentAttr().getValue());
      reshard[unit] = component.getReshardAfterForward();
      for (auto [index, attr] : llvm::enumerate(unit.getGroups())) {
        auto group = llvm::cast<GroupAttr>(attr);
        for (auto [name, offset] :
             llvm::zip_equal(group.getParams(), group.getOffsets()))
          places[{unit.getComponentAttr().getAttr(), name}] = {
              unit, static_cast<unsigned>(index), offset};
      }
    }
  }

  /// The place of parameter @component::@name.
  const Place &lookup(mlir::SymbolRefAttr param) const {
    auto it = places.find({param.getRootReference(), param.getLeafReference()});
    assert(it != places.end() && "ff-verify-units holds");
    return it->second;
  }
  UnitOp getUnit(mlir::SymbolRefAttr param) const { return lookup(param).unit; }
  bool isRoot(UnitOp unit) const {
    UnitOp op = unit;
    return op.getRoot();
  }
  bool reshardsAfterForward(UnitOp unit) const { return reshard.lookup(unit); }

private:
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, Place> places;
  llvm::DenseMap<mlir::Operation *, bool> reshard;
};

} // namespace ff

#endif // FF_DIALECT_UNITS_H
