//===- Structural.cpp - Views, reductions and norms of the interpreter --*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/reference/Rules.h"
#include "dialect/View.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace ff;

/// Calls `visit(i, index)` for each element i of `shape`, in row-major order.
template <typename F>
static void forEachElement(ArrayRef<int64_t> shape, F visit) {
  int64_t numel = 1;
  for (int64_t size : shape)
    numel *= size;
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < numel; ++i) {
    visit(i, ArrayRef<int64_t>(index));
    for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0; --d) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

static int64_t dot(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t sum = 0;
  for (auto [i, stride] : llvm::zip_equal(index, strides))
    sum += i * stride;
  return sum;
}

HostTensor ff::gatherView(const HostTensor &in, RankedTensorType type,
                          ArrayRef<int64_t> strides, int64_t offset) {
  HostTensor out = filledTensor(type, 0);
  forEachElement(type.getShape(), [&](int64_t i, ArrayRef<int64_t> index) {
    out.data[i] = in.data[offset + dot(index, strides)];
  });
  return out;
}

//===----------------------------------------------------------------------===//
// Views and data movement
//===----------------------------------------------------------------------===//

static HostTensor evaluateView(Operation *op, const HostTensor &in) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> from = rowMajorStrides(in.type.getShape());
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    SmallVector<int64_t> strides(type.getRank(), 0);
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      strides[dim] = from[i];
    return gatherView(in, type, strides);
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<int64_t> strides;
    for (int64_t p : transpose.getPermutation())
      strides.push_back(from[p]);
    return gatherView(in, type, strides);
  }
  if (auto slice = dyn_cast<SliceOp>(op))
    return gatherView(in, type, from,
                      static_cast<int64_t>(slice.getStart()) *
                          from[slice.getDim()]);
  return {type, in.data}; // a reshape
}

static HostTensor evaluateConcat(ConcatOp op, ArrayRef<HostTensor> in) {
  HostTensor out = filledTensor(cast<RankedTensorType>(op.getType()), 0);
  SmallVector<int64_t> to = rowMajorStrides(out.type.getShape());
  int64_t start = 0, dim = op.getDim();
  for (const HostTensor &piece : in) {
    forEachElement(piece.type.getShape(),
                   [&](int64_t i, ArrayRef<int64_t> index) {
                     out.data[start * to[dim] + dot(index, to)] = piece.data[i];
                   });
    start += piece.type.getDimSize(dim);
  }
  return out;
}

static HostTensor evaluateEmbedding(EmbeddingOp op, ArrayRef<HostTensor> in) {
  HostTensor out = filledTensor(cast<RankedTensorType>(op.getType()), 0);
  int64_t width = in[0].type.getDimSize(1);
  for (int64_t i = 0; i < out.size(); ++i)
    out.data[i] =
        in[0].data[static_cast<int64_t>(in[1].data[i / width]) * width +
                   i % width];
  return out;
}

static HostTensor evaluateEmbeddingBackward(EmbeddingBackwardOp op,
                                            ArrayRef<HostTensor> in) {
  HostTensor out = filledTensor(cast<RankedTensorType>(op.getType()), 0);
  int64_t width = out.type.getDimSize(1);
  for (int64_t i = 0; i < in[0].size(); ++i)
    out.data[static_cast<int64_t>(in[1].data[i / width]) * width + i % width] +=
        in[0].data[i];
  return out;
}

//===----------------------------------------------------------------------===//
// Reductions and norms
//===----------------------------------------------------------------------===//

static HostTensor evaluateReduce(ReduceOp op, const HostTensor &in) {
  bool isMax = op.getKind() == ReduceKind::Max;
  auto type = cast<RankedTensorType>(op.getType());
  HostTensor out = filledTensor(
      type, isMax ? -std::numeric_limits<double>::infinity() : 0.0);
  SmallVector<int64_t> kept = rowMajorStrides(type.getShape());
  SmallVector<int64_t> strides;
  size_t next = 0;
  for (int64_t d = 0; d < in.type.getRank(); ++d)
    strides.push_back(llvm::is_contained(op.getDims(), d) ? 0 : kept[next++]);
  forEachElement(in.type.getShape(), [&](int64_t i, ArrayRef<int64_t> index) {
    double &sum = out.data[dot(index, strides)];
    sum = isMax ? std::max(sum, in.data[i]) : sum + in.data[i];
  });
  return out;
}

namespace {
/// One row of a norm or a softmax, and of the gradient where there is one.
struct Row {
  const double *x;
  const double *g;
  double *out;
  int64_t n;

