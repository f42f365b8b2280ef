//===- DeviceKernel.cpp - Values of an ff.fused at a place ----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/device/DeviceKernel.h"
#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/FusedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace ff;

LogicalResult DeviceKernel::emit(gpu::GPUFuncOp function) {
  open(function);
  KernelBuilder builder(entry, op.getLoc());
  k = &builder;
  if (op.getColumns())
    emitColumns();
  else if (isa_and_nonnull<ConcatOp>(yield.getValues()[0].getDefiningOp()))
    emitConcat();
  else if (op.getReduced() > 0)
    emitRows();
  else
    emitLinear();
  k->b.create<gpu::ReturnOp>(k->loc);
  return failure(isFailed);
}

void DeviceKernel::open(gpu::GPUFuncOp function) {
  entry = &function.getBody().front();
}

Value DeviceKernel::thread() {
  Value id = k->b.create<gpu::ThreadIdOp>(k->loc, gpu::Dimension::x);
  return k->b.create<arith::IndexCastOp>(k->loc, k->b.getI64Type(), id);
}

Value DeviceKernel::block() {
  Value id = k->b.create<gpu::BlockIdOp>(k->loc, gpu::Dimension::x);
  return k->b.create<arith::IndexCastOp>(k->loc, k->b.getI64Type(), id);
}

Value DeviceKernel::lessThan(Value x, int64_t bound) {
  return k->b.create<arith::CmpIOp>(k->loc, arith::CmpIPredicate::slt, x,
                                    k->index(bound));
}

/// The conjunction of conditions, null being true.
Value DeviceKernel::both(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return k->b.create<arith::AndIOp>(k->loc, x, y);
}

void DeviceKernel::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = k->b.create<scf::IfOp>(k->loc, condition);
  OpBuilder::InsertionGuard guard(k->b);
  k->b.setInsertionPoint(branch.thenYield());
  body();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Division is done in 32 bits where it can be: in 64 it is a long sequence of
/// instructions.
SmallVector<Value> DeviceKernel::delinearize(Value linear,
                                             ArrayRef<int64_t> sizes) {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  bool isShort = total <= std::numeric_limits<int32_t>::max();
  if (sizes.empty())
    return {};
  if (sizes.size() == 1)
    return {linear};
  if (sizes[0] == 1) {
    SmallVector<Value> rest = delinearize(linear, sizes.drop_front());
    rest.insert(rest.begin(), k->index(0));
    return rest;
  }
  Type type = isShort ? k->b.getI32Type() : k->b.getI64Type();
  if (isShort)
    linear = k->b.create<arith::TruncIOp>(k->loc, type, linear);
  auto wide = [&](Value index) -> Value {
    if (!isShort)
      return index;
    return k->b.create<arith::ExtUIOp>(k->loc, k->b.getI64Type(), index);
  };
  SmallVector<Value> indices(sizes.size());
  for (size_t d = sizes.size() - 1; d > 0; --d) {
    Value size = k->constant(type, static_cast<double>(sizes[d]));
    indices[d] = wide(k->b.create<arith::RemUIOp>(k->loc, linear, size));
    linear = k->b.create<arith::DivUIOp>(k->loc, linear, size);
  }
  indices[0] = wide(linear);
  return indices;
}

/// The place number `group` of the dims `sizes`, whose last one consists of
/// whole places.
Place DeviceKernel::placeAt(Value group, ArrayRef<int64_t> sizes,
                            int64_t width) {
  SmallVector<int64_t> groups(sizes);
  groups.back() /= width;
  Place place;
  place.width = width;
  place.indices = delinearize(group, groups);
  place.indices.back() = k->mulIndex(place.indices.back(), width);
  return place;
}

/// Null for 0.
Value DeviceKernel::offsetOf(const DeviceAccess &access, const Place &place) {
  Value sum;
  for (auto [index, stride] : llvm::zip_equal(place.indices, access.strides)) {
    if (stride == 0 || !index)
      continue;
    Value term = k->mulIndex(index, stride);
    sum = sum ? k->addIndex(sum, term) : term;
  }
  return sum;
}

/// An index as a number of type `element`.
static Value convertIndex(KernelBuilder &k, Value index, Type element) {
  if (isa<FloatType>(element))
    return k.narrow(
        k.b.create<arith::SIToFPOp>(k.loc, numberTypeOf(element), index),
        element);
  if (element.isInteger(64))
    return index;
  return k.b.create<arith::TruncIOp>(k.loc, element, index);
}

