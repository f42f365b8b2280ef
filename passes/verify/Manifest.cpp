//===- Manifest.cpp - What a checkpoint holds (V10) ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYMANIFEST
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct VerifyManifestPass : ff::impl::VerifyManifestBase<VerifyManifestPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto component : getOperation().getOps<ComponentOp>())
      if (failed(verify(component)))
        return signalPassFailure();
  }

private:
  static LogicalResult verify(ComponentOp component) {
    std::optional<DictionaryAttr> save = component.getSave();
    TrainMode mode = component.getTrain();
    if (!save) {
      if (mode != TrainMode::Frozen)
        return component.emitOpError()
               << "has train = " << stringifyTrainMode(mode)
               << " and no save table";
      return verifyNone(component);
    }
    if (mode == TrainMode::Frozen)
      return component.emitOpError("is frozen and has a save table");
    auto kind = save->getAs<StringAttr>("kind");
    StringRef want = mode == TrainMode::LoRA ? "adapter" : "full";
    if (!kind || kind.getValue() != want)
      return component.emitOpError()
             << "with train = " << stringifyTrainMode(mode) << " is saved as "
             << (kind ? Attribute(kind) : Attribute()) << ", not as \"" << want
             << "\"";
    auto files = save->getAs<ArrayAttr>("files");
    if (!files || files.empty())
      return component.emitOpError("has a save table without files");
    llvm::DenseSet<Attribute> names;
    for (Attribute file : files)
      if (!names.insert(file).second)
        return component.emitOpError() << "saves the file " << file << " twice";
    return verifyEntries(component, files);
  }

  static LogicalResult verifyNone(ComponentOp component) {
    for (auto param : component.getBody().getOps<ParameterOp>())
      if (auto entry = param.getSave())
        return param.emitOpError()
               << "of frozen component @" << component.getSymName()
               << " is saved as " << entry->getName();
    return success();
  }

  /// What is saved: all parameters of a full model, what is trained of an
  /// adapter.
  static LogicalResult verifyEntries(ComponentOp component, ArrayAttr files) {
    bool full = component.getTrain() == TrainMode::Full;
    int64_t count = files.size();
    // Another tool merges all files: a name is unique over all of them.
    llvm::DenseMap<Attribute, ParameterOp> byName;
    SmallVector<int64_t> tensors(count);
    for (auto param : component.getBody().getOps<ParameterOp>()) {
      std::optional<SaveAttr> entry = param.getSave();
      bool want = full || param.isTrainable();
      if (want != bool(entry))
        return param.emitOpError()
               << (want ? "is not in the save table of component @"
                        : "is frozen and in the save table of component @")
               << component.getSymName();
      if (!entry)
        continue;
      if (entry->getFile() < 0 || entry->getFile() >= count)
        return param.emitOpError()
               << "is saved in file " << entry->getFile() << ", but component @"
               << component.getSymName() << " has " << count;
      if (entry->getName().getValue().empty())
        return param.emitOpError("is saved under an empty name");
      if (failed(verifyName(component, param, *entry)))
        return failure();
      ++tensors[entry->getFile()];
      auto [it, fresh] = byName.try_emplace(entry->getName(), param);
      if (fresh)
        continue;
      InFlightDiagnostic diag =
          param.emitOpError() << "is saved as " << entry->getName() << ", as '"
                              << it->second.getSymName() << "' is";
      diag.attachNote(it->second.getLoc()) << "the other parameter";
      return diag;
    }
    for (auto [i, number] : llvm::enumerate(tensors))
      if (number == 0)
        return component.emitOpError()
               << "saves the file " << files[i] << " without a tensor";
    return verifyAdapters(component);
  }

  /// Names are those of the model, behind PEFT's prefix in an adapter, so that
  /// saving and loading are inverse.
  static LogicalResult verifyName(ComponentOp component, ParameterOp param,
                                  SaveAttr entry) {
    bool full = component.getTrain() == TrainMode::Full;
    std::string want =
        ((full ? "" : "base_model.model.") + param.getSymName()).str();
    if (entry.getName().getValue() == want)
      return success();
    return param.emitOpError() << "is saved as " << entry.getName()
                               << "; a load looks for \"" << want << "\"";
  }

  /// An adapter without one of its halves is one that other tools cannot read.
  static LogicalResult verifyAdapters(ComponentOp component) {
    if (component.getTrain() != TrainMode::LoRA)
      return success();
    llvm::DenseSet<Attribute> saved;
    for (auto param : component.getBody().getOps<ParameterOp>())
      if (param.getSave())
        saved.insert(param.getSymNameAttr());
    for (auto param : component.getBody().getOps<ParameterOp>())
      if (auto merge = param.getMerge())
        for (StringAttr half : {merge->getA(), merge->getB()})
          if (!saved.contains(half))
            return param.emitOpError() << "has the adapter '" << half.getValue()
                                       << "', which is not saved";
    return success();
  }
};
} // namespace
