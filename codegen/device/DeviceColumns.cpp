//===- DeviceColumns.cpp - Kernels that reduce columns --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block is a tile: neighbouring threads on neighbouring columns, and the
// elements of a column dealt to the rows of threads. A thread sums its elements
// in order; the rows of threads are joined in shared memory, by halves. Where
// the columns alone are too few blocks, they are cut into parts, whose sums a
// second kernel adds up in order. All of this is fixed by the shapes: no result
// depends on which block is first, and there are no atomics.
//
//===----------------------------------------------------------------------===//

#include "codegen/device/DeviceKernel.h"
#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/FusedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ff;

/// Elements of a column that a thread reads at once.
static constexpr int64_t kAtOnce = 4;

/// The sums of the rows of threads end up in row 0.
void DeviceKernel::joinColumns(MutableArrayRef<Value> sums, Value y) {
  int64_t down = shape.threads / columnThreads;
  SmallVector<ReduceOp> reductions(body.getOps<ReduceOp>());
  SmallVector<int64_t> starts;
  int64_t start = 0;
  for (Value sum : sums) {
    starts.push_back(start);
    start += shape.threads * sum.getType().getIntOrFloatBitWidth() / 8;
  }
  Value id = thread();
  for (int64_t half = down / 2; half > 0; half /= 2) {
    // Rows [half, 2 half) hand over to rows [0, half).
    Value gives = k->b.create<arith::CmpIOp>(k->loc, arith::CmpIPredicate::sge,
                                             y, k->index(half));
    when(both(gives, lessThan(y, 2 * half)), [&] {
      for (auto [sum, start] : llvm::zip_equal(sums, starts))
        k->b.create<LLVM::StoreOp>(k->loc, sum,
                                   sharedAddress(sum.getType(), start, id));
    });
    k->b.create<gpu::BarrierOp>(k->loc);
    auto branch = k->b.create<scf::IfOp>(k->loc, ValueRange(sums).getTypes(),
                                         lessThan(y, half),
                                         /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(k->b);
    k->b.setInsertionPointToEnd(branch.thenBlock());
    SmallVector<Value> joined;
    Value giver = k->addIndex(id, k->index(half * columnThreads));
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Type type = sum.getType();
      Value given = k->b.create<LLVM::LoadOp>(
          k->loc, type, sharedAddress(type, starts[i], giver));
      joined.push_back(combine(reductions[i / width], sum, given));
    }
    k->b.create<scf::YieldOp>(k->loc, joined);
    k->b.setInsertionPointToEnd(branch.elseBlock());
    k->b.create<scf::YieldOp>(k->loc, ValueRange(sums));
    llvm::copy(branch.getResults(), sums.begin());
  }
}

