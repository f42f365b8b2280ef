//===- Attention.cpp - Attention kernels ------------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/Attention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace ff;

/// Below every score, but still a number: the difference of two is 0.
static constexpr double kLowest = -1e30;

static Value logOf(KernelBuilder &k, Value x) {
  auto op = k.b.create<math::LogOp>(k.loc, x);
  Value expanded = expandMath(k, op, x);
  if (!expanded)
    return op;
  op.erase();
  return expanded;
}

/// The largest of `x` and `y`, neither being NaN: one instruction.
static Value larger(KernelBuilder &k, Value x, Value y) {
  Value less =
      k.b.create<arith::CmpFOp>(k.loc, arith::CmpFPredicate::OLT, x, y);
  return k.select(less, y, x);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// One tile of queries against all keys: online softmax. The carried values are
/// the largest score so far and the sum of exponentials relative to it.
static void emitForwardTile(KernelBuilder &k, const AttentionShape &s,
                            AttentionTile &tile, Value batch, Value head) {
  Rows keys = tile.operandRows(1, batch, head);
  Rows values = tile.operandRows(2, batch, head);
  Value queries = tile.tileScratch(), output = tile.tileScratch();
  Value scratch = tile.blockScratch();
  tile.transposeIn(tile.operandRows(0, batch, head), queries, s.scale);
  tile.clear(output);
  Type type = tile.vectorType();
  SmallVector<Value> state{k.constant(type, kLowest), k.constant(type, 0)};
  state = tile.forEachKeyBlock(state, [&](Value key, int64_t count,
                                          ValueRange carried) {
    SmallVector<Value> scores =
        tile.products(queries, tile.block(keys, key, count, scratch), count);
    Value max = carried[0];
    for (auto [j, score] : llvm::enumerate(scores)) {
      if (Value mask = tile.visible(key, static_cast<int64_t>(j)))
        score = k.select(
            mask, score,
            k.constant(type, -std::numeric_limits<double>::infinity()));
      max = larger(k, max, score);
    }
    Value decay = k.exp(k.sub(carried[0], max));
    Value sum = k.mul(carried[1], decay);
    for (Value &score : scores) {
      score = k.exp(k.sub(score, max));
      sum = k.add(sum, score);
    }
    tile.accumulate(output, decay, scores,
                    tile.block(values, key, count, scratch));
    return SmallVector<Value>{max, sum};
  });
  Value sum = state[1];
  // A query that sees no key gets 0.
  Value some = k.b.create<arith::CmpFOp>(k.loc, arith::CmpFPredicate::OGT, sum,
                                         k.constant(type, 0));
  Value factor =
      k.select(some, k.div(k.constant(type, 1), sum), k.constant(type, 0));
  tile.transposeOut(output, factor, tile.resultRows(0, batch, head));
  Value lse = tile.statistics(static_cast<int64_t>(s.views.size()) + 1, nullptr,
                              batch, head);
  k.store(k.add(state[0], logOf(k, sum)), k.advance(lse, s.number, tile.first),
          tile.valid());
}

void ff::emitAttention(KernelBuilder &k, const AttentionShape &s) {
  k.loop(k.begin, k.end, 1, [&](Value iteration) {
    SmallVector<Value> index =
        k.delinearize(iteration, {s.batch, s.heads, s.tiles()});
    AttentionTile tile(k, s);
    tile.first = k.mulIndex(index[2], s.lanes);
    tile.batch = index[0];
    emitForwardTile(k, s, tile, index[0], index[1]);
  });
  k.finish();
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

namespace {
/// Operands of ff.attention_backward.
enum Operand { Query, Key, Value_, Output, Lse, Grad };

/// What a tile of queries needs.
struct BackwardTile {
  Rows query, key, value, grad, queryGrad;
  Rows keySums, valueSums;    ///< grow tile by tile
  Value queries, grads, sums; ///< transposed tiles: q, do, dq
  Value weights, slopes;      ///< [keys][lanes]: p and ds
  Value keyBlock, valueBlock; ///< scratch of AttentionTile::block
  Value lse, delta;
};
} // namespace

/// delta = Σ_d do[d] · o[d]; the tile of dq serves as scratch before it is
/// used.
static Value emitDelta(KernelBuilder &k, const AttentionShape &s,
                       AttentionTile &tile, BackwardTile &t, Rows output) {
  tile.transposeIn(output, t.sums, 1);
  SmallVector<Value> zero{k.constant(tile.vectorType(), 0)};
  return k.loop(
      k.index(0), k.index(s.dim * s.lanes), s.lanes, zero,
      [&](Value i, ValueRange carried) {
        Value x = k.load(k.advance(t.sums, s.number, i), s.number, s.lanes);
        Value y = k.load(k.advance(t.grads, s.number, i), s.number, s.lanes);
        return SmallVector<Value>{k.fma(x, y, carried[0])};
      })[0];
}

/// Probabilities and their slopes for `count` keys, and all that they add to.
static void emitBackwardBlock(KernelBuilder &k, const AttentionShape &s,
                              AttentionTile &tile, BackwardTile &t, Value key,
                              int64_t count) {
  Rows keys = tile.block(t.key, key, count, t.keyBlock);
  Rows values = tile.block(t.value, key, count, t.valueBlock);
  SmallVector<Value> scores = tile.products(t.queries, keys, count);
  SmallVector<Value> probabilities;
  Value valid = tile.valid();
  for (int64_t j = 0; j < count; ++j) {
    Value p = k.exp(k.sub(scores[j], t.lse));
    Value zero = k.constant(tile.vectorType(), 0);
    if (Value mask = tile.visible(key, j))
      p = k.select(mask, p, zero);
    if (valid)
      p = k.select(valid, p, zero);
    probabilities.push_back(p);
    k.store(p, k.advance(t.weights, s.number, k.index(j * s.lanes)));
  }
  SmallVector<Value> slopes = tile.products(t.grads, values, count);
  Value scale = k.constant(tile.vectorType(), s.scale);
  for (int64_t j = 0; j < count; ++j) {
    Value ds = k.mul(probabilities[j], k.sub(slopes[j], t.delta));
    slopes[j] = k.mul(ds, scale);
    k.store(slopes[j], k.advance(t.slopes, s.number, k.index(j * s.lanes)));
  }
  tile.accumulate(t.sums, Value(), slopes, keys);
  tile.accumulateRows(t.valueSums, key, count, t.weights, t.grad);
  tile.accumulateRows(t.keySums, key, count, t.slopes, t.query);
}

static void emitBackwardTile(KernelBuilder &k, const AttentionShape &s,
                             AttentionTile &tile, BackwardTile &t, Rows output,
                             Value lse) {
  tile.transposeIn(t.query, t.queries, s.scale);
  tile.transposeIn(t.grad, t.grads, 1);
  t.delta = emitDelta(k, s, tile, t, output);
  tile.clear(t.sums);
  t.lse = k.load(k.advance(lse, s.number, tile.first), s.number, s.lanes,
                 tile.valid());
  tile.forEachKeyBlock(ValueRange(), [&](Value key, int64_t count, ValueRange) {
    emitBackwardBlock(k, s, tile, t, key, count);
    return SmallVector<Value>();
  });
  tile.transposeOut(t.sums, k.constant(tile.vectorType(), 1), t.queryGrad);
}

/// One batch and head is one iteration: no two write the same gradients, and
/// each adds in the order of the tiles.
void ff::emitAttentionBackward(KernelBuilder &k, const AttentionShape &s) {
  k.loop(k.begin, k.end, 1, [&](Value iteration) {
    SmallVector<Value> index = k.delinearize(iteration, {s.batch, s.heads});
    Value batch = index[0], head = index[1];
    AttentionTile tile(k, s);
    tile.batch = batch;
    BackwardTile t;
    t.query = tile.operandRows(Query, batch, head);
    t.key = tile.operandRows(Key, batch, head);
    t.value = tile.operandRows(Value_, batch, head);
    t.grad = tile.operandRows(Grad, batch, head);
    t.queryGrad = tile.resultRows(0, batch, head);
    t.keySums = tile.sumRows(1, batch, head);
    t.valueSums = tile.sumRows(2, batch, head);
    t.queries = tile.tileScratch();
    t.grads = tile.tileScratch();
    t.sums = tile.tileScratch();
    t.weights = k.scratch(s.number, AttentionTile::kKeys * s.lanes);
    t.slopes = k.scratch(s.number, AttentionTile::kKeys * s.lanes);
    t.keyBlock = tile.blockScratch();
    t.valueBlock = tile.blockScratch();
    Rows output = tile.operandRows(Output, batch, head);
    Value lse = tile.statistics(Lse, &s.views[Lse], batch, head);
    tile.clearRows(t.keySums);
    tile.clearRows(t.valueSums);
    k.loop(k.index(0), k.index(s.queries), s.lanes, [&](Value first) {
      tile.first = first;
      emitBackwardTile(k, s, tile, t, output, lse);
    });
    if (s.isNarrow()) {
      tile.copyRows(t.keySums, tile.resultRows(1, batch, head));
      tile.copyRows(t.valueSums, tile.resultRows(2, batch, head));
    }
  });
  k.finish();
}
