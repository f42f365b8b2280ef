//===- SampleOrder.cpp - Which sample comes when --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/SampleOrder.h"
#include "runtime/core/Error.h"
#include "runtime/core/Philox.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ff::rt {

int64_t shuffledIndex(uint64_t seed, int64_t epoch, int64_t index,
                      int64_t count, uint32_t list) {
  int half = 1;
  while (half < 31 && (int64_t{1} << (2 * half)) < count)
    ++half;
  uint64_t mask = (uint64_t{1} << half) - 1;
  auto key = philoxKey(seed);
  uint64_t value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> half, right = value & mask;
    for (uint32_t round = 0; round < 8; ++round) {
      PhiloxBlock words =
          philox({static_cast<uint32_t>(right), 8 * list + round,
                  static_cast<uint32_t>(epoch), 0xfffffffeu},
                 key);
      uint64_t next = left ^ (words[0] & mask);
      left = right;
      right = next;
    }
    value = (left << half) | right;
  } while (value >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(value);
}

StepPlan::StepPlan(int64_t globalBatch, int64_t microBatch, int world)
    : microBatches(globalBatch / microBatch),
      rounds((microBatches + world - 1) / world) {}

std::pair<int64_t, bool> StepPlan::microBatch(int64_t round, int rank,
                                              int world) const {
  int64_t index = round * world + rank;
  if (index < microBatches)
    return {index, true};
  return {microBatches - 1, false};
}

//===----------------------------------------------------------------------===//
// Interleave
//===----------------------------------------------------------------------===//

/// The shares as they are, by their greatest common divisor; nothing where they
/// are no whole numbers, or add up to too much.
static std::vector<int64_t> wholeShares(const std::vector<double> &shares) {
  std::vector<int64_t> whole;
  int64_t divisor = 0, sum = 0;
  for (double share : shares) {
    if (share != std::floor(share) || share > 1e15)
      return {};
    whole.push_back(static_cast<int64_t>(share));
    divisor = std::gcd(divisor, whole.back());
  }
  for (int64_t &share : whole)
    sum += share /= divisor;
  return sum <= Interleave::maxPeriod ? whole : std::vector<int64_t>();
}

/// The largest remainders are rounded up, so that the sum is maxPeriod.
static std::vector<int64_t> roundedShares(const std::vector<double> &shares) {
  double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<int64_t> counts(shares.size());
  std::vector<std::pair<double, size_t>> remainders;
  int64_t left = Interleave::maxPeriod;
  for (size_t i = 0; i < shares.size(); ++i) {
    double exact = shares[i] / sum * Interleave::maxPeriod;
    counts[i] = static_cast<int64_t>(exact);
    if (shares[i] > 0)
      counts[i] = std::max<int64_t>(counts[i], 1);
    left -= counts[i];
    remainders.push_back({-(exact - std::floor(exact)), i});
  }
  std::sort(remainders.begin(), remainders.end());
  for (size_t i = 0; left > 0; i = (i + 1) % remainders.size())
    if (shares[remainders[i].second] > 0) {
      ++counts[remainders[i].second];
      --left;
    }
  return counts;
}

Interleave::Interleave(const std::vector<double> &shares)
    : counts(wholeShares(shares)) {
  if (counts.empty())
    counts = roundedShares(shares);
  int64_t period = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  std::vector<int64_t> taken(counts.size());
  for (int64_t i = 0; i < period; ++i) {
    // The class that is furthest behind. Exact, so all machines agree.
    size_t next = 0;
    int64_t most = INT64_MIN;
    for (size_t c = 0; c < counts.size(); ++c)
      if (int64_t behind = counts[c] * (i + 1) - taken[c] * period;
          taken[c] < counts[c] && behind > most) {
        most = behind;
        next = c;
      }
    order.push_back(static_cast<uint32_t>(next));
    ordinals.push_back(taken[next]++);
  }
}

Interleave::Place Interleave::at(int64_t index) const {
  auto period = static_cast<int64_t>(order.size());
  auto place = static_cast<size_t>(index % period);
  return {order[place],
          index / period * counts[order[place]] + ordinals[place]};
}

//===----------------------------------------------------------------------===//
// SampleOrder
//===----------------------------------------------------------------------===//

SampleOrder::SampleOrder(std::vector<std::vector<int64_t>> sampleCounts,
                         const std::vector<double> &weights, uint64_t seed,
                         bool shuffle, int64_t globalBatch)
    : counts(std::move(sampleCounts)), seed(seed), shuffle(shuffle),
      globalBatch(globalBatch) {
  size_t numBuckets = counts.at(0).size();
  std::vector<std::vector<double>> shares(numBuckets);
  std::vector<double> bucketShares(numBuckets);
  for (size_t s = 0; s < counts.size(); ++s) {
    int64_t all =
        std::accumulate(counts[s].begin(), counts[s].end(), int64_t{0});
    if (all < 1)
      failInternal("source {} has no samples", s);
    total += all;
    for (size_t b = 0; b < numBuckets; ++b) {
      auto count = static_cast<double>(counts[s][b]);
      // Of one source, the counts themselves: whole numbers stay exact, see
      // Interleave.
      shares[b].push_back(counts.size() == 1 ? count
                          : count == static_cast<double>(all)
                              ? weights[s]
                              : weights[s] * count / static_cast<double>(all));
      bucketShares[b] += shares[b].back();
    }
  }
  if (numBuckets > 1)
    buckets.emplace_back(bucketShares);
  for (size_t b = 0; b < numBuckets; ++b)
    sources.emplace_back(bucketShares[b] > 0
                             ? shares[b]
                             : std::vector<double>(counts.size(), 1.0));
}

size_t SampleOrder::bucketAt(int64_t position) const {
  return buckets.empty() ? 0 : buckets[0].at(position / globalBatch).which;
}

SampleOrder::Place SampleOrder::at(int64_t position) const {
  Place place{};
  if (!buckets.empty()) {
    auto [bucket, step] = buckets[0].at(position / globalBatch);
    place.bucket = bucket;
    position = step * globalBatch + position % globalBatch;
  }
  auto [source, ordinal] = sources[place.bucket].at(position);
  place.source = source;
  int64_t count = counts[source][place.bucket];
  int64_t epoch = ordinal / count, index = ordinal % count;
  auto list = static_cast<uint32_t>(source * counts[0].size() + place.bucket);
  place.element =
      shuffle ? shuffledIndex(seed, epoch, index, count, list) : index;
  return place;
}

} // namespace ff::rt