void DeviceKernel::emitColumns() {
  SmallVector<ReduceOp> reductions(body.getOps<ReduceOp>());
  ArrayRef<int64_t> reduced = ArrayRef(sizes).take_front(split);
  ArrayRef<int64_t> kept = ArrayRef(sizes).drop_front(split);
  int64_t length = 1, keptSize = 1, groups = kept.back() / width;
  for (int64_t size : reduced)
    length *= size;
  for (int64_t size : kept)
    keptSize *= size;
  int64_t down = shape.threads / columnThreads;

  Value id = thread();
  Value x = k->b.create<arith::RemUIOp>(k->loc, id, k->index(columnThreads));
  Value y = k->b.create<arith::DivUIOp>(k->loc, id, k->index(columnThreads));
  SmallVector<int64_t> grid{numParts};
  llvm::append_range(grid, kept.drop_back());
  grid.push_back(columnBlocks);
  SmallVector<Value> blocks = delinearize(block(), grid);
  Value part = blocks.front();
  Value group = k->addIndex(k->mulIndex(blocks.back(), columnThreads), x);
  Value isColumn;
  if (groups % columnThreads != 0) {
    isColumn = lessThan(group, groups);
    group = k->minIndex(group, k->index(groups - 1));
  }
  SmallVector<Value> columns(blocks.begin() + 1, blocks.end() - 1);
  columns.push_back(k->mulIndex(group, width));

  auto placeOf = [&](Value row) {
    Place place;
    place.width = width;
    place.indices = delinearize(row, reduced);
    llvm::append_range(place.indices, columns);
    return place;
  };
  auto sumUp = [&](Value row, ValueRange carried, int64_t count) {
    SmallVector<Place> places;
    for (int64_t i = 0; i < count; ++i)
      places.push_back(
          placeOf(i == 0 ? row : k->addIndex(row, k->index(i * down))));
    for (ReduceOp reduce : reductions)
      readAhead(reduce.getInput(), places);
    SmallVector<Value> sums(carried);
    for (Place &place : places)
      for (auto [r, reduce] : llvm::enumerate(reductions))
        addTo(reduce, MutableArrayRef(sums).slice(r * width, width), place);
    return sums;
  };

  SmallVector<Value> sums;
  for (ReduceOp reduce : reductions)
    sums.append(width, identity(reduce));
  Value from = y, to = k->index(length);
  if (numParts > 1) {
    Value start = k->mulIndex(part, partLength);
    from = k->addIndex(start, y);
    to = k->minIndex(to, k->addIndex(start, k->index(partLength)));
  }
  if (partLength >= down * kAtOnce) {
    // The number of the next element goes along.
    sums.push_back(from);
    Value most = k->addIndex(to, k->index(-down * (kAtOnce - 1)));
    sums = k->loop(from, most, down * kAtOnce, sums,
                   [&](Value row, ValueRange carried) {
                     auto next = sumUp(row, carried.drop_back(), kAtOnce);
                     next.push_back(k->addIndex(row, k->index(down * kAtOnce)));
                     return next;
                   });
    from = sums.pop_back_val();
  }
  sums = k->loop(from, to, down, sums, [&](Value row, ValueRange carried) {
    return sumUp(row, carried, 1);
  });
  joinColumns(sums, y);

  Value isFirst = k->b.create<arith::CmpIOp>(k->loc, arith::CmpIPredicate::eq,
                                             y, k->index(0));
  when(both(isColumn, isFirst), [&] {
    for (auto [i, value] : llvm::enumerate(yield.getValues()))
      for (auto [r, reduce] : llvm::enumerate(reductions)) {
        if (value != reduce.getResult())
          continue;
        ArrayRef<Value> result = ArrayRef(sums).slice(r * width, width);
        Place place;
        place.width = width;
        place.indices.resize(split);
        llvm::append_range(place.indices, columns);
        DeviceAccess access = outputs[i];
        if (numParts > 1) {
          // Parts lie one behind the other; the first dim of the reduced ones,
          // which results do not have, stands for the part.
          access.element = numberTypeOf(access.element);
          access.strides[0] = keptSize;
          place.indices[0] = part;
          write(access, place, result);
          continue;
        }
        SmallVector<Value> rounded;
        for (Value sum : result)
          rounded.push_back(k->narrow(sum, access.element));
        write(access, place, rounded);
      }
  });
}

void DeviceKernel::addTo(ReduceOp reduce, MutableArrayRef<Value> sums,
                         Place &place) {
  SmallVector<Value> values = at(reduce.getInput(), place);
  for (auto [e, sum] : llvm::enumerate(sums))
    sum = combine(reduce, sum,
                  k->widen(values[values.size() == 1 ? 0 : e],
                           getElementTypeOrSelf(reduce.getInput().getType())));
}

/// A thread for each element of the results: neighbours read neighbouring sums.
LogicalResult DeviceKernel::emitSecond(gpu::GPUFuncOp function) {
  open(function);
  KernelBuilder builder(entry, op.getLoc());
  k = &builder;
  int64_t kept = 1;
  for (int64_t size : ArrayRef(sizes).drop_front(split))
    kept *= size;
  int64_t threads = secondLaunch().threads;
  Value index = k->addIndex(k->mulIndex(block(), threads), thread());
  when(lessThan(index, kept), [&] {
    for (auto [i, value] : llvm::enumerate(yield.getValues())) {
      auto reduce = cast<ReduceOp>(value.getDefiningOp());
      Type element = elementOf(reduce), number = numberTypeOf(element);
      Value parts = entry->getArgument(i);
      Value sum = k->loop(
          k->index(0), k->index(numParts), 1, identity(reduce),
          [&](Value part, ValueRange carried) {
            Value at = k->addIndex(k->mulIndex(part, kept), index);
            Value next = k->load(k->advance(parts, number, at), number, 1);
            return SmallVector<Value>{combine(reduce, carried[0], next)};
          })[0];
      Value result = entry->getArgument(yield.getNumOperands() + i);
      k->store(k->narrow(sum, element), k->advance(result, element, index));
    }
  });
  k->b.create<gpu::ReturnOp>(k->loc);
  return success();
}
