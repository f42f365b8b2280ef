//===- DeviceRows.cpp - Kernels that reduce rows --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row belongs to a power of two of threads: a part of a warp, a warp, or a
// block. Where each of them can hold its elements in registers, a row is read
// once. Longer rows are read once for each stage, a stage being the number of
// reductions one after the other before. Threads join their partial results by
// butterflies, in which all lanes get the same sum bit for bit, and warps in
// the order of a second butterfly.
//
// Threads without a row or a place compute those of a neighbour and write
// nothing: all lanes take part in each shuffle.
//
//===----------------------------------------------------------------------===//

#include "codegen/device/DeviceKernel.h"
#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/FusedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <limits>

using namespace mlir;
using namespace ff;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value DeviceKernel::identity(ReduceOp reduce) {
  return k->constant(numberTypeOf(elementOf(reduce)),
                     reduce.getKind() == ReduceKind::Max
                         ? -std::numeric_limits<double>::infinity()
                         : 0.0);
}

Value DeviceKernel::combine(ReduceOp reduce, Value x, Value y) {
  return reduce.getKind() == ReduceKind::Max ? k->max(x, y) : k->add(x, y);
}

/// `sum` and what is reduced at `place`, which counts where `mask` holds.
Value DeviceKernel::accumulate(ReduceOp reduce, Value sum, Place &place,
                               Value mask) {
  SmallVector<Value> values = at(reduce.getInput(), place);
  for (int64_t e = 0; e < place.width; ++e) {
    Value next = k->widen(values[values.size() == 1 ? 0 : e],
                          getElementTypeOrSelf(reduce.getInput().getType()));
    if (mask)
      next = k->select(mask, next, identity(reduce));
    sum = combine(reduce, sum, next);
  }
  return sum;
}

/// The value of the lane whose number differs in the bit `distance`.
Value DeviceKernel::shuffle(Value value, int64_t distance) {
  Type i32 = k->b.getI32Type(), type = value.getType();
  auto once = [&](Value part) -> Value {
    return k->b.create<NVVM::ShflOp>(
        k->loc, part.getType(), k->constant(i32, -1), part,
        k->constant(i32, static_cast<double>(distance)), k->constant(i32, 31),
        NVVM::ShflKind::bfly, UnitAttr());
  };
  if (!type.isF64())
    return once(value);
  Type i64 = k->b.getI64Type();
  Value bits = k->b.create<arith::BitcastOp>(k->loc, i64, value);
  Value shift = k->constant(i64, 32);
  Value low = once(k->b.create<arith::TruncIOp>(k->loc, i32, bits));
  Value high = once(k->b.create<arith::TruncIOp>(
      k->loc, i32, k->b.create<arith::ShRUIOp>(k->loc, bits, shift)));
  high = k->b.create<arith::ShLIOp>(
      k->loc, k->b.create<arith::ExtUIOp>(k->loc, i64, high), shift);
  low = k->b.create<arith::ExtUIOp>(k->loc, i64, low);
  return k->b.create<arith::BitcastOp>(
      k->loc, type, k->b.create<arith::OrIOp>(k->loc, high, low));
}

/// Element `element` of the numbers of `type` from byte `start` of the shared
/// memory.
Value DeviceKernel::sharedAddress(Type type, int64_t start, Value element) {
  auto pointer = LLVM::LLVMPointerType::get(k->b.getContext(), 3);
  Value base = k->b.create<LLVM::AddressOfOp>(k->loc, pointer, kSharedSymbol);
  if (start != 0)
    base = k->b.create<LLVM::GEPOp>(
        k->loc, pointer, k->b.getI8Type(), base,
        ArrayRef<LLVM::GEPArg>(static_cast<int32_t>(start)));
  return k->b.create<LLVM::GEPOp>(k->loc, pointer, type, base,
                                  ArrayRef<LLVM::GEPArg>(element));
}

