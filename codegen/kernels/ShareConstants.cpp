//===- ShareConstants.cpp - One kernel for constants that differ -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An unrolled sampler repeats its operations with other constants in each step.
// Kernels that differ in their constants alone become one: the constants that
// differ are elements of a table, which a kernel of its own fills.
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"
#include "dialect/View.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ff;

/// Fewer variants are cheaper compiled than looked up.
static constexpr size_t kManyVariants = 4;

/// A view of a splat is one of another shape.
static void foldView(Operation *op) {
  SplatElementsAttr splat;
  if (!matchPattern(op->getOperand(0), m_Constant(&splat)))
    return;
  OpBuilder builder(op);
  auto type = tensorType(op->getResult(0));
  Value value = builder.create<arith::ConstantOp>(
      op->getLoc(),
      DenseElementsAttr::get(type, splat.getSplatValue<Attribute>()));
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

void ff::foldConstants(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isViewOp(&op)) {
      foldView(&op);
      continue;
    }
    if (!isElementwise(&op))
      continue;
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      if (auto constant = operand.getDefiningOp<arith::ConstantOp>())
        operands.push_back(constant.getValue());
    SmallVector<OpFoldResult> results;
    if (operands.size() != op.getNumOperands() ||
        failed(op.fold(operands, results)) || results.size() != 1)
      continue;
    Value value = dyn_cast<Value>(results[0]);
    if (!value) {
      auto folded = dyn_cast<SplatElementsAttr>(cast<Attribute>(results[0]));
      if (!folded || folded.getType() != op.getResult(0).getType())
        continue;
      OpBuilder builder(&op);
      value = builder.create<arith::ConstantOp>(op.getLoc(), folded);
    }
    op.getResult(0).replaceAllUsesWith(value);
    op.erase();
  }
}

static SmallVector<arith::ConstantOp> constantsOf(FusedOp op) {
  SmallVector<arith::ConstantOp> result;
  for (auto constant : op.getBody().front().getOps<arith::ConstantOp>())
    if (isa<SplatElementsAttr>(constant.getValue()))
      result.push_back(constant);
  return result;
}

static Attribute splatOf(arith::ConstantOp op) {
  return cast<SplatElementsAttr>(op.getValue()).getSplatValue<Attribute>();
}

/// What two kernels that differ in constants alone have in common.
static std::string shapeOf(FusedOp op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op.getDomainAttr() << op.getReduced() << op.getColumnsAttr();
  llvm::DenseMap<Value, size_t> numbers;
  for (BlockArgument arg : op.getBody().getArguments()) {
    numbers[arg] = numbers.size();
    os << arg.getType().getAsOpaquePointer();
  }
  for (Operation &inner : op.getBody().front()) {
    os << "\n" << inner.getName().getAsOpaquePointer();
    if (!isa<arith::ConstantOp>(inner))
      os << inner.getAttrDictionary().getAsOpaquePointer();
    for (Value operand : inner.getOperands())
      os << " %" << numbers.lookup(operand);
    for (Value result : inner.getResults()) {
      os << " " << result.getType().getAsOpaquePointer();
      numbers[result] = numbers.size();
    }
  }
  return text;
}

namespace {
/// Kernels of one shape, and the positions of the constants that differ.
struct Group {
  SmallVector<FusedOp> members;

  SmallVector<size_t> varying() {
    SmallVector<size_t> result;
    size_t count = constantsOf(members[0]).size();
    for (size_t i = 0; i < count; ++i) {
      llvm::SmallSetVector<Attribute, 8> values;
      for (FusedOp member : members)
        values.insert(splatOf(constantsOf(member)[i]));
      if (values.size() >= kManyVariants)
        result.push_back(i);
    }
    return result;
  }
};
} // namespace

/// A tensor of `values`, filled by a kernel at the start of the block.
static Value createTable(OpBuilder &builder, Location loc, Type element,
                         ArrayRef<Attribute> values) {
  int64_t size = static_cast<int64_t>(values.size());
  auto type = RankedTensorType::get({size}, element);
  auto one = RankedTensorType::get({1}, element);
  auto table = builder.create<FusedOp>(loc, TypeRange{type}, ValueRange(),
                                       ArrayRef<int64_t>{size}, /*reduced=*/0,
                                       DenseI64ArrayAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&table.getBody().emplaceBlock());
  SmallVector<Value> pieces;
  for (Attribute value : values)
    pieces.push_back(builder.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(one, value)));
  Value joined = builder.create<ConcatOp>(loc, type, pieces, /*dim=*/0);
  builder.create<YieldOp>(loc, joined);
  return table.getResult(0);
}

/// Makes constant number `i` of `op` an operand: element `index` of `table`.
static void readFromTable(FusedOp op, size_t i, Value table, int64_t index) {
  arith::ConstantOp constant = constantsOf(op)[i];
  auto type = cast<RankedTensorType>(constant.getType());
  Type element = type.getElementType();
  OpBuilder builder(op);
  Value value =
      builder.create<SliceOp>(op.getLoc(), RankedTensorType::get({1}, element),
                              table, /*dim=*/0, index);
  value = builder.create<ReshapeOp>(op.getLoc(),
                                    RankedTensorType::get({}, element), value);
  if (type.getRank() > 0)
    value = builder.create<BroadcastOp>(op.getLoc(), type, value,
                                        ArrayRef<int64_t>());
  op.getInputsMutable().append(value);
  constant.replaceAllUsesWith(
      op.getBody().addArgument(type, constant.getLoc()));
}

void ff::shareConstants(Block &block) {
  llvm::MapVector<StringRef, Group> groups;
  llvm::StringMap<char> names;
  for (FusedOp op : block.getOps<FusedOp>()) {
    bool joins = llvm::any_of(op.getBody().front(), [](Operation &inner) {
      return isa<ConcatOp>(inner);
    });
    if (!joins)
      groups[names.try_emplace(shapeOf(op)).first->getKey()].members.push_back(
          op);
  }
  // One table for each element type, filled before all else.
  llvm::MapVector<Type, llvm::SetVector<Attribute>> values;
  SmallVector<std::pair<Group *, SmallVector<size_t>>> shared;
  for (auto &[name, group] : groups) {
    if (group.members.size() < kManyVariants)
      continue;
    SmallVector<size_t> varying = group.varying();
    for (FusedOp member : group.members) {
      SmallVector<arith::ConstantOp> constants = constantsOf(member);
      for (size_t i : varying)
        values[getElementTypeOrSelf(constants[i].getType())].insert(
            splatOf(constants[i]));
    }
    if (!varying.empty())
      shared.emplace_back(&group, varying);
  }
  llvm::DenseMap<Type, Value> tables;
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  for (auto &[element, table] : values)
    tables[element] = createTable(builder, block.getParentOp()->getLoc(),
                                  element, table.getArrayRef());
  for (auto &[group, varying] : shared)
    for (FusedOp member : group->members) {
      SmallVector<arith::ConstantOp> constants = constantsOf(member);
      for (size_t i : varying) {
        Type element = getElementTypeOrSelf(constants[i].getType());
        auto &table = values[element];
        int64_t index =
            llvm::find(table, splatOf(constants[i])) - table.begin();
        readFromTable(member, i, tables[element], index);
      }
      for (size_t i : varying)
        constants[i].erase();
    }
}
