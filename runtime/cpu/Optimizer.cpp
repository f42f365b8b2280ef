//===- Optimizer.cpp - The optimizer step ---------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Optimizer.h"
#include "runtime/compute/Threads.h"

#include <algorithm>
#include <cmath>

namespace ff::rt {

namespace {

/// Elements of a partial sum. Fixed, so that the sum is the same for any number
/// of threads.
constexpr int64_t sumBlock = 8192;

struct BlockStats {
  double sum = 0;
  int64_t nonfinite = 0;
};

template <typename T> BlockStats blockStats(const T *values, int64_t count) {
  // Eight sums that the compiler can keep in vector registers.
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int64_t j = 0; j < 8; ++j) {
      double value = static_cast<double>(values[i + j]);
      sums[j] += value * value;
    }
  for (; i < count; ++i) {
    double value = static_cast<double>(values[i]);
    sums[0] += value * value;
  }
  BlockStats stats;
  for (double sum : sums)
    stats.sum += sum;
  if (!std::isfinite(stats.sum))
    for (i = 0; i < count; ++i)
      stats.nonfinite += !std::isfinite(values[i]);
  return stats;
}

/// Constants of one AdamW step, in the type of the math.
template <typename T> struct AdamW {
  T beta1, beta2, oneMinusBeta1, oneMinusBeta2, eps;
  T stepSize, correction, keep, scale, emaDecay, oneMinusEma;
};

template <typename T>
void adamw(const AdamW<T> &c, const T *grad, T *weight, T *expAvg, T *expAvgSq,
           int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T g = grad[i] * c.scale;
    T m = expAvg[i] * c.beta1 + g * c.oneMinusBeta1;
    T v = expAvgSq[i] * c.beta2 + g * g * c.oneMinusBeta2;
    expAvg[i] = m;
    expAvgSq[i] = v;
    weight[i] = weight[i] * c.keep -
                c.stepSize * (m / (std::sqrt(v) * c.correction + c.eps));
  }
}

template <typename T>
void updateEma(const AdamW<T> &c, const T *weight, T *ema, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    ema[i] = ema[i] * c.emaDecay + weight[i] * c.oneMinusEma;
}

} // namespace

Optimizer::Optimizer(const Metadata &metadata, const Layout &layout,
                     const Arena &arena, int shardIndex)
    : metadata(metadata), layout(layout), arena(arena), shardIndex(shardIndex),
      owned(ownedPieces(metadata, layout, shardIndex)) {}

void Optimizer::startEma() {
  for (size_t i = 0; i < metadata.groups.size(); ++i) {
    const GroupLayout &place = layout.groups[i];
    if (place.ema.bytes)
      convertElements(metadata.groups[i].masterDtype, arena.at(place.master),
                      place.stateDtype, arena.at(place.ema), place.owned);
  }
}

GradientStats Optimizer::gradientStats() const {
  GradientStats result;
  std::vector<BlockStats> blocks;
  for (size_t i = 0; i < owned.size(); ++i) {
    const OwnedPiece &piece = owned[i];
    const GroupLayout &place = layout.groups[piece.group];
    if (!metadata.groups[piece.group].trainable ||
        (place.shards == 1 && shardIndex != 0))
      continue;
    blocks.assign(static_cast<size_t>((piece.count + sumBlock - 1) / sumBlock),
                  {});
    parallelFor(static_cast<int64_t>(blocks.size()), 4,
                [&](int64_t begin, int64_t end) {
                  for (int64_t b = begin; b < end; ++b) {
                    int64_t first = piece.sliceBegin + b * sumBlock;
                    int64_t count =
                        std::min(sumBlock, piece.count - b * sumBlock);
                    blocks[static_cast<size_t>(b)] =
                        place.gradDtype == FF_F64
                            ? blockStats(at<double>(place.grad, first), count)
                            : blockStats(at<float>(place.grad, first), count);
                  }
                });
    for (const BlockStats &block : blocks) {
      result.sumOfSquares += block.sum;
      if (block.nonfinite && result.firstNonfinite < 0)
        result.firstNonfinite = static_cast<int64_t>(i);
      result.nonfinite += block.nonfinite;
    }
  }
  return result;
}

template <typename T>
void Optimizer::updatePiece(const OwnedPiece &piece, int64_t step, double lr,
                            double gradScale) {
  const OptimizerPolicy &policy = *metadata.optimizer;
  const Group &group = metadata.groups[piece.group];
  const GroupLayout &place = layout.groups[piece.group];
  double decay = group.params[piece.param].decay ? policy.weightDecay : 0.0;
  double count = static_cast<double>(step);
  double ema = metadata.train->emaDecay.value_or(0.0);
  AdamW<T> c;
  c.beta1 = static_cast<T>(policy.beta1);
  c.beta2 = static_cast<T>(policy.beta2);
  c.oneMinusBeta1 = static_cast<T>(1 - policy.beta1);
  c.oneMinusBeta2 = static_cast<T>(1 - policy.beta2);
  c.eps = static_cast<T>(policy.eps);
  c.stepSize = static_cast<T>(lr / (1 - std::pow(policy.beta1, count)));
  c.correction =
      static_cast<T>(1 / std::sqrt(1 - std::pow(policy.beta2, count)));
  c.keep = static_cast<T>(1 - lr * decay);
  c.scale = static_cast<T>(gradScale);
  c.emaDecay = static_cast<T>(ema);
  c.oneMinusEma = static_cast<T>(1 - ema);
  bool wideMaster = group.masterDtype == place.stateDtype;
  bool wideGrad = place.gradDtype == place.stateDtype;

  constexpr int64_t chunk = 2048;
  parallelFor(
      (piece.count + chunk - 1) / chunk, 4, [&](int64_t first, int64_t last) {
        T weights[chunk], grads[chunk];
        for (int64_t i = first; i < last; ++i) {
          int64_t element = piece.sliceBegin + i * chunk;
          int64_t n = std::min(chunk, piece.count - i * chunk);
          char *master = at<char>(
              place.master,
              element * static_cast<int64_t>(dtypeSize(group.masterDtype)));
          T *weight = reinterpret_cast<T *>(master);
          const T *grad = at<T>(place.grad, element);
          if (!wideMaster) {
            convertElements(group.masterDtype, master, place.stateDtype,
                            weights, n);
            weight = weights;
          }
          if (!wideGrad) {
            convertElements(place.gradDtype, at<double>(place.grad, element),
                            place.stateDtype, grads, n);
            grad = grads;
          }
          adamw(c, grad, weight, at<T>(place.expAvg, element),
                at<T>(place.expAvgSq, element), n);
          if (place.ema.bytes)
            updateEma(c, weight, at<T>(place.ema, element), n);
          if (!wideMaster)
            convertElements(place.stateDtype, weights, group.masterDtype,
                            master, n);
        }
      });
}

void Optimizer::update(int64_t step, double lr, double gradScale) {
  for (const OwnedPiece &piece : owned) {
    if (!metadata.groups[piece.group].trainable)
      continue;
    if (layout.groups[piece.group].stateDtype == FF_F64)
      updatePiece<double>(piece, step, lr, gradScale);
    else
      updatePiece<float>(piece, step, lr, gradScale);
  }
}

} // namespace ff::rt
