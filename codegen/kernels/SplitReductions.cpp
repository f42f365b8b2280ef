//===- SplitReductions.cpp - Reductions that kernels can do -----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ff;

namespace {
/// A reduction being rewritten. `value` is reduced step by step.
struct Step {
  OpBuilder &builder;
  Location loc;
  ReduceKind kind;
  Value value;

  ArrayRef<int64_t> shape() { return tensorType(value).getShape(); }

  void reshape(ArrayRef<int64_t> shape) {
    auto type =
        RankedTensorType::get(shape, tensorType(value).getElementType());
    if (type != value.getType())
      value = builder.create<ReshapeOp>(loc, type, value);
  }

  void reduce(ArrayRef<int64_t> dims) {
    SmallVector<int64_t> kept;
    for (auto [d, size] : llvm::enumerate(shape()))
      if (!llvm::is_contained(dims, static_cast<int64_t>(d)))
        kept.push_back(size);
    auto type = RankedTensorType::get(kept, tensorType(value).getElementType());
    value = builder.create<ReduceOp>(loc, type, kind, value, dims);
  }
};
} // namespace

/// Reductions of fewer elements are not worth a second kernel.
static constexpr int64_t kFewElements = 16384;
/// Columns that one iteration of a column kernel takes on.
static constexpr int64_t kColumnBlock = 64;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// The largest divisor of `n` that is at most `limit`.
static int64_t divisorUpTo(int64_t n, int64_t limit) {
  for (int64_t d = std::min(n, limit); d > 1; --d)
    if (n % d == 0)
      return d;
  return 1;
}

/// Sums over the last `m` dims, in chunks where few rows would do all the work.
static void reduceTrailing(Step &step, int64_t m, const Splits &splits) {
  SmallVector<int64_t> shape(step.shape());
  int64_t rank = static_cast<int64_t>(shape.size());
  int64_t rows = product(ArrayRef(shape).drop_back(m));
  int64_t length = product(ArrayRef(shape).take_back(m));
  if (rows < splits.enoughPieces && length >= kFewElements) {
    int64_t chunks = divisorUpTo(length, splits.rowChunks);
    if (chunks > 1) {
      shape.resize(rank - m);
      shape.append({chunks, length / chunks});
      step.reshape(shape);
      rank = static_cast<int64_t>(shape.size());
      step.reduce({rank - 1});
      step.reduce({rank - 2});
      return;
    }
  }
  step.reduce(llvm::to_vector(llvm::seq<int64_t>(rank - m, rank)));
}

/// Sums over `dims`, which leave the last dim, in chunks of the first where few
/// blocks of columns would do all the work.
static void reduceLeading(Step &step, ArrayRef<int64_t> dims,
                          const Splits &splits) {
  SmallVector<int64_t> shape(step.shape());
  int64_t last = shape.back(), reduced = 1;
  for (int64_t dim : dims)
    reduced *= shape[dim];
  int64_t columns = product(shape) / reduced;
  int64_t pieces = columns / last * llvm::divideCeil(last, kColumnBlock);
  int64_t first = dims.front();
  int64_t chunks = divisorUpTo(shape[first], splits.columnChunks);
  if (pieces >= splits.enoughPieces || columns * reduced < kFewElements ||
      chunks == 1 || reduced / chunks < splits.leastPerChunk) {
    step.reduce(dims);
    return;
  }
  if (chunks == shape[first]) {
    step.reduce(dims.drop_front());
    step.reduce({first});
    return;
  }
  shape[first] /= chunks;
  shape.insert(shape.begin() + first, chunks);
  step.reshape(shape);
  SmallVector<int64_t> inner;
  for (int64_t dim : dims)
    inner.push_back(dim + 1);
  step.reduce(inner);
  step.reduce({first});
}

