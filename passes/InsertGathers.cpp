//===- InsertGathers.cpp - Gathers each unit before its use --------------===//
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

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace ff {
#define GEN_PASS_DEF_INSERTGATHERS
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {

/// One use of a parameter: an `ff.param` of its own right before its user.
struct Use {
  ParamOp param;
  Operation *user; ///< the operation that reads the parameter from memory
};

/// Uses between which no other block's unit is used.
struct Run {
  UnitOp unit;
  SmallVector<Use> uses;
};

} // namespace

/// Gives every reader of `value` (a parameter, or a view of one) a copy of the
/// chain that leads from the parameter to it.
static void collectUses(ParamOp param, Value value, SmallVector<Use> &uses) {
  for (OpOperand &operand : llvm::make_early_inc_range(value.getUses())) {
    Operation *user = operand.getOwner();
    if (isViewOp(user)) {
      collectUses(param, user->getResult(0), uses);
      continue;
    }
    OpBuilder builder(user);
    SmallVector<Operation *> chain;
    for (Value v = value; v != param.getResult();
         v = v.getDefiningOp()->getOperand(0))
      chain.push_back(v.getDefiningOp());
    auto copy = cast<ParamOp>(builder.clone(*param));
    Value result = copy.getResult();
    for (Operation *view : llvm::reverse(chain)) {
      Operation *viewCopy = builder.clone(*view);
      viewCopy->setOperand(0, result);
      result = viewCopy->getResult(0);
    }
    operand.set(result);
    uses.push_back({copy, user});
  }
}

static void eraseIfUnused(Operation *op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    eraseIfUnused(user);
  if (op->use_empty())
    op->erase();
}

/// Cuts the uses, in program order, into runs. Root units have one run. An
/// operation may use several units at once: those of one block, for instance.
static SmallVector<Run> formRuns(ArrayRef<Use> uses, const UnitTable &units) {
  SmallVector<Run> runs;
  llvm::DenseMap<Operation *, size_t> open; // unit -> index of its current run
  // Operations that use units of blocks are numbered; a unit whose last one is
  // not this or the one before has been released in between.
  llvm::DenseMap<Operation *, size_t> lastUser;
  Operation *user = nullptr;
  size_t number = 0;
  for (Use use : uses) {
    UnitOp unit = units.getUnit(use.param.getParam());
    bool root = units.isRoot(unit);
    if (!root && use.user != user) {
      user = use.user;
      ++number;
    }
    bool once = root || !units.reshardsAfterForward(unit);
    auto it = open.find(unit);
    bool interrupted =
        !once && it != open.end() && number - lastUser.lookup(unit) > 1;
    if (it == open.end() || interrupted) {
      open[unit] = runs.size();
      runs.push_back({unit, {use}});
    } else {
      runs[it->second].uses.push_back(use);
    }
    if (!root)
      lastUser[unit] = number;
  }
  return runs;
}

static void materialize(Run &run) {
  // The chain of views of a use stands right before its user, so the first
  // parameter of the run is the place of the gather.
  Operation *first = run.uses.front().param;
  Operation *last = run.uses.front().user;
  for (const Use &use : run.uses) {
    if (use.param->isBeforeInBlock(first))
      first = use.param;
    if (last->isBeforeInBlock(use.user))
      last = use.user;
  }
  OpBuilder builder(first);
  auto gather = builder.create<GatherOp>(
      run.unit.getLoc(), GatheredType::get(builder.getContext()),
      run.unit.getSymName());
  for (Use &use : run.uses) {
    builder.setInsertionPoint(use.param);
    Value view =
        builder.create<ViewOp>(use.param.getLoc(), use.param.getType(), gather,
                               use.param.getParam().getLeafReference());
    use.param.getResult().replaceAllUsesWith(view);
    use.param.erase();
  }
  builder.setInsertionPointAfter(last);
  builder.create<ReleaseOp>(run.unit.getLoc(), gather);
}

static void gatherIn(func::FuncOp program, const UnitTable &units) {
  SmallVector<Use> uses;
  for (auto param : llvm::to_vector(program.getBody().getOps<ParamOp>())) {
    SmallVector<Use> own;
    collectUses(param, param.getResult(), own);
    eraseIfUnused(param);
    llvm::append_range(uses, own);
  }
  llvm::sort(uses, [](const Use &a, const Use &b) {
    return a.param->isBeforeInBlock(b.param);
  });
  for (Run &run : formRuns(uses, units))
    materialize(run);
}

namespace {
struct InsertGathersPass : ff::impl::InsertGathersBase<InsertGathersPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    UnitTable units(module);
    for (auto func : module.getOps<func::FuncOp>())
      if (holdsCollectives(func))
        gatherIn(func, units);
  }
};
} // namespace
