//===- SpecPolicies.cpp - The spec is complete and agrees with itself (V15)
//-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"
#include "llvm/Support/MathExtras.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYSPEC
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct VerifySpecPass : ff::impl::VerifySpecBase<VerifySpecPass> {
  using VerifySpecBase::VerifySpecBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto spec = getOperation()->getAttrOfType<DictionaryAttr>(kSpecAttr);
    if (!spec) {
      if (complete) {
        getOperation().emitError() << "has no '" << kSpecAttr << "'";
        signalPassFailure();
      }
      return;
    }
    if ((complete && failed(verifyComplete(spec))) || failed(verifyMesh()) ||
        failed(verifyBuckets()) || failed(verifyPrograms()) ||
        failed(verifyData()) || failed(verifyPads()) ||
        failed(verifyComponents()))
      signalPassFailure();
  }

private:
  LogicalResult verifyComplete(DictionaryAttr spec) {
    for (StringRef key : {"name", "spec"})
      if (getSpecString(getOperation(), key).empty())
        return getOperation().emitError() << "the spec has no '" << key << "'";
    for (StringRef key :
         {"seed", "mesh.replicate", "mesh.shard", "train.steps",
          "train.global_batch", "train.micro_batch", "schedule.total_steps"})
      if (!getSpecInteger(getOperation(), key))
        return getOperation().emitError() << "the spec has no '" << key << "'";
    for (StringRef key : {"precision", "sharding", "optimizer", "schedule",
                          "checkpoint", "log"})
      if (!spec.getAs<DictionaryAttr>(key))
        return getOperation().emitError() << "the spec has no '" << key << "'";
    if (getSpecString(getOperation(), "train.program").empty())
      return getOperation().emitError("the spec has no 'train.program'");
    return success();
  }

  /// Sizes of the axes are positive; 0 for `shard` is whatever the launch has.
  LogicalResult verifyMesh() {
    int64_t replicate =
        getSpecInteger(getOperation(), "mesh.replicate").value_or(1);
    int64_t shard = getSpecInteger(getOperation(), "mesh.shard").value_or(0);
    if (replicate < 1)
      return getOperation().emitError() << "mesh.replicate is " << replicate;
    if (shard < 0)
      return getOperation().emitError() << "mesh.shard is " << shard;
    int64_t ranks = 0;
    if (llvm::MulOverflow(replicate, std::max<int64_t>(shard, 1), ranks) ||
        ranks > std::numeric_limits<int32_t>::max())
      return getOperation().emitError()
             << "mesh.replicate = " << replicate
             << " times mesh.shard = " << shard << " is no number of ranks";
    for (StringRef key : {"device_memory", "host_memory"})
      if (auto bytes = getSpecInteger(getOperation(), key))
        if (*bytes < 1)
          return getOperation().emitError() << key << " is " << *bytes;
    for (StringRef key : {"train.steps", "checkpoint.every", "checkpoint.keep",
                          "log.every", "sample.count"})
      if (auto count = getSpecInteger(getOperation(), key))
        if (*count < 1)
          return getOperation().emitError() << key << " is " << *count;
    return success();
  }

  /// Each program that the spec names exists, once, with named ends.
  LogicalResult verifyPrograms() {
    llvm::DenseMap<Attribute, func::FuncOp> programs;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      auto name = func->getAttrOfType<StringAttr>(kProgramAttr);
      if (!name)
        continue;
      auto [it, fresh] = programs.try_emplace(name, func);
      if (!fresh) {
        InFlightDiagnostic diag = func.emitError()
                                  << "is a second program " << name;
        diag.attachNote(it->second.getLoc()) << "the first";
        return diag;
      }
      if (func.isDeclaration())
        return func.emitError() << "program " << name << " has no body";
      if (failed(verifyEnds(func)))
        return failure();
    }
    for (StringRef section : {"train", "sample"}) {
      StringRef name =
          getSpecString(getOperation(), (section + ".program").str());
      auto wanted = StringAttr::get(&getContext(), name);
      if (!name.empty() && !programs.contains(wanted))
        return getOperation().emitError()
               << section << ".program is '" << name
               << "', but the module has no such program";
    }
    for (const std::string &name : getTrainPrograms(getOperation()))
      if (!programs.contains(StringAttr::get(&getContext(), name)))
        return getOperation().emitError()
               << "train.buckets has '" << name
               << "', but the module has no such program";
    return success();
  }

  static LogicalResult verifyEnds(func::FuncOp func) {
    llvm::DenseSet<Attribute> inputs, outputs;
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (auto name = func.getArgAttrOfType<StringAttr>(i, kInputAttr))
        if (!inputs.insert(name).second)
          return func.emitError() << "program '" << func.getName()
                                  << "' has the input " << name << " twice";
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (auto name = func.getResultAttrOfType<StringAttr>(i, kOutputAttr))
        if (!outputs.insert(name).second)
          return func.emitError() << "program '" << func.getName()
                                  << "' has the output " << name << " twice";
    return success();
  }

  /// Buckets are the train program in different shapes, each once.
  LogicalResult verifyBuckets() {
    auto buckets = dyn_cast_or_null<ArrayAttr>(
        getSpecValue(getOperation(), "train.buckets"));
    if (!buckets)
      return success();
    std::string first = getTrainProgram(getOperation());
    llvm::DenseSet<Attribute> seen;
    for (Attribute entry : buckets) {
      auto bucket = dyn_cast<DictionaryAttr>(entry);
      auto name = bucket ? bucket.getAs<StringAttr>("program") : nullptr;
      if (!name || !bucket.getAs<IntegerAttr>("micro_batch"))
        return getOperation().emitError()
               << "train.buckets has an entry without program or micro_batch";
      if (!seen.insert(name).second)
        return getOperation().emitError()
               << "train.buckets has '" << name.getValue() << "' twice";
      if (seen.size() == 1 && name.getValue() != first)
        return getOperation().emitError()
               << "train.program is '" << first
               << "', but the first of train.buckets is '" << name.getValue()
               << "'";
    }
    ArrayRef<func::FuncOp> programs =
        getAnalysis<ModuleIndex>().getTrainPrograms();
    for (func::FuncOp program : programs)
      if (failed(verifySameInputs(programs.front(), program)))
        return failure();
    return success();
  }

  static LogicalResult verifySameInputs(func::FuncOp first,
                                        func::FuncOp other) {
    auto same = [&](unsigned i) {
      return first.getArgAttr(i, kInputAttr) ==
                 other.getArgAttr(i, kInputAttr) &&
             getElementTypeOrSelf(first.getArgumentTypes()[i]) ==
                 getElementTypeOrSelf(other.getArgumentTypes()[i]);
    };
    bool all = first.getNumArguments() == other.getNumArguments();
    for (unsigned i = 0; all && i < first.getNumArguments(); ++i)
      all = same(i);
    if (all)
      return success();
    InFlightDiagnostic diag = other.emitError()
                              << "buckets '" << first.getName() << "' and '"
                              << other.getName()
                              << "' differ in more than the shapes of inputs";
    diag.attachNote(first.getLoc()) << "the other bucket";
    return diag;
  }

  /// What is filled up has the size that it is filled up to, and its mask is
  /// [B, to] of i64.
  LogicalResult verifyPads() {
    auto pads =
        dyn_cast_or_null<ArrayAttr>(getSpecValue(getOperation(), "data.pad"));
    if (!pads)
      return success();
    for (auto pad : pads.getAsRange<DictionaryAttr>())
      for (func::FuncOp train : getAnalysis<ModuleIndex>().getTrainPrograms())
        if (failed(verifyPad(pad, train)))
          return failure();
    return success();
  }

  static LogicalResult verifyPad(DictionaryAttr pad, func::FuncOp train) {
    auto to = pad.getAs<IntegerAttr>("to");
    auto find = [&](StringRef key) -> RankedTensorType {
      auto name = pad.getAs<StringAttr>(key);
      for (unsigned i = 0; name && i < train.getNumArguments(); ++i)
        if (train.getArgAttr(i, kInputAttr) == name)
          return dyn_cast<RankedTensorType>(train.getArgumentTypes()[i]);
      return {};
    };
    RankedTensorType input = find("input"), mask = find("mask");
    auto maskName = pad.getAs<StringAttr>("mask");
    bool hasMask = maskName && !maskName.getValue().empty();
    if (!to || !input || input.getRank() < 2 ||
        input.getDimSize(1) != to.getInt())
      return train.emitError() << "data.pad " << pad << " is of no input of '"
                               << train.getName() << "' with that size";
    if (hasMask &&
        (!mask || mask.getRank() != 2 || mask.getDimSize(1) != to.getInt() ||
         !mask.getElementType().isInteger(64)))
      return train.emitError()
             << "the mask of data.pad " << pad
             << " is no input [B, to] of i64 of '" << train.getName() << "'";
    return success();
  }

  /// Each input of the programs that train has a field of the data or is the
  /// mask of one, and each field has an input.
  LogicalResult verifyData() {
    auto fields = dyn_cast_or_null<DictionaryAttr>(
        getSpecValue(getOperation(), "data.fields"));
    if (!fields)
      return success();
    llvm::DenseSet<Attribute> masks;
    if (auto pads = dyn_cast_or_null<ArrayAttr>(
            getSpecValue(getOperation(), "data.pad")))
      for (auto pad : pads.getAsRange<DictionaryAttr>())
        masks.insert(pad.get("mask"));
    for (func::FuncOp train : getAnalysis<ModuleIndex>().getTrainPrograms())
      if (failed(verifyFields(train, fields, masks)))
        return failure();
    return success();
  }

  LogicalResult verifyFields(func::FuncOp train, DictionaryAttr fields,
                             const llvm::DenseSet<Attribute> &masks) {
    llvm::DenseSet<Attribute> inputs;
    for (unsigned i = 0; i < train.getNumArguments(); ++i) {
      auto name = train.getArgAttrOfType<StringAttr>(i, kInputAttr);
      if (!name || masks.contains(name))
        continue;
      inputs.insert(name);
      if (!fields.contains(name))
        return train.emitError()
               << "input " << name << " of program '" << train.getName()
               << "' has no field in data.fields";
    }
    for (NamedAttribute field : fields)
      if (!inputs.contains(field.getName()))
        return getOperation().emitError()
               << "data.fields has " << field.getName() << ", but program '"
               << train.getName() << "' has no such input";
    return success();
  }

  LogicalResult verifyComponents() {
    for (auto component : getOperation().getOps<ComponentOp>())
      if (component.getModule().empty() || (complete && !component.getConfig()))
        return component.emitOpError("has no module or config");
    return success();
  }
};
} // namespace
