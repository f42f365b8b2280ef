//===- Data.cpp - The samples of a run ------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Data.h"
#include "runtime/core/Error.h"
#include "runtime/core/Philox.h"

#include <algorithm>

namespace ff::rt {

int64_t shuffledIndex(uint64_t seed, int64_t epoch, int64_t index,
                      int64_t count) {
  int half = 1;
  while (half < 31 && (int64_t{1} << (2 * half)) < count)
    ++half;
  uint64_t mask = (uint64_t{1} << half) - 1;
  auto key = philoxKey(seed);
  uint64_t value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> half, right = value & mask;
    for (uint32_t round = 0; round < 8; ++round) {
      PhiloxBlock words = philox({static_cast<uint32_t>(right), round,
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

StepPlan::StepPlan(const TrainPolicy &train, int world)
    : microBatches(train.globalBatch / train.microBatch),
      rounds((microBatches + world - 1) / world) {}

std::pair<int64_t, bool> StepPlan::microBatch(int64_t round, int rank,
                                              int world) const {
  int64_t index = round * world + rank;
  if (index < microBatches)
    return {index, true};
  return {microBatches - 1, false};
}

DataSet::DataSet(const std::vector<std::string> &paths,
                 const std::vector<std::pair<std::string, std::string>> &fields,
                 const std::vector<TensorType> &inputs) {
  if (paths.empty())
    fail("[data] names no files; fix: files = [...], or --data FILE");
  std::vector<std::string> names;
  for (const TensorType &input : inputs) {
    auto field = std::find_if(fields.begin(), fields.end(), [&](auto &entry) {
      return entry.first == input.name;
    });
    if (field == fields.end())
      failInternal("no field of the data feeds the input '{}'", input.name);
    names.push_back(field->second);
    dtypes.push_back(input.dtype);
    rowElements.push_back(input.numel() / std::max<int64_t>(input.shape[0], 1));
  }
  for (const std::string &path : paths) {
    File entry{std::make_unique<SafetensorsFile>(path), {}, count};
    int64_t rows = -1;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const FileTensor &tensor = entry.file->tensor(names[i]);
      checkField(*entry.file, tensor, names[i], inputs[i]);
      if (rows >= 0 && tensor.shape[0] != rows)
        fail("'{}' in {} has {} samples, '{}' has {}", names[i], path,
             tensor.shape[0], names[0], rows);
      rows = tensor.shape[0];
      entry.fields.push_back(&tensor);
    }
    count += std::max<int64_t>(rows, 0);
    files.push_back(std::move(entry));
  }
  if (count == 0)
    fail("the data has no samples: {}", paths[0]);
}

void DataSet::checkField(const SafetensorsFile &file, const FileTensor &tensor,
                         const std::string &name,
                         const TensorType &input) const {
  std::vector<int64_t> expected(input.shape.begin() + 1, input.shape.end());
  if (tensor.shape.empty() ||
      std::vector<int64_t>(tensor.shape.begin() + 1, tensor.shape.end()) !=
          expected)
    fail("'{}' in {} has the shape {}; the input '{}' needs {} for each sample",
         name, file.path(), shapeText(tensor.shape), input.name,
         shapeText(expected));
  if (!convertFromFile(tensor.dtype, nullptr, input.dtype, nullptr, 0, true))
    fail("'{}' in {} has dtype {}, which does not convert to the {} of input "
         "'{}' without loss; fix: convert the file",
         name, file.path(), tensor.dtype, dtypeName(input.dtype), input.name);
}

void DataSet::read(size_t input, int64_t sample, void *out) const {
  auto after = std::upper_bound(
      files.begin(), files.end(), sample,
      [](int64_t number, const File &file) { return number < file.first; });
  const File &entry = *(after - 1);
  const FileTensor &tensor = *entry.fields[input];
  int64_t elements = rowElements[input];
  size_t row = static_cast<size_t>(sample - entry.first);
  const char *from =
      entry.file->data(tensor) +
      row * static_cast<size_t>(elements) * fileDtypeSize(tensor.dtype);
  convertFromFile(tensor.dtype, from, dtypes[input], out, elements, true);
}

Prefetcher::Prefetcher(const DataSet &data, const Metadata &metadata,
                       const std::vector<TensorType> &inputs,
                       const std::vector<size_t> &offsets, char *memory,
                       size_t setBytes, int rank, int world, int64_t position,
                       int64_t steps)
    : data(data), inputs(inputs), offsets(offsets), memory(memory),
      setBytes(setBytes), seed(metadata.seed), shuffle(metadata.data->shuffle),
      train(*metadata.train), rank(rank), world(world), position(position),
      steps(steps), thread([this] { orFatal([this] { loop(); }); }) {}

Prefetcher::~Prefetcher() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
}

int64_t Prefetcher::sampleAt(int64_t streamPosition) const {
  int64_t n = data.size();
  int64_t epoch = streamPosition / n, index = streamPosition % n;
  return shuffle ? shuffledIndex(seed, epoch, index, n) : index;
}

void Prefetcher::assemble(int64_t firstPosition, char *out) const {
  for (int64_t row = 0; row < train.microBatch; ++row) {
    int64_t sample = sampleAt(firstPosition + row);
    for (size_t i = 0; i < inputs.size(); ++i) {
      size_t rowBytes =
          inputs[i].bytes() / static_cast<size_t>(inputs[i].shape[0]);
      data.read(i, sample,
                out + offsets[i] + static_cast<size_t>(row) * rowBytes);
    }
  }
}

void Prefetcher::loop() {
  StepPlan plan(train, world);
  for (int64_t step = 0; step < steps; ++step) {
    int64_t stepStart = position + step * train.globalBatch;
    for (int64_t round = 0; round < plan.rounds; ++round) {
      auto [index, counts] = plan.microBatch(round, rank, world);
      {
        std::unique_lock<std::mutex> lock(mutex);
        // The batch before the next one to take is still in use.
        changed.wait(lock, [&] {
          return stopping || produced - consumed < inputSets - 1;
        });
        if (stopping)
          return;
      }
      int64_t set = produced % inputSets;
      Batch batch{stepStart + index * train.microBatch, counts,
                  memory + static_cast<size_t>(set) * setBytes};
      assemble(batch.firstPosition, batch.data);
      {
        std::lock_guard<std::mutex> lock(mutex);
        batches[set] = batch;
        ++produced;
      }
      changed.notify_all();
    }
  }
}

Prefetcher::Batch Prefetcher::next() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return produced > consumed; });
  Batch batch = batches[consumed % inputSets];
  ++consumed;
  changed.notify_all();
  return batch;
}

} // namespace ff::rt
