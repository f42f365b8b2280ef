//===- Collectives.cpp - Every rank runs the same collectives (V5) -------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/View.h"
#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYCOLLECTIVES
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

static bool isCollective(Operation *op) {
  return isa<GatherOp, GatherStartOp, GatherWaitOp, ReleaseOp,
             ReduceGradientsOp, ReduceWaitOp>(op);
}

/// An error at `op`, with a note at the operation that it conflicts with.
static LogicalResult conflict(Operation *op, const Twine &message,
                              Operation *other = nullptr,
                              StringRef note = "the other operation") {
  InFlightDiagnostic diag = op->emitOpError(message);
  if (other)
    diag.attachNote(other->getLoc()) << note;
  return diag;
}

static std::string nameOf(FlatSymbolRefAttr unit) {
  return "@" + unit.getValue().str();
}

//===----------------------------------------------------------------------===//
// Where collectives stand
//===----------------------------------------------------------------------===//

/// Collectives, and what becomes one, are in the straight line of a program or
/// of a function that only such lines call.
static LogicalResult verifyPlacement(func::FuncOp func, CollectiveForm form,
                                     const ModuleIndex &index) {
  if (holdsCollectives(func) && !func.getBody().hasOneBlock())
    return func.emitOpError("may hold collectives and branches: ranks could "
                            "differ in it");
  auto result = func.walk([&](Operation *op) -> WalkResult {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      func::FuncOp callee = index.getFunction(call);
      if (callee && holdsCollectives(callee) &&
          (op->getParentOp() != func || !func->hasAttr(kProgramAttr)))
        return conflict(op,
                        "calls a function with collectives from elsewhere "
                        "than the straight line of a program",
                        callee, "the function");
    }
    bool isUse = isa<ParamOp, GradientOp>(op);
    if (isUse && form != CollectiveForm::None)
      return op->emitOpError("is left after sharding");
    if (!isUse && !isCollective(op))
      return WalkResult::advance();
    if (!isUse && form == CollectiveForm::None)
      return op->emitOpError("is a collective before sharding");
    StringRef what = isUse ? "becomes a collective" : "is a collective";
    if (op->getParentOp() != func)
      return op->emitOpError()
             << what << " inside a region: ranks could differ in it";
    if (!holdsCollectives(func))
      return op->emitOpError() << what << " outside a program";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Gathered before use, released after
//===----------------------------------------------------------------------===//

/// Readers through views read the parameter itself.
static LogicalResult verifyReaders(ViewOp view, Value value,
                                   Operation *release) {
  Block *block = release->getBlock();
  for (Operation *reader : value.getUsers()) {
    if (isViewOp(reader)) {
      if (failed(verifyReaders(view, reader->getResult(0), release)))
        return failure();
      continue;
    }
    Operation *at = block->findAncestorOpInBlock(*reader);
    if (at && at->isBeforeInBlock(release))
      continue;
    return conflict(reader, "reads '" + view.getParam() + "' after its release",
                    release, "released here");
  }
  return success();
}

/// `gathered` is released once, after its readers.
static LogicalResult verifyRelease(Operation *gather) {
  Operation *release = nullptr;
  for (Operation *user : gather->getUsers()) {
    if (!isa<ReleaseOp>(user))
      continue;
    if (release) {
      bool isFirst = user->getBlock() == release->getBlock() &&
                     user->isBeforeInBlock(release);
      return conflict(isFirst ? release : user,
                      "releases the unit a second time",
                      isFirst ? user : release);
    }
    release = user;
  }
  if (!release)
    return conflict(gather, "is never released");
  for (Operation *user : gather->getUsers())
    if (auto view = dyn_cast<ViewOp>(user))
      if (failed(verifyReaders(view, view.getResult(), release)))
        return failure();
  return success();
}

static LogicalResult verifySharded(func::FuncOp func) {
  llvm::DenseMap<Attribute, Operation *> whole;
  for (Operation &op : func.getBody().front()) {
    if (isa<GatherStartOp, GatherWaitOp, ReduceWaitOp>(op))
      return op.emitOpError("stands before scheduling");
    if (auto release = dyn_cast<ReleaseOp>(op)) {
      if (auto gather = release.getUnit().getDefiningOp<GatherOp>())
        whole.erase(gather.getUnitAttr());
      continue;
    }
    auto gather = dyn_cast<GatherOp>(op);
    if (!gather)
      continue;
    if (failed(verifyRelease(gather)))
      return failure();
    auto [it, fresh] = whole.try_emplace(gather.getUnitAttr(), gather);
    if (!fresh)
      return conflict(gather,
                      "gathers " + nameOf(gather.getUnitAttr()) +
                          ", which is whole",
                      it->second);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The sequence after scheduling
//===----------------------------------------------------------------------===//

namespace {

/// Walks the straight line of a program as a rank runs it, with the state of
/// each unit.
class Sequence {
public:
  LogicalResult run(func::FuncOp func);

private:
  LogicalResult step(GatherStartOp op);
  LogicalResult step(GatherWaitOp op);
  LogicalResult step(ReleaseOp op);
  LogicalResult step(ReduceGradientsOp op);
  LogicalResult step(ReduceWaitOp op);

  llvm::DenseMap<Attribute, Operation *> whole;    ///< started, not released
  llvm::DenseMap<Attribute, Operation *> reducing; ///< not waited for
  llvm::DenseSet<Value> arrived;                   ///< waited for
};

} // namespace

LogicalResult Sequence::step(GatherStartOp op) {
  auto [it, fresh] = whole.try_emplace(op.getUnitAttr(), op);
  if (!fresh)
    return conflict(
        op, "starts " + nameOf(op.getUnitAttr()) + ", a unit that is whole",
        it->second);
  if (!op->hasOneUse())
    return conflict(op, "needs exactly one wait");
  return success();
}

LogicalResult Sequence::step(GatherWaitOp op) {
  unsigned releases = llvm::count_if(
      op->getUsers(), [](Operation *user) { return isa<ReleaseOp>(user); });
  if (releases != 1)
    return conflict(op, "needs exactly one release");
  arrived.insert(op.getResult());
  return verifyRelease(op);
}

LogicalResult Sequence::step(ReleaseOp op) {
  auto wait = op.getUnit().getDefiningOp<GatherWaitOp>();
  if (!wait || !arrived.erase(wait.getResult()))
    return conflict(op, "releases a unit that is not whole", wait);
  auto start = wait.getPending().getDefiningOp<GatherStartOp>();
  whole.erase(start.getUnitAttr());
  return success();
}

LogicalResult Sequence::step(ReduceGradientsOp op) {
  auto [it, fresh] = reducing.try_emplace(op.getUnitAttr(), op);
  if (!fresh)
    return conflict(op,
                    "reduces " + nameOf(op.getUnitAttr()) +
                        ", a unit whose reduction is under way",
                    it->second);
  return success();
}

LogicalResult Sequence::step(ReduceWaitOp op) {
  if (!reducing.erase(op.getUnitAttr()))
    return conflict(op, "waits for a reduction of " + nameOf(op.getUnitAttr()) +
                            " that is not under way");
  return success();
}

LogicalResult Sequence::run(func::FuncOp func) {
  for (Operation &op : func.getBody().front()) {
    LogicalResult result = success();
    if (auto start = dyn_cast<GatherStartOp>(op))
      result = step(start);
    else if (auto wait = dyn_cast<GatherWaitOp>(op))
      result = step(wait);
    else if (auto release = dyn_cast<ReleaseOp>(op))
      result = step(release);
    else if (auto reduce = dyn_cast<ReduceGradientsOp>(op))
      result = step(reduce);
    else if (auto wait = dyn_cast<ReduceWaitOp>(op))
      result = step(wait);
    else if (isa<GatherOp>(op))
      result = op.emitOpError("is left after scheduling");
    if (failed(result))
      return failure();
  }
  for (auto &state : {whole, reducing})
    for (auto &[unit, op] : state)
      return op->emitOpError("is not completed at the end of the function");
  return success();
}

namespace {
struct VerifyCollectivesPass
    : ff::impl::VerifyCollectivesBase<VerifyCollectivesPass> {
  using VerifyCollectivesBase::VerifyCollectivesBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration() || !isTensorFunction(func))
        continue;
      if (failed(verifyPlacement(func, form, index)))
        return signalPassFailure();
      if (!holdsCollectives(func))
        continue;
      if ((form == CollectiveForm::Sharded && failed(verifySharded(func))) ||
          (form == CollectiveForm::Scheduled && failed(Sequence().run(func))))
        return signalPassFailure();
    }
  }
};
} // namespace
