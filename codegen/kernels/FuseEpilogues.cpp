//===- FuseEpilogues.cpp - Bias and activation into matmuls -----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "dialect/FF.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ff {
#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "codegen/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

static int64_t lastDim(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return shape.empty() ? 1 : shape.back();
}

/// The matmul that `value` is, perhaps reshaped with the last dim kept, where
/// nothing else uses it on the way. A result that is rounded to bf16 or f16 is
/// rounded before what follows, as the program says: nothing joins it.
static MatmulOp soleMatmul(Value value) {
  if (isNarrowFloat(getElementTypeOrSelf(value.getType())))
    return {};
  while (value.hasOneUse()) {
    if (auto matmul = value.getDefiningOp<MatmulOp>())
      return matmul;
    auto reshape = value.getDefiningOp<ReshapeOp>();
    if (!reshape || lastDim(reshape.getInput()) != lastDim(value))
      return {};
    value = reshape.getInput();
  }
  return {};
}

/// The vector that `value` repeats along all dims but the last, or null.
static Value broadcastVector(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || broadcast.getDims().size() != 1)
    return {};
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  return broadcast.getDims()[0] == rank - 1 ? broadcast.getInput() : Value();
}

/// The bias must be known where the matmul stands.
static bool moveAfter(Value bias, MatmulOp matmul) {
  Operation *def = bias.getDefiningOp();
  return !def || def->getBlock() != matmul->getBlock() ||
         def->isBeforeInBlock(matmul);
}

/// What cuBLASLt cannot do: of f64 it computes the product alone.
static bool isWithoutEpilogue(Value value, bool device) {
  return device && getElementTypeOrSelf(value.getType()).isF64();
}

static void fuseBias(arith::AddFOp add, bool device) {
  if (isWithoutEpilogue(add.getResult(), device))
    return;
  for (auto [sum, other] : {std::pair(add.getLhs(), add.getRhs()),
                            std::pair(add.getRhs(), add.getLhs())}) {
    MatmulOp matmul = soleMatmul(sum);
    Value bias = broadcastVector(other);
    if (!matmul || !bias || matmul.getBias() || matmul.getActivation() ||
        !moveAfter(bias, matmul))
      continue;
    matmul.getBiasMutable().assign(bias);
    Value result = sum;
    add.replaceAllUsesWith(result);
    add.erase();
    if (other.use_empty())
      other.getDefiningOp()->erase();
    return;
  }
}

/// cuBLASLt applies these two; its gelu is the one by tanh.
static bool hasDeviceEpilogue(ActivationKind kind) {
  return kind == ActivationKind::Relu || kind == ActivationKind::GeluTanh;
}

static void fuseActivation(ActivationOp activation, bool device) {
  if (device && !hasDeviceEpilogue(activation.getKind()))
    return;
  if (isWithoutEpilogue(activation.getResult(), device))
    return;
  MatmulOp matmul = soleMatmul(activation.getInput());
  if (!matmul || matmul.getActivation())
    return;
  matmul.setActivationAttr(activation.getKindAttr());
  activation.replaceAllUsesWith(activation.getInput());
  activation.erase();
}

namespace {
struct FuseEpilogues : ff::impl::FuseEpiloguesPassBase<FuseEpilogues> {
  using FuseEpiloguesPassBase::FuseEpiloguesPassBase;

  void runOnOperation() override {
    getOperation().walk([&](arith::AddFOp add) { fuseBias(add, device); });
    getOperation().walk([&](ActivationOp op) { fuseActivation(op, device); });
  }
};
} // namespace
