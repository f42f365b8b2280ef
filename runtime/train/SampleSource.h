//===- SampleSource.h - Where samples lie ---------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_SAMPLESOURCE_H
#define FF_RUNTIME_TRAIN_SAMPLESOURCE_H

#include "runtime/core/Metadata.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>

namespace ff::rt {

/// A field of one sample, before it is read.
struct SampleField {
  std::string dtype; ///< the name in safetensors files, such as "F32"
  std::vector<int64_t> shape;

  bool operator==(const SampleField &other) const {
    return dtype == other.dtype && shape == other.shape;
  }
};

/// The element of a sorted range whose `first` is the last that is not after
/// `value`; there is one.
template <typename Range>
const typename Range::value_type &lastNotAfter(const Range &range,
                                               int64_t value) {
  auto after = std::upper_bound(
      range.begin(), range.end(), value,
      [](int64_t v, const auto &element) { return v < element.first; });
  return *(after - 1);
}

/// The samples of one source of [data], numbered from 0. What does not fit is
/// an Error that names the file, the tensor and the row.
class SampleSource {
public:
  virtual ~SampleSource() = default;

  /// Samples in a row whose fields have equal dtypes and shapes. There may be
  /// as many runs as samples, but not as many kinds.
  struct Run {
    int64_t first, count;
    size_t kind;
  };
  /// All samples, in order.
  const std::vector<Run> &runs() const { return list; }
  const std::vector<SampleField> &fieldsOf(int64_t sample) const {
    return kinds[lastNotAfter(list, sample).kind];
  }
  const std::vector<SampleField> &fieldsOf(const Run &run) const {
    return kinds[run.kind];
  }
  int64_t size() const {
    return list.empty() ? 0 : list.back().first + list.back().count;
  }

  /// The bytes of a field, row-major; in `scratch`, or elsewhere until the next
  /// call with it. Several threads may read, each with a scratch of its own.
  virtual const char *bytes(int64_t sample, size_t field,
                            std::vector<char> &scratch) const = 0;

  /// "data.safetensors, row 7"
  virtual std::string describe(int64_t sample) const = 0;

protected:
  /// Joins it with the last run where their fields are equal.
  void addRun(int64_t count, std::vector<SampleField> fields);

private:
  std::vector<Run> list;
  std::vector<std::vector<SampleField>> kinds;
};

/// `fields`: the names of tensors, in the order of SampleSource's fields.
std::unique_ptr<SampleSource>
openSource(const SourcePolicy &policy, const std::vector<std::string> &fields);

/// The files below a folder whose names end in `suffix`, sorted; an Error where
/// there are none, or the folder cannot be read.
std::vector<std::string> filesBelow(const std::string &folder,
                                    const std::string &suffix);

/// What `--data` names: Parquet and safetensors files by their ending; else
/// what `like` is.
SourcePolicy sourceOf(const std::vector<std::string> &paths,
                      const SourcePolicy &like);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_SAMPLESOURCE_H