/// Joins the threads of a row. `slot` counts the bytes of shared memory in use:
/// each reduction has its own, so that one barrier is enough.
void DeviceKernel::joinThreads(MutableArrayRef<Partial> partials,
                               int64_t &slot) {
  auto butterfly = [&](Partial &partial, int64_t threads) {
    for (int64_t d = threads / 2; d > 0; d /= 2)
      partial.value =
          combine(partial.reduce, partial.value, shuffle(partial.value, d));
  };
  for (Partial &partial : partials)
    butterfly(partial, std::min<int64_t>(rowThreads, 32));
  if (rowThreads <= 32 || partials.empty())
    return;
  int64_t warps = rowThreads / 32;
  Value id = thread();
  Value lane = k->b.create<arith::AndIOp>(k->loc, id, k->index(31));
  Value warp = k->b.create<arith::ShRUIOp>(k->loc, id, k->index(5));
  Value isFirst = k->b.create<arith::CmpIOp>(k->loc, arith::CmpIPredicate::eq,
                                             lane, k->index(0));
  SmallVector<int64_t> starts;
  for (Partial &partial : partials) {
    starts.push_back(slot);
    slot += warps * partial.value.getType().getIntOrFloatBitWidth() / 8;
  }
  when(isFirst, [&] {
    for (auto [partial, start] : llvm::zip_equal(partials, starts))
      k->b.create<LLVM::StoreOp>(
          k->loc, partial.value,
          sharedAddress(partial.value.getType(), start, warp));
  });
  k->b.create<gpu::BarrierOp>(k->loc);
  // Each lane takes the sum of one warp, several lanes that of the same.
  Value mine = k->b.create<arith::AndIOp>(k->loc, id, k->index(warps - 1));
  for (auto [partial, start] : llvm::zip_equal(partials, starts)) {
    Type type = partial.value.getType();
    partial.value = k->b.create<LLVM::LoadOp>(k->loc, type,
                                              sharedAddress(type, start, mine));
    butterfly(partial, warps);
  }
}

//===----------------------------------------------------------------------===//
// Values of a row
//===----------------------------------------------------------------------===//

bool DeviceKernel::isRowValue(Value value) {
  if (auto found = rowValues.find(value); found != rowValues.end())
    return found->second;
  bool result;
  Operation *def = value.getDefiningOp();
  if (auto access = inputs.find(value); access != inputs.end())
    result = llvm::all_of(ArrayRef(access->second.strides).drop_front(split),
                          [](int64_t stride) { return stride == 0; });
  else
    result = isa<ReduceOp>(def) ||
             llvm::all_of(def->getOperands(),
                          [&](Value operand) { return isRowValue(operand); });
  return rowValues[value] = result;
}

bool DeviceKernel::isRowOutput(size_t i) {
  return tensorType(yield.getValues()[i]).getRank() <
         static_cast<int64_t>(op.getDomain().size());
}

int64_t DeviceKernel::stageOf(Value value) {
  if (auto found = stages.find(value); found != stages.end())
    return found->second;
  int64_t stage = 0;
  if (Operation *def = value.getDefiningOp()) {
    for (Value operand : def->getOperands())
      stage = std::max(stage, stageOf(operand));
    stage += isa<ReduceOp>(def);
  }
  return stages[value] = stage;
}

/// Computes what `value` needs of the row, in front of a loop over its places.
void DeviceKernel::prepareRow(Value value) {
  if (isRowValue(value)) {
    at(value, row);
    return;
  }
  if (inputs.contains(value) || !prepared.insert(value).second)
    return;
  for (Value operand : value.getDefiningOp()->getOperands())
    prepareRow(operand);
}

/// Place number `group` of the row.
Place DeviceKernel::inRow(Value group) {
  Place place = placeAt(group, ArrayRef(sizes).drop_front(split), width);
  place.indices.insert(place.indices.begin(), row.indices.begin(),
                       row.indices.begin() + split);
  return place;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// The places live on: later stages find in them what earlier ones computed.
void DeviceKernel::emitRowInRegisters(int64_t stage,
                                      MutableArrayRef<Place> places,
                                      ArrayRef<Value> masks, Value isRow,
                                      int64_t &slot) {
  SmallVector<Partial> partials;
  for (ReduceOp reduce : body.getOps<ReduceOp>()) {
    if (stageOf(reduce.getInput()) != stage)
      continue;
    readAhead(reduce.getInput(), places);
    Value sum = identity(reduce);
    for (auto [place, mask] : llvm::zip_equal(places, masks))
      sum = accumulate(reduce, sum, place, mask);
    partials.push_back({reduce, sum});
  }
  joinThreads(partials, slot);
  for (Partial &partial : partials)
    row.values[partial.reduce.getResult()] = {
        k->narrow(partial.value, elementOf(partial.reduce))};
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    if (isRowOutput(i) || stageOf(value) != stage)
      continue;
    readAhead(value, places);
    for (auto [place, mask] : llvm::zip_equal(places, masks)) {
      SmallVector<Value> values = at(value, place);
      when(both(isRow, mask),
           [&, &place = place, i = i] { write(outputs[i], place, values); });
    }
  }
}

