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

/// The dtype to which `sum` is rounded and nothing else, perhaps after an
/// activation that joins the matmul, or null.
static Type roundingOf(Value sum, bool device);

/// A bias that is widened where it is added is known before, if the matmul
/// takes it as it was: see fuseRounding. Else it would take a kernel to widen
/// it.
static bool hoistWidening(Value bias, Value sum, MatmulOp matmul, bool device) {
  auto widened = bias.getDefiningOp<arith::ExtFOp>();
  if (!widened || !moveAfter(widened.getIn(), matmul))
    return false;
  Type dtype = getElementTypeOrSelf(widened.getIn().getType());
  if (getElementTypeOrSelf(matmul.getLhs().getType()) != dtype ||
      roundingOf(sum, device) != dtype)
    return false;
  widened->moveBefore(matmul);
  return true;
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
    if (!matmul || !bias || matmul.getBias() || matmul.getActivation())
      continue;
    if (!moveAfter(bias, matmul) &&
        !hoistWidening(bias, add.getResult(), matmul, device))
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

static Type roundingOf(Value sum, bool device) {
  while (sum.hasOneUse()) {
    Operation *user = *sum.user_begin();
    if (auto rounding = dyn_cast<arith::TruncFOp>(user))
      return getElementTypeOrSelf(rounding.getType());
    auto activation = dyn_cast<ActivationOp>(user);
    if (activation && (!device || hasDeviceEpilogue(activation.getKind())))
      sum = activation.getResult();
    else
      return {};
  }
  return {};
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

/// The library sums, adds the bias and applies the activation in f32 and rounds
/// once: so a rounding of all that is its result's dtype. The bias is read as
/// it was before it was widened.
static void fuseRounding(arith::TruncFOp rounding) {
  Type dtype = getElementTypeOrSelf(rounding.getType());
  Type wide = getElementTypeOrSelf(rounding.getIn().getType());
  MatmulOp matmul = soleMatmul(rounding.getIn());
  if (!matmul || !wide.isF32() ||
      getElementTypeOrSelf(matmul.getLhs().getType()) != dtype)
    return;
  Value bias = matmul.getBias();
  if (bias) {
    auto widened = bias.getDefiningOp<arith::ExtFOp>();
    if (!widened || getElementTypeOrSelf(widened.getIn().getType()) != dtype)
      return;
    matmul.getBiasMutable().assign(widened.getIn());
    if (widened->use_empty())
      widened.erase();
  }
  // The reshapes on the way are of the rounded value.
  for (Value value = rounding.getIn();;) {
    auto type = cast<RankedTensorType>(value.getType());
    value.setType(type.clone(dtype));
    auto reshape = value.getDefiningOp<ReshapeOp>();
    if (!reshape)
      break;
    value = reshape.getInput();
  }
  rounding.replaceAllUsesWith(rounding.getIn());
  rounding.erase();
}

namespace {
struct FuseEpilogues : ff::impl::FuseEpiloguesPassBase<FuseEpilogues> {
  using FuseEpiloguesPassBase::FuseEpiloguesPassBase;

  void runOnOperation() override {
    getOperation().walk([&](arith::AddFOp add) { fuseBias(add, device); });
    getOperation().walk([&](ActivationOp op) { fuseActivation(op, device); });
    getOperation().walk([&](arith::TruncFOp op) { fuseRounding(op); });
  }
};
} // namespace