/// Elements are taken from words by shifts: vectors of 8 or 16 bits would be
/// taken apart through local memory.
static void unpack(KernelBuilder &k, Value word, Type element, int64_t bits,
                   SmallVectorImpl<Value> &values) {
  Type type = word.getType();
  if (bits == 64 || bits == 32) {
    values.push_back(type == element
                         ? word
                         : k.b.create<arith::BitcastOp>(k.loc, element, word));
    return;
  }
  Type bitsType = k.b.getIntegerType(bits);
  for (unsigned shift = 0; shift < type.getIntOrFloatBitWidth();
       shift += bits) {
    Value part = word;
    if (shift > 0)
      part = k.b.create<arith::ShRUIOp>(k.loc, word, k.constant(type, shift));
    if (type != bitsType)
      part = k.b.create<arith::TruncIOp>(k.loc, bitsType, part);
    if (element.isInteger(1))
      part = k.b.create<arith::TruncIOp>(k.loc, element, part);
    values.push_back(part);
  }
}

/// The inverse: the word of the first elements of `values`, which is advanced.
static Value pack(KernelBuilder &k, ArrayRef<Value> &values, Type word,
                  int64_t bits) {
  int64_t count = word.getIntOrFloatBitWidth() / bits;
  Value result;
  for (int64_t i = 0; i < count; ++i) {
    Value value = values[i];
    if (bits >= 32) {
      result = value.getType() == word
                   ? value
                   : k.b.create<arith::BitcastOp>(k.loc, word, value);
      continue;
    }
    if (value.getType() != word)
      value = k.b.create<arith::ExtUIOp>(k.loc, word, value);
    if (i > 0)
      value = k.b.create<arith::ShLIOp>(
          k.loc, value, k.constant(word, static_cast<double>(i * bits)));
    result = result ? k.b.create<arith::OrIOp>(k.loc, result, value) : value;
  }
  values = values.drop_front(count);
  return result;
}

/// The words of one access of `bytes`: their type and number.
static std::pair<Type, int64_t> wordsOf(KernelBuilder &k, int64_t bytes,
                                        int64_t elementBytes) {
  int64_t word = std::min(bytes, std::max<int64_t>(4, elementBytes));
  return {k.b.getIntegerType(word * 8), bytes / word};
}

SmallVector<Value> DeviceKernel::read(const DeviceAccess &access,
                                      const Place &place) {
  Value offset = offsetOf(access, place);
  int64_t stride = access.strides.back();
  SmallVector<Value> values;
  if (access.buffer < 0) {
    Value index = offset ? offset : k->index(0);
    for (int64_t e = 0; e < (stride == 0 ? 1 : place.width); ++e)
      values.push_back(convertIndex(
          *k, e == 0 ? index : k->addIndex(index, k->index(e * stride)),
          access.element));
    return values;
  }
  Value pointer = entry->getArgument(access.buffer);
  if (offset)
    pointer = k->advance(pointer, access.element, offset);
  int64_t bytes = access.vectorBytes(place.width, sizes);
  if (bytes == 0 || stride == 0) {
    for (int64_t e = 0; e < (stride == 0 ? 1 : place.width); ++e)
      values.push_back(k->load(
          e == 0 ? pointer
                 : k->advance(pointer, access.element, k->index(e * stride)),
          access.element, 1));
    return values;
  }
  auto [word, count] = wordsOf(*k, bytes, access.bytes());
  Type type = vectorOf(word, count);
  for (int64_t e = 0; e < place.width; e += bytes / access.bytes()) {
    Value from =
        e == 0 ? pointer : k->advance(pointer, access.element, k->index(e));
    Value loaded = k->b.create<LLVM::LoadOp>(k->loc, type, from, bytes);
    for (int64_t i = 0; i < count; ++i) {
      Value part = loaded;
      if (count > 1)
        part = k->b.create<LLVM::ExtractElementOp>(
            k->loc, loaded, k->constant(k->b.getI32Type(), i));
      unpack(*k, part, vectorOf(access.element, 1), access.bytes() * 8, values);
    }
  }
  return values;
}

