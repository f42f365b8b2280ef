//===- KernelBuilder.cpp - What kernels are made of -------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/KernelBuilder.h"
#include "dialect/FF.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ff;

Type ff::vectorOf(Type element, int64_t lanes) {
  if (isNarrowFloat(element))
    element = IntegerType::get(element.getContext(), 16);
  return lanes == 1 ? element : Type(VectorType::get({lanes}, element));
}

static int64_t lanesOfValue(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.getNumElements() : 1;
}

/// Truth values take one byte in memory.
static Type memoryType(Type element) {
  return element.isInteger(1) ? Type(IntegerType::get(element.getContext(), 8))
                              : vectorOf(element, 1);
}

static unsigned bytesOf(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

KernelBuilder::KernelBuilder(func::FuncOp kernel, int64_t vectorBytes)
    : b(kernel.getContext()), loc(kernel.getLoc()), vectorBytes(vectorBytes) {
  entry = kernel.addEntryBlock();
  buffers = entry->getArgument(0);
  begin = entry->getArgument(1);
  end = entry->getArgument(2);
  b.setInsertionPointToStart(entry);
}

KernelBuilder::KernelBuilder(Block *entry, Location loc)
    : b(OpBuilder::atBlockEnd(entry)), loc(loc), vectorBytes(16), entry(entry),
      roundsToBF16(true) {}

void KernelBuilder::finish() { b.create<func::ReturnOp>(loc); }

int64_t KernelBuilder::lanesOf(Type type) const {
  return std::max<int64_t>(1, vectorBytes / bytesOf(type));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value KernelBuilder::index(int64_t value) {
  Value &cached = indices[value];
  if (!cached) {
    // At the entry, so that it is known in all loops.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    cached = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(value));
  }
  return cached;
}

Value KernelBuilder::constant(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr =
      isa<FloatType>(element)
          ? TypedAttr(b.getFloatAttr(element, value))
          : TypedAttr(b.getIntegerAttr(element, static_cast<int64_t>(value)));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return b.create<arith::ConstantOp>(loc, attr);
}

Value KernelBuilder::add(Value x, Value y) {
  return b.create<arith::AddFOp>(loc, x, y);
}
Value KernelBuilder::sub(Value x, Value y) {
  return b.create<arith::SubFOp>(loc, x, y);
}
Value KernelBuilder::mul(Value x, Value y) {
  return b.create<arith::MulFOp>(loc, x, y);
}
Value KernelBuilder::div(Value x, Value y) {
  return b.create<arith::DivFOp>(loc, x, y);
}
Value KernelBuilder::max(Value x, Value y) {
  return b.create<arith::MaximumFOp>(loc, x, y);
}
Value KernelBuilder::min(Value x, Value y) {
  return b.create<arith::MinimumFOp>(loc, x, y);
}
Value KernelBuilder::fma(Value x, Value y, Value z) {
  return b.create<LLVM::FMulAddOp>(loc, x, y, z);
}
Value KernelBuilder::select(Value mask, Value x, Value y) {
  return b.create<arith::SelectOp>(loc, mask, x, y);
}
Value KernelBuilder::addIndex(Value x, Value y) {
  return b.create<arith::AddIOp>(loc, x, y);
}
Value KernelBuilder::mulIndex(Value x, int64_t factor) {
  return factor == 1 ? x : b.create<arith::MulIOp>(loc, x, index(factor));
}
Value KernelBuilder::minIndex(Value x, Value y) {
  return b.create<arith::MinSIOp>(loc, x, y);
}

Value KernelBuilder::exp(Value x) {
  OperationState state(loc, math::ExpOp::getOperationName(), x, x.getType());
  Operation *op = b.create(state);
  Value expanded = expandMath(*this, op, x);
  if (!expanded)
    return op->getResult(0);
  op->erase();
  return expanded;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value KernelBuilder::splat(Value scalar, int64_t lanes) {
  if (lanes == 1)
    return scalar;
  return b.create<vector::BroadcastOp>(
      loc, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value KernelBuilder::reduceAdd(Value vector) {
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!type)
    return vector;
  // Any order: it is the same in each run.
  return b.create<LLVM::vector_reduce_fadd>(
      loc, type.getElementType(), constant(type.getElementType(), 0), vector,
      LLVM::FastmathFlags::reassoc);
}

Value KernelBuilder::reduceMax(Value vector) {
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!type)
    return vector;
  return b.create<LLVM::vector_reduce_fmaximum>(loc, type.getElementType(),
                                                vector);
}

Value KernelBuilder::counting(Value x, int64_t lanes) {
  if (lanes == 1)
    return x;
  SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  Value step = b.create<arith::ConstantOp>(loc, b.getI64VectorAttr(steps));
  return addIndex(splat(x, lanes), step);
}

Value KernelBuilder::firstLanes(int64_t count, int64_t lanes) {
  if (count >= lanes)
    return {};
  SmallVector<bool> bits(lanes, false);
  std::fill_n(bits.begin(), count, true);
  return b.create<arith::ConstantOp>(loc, b.getBoolVectorAttr(bits));
}

Value KernelBuilder::firstLanes(Value count, int64_t lanes) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                 counting(index(0), lanes),
                                 splat(count, lanes));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Type pointerType(OpBuilder &b) {
  return LLVM::LLVMPointerType::get(b.getContext());
}

Value KernelBuilder::buffer(int64_t i) {
  Value slot =
      b.create<LLVM::GEPOp>(loc, pointerType(b), pointerType(b), buffers,
                            ArrayRef<LLVM::GEPArg>(static_cast<int32_t>(i)));
  return b.create<LLVM::LoadOp>(loc, pointerType(b), slot);
}

Value KernelBuilder::advance(Value pointer, Type element, Value offset) {
  return b.create<LLVM::GEPOp>(loc, pointerType(b), memoryType(element),
                               pointer, ArrayRef<LLVM::GEPArg>(offset));
}

Value KernelBuilder::scratch(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  Value size = index(count);
  b.setInsertionPointAfterValue(size);
  return b.create<LLVM::AllocaOp>(loc, pointerType(b), memoryType(element),
                                  size, /*alignment=*/64);
}

static Value fromMemory(KernelBuilder &k, Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  return k.b.create<arith::TruncIOp>(
      k.loc, vectorOf(element, lanesOfValue(value)), value);
}

Value KernelBuilder::load(Value pointer, Type element, int64_t lanes,
                          Value mask) {
  Type type = vectorOf(memoryType(element), lanes);
  if (!mask)
    return fromMemory(
        *this, b.create<LLVM::LoadOp>(loc, type, pointer, bytesOf(element)),
        element);
  Value value = b.create<LLVM::MaskedLoadOp>(
      loc, type, pointer, mask, ValueRange(constant(type, 0)),
      static_cast<uint32_t>(bytesOf(element)));
  return fromMemory(*this, value, element);
}

Value KernelBuilder::gather(Value pointer, Type element, Value offsets,
                            Value mask) {
  int64_t lanes = lanesOfValue(offsets);
  if (lanes == 1)
    return load(advance(pointer, element, offsets), element, 1);
  Type pointers = LLVM::getFixedVectorType(pointerType(b), lanes);
  Value addresses =
      b.create<LLVM::GEPOp>(loc, pointers, memoryType(element), pointer,
                            ArrayRef<LLVM::GEPArg>(offsets));
  if (!mask)
    mask = constant(vectorOf(b.getI1Type(), lanes), 1);
  Type type = vectorOf(memoryType(element), lanes);
  Value value = b.create<LLVM::masked_gather>(
      loc, type, addresses, mask, ValueRange(constant(type, 0)),
      static_cast<uint32_t>(bytesOf(element)));
  return fromMemory(*this, value, element);
}

void KernelBuilder::store(Value value, Value pointer, Value mask) {
  Type element = getElementTypeOrSelf(value.getType());
  if (element.isInteger(1))
    value = b.create<arith::ExtUIOp>(
        loc, vectorOf(memoryType(element), lanesOfValue(value)), value);
  if (mask)
    b.create<LLVM::MaskedStoreOp>(loc, value, pointer, mask,
                                  static_cast<uint32_t>(bytesOf(element)));
  else
    b.create<LLVM::StoreOp>(loc, value, pointer, bytesOf(element));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelBuilder::loop(Value from, Value to, int64_t step,
                                       ValueRange carried, Body body) {
  auto op = b.create<scf::ForOp>(loc, from, to, index(step), carried);
  OpBuilder::InsertionGuard guard(b);
  Block *block = op.getBody();
  // Without carried values the builder has made the terminator.
  if (carried.empty())
    b.setInsertionPoint(block->getTerminator());
  else
    b.setInsertionPointToEnd(block);
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty())
    b.create<scf::YieldOp>(loc, next);
  return llvm::to_vector_of<Value>(op.getResults());
}

void KernelBuilder::loop(Value from, Value to, int64_t step,
                         llvm::function_ref<void(Value)> body) {
  loop(from, to, step, ValueRange(), [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> KernelBuilder::delinearize(Value linear,
                                              ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d > 0; --d) {
    Value size = index(sizes[d]);
    indices[d] = b.create<arith::RemUIOp>(loc, linear, size);
    linear = b.create<arith::DivUIOp>(loc, linear, size);
  }
  if (!sizes.empty())
    indices[0] = linear;
  return indices;
}
