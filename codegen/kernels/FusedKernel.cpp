//===- FusedKernel.cpp - Values of an ff.fused at a place in its loops -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FusedKernel.h"
#include "codegen/kernels/FormKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ff;

Type ff::elementOf(Operation *op) {
  return getElementTypeOrSelf(op->getResult(0).getType());
}

static bool allZero(ArrayRef<int64_t> strides) {
  return llvm::all_of(strides, [](int64_t stride) { return stride == 0; });
}

void FusedKernel::emit(KernelBuilder &builder) {
  k = &builder;
  if (op.getColumns())
    emitColumns();
  else if (isa_and_nonnull<ConcatOp>(yield.getValues()[0].getDefiningOp()))
    emitConcat();
  else if (isLinear)
    emitLinear();
  else
    emitRows();
  k->finish();
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// start + Σ indices[d] · strides[d], or null for a sum of nothing.
static Value weightedSum(KernelBuilder &k, Value start, ValueRange indices,
                         ArrayRef<int64_t> strides) {
  Value sum = start;
  for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
    if (stride == 0)
      continue;
    Value term = k.mulIndex(index, stride);
    sum = sum ? k.addIndex(sum, term) : term;
  }
  return sum;
}

void FusedKernel::openBuffers() {
  for (BlockArgument arg : body.getArguments()) {
    Access &access = inputs[arg];
    access.base = k->buffer(access.buffer);
  }
  for (Access &access : outputs)
    access.base = k->buffer(access.buffer);
}

void FusedKernel::openIteration(ValueRange outerIndices) {
  auto open = [&](Access &access) {
    Value offset = weightedSum(*k, Value(), outerIndices, access.outer);
    if (access.buffer < 0)
      access.base = offset ? offset : k->index(0);
    else if (offset)
      access.base = k->advance(access.base, access.element, offset);
  };
  // In the order of the body, so that equal kernels have equal text.
  for (BlockArgument arg : body.getArguments())
    open(inputs[arg]);
  for (IotaOp iota : body.getOps<IotaOp>())
    open(inputs[iota.getResult()]);
  for (Access &access : outputs)
    open(access);
}

Value FusedKernel::addressAt(const Access &access, const Position &at) {
  Value offset = weightedSum(*k, Value(), at.loops, access.loops);
  if (access.lanes.size() == 1 && access.lanes[0] != 0) {
    Value lane = k->mulIndex(at.lane, access.lanes[0]);
    offset = offset ? k->addIndex(offset, lane) : lane;
  }
  return offset ? k->advance(access.base, access.element, offset) : access.base;
}

/// The offset of each lane from the access's base, lanes walking several dims.
Value FusedKernel::indexVector(const Access &access, const Position &at) {
  Value linear = k->counting(at.lane, lanes);
  Value sum;
  auto type = VectorType::get({lanes}, k->b.getI64Type());
  for (size_t d = laneSizes.size(); d-- > 0;) {
    Value index = linear;
    if (d > 0) {
      Value size = k->constant(type, static_cast<double>(laneSizes[d]));
      index = k->b.create<arith::RemUIOp>(k->loc, linear, size);
      linear = k->b.create<arith::DivUIOp>(k->loc, linear, size);
    }
    if (access.lanes[d] == 0)
      continue;
    Value factor = k->constant(type, static_cast<double>(access.lanes[d]));
    Value term = k->b.create<arith::MulIOp>(k->loc, index, factor);
    sum = sum ? k->addIndex(sum, term) : term;
  }
  return sum;
}

/// An index as a number of type `element`.
static Value convertIndex(KernelBuilder &k, Value index, Type element) {
  auto vector = dyn_cast<VectorType>(index.getType());
  Type number = numberTypeOf(element);
  Type type = vectorOf(number, vector ? vector.getNumElements() : 1);
  if (isa<FloatType>(element))
    return k.narrow(k.b.create<arith::SIToFPOp>(k.loc, type, index), element);
  if (element.isInteger(64))
    return index;
  return k.b.create<arith::TruncIOp>(k.loc, type, index);
}

