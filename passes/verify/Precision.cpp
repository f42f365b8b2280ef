//===- Precision.cpp - Dtypes are those of the policy (V13) --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"
#include "llvm/ADT/StringSwitch.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYPRECISION
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

static unsigned bitsOf(Type type) { return type.getIntOrFloatBitWidth(); }

/// The dtype that a key like compute_dtype names, or null.
static Type dtypeOf(MLIRContext *context, StringRef key) {
  return llvm::StringSwitch<Type>(key)
      .Case("fp32", Float32Type::get(context))
      .Case("fp64", Float64Type::get(context))
      .Case("bf16", BFloat16Type::get(context))
      .Case("fp16", Float16Type::get(context))
      .Default({});
}

namespace {

/// [precision] as it is in force for one component.
struct Policy {
  Type compute, trainable, frozen, reduce; ///< null: not given
  bool master = true;
  SmallVector<Type> keeps; ///< dtypes that some parameters have of their own
  bool widens = false;     ///< mixed_dtype = "promote"
};

struct VerifyPrecisionPass
    : ff::impl::VerifyPrecisionBase<VerifyPrecisionPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto component : getOperation().getOps<ComponentOp>()) {
      Policy policy = getPolicy(component);
      for (auto param : component.getBody().getOps<ParameterOp>())
        if (failed(verify(param, policy)))
          return signalPassFailure();
    }
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    for (func::FuncOp train : index.getTrainPrograms())
      if (failed(verifyRecompute(train)))
        return signalPassFailure();
  }

