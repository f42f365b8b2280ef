//===- Initializers.cpp - Each parameter has one initial value (V7) ------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYINITIALIZERS
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

/// Whether a tensor of `dtype`, as safetensors names it, can supply `storage`.
static bool canSupply(StringRef dtype, Type storage) {
  if (isa<FloatType>(storage))
    return llvm::is_contained({"f64", "f32", "bf16", "f16"}, dtype);
  if (storage.isInteger(1))
    return dtype == "bool";
  unsigned bits = storage.getIntOrFloatBitWidth();
  if (bits == 8 && (dtype == "f8_e4m3" || dtype == "f8_e5m2"))
    return true; // its bytes, with a scale beside them
  return dtype == "i" + std::to_string(bits) ||
         dtype == "u" + std::to_string(bits);
}

static LogicalResult verifyInit(ParameterOp param) {
  InitAttr init = param.getInit();
  APFloat first = init.getFirst().getValue(),
          second = init.getSecond().getValue();
  auto wrong = [&](StringRef text) {
    return param.emitOpError()
           << "has an initial value <" << stringifyInitKind(init.getKind())
           << ", " << init.getFirst().getValueAsDouble() << ", "
           << init.getSecond().getValueAsDouble() << ">: " << text;
  };
  if (!first.isFinite() || !second.isFinite())
    return wrong("its numbers must be finite");
  switch (init.getKind()) {
  case InitKind::Normal:
    return second.isNegative() && !second.isZero()
               ? LogicalResult(wrong("a deviation is not negative"))
               : success();
  case InitKind::Uniform:
    return first > second ? LogicalResult(wrong("the range is empty"))
                          : success();
  case InitKind::Constant:
    return second.isZero() ? success()
                           : LogicalResult(wrong("a constant is one number"));
  }
  return success();
}

namespace {
struct VerifyInitializersPass
    : ff::impl::VerifyInitializersBase<VerifyInitializersPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto component : getOperation().getOps<ComponentOp>())
      if (failed(verify(component)))
        return signalPassFailure();
  }

private:
  static LogicalResult verify(ComponentOp component) {
    ArrayAttr list = component.getFilesAttr();
    int64_t files = list ? list.size() : 0;
    llvm::DenseSet<Attribute> names;
    if (list)
      for (Attribute file : list)
        if (!names.insert(file).second)
          return component.emitOpError()
                 << "lists the file " << file << " twice";
    llvm::DenseMap<std::pair<int64_t, Attribute>, ParameterOp> seen;
    for (auto param : component.getBody().getOps<ParameterOp>()) {
      if (failed(verifyInit(param)))
        return failure();
      std::optional<SourceAttr> source = param.getSource();
      if (!source)
        continue;
      if (source->getFile() < 0 || source->getFile() >= files)
        return param.emitOpError()
               << "comes from file " << source->getFile() << ", but component @"
               << component.getSymName() << " has " << files;
      if (!canSupply(source->getDtype().getValue(), param.getStorageDtype()))
        return param.emitOpError()
               << "of " << param.getStorageDtype() << " comes from a tensor of "
               << source->getDtype();
      auto [it, fresh] =
          seen.try_emplace({source->getFile(), source->getTensor()}, param);
      if (fresh)
        continue;
      InFlightDiagnostic diag = param.emitOpError()
                                << "comes from tensor " << source->getTensor()
                                << ", which supplies '"
                                << it->second.getSymName() << "' too";
      diag.attachNote(it->second.getLoc()) << "the other parameter";
      return diag;
    }
    return success();
  }
};
} // namespace