Value FusedKernel::readAt(const Access &access, const Position &at) {
  bool isIndex = access.buffer < 0;
  if (access.lanes.size() > 1) {
    Value offsets = indexVector(access, at);
    if (isIndex)
      return convertIndex(*k, offsets, access.element);
    return k->gather(access.base, access.element, offsets, at.mask);
  }
  int64_t stride = access.lanes[0];
  if (isIndex) {
    Value index = weightedSum(*k, access.base, at.loops, access.loops);
    if (stride == 0)
      return k->splat(convertIndex(*k, index, access.element), lanes);
    assert(stride == 1 && "an iota counts by one");
    return convertIndex(*k, k->counting(k->addIndex(index, at.lane), lanes),
                        access.element);
  }
  Value address = addressAt(access, at);
  if (stride == 0)
    return k->splat(k->load(address, access.element, 1), lanes);
  if (stride == 1)
    return k->load(address, access.element, lanes, at.mask);
  Value steps = k->counting(k->index(0), lanes);
  Value factor = k->constant(steps.getType(), static_cast<double>(stride));
  return k->gather(address, access.element,
                   k->b.create<arith::MulIOp>(k->loc, steps, factor), at.mask);
}

void FusedKernel::storeAt(Value value, Access &access, const Position &at) {
  assert(access.lanes.size() == 1 && access.lanes[0] != 0 &&
         "results are row-major");
  k->store(value, addressAt(access, at), at.mask);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool FusedKernel::isInvariant(Value value) {
  if (auto found = invariant.find(value); found != invariant.end())
    return found->second;
  bool result;
  Operation *def = value.getDefiningOp();
  if (auto access = inputs.find(value); access != inputs.end())
    // Blocks of columns have no place before their loops.
    result = !op.getColumns() && allZero(access->second.loops) &&
             allZero(access->second.lanes);
  else
    result = isa<ReduceOp>(def) ||
             llvm::all_of(def->getOperands(),
                          [&](Value operand) { return isInvariant(operand); });
  return invariant[value] = result;
}

Value FusedKernel::emitOp(Operation *inner, ValueRange operands,
                          int64_t width) {
  if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    auto scalar = splat.getSplatValue<TypedAttr>();
    if (isNarrowFloat(scalar.getType()))
      scalar = k->b.getI16IntegerAttr(static_cast<int16_t>(
          cast<FloatAttr>(scalar).getValue().bitcastToAPInt().getZExtValue()));
    Type type = vectorOf(scalar.getType(), width);
    if (auto vector = dyn_cast<VectorType>(type))
      return k->b.create<arith::ConstantOp>(
          k->loc, DenseElementsAttr::get(vector, Attribute(scalar)));
    return k->b.create<arith::ConstantOp>(k->loc, scalar);
  }
  if (isa<BroadcastOp>(inner))
    return operands[0];
  return emitElementwise(*k, inner, operands, width);
}

/// An invariant value as a scalar. The first use must lie before the loops.
Value FusedKernel::scalarOf(Value value) {
  if (Value found = scalars.lookup(value))
    return found;
  Value result;
  if (auto access = inputs.find(value); access != inputs.end()) {
    Access &in = access->second;
    result = in.buffer < 0 ? convertIndex(*k, in.base, in.element)
                           : k->load(in.base, in.element, 1);
  } else {
    Operation *def = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : def->getOperands())
      operands.push_back(scalarOf(operand));
    result = emitOp(def, operands, 1);
  }
  scalars[value] = result;
  return result;
}

void FusedKernel::prepareScalars(Value value) {
  if (isInvariant(value)) {
    if (!isa_and_nonnull<arith::ConstantOp>(value.getDefiningOp()))
      scalarOf(value);
    return;
  }
  if (kept.contains(value) || inputs.contains(value) ||
      !prepared.insert(value).second)
    return;
  for (Value operand : value.getDefiningOp()->getOperands())
    prepareScalars(operand);
}

Value FusedKernel::vectorAt(Value value, const Position &at) {
  if (Value found = current.lookup(value))
    return found;
  Value result = computeAt(value, at);
  current[value] = result;
  return result;
}

Value FusedKernel::numberAt(Value value, const Position &at) {
  return k->widen(vectorAt(value, at), getElementTypeOrSelf(value.getType()));
}

Value FusedKernel::computeAt(Value value, const Position &at) {
  if (auto found = kept.find(value); found != kept.end())
    return readAt(found->second, at);
  Operation *def = value.getDefiningOp();
  if (isa_and_nonnull<arith::ConstantOp>(def))
    return emitOp(def, {}, lanes);
  if (isInvariant(value) && !op.getColumns())
    return k->splat(scalarOf(value), lanes);
  if (auto access = inputs.find(value); access != inputs.end())
    return readAt(access->second, at);
  SmallVector<Value> operands;
  for (Value operand : def->getOperands())
    operands.push_back(vectorAt(operand, at));
  return emitOp(def, operands, lanes);
}
