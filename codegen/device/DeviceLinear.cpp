//===- DeviceLinear.cpp - Elementwise kernels and concatenations ----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks walk tiles of places in a stride of the grid. In a tile, a thread has
// `unroll` places, a block's threads apart: neighbours read neighbouring
// memory, and a thread reads all its places before it computes. What is no
// whole tile is done one place at a time, what is no whole place one element.
//
//===----------------------------------------------------------------------===//

#include "codegen/device/DeviceKernel.h"
#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/FusedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ff;

void DeviceKernel::emitPlaces(
    int64_t total, ArrayRef<int64_t> sizes, int64_t wide,
    llvm::function_ref<void(MutableArrayRef<Place>)> body) {
  int64_t groups = total / wide, tile = shape.threads * unroll;
  int64_t tiles = groups / tile, done = tiles * tile;
  Value first = thread(), number = block();
  // Without loops where all blocks together do all at once.
  auto stride = [&](Value from, int64_t to, int64_t step,
                    llvm::function_ref<void(Value)> once) {
    if (to <= step)
      return when(lessThan(from, to), [&] { once(from); });
    k->loop(from, k->index(to), step, once);
  };
  auto placeOf = [&](Value group, int64_t width) {
    // The last place of one dim may be a piece: no dim is divided then.
    if (sizes.size() > 1)
      return placeAt(group, sizes, width);
    Place place;
    place.width = width;
    place.indices.push_back(k->mulIndex(group, width));
    return place;
  };
  if (tiles > 0)
    stride(number, tiles, shape.blocks, [&](Value index) {
      Value start = k->addIndex(k->mulIndex(index, tile), first);
      SmallVector<Place> places;
      for (int64_t u = 0; u < unroll; ++u)
        places.push_back(placeOf(
            u == 0 ? start : k->addIndex(start, k->index(u * shape.threads)),
            wide));
      body(places);
    });
  Value global = k->addIndex(k->mulIndex(number, shape.threads), first);
  if (done < groups)
    stride(global, groups - done, shape.blocks * shape.threads,
           [&](Value index) {
             Place place = placeOf(
                 done == 0 ? index : k->addIndex(index, k->index(done)), wide);
             body(place);
           });
  int64_t whole = groups * wide;
  if (whole < total)
    stride(global, total - whole, shape.blocks * shape.threads,
           [&](Value index) {
             Place place = placeOf(
                 whole == 0 ? index : k->addIndex(index, k->index(whole)), 1);
             body(place);
           });
}

void DeviceKernel::emitLinear() {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  emitPlaces(total, sizes, width, [&](MutableArrayRef<Place> places) {
    readAhead(llvm::to_vector(yield.getValues()), places);
    for (Place &place : places)
      for (auto [i, value] : llvm::enumerate(yield.getValues()))
        write(outputs[i], place, at(value, place));
  });
}

/// Each piece is a copy to its part of the result.
void DeviceKernel::emitConcat() {
  auto concat = cast<ConcatOp>(yield.getValues()[0].getDefiningOp());
  int64_t dim = concat.getDim(), start = 0;
  for (Value piece : concat.getInputs()) {
    SmallVector<int64_t> shape(tensorType(piece).getShape());
    auto found = inputs.find(piece);
    DeviceAccess in = found == inputs.end() ? outputs[0] : found->second;
    DeviceAccess out = outputs[0];
    int64_t offset = start * out.domain[dim], total = 1;
    start += shape[dim];
    for (int64_t size : shape)
      total *= size;
    SmallVector<int64_t> dims = shape;
    SmallVector<SmallVector<int64_t>> strides{in.domain, out.domain};
    collapseDims(dims, strides);
    if (dims.empty()) {
      dims.push_back(1);
      for (SmallVector<int64_t> &list : strides)
        list.push_back(0);
    }
    in.strides = strides[0];
    out.strides = strides[1];
    // A dim more says where the piece begins.
    dims.insert(dims.begin(), 1);
    in.strides.insert(in.strides.begin(), 0);
    out.strides.insert(out.strides.begin(), offset);
    sizes = dims;
    int64_t wide = 16 / out.bytes();
    while (dims.back() % wide != 0)
      wide /= 2;
    emitPlaces(total, sizes, wide, [&](MutableArrayRef<Place> places) {
      SmallVector<SmallVector<Value>> values;
      for (Place &place : places)
        values.push_back(found == inputs.end() ? at(piece, place)
                                               : read(in, place));
      for (auto [place, value] : llvm::zip_equal(places, values)) {
        place.indices[0] = k->index(1);
        write(out, place, value);
      }
    });
  }
}
