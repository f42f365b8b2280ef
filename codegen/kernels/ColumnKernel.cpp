//===- ColumnKernel.cpp - Column reductions and concatenations --*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/FusedKernel.h"
#include "dialect/View.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace ff;

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

static double identityOf(ReduceKind kind) {
  return kind == ReduceKind::Max ? -std::numeric_limits<double>::infinity()
                                 : 0.0;
}

static Value combine(KernelBuilder &k, ReduceKind kind, Value sum, Value next) {
  return kind == ReduceKind::Max ? k.max(sum, next) : k.add(sum, next);
}

/// An iteration is a block of columns: a few vectors of partial sums for each
/// reduction, carried through the loops over the reduced dims.
void FusedKernel::emitColumns() {
  openBuffers();
  SmallVector<ReduceOp> reductions(body.getOps<ReduceOp>());
  SmallVector<int64_t> sizes = outerSizes;
  int64_t width = columnVectors * lanes;
  sizes.push_back(llvm::divideCeil(laneSizes[0], width));
  k->loop(k->begin, k->end, 1, [&](Value iteration) {
    SmallVector<Value> indices = k->delinearize(iteration, sizes);
    Value first = k->mulIndex(indices.pop_back_val(), width);
    openIteration(indices);
    SmallVector<Position> blocks;
    SmallVector<Value> partial;
    for (int64_t v = 0; v < columnVectors; ++v) {
      Position at;
      at.lane = v == 0 ? first : k->addIndex(first, k->index(v * lanes));
      if (laneSizes[0] % lanes != 0)
        at.mask = k->firstLanes(
            k->b.create<arith::SubIOp>(k->loc, k->index(laneSizes[0]), at.lane),
            lanes);
      blocks.push_back(at);
      for (ReduceOp reduce : reductions)
        partial.push_back(
            k->constant(vectorOf(numberTypeOf(elementOf(reduce)), lanes),
                        identityOf(reduce.getKind())));
    }
    SmallVector<Value> loops;
    partial = emitColumnLoops(blocks, loops, reductions, partial);
    for (auto [v, at] : llvm::enumerate(blocks))
      for (auto [r, reduce] : llvm::enumerate(reductions))
        for (auto [i, value] : llvm::enumerate(yield.getValues()))
          if (value == reduce.getResult())
            storeAt(k->narrow(partial[v * reductions.size() + r],
                              elementOf(reduce)),
                    outputs[i], at);
  });
}

SmallVector<Value> FusedKernel::emitColumnLoops(ArrayRef<Position> blocks,
                                                SmallVectorImpl<Value> &loops,
                                                ArrayRef<ReduceOp> reductions,
                                                ValueRange partial) {
  if (loops.size() < loopSizes.size())
    return k->loop(k->index(0), k->index(loopSizes[loops.size()]), 1, partial,
                   [&](Value i, ValueRange carried) {
                     loops.push_back(i);
                     auto next =
                         emitColumnLoops(blocks, loops, reductions, carried);
                     loops.pop_back();
                     return next;
                   });
  SmallVector<Value> next;
  for (auto [v, block] : llvm::enumerate(blocks)) {
    Position at = block;
    at.loops.assign(loops.begin(), loops.end());
    current.clear();
    for (ReduceOp reduce : reductions)
      next.push_back(combine(*k, reduce.getKind(), partial[next.size()],
                             numberAt(reduce.getInput(), at)));
  }
  return next;
}

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

/// An iteration is one index of the dims before the concatenated one: there the
/// pieces lie one behind the other.
void FusedKernel::emitConcat() {
  openBuffers();
  auto concat = cast<ConcatOp>(yield.getValues()[0].getDefiningOp());
  int64_t dim = concat.getDim();
  k->loop(k->begin, k->end, 1, [&](Value iteration) {
    SmallVector<Value> outer =
        k->delinearize(iteration, ArrayRef(domain).take_front(dim));
    int64_t start = 0;
    for (Value piece : concat.getInputs()) {
      emitPiece(piece, start, outer);
      start += tensorType(piece).getDimSize(dim);
    }
  });
}

void FusedKernel::emitPiece(Value piece, int64_t start, ValueRange outer) {
  size_t dim = outer.size();
  SmallVector<int64_t> sizes(tensorType(piece).getShape().drop_front(dim));
  Access out = outputs[0], in;
  if (auto found = inputs.find(piece); found != inputs.end())
    in = found->second;
  else
    in.strides.assign(domain.size(), 0);
  SmallVector<SmallVector<int64_t>> strides;
  for (Access *access : {&in, &out}) {
    strides.emplace_back(ArrayRef(access->strides).drop_front(dim));
    Value offset = access == &out && start != 0
                       ? k->index(start * out.strides[dim])
                       : Value();
    for (auto [index, stride] : llvm::zip_first(outer, access->strides)) {
      if (stride == 0)
        continue;
      Value term = k->mulIndex(index, stride);
      offset = offset ? k->addIndex(offset, term) : term;
    }
    if (access->buffer < 0)
      access->base = offset ? offset : k->index(0);
    else if (offset)
      access->base = k->advance(access->base, access->element, offset);
  }
  collapseDims(sizes, strides);
  for (auto [access, stride] : {std::pair(&in, 0), std::pair(&out, 1)}) {
    access->lanes.assign(
        1, strides[stride].empty() ? stride : strides[stride].pop_back_val());
    access->loops = strides[stride];
  }
  int64_t length = sizes.empty() ? 1 : sizes.pop_back_val();

  Position at;
  auto copy = [&] {
    Value value = isa_and_nonnull<arith::ConstantOp>(piece.getDefiningOp())
                      ? emitOp(piece.getDefiningOp(), {}, lanes)
                      : readAt(in, at);
    storeAt(value, out, at);
  };
  std::function<void()> nest = [&] {
    if (at.loops.size() < sizes.size()) {
      k->loop(k->index(0), k->index(sizes[at.loops.size()]), 1, [&](Value i) {
        at.loops.push_back(i);
        nest();
        at.loops.pop_back();
      });
      return;
    }
    int64_t whole = length / lanes * lanes;
    at.mask = {};
    if (whole > 0)
      k->loop(k->index(0), k->index(whole), lanes, [&](Value x) {
        at.lane = x;
        copy();
      });
    if (whole == length)
      return;
    at.lane = k->index(whole);
    at.mask = k->firstLanes(length - whole, lanes);
    copy();
  };
  nest();
}