void DeviceKernel::emitRowInLoops(int64_t stage, Value lane, Value isRow,
                                  int64_t &slot) {
  SmallVector<Partial> partials;
  SmallVector<Value> sums;
  SmallVector<size_t> results;
  prepared.clear();
  for (ReduceOp reduce : body.getOps<ReduceOp>()) {
    if (stageOf(reduce.getInput()) != stage)
      continue;
    prepareRow(reduce.getInput());
    sums.push_back(identity(reduce));
    partials.push_back({reduce, {}});
  }
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (!isRowOutput(i) && stageOf(value) == stage) {
      prepareRow(value);
      results.push_back(i);
    }
  if (partials.empty() && results.empty())
    return;
  sums = k->loop(
      lane, k->index(rowGroups), rowThreads, sums,
      [&](Value group, ValueRange carried) {
        Place place = inRow(group);
        SmallVector<Value> next;
        for (auto [partial, sum] : llvm::zip_equal(partials, carried))
          next.push_back(accumulate(partial.reduce, sum, place, Value()));
        for (size_t i : results) {
          SmallVector<Value> values = at(yield.getValues()[i], place);
          when(isRow, [&] { write(outputs[i], place, values); });
        }
        return next;
      });
  for (auto [partial, sum] : llvm::zip_equal(partials, sums))
    partial.value = sum;
  joinThreads(partials, slot);
  for (Partial &partial : partials)
    row.values[partial.reduce.getResult()] = {
        k->narrow(partial.value, elementOf(partial.reduce))};
}

void DeviceKernel::emitRows() {
  int64_t rows = 1, rowsPerBlock = shape.threads / rowThreads;
  for (int64_t size : ArrayRef(sizes).take_front(split))
    rows *= size;
  Value id = thread(), number = block(), lane = id, isRow;
  if (rowsPerBlock > 1) {
    number = k->addIndex(
        k->mulIndex(number, rowsPerBlock),
        k->b.create<arith::DivUIOp>(k->loc, id, k->index(rowThreads)));
    lane = k->b.create<arith::RemUIOp>(k->loc, id, k->index(rowThreads));
  }
  if (rows % rowsPerBlock != 0) {
    isRow = lessThan(number, rows);
    number = k->minIndex(number, k->index(rows - 1));
  }
  row = Place();
  row.indices = delinearize(number, ArrayRef(sizes).take_front(split));
  row.indices.resize(sizes.size());
  hasRow = true;
  SmallVector<Place> places;
  SmallVector<Value> masks;
  for (int64_t p = 0; p < rowPlaces; ++p) {
    Value group = p == 0 ? lane : k->addIndex(lane, k->index(p * rowThreads));
    masks.push_back({});
    if ((p + 1) * rowThreads > rowGroups) {
      masks.back() = lessThan(group, rowGroups);
      group = k->minIndex(group, k->index(rowGroups - 1));
    }
    places.push_back(inRow(group));
  }
  int64_t last = 0, slot = 0;
  for (Value value : yield.getValues())
    last = std::max(last, stageOf(value));
  for (ReduceOp reduce : body.getOps<ReduceOp>())
    last = std::max(last, stageOf(reduce.getInput()));
  for (int64_t stage = 0; stage <= last; ++stage) {
    if (rowPlaces > 0)
      emitRowInRegisters(stage, places, masks, isRow, slot);
    else
      emitRowInLoops(stage, lane, isRow, slot);
  }
  Value isFirst = k->b.create<arith::CmpIOp>(k->loc, arith::CmpIPredicate::eq,
                                             lane, k->index(0));
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (isRowOutput(i)) {
      SmallVector<Value> values = at(value, row);
      when(both(isRow, isFirst),
           [&, i = i] { write(outputs[i], row, values); });
    }
}
