//===- SampleOrder.h - Which sample comes when ----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run reads one endless stream of samples. Step s takes the positions
// [s * global_batch, (s + 1) * global_batch), and the sample at a position is a
// function of nothing but the seed and the position, whatever the number of
// ranks. With one source and one shape, position p is element p % n of epoch
// p / n of a data set of n samples.
//
// With `shuffle`, epoch e is the permutation that a balanced Feistel network
// defines; nothing is stored, and any position costs the same. With the least
// even b such that 2^b >= n (and b >= 2) and h = b / 2:
//
//   (l, r) = (i >> h, i mod 2^h)
//   for round in 0..7:
//     (l, r) = (r, l xor (philox(counter, key)[0] mod 2^h))
//       with counter = (r, 8 * list + round, low 32 bits of e, 0xfffffffe),
//            key = (low, high 32 bits of the seed)
//   i' = l * 2^h + r
//
// and the sample of i is the first of i', i'', ... that is below n.
//
// Several sources, of which each is drawn from as often as its weight says, and
// several shapes (buckets; a step has samples of one) make a list of samples
// for each source and bucket, each of which is read like a data set of its own.
// With n(s, b) samples, N(s) of a source in all, and weights w(s):
//
//   steps of bucket b             ~ sum over s of w(s) n(s, b) / N(s)
//   positions of s within b's     ~ w(s) n(s, b) / N(s)
//
// Both are dealt by an Interleave: up to any place of the stream, each has its
// share of the places to within two.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_SAMPLEORDER_H
#define FF_RUNTIME_TRAIN_SAMPLEORDER_H

#include "runtime/core/Metadata.h"

namespace ff::rt {

/// The sample at element `index` of a shuffled epoch of `count` samples.
int64_t shuffledIndex(uint64_t seed, int64_t epoch, int64_t index,
                      int64_t count, uint32_t list = 0);

/// Which micro-batches a step has, and which of them rank computes. metadata.md
/// "Global batch" is the rule.
struct StepPlan {
  int64_t microBatches; ///< in a step, over all ranks
  int64_t rounds;       ///< that each rank runs

  StepPlan(int64_t globalBatch, int64_t microBatch, int world);

  /// The micro-batch of `rank` in `round`, and whether it counts. A rank that
  /// has none repeats the last one of the step: its gradient is multiplied by
  /// zero, which only works on data that gives finite numbers.
  std::pair<int64_t, bool> microBatch(int64_t round, int rank, int world) const;
};

/// Deals an endless row of places to classes, by which is furthest behind.
/// Repeats after a period, in which a class has as many places as its share:
/// exactly so where shares are whole numbers that add up, without their common
/// divisor, to at most maxPeriod; else rounded to 1/maxPeriod, and at least
/// that.
class Interleave {
public:
  static constexpr int64_t maxPeriod = 65536;

  /// Shares are 0 or positive, and one is positive.
  explicit Interleave(const std::vector<double> &shares);

  struct Place {
    size_t which;    ///< class
    int64_t ordinal; ///< how many places before this one are of the class
  };
  Place at(int64_t index) const;

private:
  std::vector<uint32_t> order;   ///< class of each place of a period
  std::vector<int64_t> ordinals; ///< among those of its class in the period
  std::vector<int64_t> counts;   ///< places of each class in a period
};

class SampleOrder {
public:
  /// counts[s][b]: samples of source s in bucket b; weights: of each source.
  SampleOrder(std::vector<std::vector<int64_t>> counts,
              const std::vector<double> &weights, uint64_t seed, bool shuffle,
              int64_t globalBatch);

  struct Place {
    size_t source, bucket;
    int64_t element; ///< of the list of samples of both
  };
  /// The sample at a position of the stream.
  Place at(int64_t position) const;

  /// The bucket of the step that begins at a position.
  size_t bucketAt(int64_t position) const;

  /// Samples of all lists.
  int64_t size() const { return total; }

private:
  std::vector<std::vector<int64_t>> counts;
  uint64_t seed;
  bool shuffle;
  int64_t globalBatch;
  int64_t total = 0;
  std::vector<Interleave> buckets; ///< one, or none where there is one bucket
  std::vector<Interleave> sources; ///< of each bucket
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_SAMPLEORDER_H
