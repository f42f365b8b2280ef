//===- AttentionTile.cpp - Steps of attention on a tile of queries -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/Attention.h"
#include "codegen/kernels/FormKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ff;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

AttentionShape::AttentionShape(Operation *op, double scale, bool causal,
                               int64_t vectorBytes)
    : scale(scale), causal(causal), op(op) {
  auto query = tensorType(op->getOperand(0));
  batch = query.getDimSize(0);
  queries = query.getDimSize(1);
  heads = query.getDimSize(2);
  dim = query.getDimSize(3);
  keys = tensorType(op->getOperand(1)).getDimSize(1);
  element = query.getElementType();
  number = numberTypeOf(element);
  lanes =
      std::max<int64_t>(1, vectorBytes * 8 / number.getIntOrFloatBitWidth());
  for (Value operand : op->getOperands())
    views.push_back(resolveView(operand));
  int64_t last = op->getNumOperands() - 1;
  if (getElementTypeOrSelf(op->getOperand(last)).isInteger(1))
    mask = last;
}

std::string AttentionShape::key() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName() << element << " " << batch << " " << queries << " "
     << keys << " " << heads << " " << dim << " " << scale << causal;
  for (const StridedView &view : views) {
    os << ";";
    for (int64_t stride : view.strides)
      os << "," << stride;
  }
  return text;
}

int64_t AttentionShape::tiles() const {
  return llvm::divideCeil(queries, lanes);
}

SmallVector<Type> AttentionShape::scratchTypes() const {
  if (!isNarrow() || !isa<AttentionBackwardOp>(op))
    return {};
  return SmallVector<Type>(
      2, RankedTensorType::get({batch, keys, heads, dim}, number));
}

/// Work of one piece, in multiplications and additions.
static constexpr int64_t kWorkPerPiece = 1 << 18;

LaunchShape AttentionShape::forwardLaunch() const {
  int64_t work = 4 * lanes * keys * dim;
  return {batch * heads * tiles(), std::max<int64_t>(1, kWorkPerPiece / work)};
}

LaunchShape AttentionShape::backwardLaunch() const {
  int64_t work = 10 * queries * keys * dim;
  return {batch * heads, std::max<int64_t>(1, kWorkPerPiece / work)};
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// `strides` are of [B, S, H, D].
Rows AttentionTile::rows(int64_t buffer, Type element,
                         ArrayRef<int64_t> strides, Value batch, Value head) {
  Value pointer = k.buffer(buffer);
  Value start =
      k.addIndex(k.mulIndex(batch, strides[0]), k.mulIndex(head, strides[2]));
  return {k.advance(pointer, element, start), strides[1], element};
}

Rows AttentionTile::operandRows(int64_t operand, Value batch, Value head) {
  const StridedView &view = s.views[operand];
  return rows(operand, s.element, view.strides, batch, head);
}

Rows AttentionTile::resultRows(int64_t result, Value batch, Value head) {
  auto type = tensorType(s.op->getResult(result));
  return rows(static_cast<int64_t>(s.views.size()) + result, s.element,
              rowMajorStrides(type.getShape()), batch, head);
}

Rows AttentionTile::sumRows(int64_t result, Value batch, Value head) {
  if (!s.isNarrow())
    return resultRows(result, batch, head);
  // Behind the three gradients come the scratch results, keys first.
  auto type = tensorType(s.op->getResult(result));
  int64_t buffer = static_cast<int64_t>(s.views.size()) + 3 + (result - 1);
  return rows(buffer, s.number, rowMajorStrides(type.getShape()), batch, head);
}

Value AttentionTile::statistics(int64_t buffer, const StridedView *view,
                                Value batch, Value head) {
  SmallVector<int64_t> strides =
      view ? view->strides : rowMajorStrides({s.batch, s.heads, s.queries});
  Value pointer = k.buffer(buffer);
  Value start =
      k.addIndex(k.mulIndex(batch, strides[0]), k.mulIndex(head, strides[1]));
  return k.advance(pointer, s.number, start);
}

Value AttentionTile::at(Rows rows, Value row, Value column) {
  Value offset = k.addIndex(k.mulIndex(row, rows.row), column);
  return k.advance(rows.pointer, rows.element, offset);
}

Value AttentionTile::loadRow(Rows rows, Value row, Value column, Value mask) {
  Value value = k.load(at(rows, row, column), rows.element, s.lanes, mask);
  return k.widen(value, rows.element);
}

Value AttentionTile::queryRow(int64_t lane) {
  Value row = lane == 0 ? first : k.addIndex(first, k.index(lane));
  return s.queries % s.lanes == 0 ? row
                                  : k.minIndex(row, k.index(s.queries - 1));
}

Value AttentionTile::valid() {
  if (s.queries % s.lanes == 0)
    return {};
  Value left = k.b.create<arith::SubIOp>(k.loc, k.index(s.queries), first);
  return k.firstLanes(left, s.lanes);
}

Value AttentionTile::visible(Value key, int64_t j) {
  Value counts;
  if (s.mask) {
    Type element = k.b.getI1Type();
    ArrayRef<int64_t> strides = s.views[*s.mask].strides;
    Value at = k.addIndex(k.mulIndex(batch, strides[0]),
                          k.mulIndex(k.addIndex(key, k.index(j)), strides[1]));
    counts = k.splat(
        k.load(k.advance(k.buffer(*s.mask), element, at), element, 1), s.lanes);
  }
  if (!s.causal)
    return counts;
  Value last =
      k.counting(k.addIndex(first, k.index(s.keys - s.queries)), s.lanes);
  Value index = k.splat(k.addIndex(key, k.index(j)), s.lanes);
  Value earlier =
      k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::sle, index, last);
  if (!counts)
    return earlier;
  return k.b.create<arith::AndIOp>(k.loc, earlier, counts);
}

