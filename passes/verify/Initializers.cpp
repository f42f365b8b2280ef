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

/// Elements of a tensor of a component's files that supply a parameter.
struct SuppliedRange {
  int64_t first, end;
  ParameterOp param;
};
using Supplied = llvm::DenseMap<std::pair<int64_t, Attribute>,
                                SmallVector<SuppliedRange, 1>>;

/// Notes what `source` takes of the files, which nothing else may take.
static LogicalResult verifyPieces(ParameterOp param, SourceAttr source,
                                  int64_t files, Supplied &seen) {
  auto take = [&](int64_t file, StringAttr tensor, int64_t first,
                  int64_t end) -> LogicalResult {
    for (const SuppliedRange &other : seen[{file, tensor}]) {
      if (first >= other.end || other.first >= end)
        continue;
      ParameterOp taken = other.param;
      InFlightDiagnostic diag = param.emitOpError()
                                << "comes from tensor " << tensor
                                << ", which supplies '" << taken.getSymName()
                                << "' too";
      diag.attachNote(taken.getLoc()) << "the other parameter";
      return diag;
    }
    seen[{file, tensor}].push_back({first, end, param});
    return success();
  };
  int64_t elements = param.getTensorType().getNumElements();
  if (!source.getPieces())
    return take(source.getFile(), source.getTensor(), 0, elements);
  int64_t total = 0;
  for (auto piece : source.getPieces().getAsRange<PieceAttr>()) {
    int64_t numel = ShapedType::getNumElements(piece.getShape());
    int64_t end = piece.getFirst() + piece.getCount();
    total += piece.getCount();
    if (piece.getFile() < 0 || piece.getFile() >= files)
      return param.emitOpError() << "has a piece of file " << piece.getFile()
                                 << ", but the component has " << files;
    if (piece.getFirst() < 0 || piece.getCount() < 0 || end > numel)
      return param.emitOpError()
             << "takes the elements " << piece.getFirst() << " to " << end
             << " of tensor " << piece.getTensor() << ", which has " << numel;
    if (failed(take(piece.getFile(), piece.getTensor(), piece.getFirst(), end)))
      return failure();
  }
  if (total != elements)
    return param.emitOpError()
           << "has " << elements << " elements, its pieces " << total;
  return success();
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
    Supplied seen;
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
      if (failed(verifyPieces(param, *source, files, seen)))
        return failure();
    }
    return success();
  }
};
} // namespace
