//===- Materialize.cpp - Copies where memory must be contiguous -*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/Requirements.h"
#include "dialect/View.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace ff;

/// What stands for `value` in the body of an ff.fused: leaves are made again,
/// others become a block argument.
static Value bodyValue(OpBuilder &builder, Value value) {
  if (Operation *def = value.getDefiningOp(); isLeaf(def))
    return builder.clone(*def)->getResult(0);
  return builder.getBlock()->addArgument(value.getType(), value.getLoc());
}

Value ff::createCopy(OpBuilder &builder, Location loc, Value value) {
  bool leaf = isLeaf(value.getDefiningOp());
  auto fused = builder.create<FusedOp>(
      loc, value.getType(), leaf ? ValueRange() : ValueRange(value),
      tensorType(value).getShape(), /*reduced=*/0, DenseI64ArrayAttr());
  OpBuilder::InsertionGuard guard(builder);
  Block &body = fused.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&body);
  builder.create<YieldOp>(loc, bodyValue(builder, value));
  return fused.getResult(0);
}

/// A concatenation as a kernel of its own, one loop for each piece.
static void emitConcat(ConcatOp op) {
  OpBuilder builder(op);
  SmallVector<Value> inputs;
  for (Value input : op.getInputs())
    if (!isLeaf(input.getDefiningOp()))
      inputs.push_back(input);
  auto fused = builder.create<FusedOp>(op.getLoc(), op.getType(), inputs,
                                       tensorType(op.getResult()).getShape(),
                                       /*reduced=*/0, DenseI64ArrayAttr());
  Block &body = fused.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> pieces;
  for (Value input : op.getInputs())
    pieces.push_back(bodyValue(builder, input));
  Value joined =
      builder.create<ConcatOp>(op.getLoc(), op.getType(), pieces, op.getDim());
  builder.create<YieldOp>(op.getLoc(), joined);
  op.replaceAllUsesWith(fused.getResult(0));
  op.erase();
}

/// A reshape that strides cannot express is one of a copy.
static void copyBelowReshape(ReshapeOp op) {
  if (resolveView(op).root != op.getResult())
    return;
  OpBuilder builder(op);
  op.setOperand(createCopy(builder, op.getLoc(), op.getInput()));
}

namespace {
/// Copies of values, each made once, right behind the value.
class Copies {
public:
  explicit Copies(Block &block) : block(block) {}

  void replace(OpOperand &operand) {
    Value value = operand.get();
    Value &copy = copies[value];
    if (!copy) {
      OpBuilder builder = OpBuilder::atBlockBegin(&block);
      builder.setInsertionPointAfterValue(value);
      copy = createCopy(builder, value.getLoc(), value);
    }
    operand.set(copy);
  }

private:
  Block &block;
  llvm::DenseMap<Value, Value> copies;
};
} // namespace

/// What a function returns has a buffer of its own.
static void materializeReturn(func::ReturnOp op, Copies &copies) {
  llvm::DenseSet<Value> seen;
  for (OpOperand &operand : op->getOpOperands()) {
    Value root = resolveView(operand.get()).root;
    if (liesElsewhere(root))
      copies.replace(operand);
    root = resolveView(operand.get()).root;
    if (seen.insert(root).second)
      continue;
    OpBuilder builder(op);
    operand.set(createCopy(builder, op.getLoc(), operand.get()));
  }
}

void ff::materializeOperands(Block &block) {
  for (ConcatOp op : llvm::make_early_inc_range(block.getOps<ConcatOp>()))
    emitConcat(op);
  for (ReshapeOp op : llvm::make_early_inc_range(block.getOps<ReshapeOp>()))
    copyBelowReshape(op);
  // What kernels use of an iota is made inside them. What is left is read as
  // memory, through views or by other operations.
  for (IotaOp op : llvm::make_early_inc_range(block.getOps<IotaOp>())) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value copy = createCopy(builder, op.getLoc(), op.getResult());
    op.getResult().replaceUsesWithIf(copy, [&](OpOperand &use) {
      return use.getOwner() != copy.getDefiningOp();
    });
  }
  Copies copies(block);
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (OpOperand &operand : op.getOpOperands())
      if (!meetsRequirement(operand))
        copies.replace(operand);
    if (auto ret = dyn_cast<func::ReturnOp>(op))
      materializeReturn(ret, copies);
  }
}
