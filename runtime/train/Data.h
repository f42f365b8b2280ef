//===- Data.h - The samples of a run --------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [data] as the train program sees it: sources of samples, whose fields are its
// inputs. The shapes of a sample say which bucket it is in; SampleOrder.h says
// which samples a step has.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_DATA_H
#define FF_RUNTIME_TRAIN_DATA_H

#include "runtime/core/Layout.h"
#include "runtime/train/SampleOrder.h"
#include "runtime/train/SampleSource.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace ff::rt {

class DataSet {
public:
  /// The data of `metadata`; with `paths`, these instead of its sources. An
  /// Error where a sample fits no bucket.
  explicit DataSet(const Metadata &metadata,
                   const std::vector<std::string> &paths = {});

  int64_t size() const { return order->size(); }

  /// A sample of the stream.
  struct Sample {
    size_t bucket, source;
    int64_t number; ///< in its source
  };
  Sample at(int64_t position) const;
  size_t bucketAt(int64_t position) const { return order->bucketAt(position); }
  size_t buckets() const { return inputs.size(); }

  /// What the order of samples depends on beside the seed, as text.
  std::string orderText() const;

  /// The number of a sample over all sources.
  int64_t numberOf(const Sample &sample) const;
  /// Its file and row.
  std::string describe(const Sample &sample) const;

  /// Which of `count` samples from a position on have this number in an input
  /// of integers: "; of the samples of the step it is in 'ids' of FILE, row 7
  /// (element 3)", or "".
  std::string findId(int64_t position, int64_t count, int64_t id) const;

  /// Writes input `input` of a sample to `out`, in the dtype and shape of the
  /// program of its bucket. An Error that names the sample where it cannot be
  /// read, or has a value that is not finite.
  void read(const Sample &sample, size_t input, void *out,
            std::vector<char> &scratch) const;

private:
  /// Samples of one source that are in one bucket, in order.
  struct List {
    struct Part {
      int64_t first;  ///< of its elements, in the list
      int64_t sample; ///< that this is, in the source
    };
    std::vector<Part> parts;
    int64_t size = 0;
  };
  /// Where an input comes from.
  struct Input {
    size_t field;   ///< of the sources; of a mask, the field that it is of
    int64_t to = 0; ///< padded to this many in dim 0; 0: not padded
    bool isMask = false;
  };

  void findInputs(const DataPolicy &policy, std::vector<std::string> &names);
  std::vector<int64_t> paddedShape(const Input &input, const SampleField &field,
                                   const std::string &where) const;
  size_t bucketOf(const SampleSource &source,
                  const SampleSource::Run &run) const;
  [[noreturn]] void failUnfit(const SampleSource &source,
                              const SampleSource::Run &run) const;
  void addSource(std::unique_ptr<SampleSource> source);
  void readMask(const SampleField &field, const Input &input, DType dtype,
                void *out) const;
  void checkFinite(const Sample &sample, size_t input, const void *values,
                   int64_t count) const;

  std::vector<std::vector<TensorType>> inputs; ///< of each bucket's program
  std::vector<Input> from;                     ///< of each input
  std::vector<std::string> names;              ///< of the fields
  std::string spec;
  bool refuseNonfinite, shuffle;
  std::vector<double> weights; ///< of each source
  std::vector<std::unique_ptr<SampleSource>> sources;
  std::vector<int64_t> firstNumbers;    ///< of each source
  std::vector<std::vector<List>> lists; ///< by source and bucket
  std::unique_ptr<SampleOrder> order;
};

/// Assembles the micro-batches of a rank ahead of their use, on a thread.
class Prefetcher {
public:
  struct Batch {
    int64_t firstPosition = 0; ///< of its samples in the stream
    bool counts = true;
    size_t bucket = 0;
    int64_t samples = 0;      ///< the micro-batch of its bucket
    int64_t microBatches = 0; ///< of its step, over all ranks
    bool endsStep = false;    ///< the last one of this rank in its step
    char *data = nullptr;     ///< inputs at Layout::inputOffsets[bucket]
  };

  /// Begins at stream position `position`. `memory` holds inputSets input sets
  /// of the layout.
  Prefetcher(const DataSet &data, const Metadata &metadata,
             const Layout &layout, char *memory, int rank, int world,
             int64_t position, int64_t steps);
  ~Prefetcher();

  /// The next batch; it is valid until the next call.
  Batch next();

private:
  void loop();
  void assemble(const Batch &batch);

  const DataSet &data;
  const Metadata &metadata;
  const Layout &layout;
  char *memory;
  int rank, world;
  int64_t position, steps;
  std::vector<std::vector<TensorType>> inputs; ///< of each bucket
  std::vector<char> scratch;

  std::mutex mutex;
  std::condition_variable changed;
  Batch batches[inputSets];
  int64_t produced = 0, consumed = 0;
  bool stopping = false;
  std::thread thread; // last: it uses all of the above
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_DATA_H
