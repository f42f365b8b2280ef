//===- Data.h - The samples of a run --------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run reads one endless stream of samples: epoch 0, epoch 1, and so on,
// without a seam. Position p of the stream is element p % n of epoch p / n of a
// data set of n samples. Step s takes the positions [s * global_batch,
// (s + 1) * global_batch), so a position, and the sample behind it, is a
// function of nothing but the seed and the step.
//
// With `shuffle`, epoch e is the permutation that a balanced Feistel network
// defines; nothing is stored, and any position costs the same. With the least
// even b such that 2^b >= n (and b >= 2) and h = b / 2:
//
//   (l, r) = (i >> h, i mod 2^h)
//   for round in 0..7:
//     (l, r) = (r, l xor (philox(counter, key)[0] mod 2^h))
//       with counter = (r, round, low 32 bits of e, 0xfffffffe),
//            key = (low, high 32 bits of the seed)
//   i' = l * 2^h + r
//
// and the sample of i is the first of i', i'', ... that is below n.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_DATA_H
#define FF_RUNTIME_TRAIN_DATA_H

#include "runtime/core/Layout.h"
#include "runtime/train/Safetensors.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace ff::rt {

/// The sample at element `index` of a shuffled epoch of `count` samples.
int64_t shuffledIndex(uint64_t seed, int64_t epoch, int64_t index,
                      int64_t count);

/// Which micro-batches a step has, and which of them rank computes. metadata.md
/// "Global batch" is the rule.
struct StepPlan {
  int64_t microBatches; ///< in a step, over all ranks
  int64_t rounds;       ///< that each rank runs

  StepPlan(const TrainPolicy &train, int world);

  /// The micro-batch of `rank` in `round`, and whether it counts. A rank that
  /// has none repeats the last one of the step: its gradient is multiplied by
  /// zero, which only works on data that gives finite numbers.
  std::pair<int64_t, bool> microBatch(int64_t round, int rank, int world) const;
};

/// The files of a data set, mapped, seen as one.
class DataSet {
public:
  /// Fields in the order of `inputs`. An Error where a file does not fit.
  DataSet(const std::vector<std::string> &files,
          const std::vector<std::pair<std::string, std::string>> &fields,
          const std::vector<TensorType> &inputs);

  int64_t size() const { return count; }

  /// Copies field `input` of a sample to `out`, in the dtype of the input.
  void read(size_t input, int64_t sample, void *out) const;

private:
  struct File {
    std::unique_ptr<SafetensorsFile> file;
    std::vector<const FileTensor *> fields;
    int64_t first; ///< sample number of its first row
  };

  void checkField(const SafetensorsFile &file, const FileTensor &tensor,
                  const std::string &name, const TensorType &input) const;

  std::vector<File> files;
  std::vector<DType> dtypes;
  std::vector<int64_t> rowElements;
  int64_t count = 0;
};

/// Assembles the micro-batches of a rank ahead of their use, on a thread.
class Prefetcher {
public:
  struct Batch {
    int64_t firstPosition = 0; ///< of its samples in the stream
    bool counts = true;
    char *data = nullptr; ///< inputs at Layout::inputOffsets
  };

  /// Begins at stream position `position`. `memory` holds inputSets sets of
  /// `setBytes`.
  Prefetcher(const DataSet &data, const Metadata &metadata,
             const std::vector<TensorType> &inputs,
             const std::vector<size_t> &offsets, char *memory, size_t setBytes,
             int rank, int world, int64_t position, int64_t steps);
  ~Prefetcher();

  /// The next batch; it is valid until the next call.
  Batch next();

  /// Sample number of a stream position.
  int64_t sampleAt(int64_t position) const;

private:
  void loop();
  void assemble(int64_t firstPosition, char *out) const;

  const DataSet &data;
  const std::vector<TensorType> &inputs;
  const std::vector<size_t> &offsets;
  char *memory;
  size_t setBytes;
  uint64_t seed;
  bool shuffle;
  TrainPolicy train;
  int rank, world;
  int64_t position, steps;

  std::mutex mutex;
  std::condition_variable changed;
  Batch batches[inputSets];
  int64_t produced = 0, consumed = 0;
  bool stopping = false;
  std::thread thread; // last: it uses all of the above
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_DATA_H