//===----------------------------------------------------------------------===//
// Transposed tiles
//===----------------------------------------------------------------------===//

Value AttentionTile::tileScratch() {
  return k.scratch(s.number, llvm::alignTo(s.dim, s.lanes) * s.lanes);
}

void AttentionTile::clear(Value tile) {
  k.loop(k.index(0), k.index(s.dim * s.lanes), s.lanes, [&](Value i) {
    k.store(k.constant(vectorType(), 0), k.advance(tile, s.number, i));
  });
}

/// Swaps blocks of 1, 2, 4, ... lanes between pairs of rows.
SmallVector<Value> AttentionTile::transpose(SmallVector<Value> rows) {
  for (int64_t half = 1; half < s.lanes; half *= 2)
    for (int64_t i = 0; i < s.lanes; ++i) {
      if (i & half)
        continue;
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < s.lanes; ++lane) {
        low.push_back(lane & half ? s.lanes + lane - half : lane);
        high.push_back(lane & half ? s.lanes + lane : lane + half);
      }
      Value a = rows[i], b = rows[i + half];
      rows[i] = k.b.create<vector::ShuffleOp>(k.loc, a, b, low);
      rows[i + half] = k.b.create<vector::ShuffleOp>(k.loc, a, b, high);
    }
  return rows;
}

Value AttentionTile::columnMask(Value column) {
  if (s.dim % s.lanes == 0)
    return {};
  Value left = k.b.create<arith::SubIOp>(k.loc, k.index(s.dim), column);
  return k.firstLanes(left, s.lanes);
}

void AttentionTile::forEachColumnBlock(llvm::function_ref<void(Value)> body) {
  k.loop(k.index(0), k.index(s.dim), s.lanes, body);
}

void AttentionTile::transposeIn(Rows from, Value tile, double factor) {
  forEachColumnBlock([&](Value d) {
    Value mask = columnMask(d);
    SmallVector<Value> block;
    for (int64_t lane = 0; lane < s.lanes; ++lane)
      block.push_back(loadRow(from, queryRow(lane), d, mask));
    Value to = k.advance(tile, s.number, k.mulIndex(d, s.lanes));
    for (auto [i, column] : llvm::enumerate(transpose(block))) {
      if (factor != 1)
        column = k.mul(column, k.constant(vectorType(), factor));
      k.store(column, k.advance(to, s.number,
                                k.index(static_cast<int64_t>(i) * s.lanes)));
    }
  });
}

