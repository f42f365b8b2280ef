//===- Contractions.cpp - Matmul and attention of the interpreter --*- C++
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

static HostTensor evaluateMatmul(MatmulOp op, ArrayRef<HostTensor> in) {
  HostTensor out = filledTensor(cast<RankedTensorType>(op.getType()), 0);
  int64_t rank = out.type.getRank(), m = out.type.getDimSize(rank - 2),
          n = out.type.getDimSize(rank - 1);
  ArrayRef<int64_t> lhs = in[0].type.getShape().take_back(2);
  int64_t k = op.getTransposeLhs() ? lhs[0] : lhs[1];
  bool batchedRhs = in[1].type.getRank() > 2;
  int64_t batches = m * n == 0 ? 0 : out.size() / (m * n);
  for (int64_t b = 0; b < batches; ++b) {
    const double *x = &in[0].data[b * m * k];
    const double *y = &in[1].data[batchedRhs ? b * k * n : 0];
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = op.getBias() ? in[2].data[j] : 0;
        for (int64_t l = 0; l < k; ++l)
          sum += x[op.getTransposeLhs() ? l * m + i : i * k + l] *
                 y[op.getTransposeRhs() ? j * k + l : l * n + j];
        if (auto kind = op.getActivation())
          sum = activate(*kind, sum);
        out.data[(b * m + i) * n + j] = sum;
      }
  }
  return out;
}

namespace {
/// Sizes and strides of an attention; row (b, s, h) of a [B, S, H, D] tensor.
struct Heads {
  int64_t batch, queries, keys, heads, dim;
  double scale;
  bool causal;
  const HostTensor *mask;

  Heads(const HostTensor &q, const HostTensor &k, double scale, bool causal,
        const HostTensor *mask)
      : batch(q.type.getDimSize(0)), queries(q.type.getDimSize(1)),
        keys(k.type.getDimSize(1)), heads(q.type.getDimSize(2)),
        dim(q.type.getDimSize(3)), scale(scale), causal(causal), mask(mask) {}

  int64_t query(int64_t b, int64_t s, int64_t h) const {
    return ((b * queries + s) * heads + h) * dim;
  }
  int64_t key(int64_t b, int64_t s, int64_t h) const {
    return ((b * keys + s) * heads + h) * dim;
  }
  int64_t visible(int64_t i) const {
    return causal ? std::max<int64_t>(0, std::min(keys, i + keys - queries + 1))
                  : keys;
  }
  bool counts(int64_t b, int64_t j) const {
    return !mask || mask->data[b * keys + j] != 0;
  }
  double dot(const double *a, const double *b) const {
    double sum = 0;
    for (int64_t d = 0; d < dim; ++d)
      sum += a[d] * b[d];
    return sum;
  }

  template <typename F> void forEachQuery(F visit) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < queries; ++i)
          visit(b, h, i);
  }
};
} // namespace

static HostTensors evaluateAttention(AttentionOp op, ArrayRef<HostTensor> in) {
  HostTensor out =
      filledTensor(cast<RankedTensorType>(op.getResult().getType()), 0);
  HostTensor lse =
      filledTensor(cast<RankedTensorType>(op.getLse().getType()), 0);
  Heads s(in[0], in[1], op.getScale().convertToDouble(), op.getCausal(),
          op.getMask() ? &in[3] : nullptr);
  s.forEachQuery([&](int64_t b, int64_t h, int64_t i) {
    const double *q = &in[0].data[s.query(b, i, h)];
    std::vector<double> p(s.visible(i));
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (size_t j = 0; j < p.size(); ++j) {
      p[j] = s.counts(b, j) ? s.scale * s.dot(q, &in[1].data[s.key(b, j, h)])
                            : -std::numeric_limits<double>::infinity();
      max = std::max(max, p[j]);
    }
    // A query that sees no key gets 0.
    if (max == -std::numeric_limits<double>::infinity()) {
      lse.data[(b * s.heads + h) * s.queries + i] = max;
      return;
    }
    for (double &value : p)
      sum += value = std::exp(value - max);
    double *o = &out.data[s.query(b, i, h)];
    for (size_t j = 0; j < p.size(); ++j)
      for (int64_t d = 0; d < s.dim; ++d)
        o[d] += p[j] / sum * in[2].data[s.key(b, j, h) + d];
    lse.data[(b * s.heads + h) * s.queries + i] = max + std::log(sum);
  });
  return {std::move(out), std::move(lse)};
}

static HostTensors evaluateAttentionBackward(AttentionBackwardOp op,
                                             ArrayRef<HostTensor> in) {
  HostTensors out;
  for (Value result : op.getResults())
    out.push_back(filledTensor(cast<RankedTensorType>(result.getType()), 0));
  Heads s(in[0], in[1], op.getScale().convertToDouble(), op.getCausal(),
          op.getMask() ? &in[6] : nullptr);
  s.forEachQuery([&](int64_t b, int64_t h, int64_t i) {
    int64_t qi = s.query(b, i, h);
    double delta = s.dot(&in[3].data[qi], &in[5].data[qi]);
    double lse = in[4].data[(b * s.heads + h) * s.queries + i];
    for (int64_t j = 0; j < s.visible(i); ++j) {
      if (!s.counts(b, j))
        continue;
      int64_t kj = s.key(b, j, h);
      double p =
          std::exp(s.scale * s.dot(&in[0].data[qi], &in[1].data[kj]) - lse);
      double dp = s.dot(&in[5].data[qi], &in[2].data[kj]);
      double ds = s.scale * p * (dp - delta);
      for (int64_t d = 0; d < s.dim; ++d) {
        out[0].data[qi + d] += ds * in[1].data[kj + d];
        out[1].data[kj + d] += ds * in[0].data[qi + d];
        out[2].data[kj + d] += p * in[5].data[qi + d];
      }
    }
  });
  return out;
}

std::optional<HostTensors> ff::evaluateContraction(Operation *op,
                                                   ArrayRef<HostTensor> in) {
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return HostTensors{evaluateMatmul(matmul, in)};
  if (auto attention = dyn_cast<AttentionOp>(op))
    return evaluateAttention(attention, in);
  if (auto attention = dyn_cast<AttentionBackwardOp>(op))
    return evaluateAttentionBackward(attention, in);
  return std::nullopt;
}