void DeviceKernel::write(const DeviceAccess &access, const Place &place,
                         ArrayRef<Value> values) {
  SmallVector<Value> all(values);
  while (static_cast<int64_t>(all.size()) < place.width)
    all.push_back(all[0]);
  Value pointer = entry->getArgument(access.buffer);
  if (Value offset = offsetOf(access, place))
    pointer = k->advance(pointer, access.element, offset);
  auto to = [&](int64_t e) {
    return e == 0 ? pointer
                  : k->advance(pointer, access.element,
                               k->index(e * access.strides.back()));
  };
  int64_t bytes = access.vectorBytes(place.width, sizes);
  if (bytes == 0) {
    for (auto [e, value] : llvm::enumerate(all))
      k->store(value, to(e));
    return;
  }
  auto [word, count] = wordsOf(*k, bytes, access.bytes());
  ArrayRef<Value> rest(all);
  for (int64_t e = 0; e < place.width; e += bytes / access.bytes()) {
    Value whole;
    if (count > 1)
      whole = k->b.create<LLVM::UndefOp>(k->loc, vectorOf(word, count));
    for (int64_t i = 0; i < count; ++i) {
      Value part = pack(*k, rest, word, access.bytes() * 8);
      whole = count == 1
                  ? part
                  : k->b.create<LLVM::InsertElementOp>(
                        k->loc, whole, part, k->constant(k->b.getI32Type(), i));
    }
    k->b.create<LLVM::StoreOp>(k->loc, whole, to(e), bytes);
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value DeviceKernel::emitScalar(Operation *inner, ValueRange operands) {
  if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    auto scalar = splat.getSplatValue<TypedAttr>();
    if (isNarrowFloat(scalar.getType()))
      scalar = k->b.getI16IntegerAttr(static_cast<int16_t>(
          cast<FloatAttr>(scalar).getValue().bitcastToAPInt().getZExtValue()));
    return k->b.create<arith::ConstantOp>(k->loc, scalar);
  }
  Type element = elementOf(inner);
  if (isa<math::PowFOp>(inner) && !element.isF64())
    return k->narrow(
        power(k->widen(operands[0], element), k->widen(operands[1], element)),
        element);
  // What has no instruction and no polynomial would become a call of libdevice.
  if (element.isF64() &&
      isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp, math::SinOp,
          math::CosOp, math::PowFOp>(inner)) {
    if (!isFailed)
      inner->emitError() << "has no device code for " << element;
    isFailed = true;
  }
  return emitElementwise(*k, inner, operands, 1);
}

/// Values of a row are computed at the row, the others at the place.
SmallVector<Value> DeviceKernel::at(Value value, Place &place) {
  if (auto found = place.values.find(value); found != place.values.end())
    return found->second;
  SmallVector<Value> result = hasRow && &place != &row && isRowValue(value)
                                  ? at(value, row)
                                  : compute(value, place);
  place.values[value] = result;
  return result;
}

SmallVector<Value> DeviceKernel::compute(Value value, Place &place) {
  if (auto access = inputs.find(value); access != inputs.end())
    return read(access->second, place);
  Operation *def = value.getDefiningOp();
  SmallVector<SmallVector<Value>> operands;
  size_t count = 1;
  for (Value operand : def->getOperands()) {
    operands.push_back(at(operand, place));
    count = std::max(count, operands.back().size());
  }
  if (isa<BroadcastOp>(def))
    return operands[0];
  SmallVector<Value> result;
  for (size_t e = 0; e < count; ++e) {
    SmallVector<Value> scalars;
    for (ArrayRef<Value> operand : operands)
      scalars.push_back(operand.size() == 1 ? operand[0] : operand[e]);
    result.push_back(emitScalar(def, scalars));
  }
  return result;
}

void DeviceKernel::readAhead(ArrayRef<Value> values,
                             MutableArrayRef<Place> places) {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> order;
  std::function<void(Value)> visit = [&](Value value) {
    if (!seen.insert(value).second || (hasRow && isRowValue(value)))
      return;
    if (auto access = inputs.find(value); access != inputs.end())
      return order.push_back(value);
    for (Value operand : value.getDefiningOp()->getOperands())
      visit(operand);
  };
  llvm::for_each(values, visit);
  for (Place &place : places)
    for (Value value : order)
      at(value, place);
}