void AttentionTile::transposeOut(Value tile, Value factor, Rows to) {
  forEachColumnBlock([&](Value d) {
    Value mask = columnMask(d);
    Value from = k.advance(tile, s.number, k.mulIndex(d, s.lanes));
    SmallVector<Value> block;
    for (int64_t i = 0; i < s.lanes; ++i)
      block.push_back(
          k.mul(k.load(k.advance(from, s.number, k.index(i * s.lanes)),
                       s.number, s.lanes),
                factor));
    for (auto [lane, row] : llvm::enumerate(transpose(block))) {
      // A query behind the last writes nothing.
      Value wanted = mask;
      Value index = k.addIndex(first, k.index(static_cast<int64_t>(lane)));
      if (s.queries % s.lanes != 0) {
        wanted =
            k.splat(k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::slt,
                                              index, k.index(s.queries)),
                    s.lanes);
        if (mask)
          wanted = k.b.create<arith::AndIOp>(k.loc, wanted, mask);
      }
      k.store(k.narrow(row, to.element), at(to, index, d), wanted);
    }
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value AttentionTile::blockScratch() {
  if (!s.isNarrow())
    return {};
  return k.scratch(s.number, kKeys * llvm::alignTo(s.dim, s.lanes));
}

Rows AttentionTile::block(Rows rows, Value key, int64_t count, Value scratch) {
  if (!scratch)
    return {at(rows, key, k.index(0)), rows.row, rows.element};
  auto width = static_cast<int64_t>(llvm::alignTo(s.dim, s.lanes));
  Rows block{scratch, width, s.number};
  forEachColumnBlock([&](Value d) {
    Value mask = columnMask(d);
    for (int64_t j = 0; j < count; ++j)
      k.store(loadRow(rows, k.addIndex(key, k.index(j)), d, mask),
              at(block, k.index(j), d));
  });
  return block;
}

void AttentionTile::copyRows(Rows from, Rows to) {
  k.loop(k.index(0), k.index(s.keys), 1, [&](Value key) {
    forEachColumnBlock([&](Value d) {
      Value mask = columnMask(d);
      Value value = loadRow(from, key, d, mask);
      k.store(k.narrow(value, to.element), at(to, key, d), mask);
    });
  });
}

void AttentionTile::clearRows(Rows rows) {
  k.loop(k.index(0), k.index(s.keys), 1, [&](Value key) {
    int64_t whole = s.dim / s.lanes * s.lanes;
    Value zero = k.constant(vectorOf(rows.element, s.lanes), 0);
    if (whole > 0)
      k.loop(k.index(0), k.index(whole), s.lanes,
             [&](Value d) { k.store(zero, at(rows, key, d)); });
    if (whole < s.dim)
      k.store(zero, at(rows, key, k.index(whole)),
              k.firstLanes(s.dim - whole, s.lanes));
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionTile::products(Value tile, Rows block,
                                           int64_t count) {
  SmallVector<Value> sums(count, k.constant(vectorType(), 0));
  return k.loop(
      k.index(0), k.index(s.dim), 1, sums, [&](Value d, ValueRange carried) {
        Value x = k.load(k.advance(tile, s.number, k.mulIndex(d, s.lanes)),
                         s.number, s.lanes);
        Value column = k.advance(block.pointer, s.number, d);
        SmallVector<Value> next;
        for (int64_t j = 0; j < count; ++j) {
          Value y = k.load(k.advance(column, s.number, k.index(j * block.row)),
                           s.number, 1);
          next.push_back(k.fma(x, k.splat(y, s.lanes), carried[j]));
        }
        return next;
      });
}

void AttentionTile::accumulate(Value tile, Value decay, ArrayRef<Value> weights,
                               Rows block) {
  k.loop(k.index(0), k.index(s.dim), 1, [&](Value d) {
    Value to = k.advance(tile, s.number, k.mulIndex(d, s.lanes));
    Value sum = k.load(to, s.number, s.lanes);
    if (decay)
      sum = k.mul(sum, decay);
    Value column = k.advance(block.pointer, s.number, d);
    for (auto [j, weight] : llvm::enumerate(weights)) {
      Value y = k.load(k.advance(column, s.number,
                                 k.index(static_cast<int64_t>(j) * block.row)),
                       s.number, 1);
      sum = k.fma(weight, k.splat(y, s.lanes), sum);
    }
    k.store(sum, to);
  });
}

void AttentionTile::accumulateRows(Rows to, Value key, int64_t count,
                                   Value weights, Rows from) {
  forEachColumnBlock([&](Value d) {
    Value mask = columnMask(d);
    SmallVector<Value> addresses, sums;
    Value base = at(to, key, d);
    for (int64_t j = 0; j < count; ++j) {
      addresses.push_back(k.advance(base, s.number, k.index(j * to.row)));
      sums.push_back(k.load(addresses.back(), s.number, s.lanes, mask));
    }
    sums = k.loop(k.index(0), k.index(s.lanes), 1, sums,
                  [&](Value lane, ValueRange carried) {
                    Value row = k.addIndex(first, lane);
                    if (s.queries % s.lanes != 0)
                      row = k.minIndex(row, k.index(s.queries - 1));
                    Value x = loadRow(from, row, d, mask);
                    Value column = k.advance(weights, s.number, lane);
                    SmallVector<Value> next;
                    for (int64_t j = 0; j < count; ++j) {
                      Value w = k.load(
                          k.advance(column, s.number, k.index(j * s.lanes)),
                          s.number, 1);
                      next.push_back(k.fma(x, k.splat(w, s.lanes), carried[j]));
                    }
                    return next;
                  });
    for (auto [address, sum] : llvm::zip_equal(addresses, sums))
      k.store(sum, address, mask);
  });
}

SmallVector<Value> AttentionTile::forEachKeyBlock(
    ValueRange carried,
    llvm::function_ref<SmallVector<Value>(Value, int64_t, ValueRange)> body) {
  int64_t whole = s.keys / kKeys * kKeys;
  SmallVector<Value> state(carried);
  Value end = k.index(whole);
  if (s.causal && whole > 0) {
    // Later keys are visible to no query of the tile.
    Value limit = k.addIndex(first, k.index(s.keys - s.queries + s.lanes));
    end = k.minIndex(end, k.b.create<arith::MaxSIOp>(k.loc, limit, k.index(0)));
  }
  if (whole > 0)
    state = k.loop(
        k.index(0), end, kKeys, state,
        [&](Value key, ValueRange values) { return body(key, kKeys, values); });
  if (whole < s.keys)
    state = body(k.index(whole), s.keys - whole, state);
  return state;
}
