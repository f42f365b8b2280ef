//===- FormUnits.cpp - Deals parameters to shard units -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/FF.h"
#include "passes/Passes.h"
#include "passes/Spec.h"

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
  SmallVector<StringAttr> params;
  SmallVector<int64_t> offsets;
  int64_t numel = 0;
  Type gather, master; ///< null: the dtype

  /// Whether one group can hold the parameters of both (V1).
  bool isLike(const Group &other) const {
    return dtype == other.dtype && trainable == other.trainable &&
           reduceDtype == other.reduceDtype && gather == other.gather &&
           master == other.master;
  }
};

/// The groups of a unit, by what makes a group uniform.
using Unit = SmallVector<Group>;

} // namespace

/// Parameters start at multiples of 16 elements, so that vector loads of any
/// dtype are aligned to 16 bytes at least.
static constexpr int64_t kAlignment = 16;

/// Bytes of the largest contiguous buffer of a group with `numel` elements.
static int64_t bufferBytes(const Group &group, int64_t numel) {
  auto bytes = [](Type type) {
    return (static_cast<int64_t>(type.getIntOrFloatBitWidth()) + 7) / 8;
  };
  int64_t element = bytes(group.gather ? group.gather : group.dtype);
  if (group.trainable)
    element = std::max(element, bytes(group.reduceDtype));
  return numel * element;
}

/// Adds the parameter to the last group of its kind, or to a new one where that
/// would make a buffer larger than `maxBuffer`.
static void addToUnit(Unit &unit, ParameterOp param, int64_t maxBuffer) {
  Type dtype = param.getStorageDtype();
  auto other = [&](Type type) { return type == dtype ? Type() : type; };
  Group wanted{dtype,
               param.isTrainable(),
               param.isTrainable() ? param.getReduceDtype() : dtype,
               {},
               {},
               0,
               other(param.getGatherDtype()),
               other(param.getMasterDtype())};
  int64_t size =
      llvm::alignTo(param.getTensorType().getNumElements(), kAlignment);
  Group *group = nullptr;
  for (Group &candidate : unit)
    if (candidate.isLike(wanted))
      group = &candidate;
  if (group && bufferBytes(*group, group->numel + size) > maxBuffer)
    group = nullptr;
  if (!group) {
    unit.push_back(wanted);
    group = &unit.back();
  }
  group->params.push_back(param.getSymNameAttr());
  group->offsets.push_back(group->numel);
  group->numel += size;
}

/// One warning for each declaration, however many blocks have such a parameter.
static void warnAboutLarge(ModuleOp module, int64_t maxBuffer) {
  llvm::DenseSet<Location> seen;
  for (auto unit : module.getOps<UnitOp>())
    for (auto group : unit.getGroups().getAsRange<GroupAttr>()) {
      int64_t element = group.getGatherDtype().getIntOrFloatBitWidth() / 8;
      if (group.getTrainable())
        element = std::max<int64_t>(
            element, group.getReduceDtype().getIntOrFloatBitWidth() / 8);
      int64_t bytes = group.getNumel() * element;
      if (bytes <= maxBuffer)
        continue;
      StringRef name = group.getParams().front().getValue();
      auto component =
          module.lookupSymbol<ComponentOp>(unit.getComponentAttr());
      Location loc = component.lookupSymbol<ParameterOp>(name).getLoc();
      if (seen.insert(loc).second)
        mlir::emitWarning(loc)
            << "'" << name << "' alone takes a buffer of " << bytes
            << " bytes, more than max_buffer = " << maxBuffer;
    }
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
    int64_t maxBuffer = getMaxBuffer(getOperation());
    for (auto component :
         llvm::make_early_inc_range(getOperation().getOps<ComponentOp>())) {
      // The key "" is the root unit.
      llvm::MapVector<StringRef, Unit> units;
      for (auto param : component.getBody().getOps<ParameterOp>())
        addToUnit(units[param.getBlock().value_or("")], param, maxBuffer);
      OpBuilder builder(component);
      builder.setInsertionPointAfter(component);
      for (auto &[block, unit] : units)
        createUnit(builder, component, block, unit);
    }
    warnAboutLarge(getOperation(), maxBuffer);
  }
};
} // namespace
