//===- FormUnits.cpp - Deals parameters to shard units -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/FF.h"
#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace ff {
#define GEN_PASS_DEF_FORMUNITS
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {

/// A group while it is filled.
struct Group {
  Type dtype;
  bool trainable = false;
  Type reduceDtype;
  Type gather, master; ///< null: the dtype
  SmallVector<StringAttr> params;
  SmallVector<int64_t> offsets;
  int64_t numel = 0;
};

/// The groups of a unit, by what makes a group uniform.
using Unit = SmallVector<Group>;

} // namespace

/// Parameters start at multiples of 16 elements, so that vector loads of any
/// dtype are aligned to 16 bytes at least.
static constexpr int64_t kAlignment = 16;

static void addToUnit(Unit &unit, ParameterOp param) {
  Type dtype = param.getStorageDtype();
  auto other = [&](Type type) { return type == dtype ? Type() : type; };
  Group wanted{dtype,
               param.isTrainable(),
               param.isTrainable() ? param.getReduceDtype() : dtype,
               other(param.getGatherDtype()),
               other(param.getMasterDtype()),
               {},
               {},
               0};
  auto *group = llvm::find_if(unit, [&](const Group &candidate) {
    return candidate.dtype == wanted.dtype &&
           candidate.trainable == wanted.trainable &&
           candidate.reduceDtype == wanted.reduceDtype &&
           candidate.gather == wanted.gather &&
           candidate.master == wanted.master;
  });
  if (group == unit.end()) {
    unit.push_back(wanted);
    group = &unit.back();
  }
  group->params.push_back(param.getSymNameAttr());
  group->offsets.push_back(group->numel);
  group->numel +=
      llvm::alignTo(param.getTensorType().getNumElements(), kAlignment);
}

static void createUnit(OpBuilder &builder, ComponentOp component,
                       StringRef block, const Unit &unit) {
  MLIRContext *context = builder.getContext();
  SmallVector<Attribute> groups;
  for (const Group &group : unit)
    groups.push_back(GroupAttr::get(
        context, group.dtype, group.trainable, group.reduceDtype, group.gather,
        group.master, group.numel, group.params, group.offsets));
  StringRef suffix = block.empty() ? "root" : block;
  auto op = builder.create<UnitOp>(
      component.getLoc(), (component.getSymName() + "." + suffix).str(),
      component.getSymName(), builder.getArrayAttr(groups));
  op.setRoot(block.empty());
}

namespace {
struct FormUnitsPass : ff::impl::FormUnitsBase<FormUnitsPass> {
  void runOnOperation() override {
    for (auto component :
         llvm::make_early_inc_range(getOperation().getOps<ComponentOp>())) {
      // The key "" is the root unit.
      llvm::MapVector<StringRef, Unit> units;
      for (auto param : component.getBody().getOps<ParameterOp>())
        addToUnit(units[param.getBlock().value_or("")], param);
      OpBuilder builder(component);
      builder.setInsertionPointAfter(component);
      for (auto &[block, unit] : units)
        createUnit(builder, component, block, unit);
    }
  }
};
} // namespace