static void splitReduction(ReduceOp op, const Splits &splits) {
  OpBuilder builder(op);
  Step step{builder, op.getLoc(), op.getKind(), op.getInput()};
  // Dims of size 1 do not matter: without them the dims are in a normal form.
  SmallVector<int64_t> shape, dims;
  for (auto [d, size] : llvm::enumerate(step.shape())) {
    if (size == 1)
      continue;
    if (llvm::is_contained(op.getDims(), static_cast<int64_t>(d)))
      dims.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(size);
  }
  ArrayRef<int64_t> result = tensorType(op.getResult()).getShape();
  int64_t rank = static_cast<int64_t>(shape.size());
  // How many of the last dims are reduced.
  int64_t m = 0;
  while (m < static_cast<int64_t>(dims.size()) &&
         dims[dims.size() - 1 - m] == rank - 1 - m)
    ++m;
  bool rowsOnly = m > 0 && m == static_cast<int64_t>(dims.size());
  // Rows in their own shape fuse with what is broadcast back to it.
  bool literal =
      rowsOnly &&
      llvm::equal(op.getDims(),
                  llvm::seq<int64_t>(step.shape().size() - op.getDims().size(),
                                     step.shape().size()));
  if (literal)
    m = static_cast<int64_t>(op.getDims().size());
  else
    step.reshape(shape);
  if (m > 0)
    reduceTrailing(step, m, splits);
  if (!rowsOnly && !dims.empty()) {
    dims.resize(dims.size() - (literal ? dims.size() : m));
    if (!dims.empty())
      reduceLeading(step, dims, splits);
  }
  step.reshape(result);
  op.getResult().replaceAllUsesWith(step.value);
  op.erase();
}

void ff::splitReductions(Block &block, const Splits &splits) {
  for (ReduceOp op : llvm::make_early_inc_range(block.getOps<ReduceOp>()))
    splitReduction(op, splits);
}

//===----------------------------------------------------------------------===//
// Sums of padded values
//===----------------------------------------------------------------------===//

static bool isZero(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto elements =
      constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
  return elements && isa<FloatType>(elements.getElementType()) &&
         elements.getSplatValue<APFloat>().isZero();
}

namespace {
/// A range of the concatenated dim that one piece fills, from `start` in it.
struct Segment {
  int64_t begin, end;
  Value piece;
  int64_t start;
};
} // namespace

/// The piece of `concat` that covers all of [begin, end), or null.
static Segment pieceAt(ConcatOp concat, int64_t begin, int64_t end) {
  int64_t at = 0, dim = concat.getDim();
  for (Value piece : concat.getInputs()) {
    int64_t size = tensorType(piece).getDimSize(dim);
    if (begin >= at && end <= at + size)
      return {begin, end, piece, begin - at};
    at += size;
  }
  return {begin, end, Value(), 0};
}

/// Begins and ends of the pieces of both, in order.
static SmallVector<int64_t> commonBounds(ConcatOp a, ConcatOp b) {
  SmallVector<int64_t> bounds{0};
  for (ConcatOp concat : {a, b}) {
    int64_t at = 0;
    for (Value piece : concat.getInputs())
      bounds.push_back(at += tensorType(piece).getDimSize(concat.getDim()));
  }
  llvm::sort(bounds);
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

static void mergePaddedSum(arith::AddFOp add) {
  auto a = add.getLhs().getDefiningOp<ConcatOp>();
  auto b = add.getRhs().getDefiningOp<ConcatOp>();
  if (!a || !b || a.getDim() != b.getDim() || !a->hasOneUse() ||
      !b->hasOneUse())
    return;
  SmallVector<Segment> segments;
  SmallVector<int64_t> bounds = commonBounds(a, b);
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    Segment x = pieceAt(a, bounds[i], bounds[i + 1]);
    Segment y = pieceAt(b, bounds[i], bounds[i + 1]);
    if (!isZero(x.piece) && !isZero(y.piece))
      return;
    segments.push_back(isZero(x.piece) ? y : x);
  }
  OpBuilder builder(add);
  int64_t dim = a.getDim();
  SmallVector<Value> pieces;
  for (Segment &segment : segments) {
    Value piece = segment.piece;
    SmallVector<int64_t> shape(tensorType(piece).getShape());
    shape[dim] = segment.end - segment.begin;
    auto type =
        RankedTensorType::get(shape, tensorType(piece).getElementType());
    if (isZero(piece))
      piece = createSplat(builder, add.getLoc(), type, 0);
    else if (type != piece.getType())
      piece = builder.create<SliceOp>(add.getLoc(), type, piece, dim,
                                      segment.start);
    pieces.push_back(piece);
  }
  Value merged =
      builder.create<ConcatOp>(add.getLoc(), add.getType(), pieces, dim);
  add.replaceAllUsesWith(merged);
  add.erase();
  a.erase();
  b.erase();
}

void ff::mergePaddedSums(Block &block) {
  SmallVector<arith::AddFOp> adds(block.getOps<arith::AddFOp>());
  for (arith::AddFOp add : adds)
    mergePaddedSum(add);
}
