//===- Randomness.cpp - Random values are of a sample and a site (V12) ---===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/Spec.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYRANDOMNESS
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

/// Sites of a program are its number, shifted by this, and a count.
static constexpr unsigned kProgramShift = 24;

namespace {
struct VerifyRandomnessPass
    : ff::impl::VerifyRandomnessBase<VerifyRandomnessPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    sample = getSpecString(getOperation(), "sample.program");
    llvm::DenseMap<uint32_t, func::FuncOp> programOf;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      llvm::DenseMap<uint32_t, RandomOp> sites;
      auto result = func.walk([&](RandomOp random) -> WalkResult {
        if (failed(verifyPlace(func, random)) ||
            failed(verifyBatch(func, random)))
          return WalkResult::interrupt();
        uint32_t site = random.getSite();
        auto [it, fresh] = sites.try_emplace(site, random);
        // For a backward: the values of one that stands before it.
        if (random->hasAttr(kDrawnAgainAttr)) {
          if (!fresh && it->second.getType() == random.getType() &&
              it->second.getDistribution() == random.getDistribution())
            return WalkResult::advance();
          return random.emitOpError() << "draws site " << site
                                      << " again, which nothing like it drew "
                                         "before";
        }
        if (!fresh) {
          InFlightDiagnostic diag = random.emitOpError()
                                    << "has site " << site
                                    << " of another random value";
          diag.attachNote(it->second.getLoc()) << "the other one";
          return diag;
        }
        uint32_t number = site >> kProgramShift;
        auto [other, isNew] = programOf.try_emplace(number, func);
        // Buckets are one program: a sample of the run is in one of them.
        if (isNew || other->second == func ||
            (index.isTrainProgram(func) && index.isTrainProgram(other->second)))
          return WalkResult::advance();
        InFlightDiagnostic diag =
            random.emitOpError()
            << "of program '" << func.getName() << "' has site " << site
            << ", of program number " << number << ", which is '"
            << other->second.getName() << "'";
        diag.attachNote(other->second.getLoc()) << "the other program";
        return diag;
      });
      if (result.wasInterrupted() || failed(verifyOneNumber(func, sites)))
        return signalPassFailure();
    }
  }

private:
  /// In a function, all calls would draw the same values.
  static LogicalResult verifyPlace(func::FuncOp func, RandomOp random) {
    if (!func->hasAttr(kProgramAttr))
      return random.emitOpError()
             << "stands in '" << func.getName()
             << "', which is no program: all calls would draw the same";
    if (random->getParentOp() != func)
      return random.emitOpError("stands in a region");
    return success();
  }

  /// A row is of a sample, so that no number of ranks changes it.
  LogicalResult verifyBatch(func::FuncOp func, RandomOp random) {
    StringRef path =
        func.getName() == sample ? "sample.micro_batch" : "train.micro_batch";
    std::optional<int64_t> batch;
    if (getAnalysis<ModuleIndex>().isTrainProgram(func))
      batch = getMicroBatch(getOperation(), func.getName());
    else if (func.getName() == sample)
      batch = getSpecInteger(getOperation(), path);
    auto type = cast<RankedTensorType>(random.getType());
    if (!batch || type.getDimSize(0) == *batch)
      return success();
    return random.emitOpError() << "of " << type << " has no row for each of "
                                << *batch << " samples (" << path << ")";
  }

  static LogicalResult
  verifyOneNumber(func::FuncOp func,
                  const llvm::DenseMap<uint32_t, RandomOp> &sites) {
    std::optional<uint32_t> number;
    for (auto random : func.getOps<RandomOp>()) {
      uint32_t own = random.getSite() >> kProgramShift;
      if (!number)
        number = own;
      if (own != *number)
        return random.emitOpError()
               << "has site " << random.getSite() << ", of program number "
               << own << "; those of '" << func.getName()
               << "' before it are of number " << *number;
    }
    return success();
  }

  StringRef sample;
};
} // namespace