  template <typename F> double mean(F element) const {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += element(i);
    return sum / static_cast<double>(n);
  }
};
} // namespace

template <typename F>
static HostTensor mapRows(ArrayRef<HostTensor> in, F visit) {
  HostTensor out = filledTensor(in[0].type, 0);
  int64_t n = in[0].type.getShape().back();
  for (int64_t i = 0; i < out.size(); i += n)
    visit(Row{&in[0].data[i], in.size() > 1 ? &in[1].data[i] : nullptr,
              &out.data[i], n});
  return out;
}

/// The normalised row is r (x - mean); for an RMS norm the mean is not taken.
static void normRow(const Row &row, double eps, bool center) {
  double mean = center ? row.mean([&](int64_t i) { return row.x[i]; }) : 0;
  double var = row.mean(
      [&](int64_t i) { return (row.x[i] - mean) * (row.x[i] - mean); });
  double r = 1 / std::sqrt(var + eps);
  auto n = [&](int64_t i) { return (row.x[i] - mean) * r; };
  if (!row.g) {
    for (int64_t i = 0; i < row.n; ++i)
      row.out[i] = n(i);
    return;
  }
  double g = center ? row.mean([&](int64_t i) { return row.g[i]; }) : 0;
  double gn = row.mean([&](int64_t i) { return row.g[i] * n(i); });
  for (int64_t i = 0; i < row.n; ++i)
    row.out[i] = r * (row.g[i] - g - n(i) * gn);
}

static void softmaxRow(const Row &row) {
  double max = *std::max_element(row.x, row.x + row.n), sum = 0;
  for (int64_t i = 0; i < row.n; ++i)
    sum += row.out[i] = std::exp(row.x[i] - max);
  for (int64_t i = 0; i < row.n; ++i)
    row.out[i] /= sum;
}

static void softmaxBackwardRow(const Row &row) {
  double sum = 0;
  for (int64_t i = 0; i < row.n; ++i)
    sum += row.g[i] * row.x[i];
  for (int64_t i = 0; i < row.n; ++i)
    row.out[i] = row.x[i] * (row.g[i] - sum);
}

static std::optional<HostTensor> evaluateRows(Operation *op,
                                              ArrayRef<HostTensor> in) {
  auto norm = [&](const APFloat &eps, bool center) {
    double value = eps.convertToDouble();
    return mapRows(in, [&](const Row &row) { normRow(row, value, center); });
  };
  if (auto layer = dyn_cast<LayerNormOp>(op))
    return norm(layer.getEps(), true);
  if (auto layer = dyn_cast<LayerNormBackwardOp>(op))
    return norm(layer.getEps(), true);
  if (auto rms = dyn_cast<RmsNormOp>(op))
    return norm(rms.getEps(), false);
  if (auto rms = dyn_cast<RmsNormBackwardOp>(op))
    return norm(rms.getEps(), false);
  if (isa<SoftmaxOp>(op))
    return mapRows(in, softmaxRow);
  if (isa<SoftmaxBackwardOp>(op))
    return mapRows(in, softmaxBackwardRow);
  return std::nullopt;
}

static HostTensor evaluateIota(IotaOp op) {
  HostTensor out = filledTensor(cast<RankedTensorType>(op.getType()), 0);
  int64_t dim = op.getDim();
  forEachElement(out.type.getShape(), [&](int64_t i, ArrayRef<int64_t> index) {
    out.data[i] = static_cast<double>(index[dim]);
  });
  return out;
}

std::optional<HostTensors> ff::evaluateStructural(Operation *op,
                                                  ArrayRef<HostTensor> in) {
  if (isViewOp(op))
    return HostTensors{evaluateView(op, in[0])};
  if (auto concat = dyn_cast<ConcatOp>(op))
    return HostTensors{evaluateConcat(concat, in)};
  if (auto embedding = dyn_cast<EmbeddingOp>(op))
    return HostTensors{evaluateEmbedding(embedding, in)};
  if (auto embedding = dyn_cast<EmbeddingBackwardOp>(op))
    return HostTensors{evaluateEmbeddingBackward(embedding, in)};
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return HostTensors{evaluateReduce(reduce, in[0])};
  if (auto iota = dyn_cast<IotaOp>(op))
    return HostTensors{evaluateIota(iota)};
  if (auto out = evaluateRows(op, in))
    return HostTensors{std::move(*out)};
  return std::nullopt;
}
