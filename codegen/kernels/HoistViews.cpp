//===- HoistViews.cpp - Views up over elementwise operations ----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"
#include "dialect/View.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ff;

static RankedTensorType withElement(RankedTensorType shape, Type element) {
  return RankedTensorType::get(shape.getShape(), element);
}

/// Whether a kernel reads `view`, at the end of other views perhaps. Matmuls
/// and attention read views in place, so they are no reason to move one.
static bool feedsKernel(Value view) {
  return llvm::any_of(view.getUsers(), [](Operation *user) {
    if (isViewOp(user))
      return feedsKernel(user->getResult(0));
    return isElementwise(user) || isa<ReduceOp, ConcatOp>(user);
  });
}

static bool reachesReduction(Value value) {
  SmallVector<Value> open{value};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (isa_and_nonnull<ReduceOp>(op))
      return true;
    if (seen.insert(next).second && isElementwise(op))
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// Operations that are cheaper to do again for each repeated element than to
/// write and read.
static bool isCheap(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
             arith::SIToFPOp, arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
             arith::ExtUIOp>(op);
}

/// Whether strides can express `view` of `operand`, so that moving it up costs
/// no copy.
static bool viewIsFree(Operation *view, Value operand) {
  Operation *def = operand.getDefiningOp();
  if (isa_and_nonnull<arith::ConstantOp>(def))
    return true;
  if (!isa<ReshapeOp>(view))
    return true;
  if (isa_and_nonnull<IotaOp>(def))
    return false;
  return reshapeStrides(tensorType(operand).getShape(),
                        resolveView(operand).strides,
                        tensorType(view->getResult(0)).getShape())
      .has_value();
}

static int64_t operandsInMemory(Operation *op) {
  return llvm::count_if(op->getOperands(), [](Value operand) {
    return !isLeaf(resolveView(operand).root.getDefiningOp());
  });
}

static bool shouldHoist(Operation *view, Operation *def) {
  if (!isElementwise(def) || !def->hasOneUse() ||
      !feedsKernel(view->getResult(0)))
    return false;
  if (auto broadcast = dyn_cast<BroadcastOp>(view)) {
    if (!isCheap(def))
      return false;
    // Values of the rows stay such: once for each row is cheaper still.
    if (isRowBroadcast(broadcast) && reachesReduction(def->getResult(0)))
      return false;
  }
  return llvm::all_of(def->getOperands(), [&](Value operand) {
    return isa<RankedTensorType>(operand.getType()) &&
           viewIsFree(view, operand);
  });
}

/// The dim of the viewed result that counts what dim `dim` of the operand does,
/// or -1.
static int64_t viewedDim(Operation *view, int64_t dim) {
  if (auto broadcast = dyn_cast<BroadcastOp>(view))
    return broadcast.getDims()[dim];
  if (auto transpose = dyn_cast<TransposeOp>(view))
    return llvm::find(transpose.getPermutation(), dim) -
           transpose.getPermutation().begin();
  if (auto slice = dyn_cast<SliceOp>(view))
    return static_cast<int64_t>(slice.getDim()) != dim || slice.getStart() == 0
               ? dim
               : -1;
  return -1;
}

/// A view of a constant or an iota as such a leaf, or null.
static Value viewOfLeaf(OpBuilder &builder, Operation *view) {
  Operation *def = view->getOperand(0).getDefiningOp();
  auto type = tensorType(view->getResult(0));
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(def)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return {};
    return builder.create<arith::ConstantOp>(
        view->getLoc(),
        DenseElementsAttr::get(type, splat.getSplatValue<Attribute>()));
  }
  if (auto iota = dyn_cast_or_null<IotaOp>(def)) {
    int64_t dim = viewedDim(view, iota.getDim());
    if (dim >= 0)
      return builder.create<IotaOp>(view->getLoc(), type, dim);
  }
  return {};
}

void ff::hoistViews(Block &block) {
  llvm::SetVector<Operation *> worklist;
  for (Operation &op : block)
    if (isViewOp(&op))
      worklist.insert(&op);
  while (!worklist.empty()) {
    Operation *view = worklist.pop_back_val();
    OpBuilder builder(view);
    Value result = view->getResult(0);
    Operation *def = view->getOperand(0).getDefiningOp();
    if (Value leaf = viewOfLeaf(builder, view)) {
      for (Operation *user : result.getUsers())
        if (isViewOp(user))
          worklist.insert(user);
      result.replaceAllUsesWith(leaf);
      view->erase();
      continue;
    }
    if (!shouldHoist(view, def))
      continue;
    // f(a, b) seen through the view is f of a and b seen through it.
    IRMapping mapping;
    for (Value operand : def->getOperands()) {
      if (mapping.contains(operand))
        continue;
      Operation *moved = builder.clone(*view);
      moved->setOperand(0, operand);
      moved->getResult(0).setType(withElement(
          tensorType(result), tensorType(operand).getElementType()));
      mapping.map(operand, moved->getResult(0));
      worklist.insert(moved);
    }
    Operation *viewed = builder.clone(*def, mapping);
    viewed->getResult(0).setType(result.getType());
    result.replaceAllUsesWith(viewed->getResult(0));
    // What viewed the view sees the operation now, and may move up in turn.
    // Not where it would read more than it does now.
    if (operandsInMemory(viewed) == 1)
      for (Operation *user : viewed->getUsers())
        if (isViewOp(user))
          worklist.insert(user);
    view->erase();
    def->erase();
  }
}