private:
  Policy getPolicy(ComponentOp component) {
    std::optional<DictionaryAttr> own = component.getPrecision();
    auto get = [&](StringRef key) -> Attribute {
      if (own)
        if (Attribute value = own->get(key))
          return value;
      return getSpecValue(getOperation(), ("precision." + key).str());
    };
    auto dtype = [&](StringRef key) {
      auto name = dyn_cast_or_null<StringAttr>(get(key));
      return name ? dtypeOf(&getContext(), name) : Type();
    };
    Policy policy;
    policy.compute = dtype("compute_dtype");
    policy.trainable = dtype("trainable_parameters_dtype");
    policy.frozen = dtype("frozen_parameters_dtype");
    policy.reduce = dtype("reduce_dtype");
    auto master = dyn_cast_or_null<StringAttr>(get("master"));
    policy.master = !master || master.getValue() != "none";
    for (Attribute keep : {own ? own->get("keep") : Attribute(),
                           getSpecValue(getOperation(), "precision.keep")}) {
      auto table = dyn_cast_or_null<DictionaryAttr>(keep);
      for (NamedAttribute entry : table ? table.getValue() : std::nullopt)
        if (auto name = dyn_cast<StringAttr>(entry.getValue()))
          policy.keeps.push_back(dtypeOf(&getContext(), name));
    }
    StringRef mixed = getSpecString(getOperation(), "sharding.mixed_dtype");
    policy.widens = own && own->get("mixed_dtype")
                        ? cast<StringAttr>(own->get("mixed_dtype")) == "promote"
                        : mixed == "promote";
    return policy;
  }

  static LogicalResult report(ParameterOp param, StringRef what, Type have,
                              Type want, const Twine &why) {
    return param.emitOpError() << "has " << what << " dtype " << have
                               << ", not " << want << ": " << why;
  }

  static LogicalResult verify(ParameterOp param, const Policy &policy) {
    Type storage = param.getStorageDtype(), gather = param.getGatherDtype(),
         master = param.getMasterDtype();
    if (param.getBuffer()) {
      if (gather != storage)
        return report(param, "gather", gather, storage,
                      "no policy changes a buffer");
      if (master != storage)
        return report(param, "master", master, storage,
                      "no policy changes a buffer");
      return success();
    }
    if (!isa<FloatType>(storage))
      return success();
    if (failed(verifyStorage(param, policy)) ||
        failed(verifyGather(param, policy)))
      return failure();
    if (!param.isTrainable()) {
      if (master != storage)
        return report(param, "master", master, storage,
                      "what is frozen has no master");
      return success();
    }
    Type wanted = isNarrowFloat(storage) && policy.master
                      ? Float32Type::get(param.getContext())
                      : storage;
    if (master != wanted)
      return report(param, "master", master, wanted,
                    isNarrowFloat(storage)
                        ? "it is trained in fewer than 32 bits"
                        : "it is that of storage");
    Type reduce = bitsOf(storage) == 64 ? storage : policy.reduce;
    if (reduce && param.getReduceDtype() != reduce)
      return report(param, "reduce", param.getReduceDtype(), reduce,
                    "reduce_dtype says so");
    return success();
  }

  /// Where no pattern of `keep` and no widening can be the reason.
  static LogicalResult verifyStorage(ParameterOp param, const Policy &policy) {
    Type storage = param.getStorageDtype();
    if (policy.widens || llvm::is_contained(policy.keeps, storage))
      return success();
    if (param.isTrainable()) {
      if (policy.trainable && storage != policy.trainable)
        return report(param, "storage", storage, policy.trainable,
                      "trainable_parameters_dtype says so");
      return success();
    }
    if (policy.frozen) {
      if (storage != policy.frozen)
        return report(param, "storage", storage, policy.frozen,
                      "frozen_parameters_dtype says so");
      return success();
    }
    std::optional<SourceAttr> source = param.getSource();
    if (!source)
      return success();
    MLIRContext *context = param.getContext();
    Type file = llvm::StringSwitch<Type>(source->getDtype().getValue())
                    .Case("f64", Float64Type::get(context))
                    .Case("f32", Float32Type::get(context))
                    .Case("f16", Float16Type::get(context))
                    .Case("bf16", BFloat16Type::get(context))
                    .Default({});
    if (file && storage != file)
      return report(param, "storage", storage, file,
                    "what is frozen keeps the dtype of its file");
    return success();
  }

  /// The narrower of storage and compute dtype.
  static LogicalResult verifyGather(ParameterOp param, const Policy &policy) {
    Type storage = param.getStorageDtype(), gather = param.getGatherDtype();
    if (bitsOf(gather) > bitsOf(storage))
      return report(param, "gather", gather, storage, "a gather never widens");
    // What is kept is gathered, and computed with, as it is stored.
    bool mayBeKept = llvm::is_contained(policy.keeps, storage);
    if (!policy.compute || (mayBeKept && gather == storage))
      return success();
    // ... or, where mixed_dtype has widened its storage, as it was kept.
    if (policy.widens && llvm::is_contained(policy.keeps, gather))
      return success();
    Type want =
        bitsOf(storage) < bitsOf(policy.compute) ? storage : policy.compute;
    if (gather != want)
      return report(param, "gather", gather, want,
                    "it is the narrower of storage and compute_dtype");
    return success();
  }

  /// A recomputed block is the block of the forward, on the same values.
  LogicalResult verifyRecompute(func::FuncOp train) {
    if (train.getOps<LossSeedOp>().empty())
      return success(); // not differentiated: the mark is a wish
    llvm::DenseMap<Attribute, SmallVector<func::CallOp>> calls;
    for (auto call : train.getBody().getOps<func::CallOp>()) {
      if (!call->hasAttr(kRecomputeAttr)) {
        calls[call.getCalleeAttr()].push_back(call);
        continue;
      }
      auto &candidates = calls[call.getCalleeAttr()];
      if (llvm::none_of(candidates, [&](func::CallOp other) {
            return haveSameOperands(call, other);
          })) {
        InFlightDiagnostic diag =
            call.emitOpError()
            << "computes '" << call.getCallee()
            << "' again, but no call before it has the same operands";
        if (!candidates.empty())
          diag.attachNote(candidates.back().getLoc()) << "the last call";
        return diag;
      }
    }
    return success();
  }

  static bool haveSameOperands(func::CallOp a, func::CallOp b) {
    return llvm::all_of(
        llvm::zip_equal(a.getOperands(), b.getOperands()),
        [](auto pair) { return isSame(std::get<0>(pair), std::get<1>(pair)); });
  }

  /// Through fused loops, which may compute one value more than once: what is
  /// yielded inside, and what an argument stands for.
  static Value resolve(Value value) {
    for (;;) {
      if (auto fused = value.getDefiningOp<FusedOp>()) {
        Operation *end = fused.getBody().front().getTerminator();
        value = end->getOperand(cast<OpResult>(value).getResultNumber());
        continue;
      }
      auto argument = dyn_cast<BlockArgument>(value);
      auto fused = argument
                       ? dyn_cast<FusedOp>(argument.getOwner()->getParentOp())
                       : FusedOp();
      if (!fused)
        return value;
      value = fused->getOperand(argument.getArgNumber());
    }
  }

  /// Gathered twice is the same parameter, drawn twice the same numbers.
  static bool isSame(Value a, Value b) {
    a = resolve(a);
    b = resolve(b);
    if (a == b)
      return true;
    Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
    if (!x || !y || a.getType() != b.getType() || x->getName() != y->getName())
      return false;
    if (auto view = dyn_cast<ViewOp>(x))
      return view.getUnitSymbol() == cast<ViewOp>(y).getUnitSymbol() &&
             view.getParam() == cast<ViewOp>(y).getParam();
    if (auto param = dyn_cast<ParamOp>(x))
      return param.getParam() == cast<ParamOp>(y).getParam();
    if (auto random = dyn_cast<RandomOp>(x))
      return random.getSite() == cast<RandomOp>(y).getSite() &&
             random.getDistribution() == cast<RandomOp>(y).getDistribution();
    if (!isMemoryEffectFree(x) || x->getNumRegions() != 0 ||
        cast<OpResult>(a).getResultNumber() !=
            cast<OpResult>(b).getResultNumber() ||
        x->getAttrDictionary() != y->getAttrDictionary() ||
        x->getNumOperands() != y->getNumOperands())
      return false;
    return llvm::all_of(
        llvm::zip(x->getOperands(), y->getOperands()),
        [](auto pair) { return isSame(std::get<0>(pair), std::get<1>(pair)); });
  }
};
} // namespace
