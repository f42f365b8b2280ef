//===- Data.cpp - The samples of a run ------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Data.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ff::rt {

static std::vector<std::vector<TensorType>> inputsOf(const Metadata &metadata) {
  std::vector<std::vector<TensorType>> inputs;
  for (const Program *program : programsOf(metadata, RunMode::Train))
    inputs.push_back(program->inputs);
  return inputs;
}

static std::vector<int64_t> sampleShape(const TensorType &input) {
  return {input.shape.begin() + 1, input.shape.end()};
}

static int64_t sampleElements(const TensorType &input) {
  return input.numel() / std::max<int64_t>(input.shape[0], 1);
}

DataSet::DataSet(const Metadata &metadata,
                 const std::vector<std::string> &paths)
    : inputs(inputsOf(metadata)), spec(metadata.spec),
      refuseNonfinite(!metadata.train->skipNonfinite),
      shuffle(metadata.data->shuffle) {
  const DataPolicy &policy = *metadata.data;
  findInputs(policy, names);
  std::vector<SourcePolicy> wanted = policy.sources;
  if (!paths.empty())
    wanted = {sourceOf(paths, wanted.empty() ? SourcePolicy() : wanted[0])};
  if (wanted.empty())
    fail("[data] names no files; fix: files = [...], or --data FILE");
  for (const SourcePolicy &source : wanted) {
    addSource(openSource(source, names));
    if (sources.back()->size() == 0)
      fail("the data has no samples: {}",
           source.paths.empty() ? "no path" : source.paths[0]);
    weights.push_back(source.weight);
  }
  std::vector<std::vector<int64_t>> counts;
  for (const std::vector<List> &ofSource : lists) {
    counts.emplace_back();
    for (const List &list : ofSource)
      counts.back().push_back(list.size);
  }
  order = std::make_unique<SampleOrder>(std::move(counts), weights,
                                        metadata.seed, policy.shuffle,
                                        metadata.train->globalBatch);
}

void DataSet::findInputs(const DataPolicy &policy,
                         std::vector<std::string> &fieldNames) {
  auto addField = [&](const std::string &input) {
    auto field =
        std::find_if(policy.fields.begin(), policy.fields.end(),
                     [&](auto &entry) { return entry.first == input; });
    if (field == policy.fields.end())
      failInternal("no field of the data feeds the input '{}'", input);
    auto known = std::find(fieldNames.begin(), fieldNames.end(), field->second);
    if (known == fieldNames.end())
      known = fieldNames.insert(known, field->second);
    return static_cast<size_t>(known - fieldNames.begin());
  };
  for (const TensorType &input : inputs.front()) {
    Input source{};
    auto pad = std::find_if(
        policy.pads.begin(), policy.pads.end(), [&](const PadPolicy &entry) {
          return entry.input == input.name || entry.mask == input.name;
        });
    if (pad != policy.pads.end()) {
      source.to = pad->to;
      source.isMask = pad->mask == input.name;
    }
    source.field = addField(source.isMask ? pad->input : input.name);
    from.push_back(source);
  }
}

/// The shape that an input gets from a field.
std::vector<int64_t> DataSet::paddedShape(const Input &input,
                                          const SampleField &field,
                                          const std::string &where) const {
  std::vector<int64_t> shape = field.shape;
  if (!input.to)
    return shape;
  if (shape.empty() || shape[0] > input.to)
    fail("'{}' of {} has the shape {}, which is not padded to {}; fix: a "
         "larger `to` in `pad` of [data], or shorten the sample",
         names[input.field], where, shapeText(shape), input.to);
  shape[0] = input.to;
  if (input.isMask)
    shape.resize(1);
  return shape;
}

/// Where no bucket fits: what the sample has and the programs need.
void DataSet::failUnfit(const SampleSource &source,
                        const SampleSource::Run &run) const {
  std::string where = source.describe(run.first);
  for (size_t i = 0; i < from.size(); ++i) {
    std::vector<int64_t> shape =
        paddedShape(from[i], source.fieldsOf(run)[from[i].field], where);
    std::vector<std::string> wanted;
    bool fits = false;
    for (const std::vector<TensorType> &bucket : inputs) {
      fits |= sampleShape(bucket[i]) == shape;
      std::string text = shapeText(sampleShape(bucket[i]));
      if (std::find(wanted.begin(), wanted.end(), text) == wanted.end())
        wanted.push_back(text);
    }
    if (fits)
      continue;
    std::string list;
    for (const std::string &text : wanted)
      list += (list.empty() ? "" : " or ") + text;
    fail("'{}' of {} has the shape {}; the input '{}' needs {} for each "
         "sample{}",
         names[from[i].field], where, shapeText(shape), inputs[0][i].name, list,
         inputs.size() > 1 ? "; fix: compile the spec again, with this data"
                           : "");
  }
  std::string shapes;
  for (size_t i = 0; i < from.size(); ++i)
    shapes +=
        fmt::format("{}{} {}", shapes.empty() ? "" : ", ", inputs[0][i].name,
                    shapeText(paddedShape(
                        from[i], source.fieldsOf(run)[from[i].field], where)));
  fail("{} fits no bucket: {}; fix: compile the spec again, with this data",
       where, shapes);
}

size_t DataSet::bucketOf(const SampleSource &source,
                         const SampleSource::Run &run) const {
  std::string where = source.describe(run.first);
  std::vector<std::vector<int64_t>> shapes;
  for (const Input &input : from)
    shapes.push_back(
        paddedShape(input, source.fieldsOf(run)[input.field], where));
  for (size_t bucket = 0; bucket < inputs.size(); ++bucket) {
    bool fits = true;
    for (size_t i = 0; i < shapes.size(); ++i)
      fits &= sampleShape(inputs[bucket][i]) == shapes[i];
    if (fits)
      return bucket;
  }
  failUnfit(source, run);
}

void DataSet::addSource(std::unique_ptr<SampleSource> source) {
  std::vector<List> &ofSource = lists.emplace_back(inputs.size());
  for (const SampleSource::Run &run : source->runs()) {
    for (size_t i = 0; i < from.size(); ++i) {
      const SampleField &field = source->fieldsOf(run)[from[i].field];
      const TensorType &input = inputs[0][i];
      if (!from[i].isMask &&
          !convertFromFile(field.dtype, nullptr, input.dtype, nullptr, 0, true))
        fail("'{}' of {} has dtype {}, which does not convert to the {} of "
             "input '{}' without loss; fix: convert the file",
             names[from[i].field], source->describe(run.first), field.dtype,
             dtypeName(input.dtype), input.name);
    }
    List &list = ofSource[bucketOf(*source, run)];
    list.parts.push_back({list.size, run.first});
    list.size += run.count;
  }
  firstNumbers.push_back(
      sources.empty() ? 0 : firstNumbers.back() + sources.back()->size());
  sources.push_back(std::move(source));
}

DataSet::Sample DataSet::at(int64_t position) const {
  SampleOrder::Place place = order->at(position);
  const List &list = lists[place.source][place.bucket];
  const List::Part &part = lastNotAfter(list.parts, place.element);
  return {place.bucket, place.source, part.sample + place.element - part.first};
}

int64_t DataSet::numberOf(const Sample &sample) const {
  return firstNumbers[sample.source] + sample.number;
}

std::string DataSet::describe(const Sample &sample) const {
  return sources[sample.source]->describe(sample.number);
}

void DataSet::readMask(const SampleField &field, const Input &input,
                       DType dtype, void *out) const {
  std::vector<int64_t> mask(static_cast<size_t>(input.to));
  std::fill_n(mask.begin(), field.shape[0], 1);
  if (dtype == FF_I64)
    std::memcpy(out, mask.data(), mask.size() * sizeof mask[0]);
  else if (dtype == FF_F64)
    std::copy(mask.begin(), mask.end(), static_cast<double *>(out));
  else
    failInternal("a mask of dtype {}", dtypeName(dtype));
}

/// What is neither infinite nor NaN, of a float.
template <typename Word>
static int64_t firstNonfinite(const void *values, int64_t count,
                              Word exponent) {
  const char *bytes = static_cast<const char *>(values);
  auto at = [&](int64_t i) {
    Word word;
    std::memcpy(&word, bytes + static_cast<size_t>(i) * sizeof word,
                sizeof word);
    return static_cast<Word>(word & exponent) == exponent;
  };
  // Without a branch, so that it is vectorised; found again where there is one.
  bool any = false;
  for (int64_t i = 0; i < count; ++i)
    any |= at(i);
  for (int64_t i = 0; any && i < count; ++i)
    if (at(i))
      return i;
  return -1;
}

void DataSet::checkFinite(const Sample &sample, size_t input,
                          const void *values, int64_t count) const {
  int64_t bad = -1;
  switch (inputs[sample.bucket][input].dtype) {
  case FF_F32:
    bad = firstNonfinite<uint32_t>(values, count, 0x7f800000u);
    break;
  case FF_F64:
    bad = firstNonfinite<uint64_t>(values, count, 0x7ff0000000000000u);
    break;
  case FF_BF16:
    bad = firstNonfinite<uint16_t>(values, count, 0x7f80u);
    break;
  case FF_F16:
    bad = firstNonfinite<uint16_t>(values, count, 0x7c00u);
    break;
  default:
    break;
  }
  if (bad >= 0)
    fail("'{}' of {} is not finite at element {}; fix: repair or leave out the "
         "sample, or on_nonfinite = \"skip\"",
         names[from[input].field], describe(sample), bad);
}

void DataSet::read(const Sample &sample, size_t input, void *out,
                   std::vector<char> &scratch) const {
  const Input &source = from[input];
  const TensorType &type = inputs[sample.bucket][input];
  const SampleField &field =
      sources[sample.source]->fieldsOf(sample.number)[source.field];
  if (source.isMask)
    return readMask(field, source, type.dtype, out);
  int64_t count = 1;
  for (int64_t dim : field.shape)
    count *= dim;
  const char *bytes =
      sources[sample.source]->bytes(sample.number, source.field, scratch);
  convertFromFile(field.dtype, bytes, type.dtype, out, count, true);
  if (refuseNonfinite)
    checkFinite(sample, input, out, count);
  int64_t all = sampleElements(type);
  std::memset(static_cast<char *>(out) +
                  static_cast<size_t>(count) * dtypeSize(type.dtype),
              0, static_cast<size_t>(all - count) * dtypeSize(type.dtype));
}

std::string DataSet::findId(int64_t position, int64_t count, int64_t id) const {
  std::vector<char> scratch;
  std::string text;
  int64_t found = 0;
  for (int64_t p = position; p < position + count; ++p) {
    Sample sample = at(p);
    for (size_t i = 0; i < from.size(); ++i) {
      const TensorType &type = inputs[sample.bucket][i];
      if (type.dtype != FF_I64 || from[i].isMask)
        continue;
      std::vector<int64_t> values(static_cast<size_t>(sampleElements(type)));
      read(sample, i, values.data(), scratch);
      auto place = std::find(values.begin(), values.end(), id);
      if (place == values.end() || ++found > 3)
        continue;
      text += fmt::format("{}'{}' of {} (element {})", text.empty() ? "" : ", ",
                          names[from[i].field], describe(sample),
                          place - values.begin());
    }
  }
  if (text.empty())
    return "";
  return fmt::format("; of the samples of the step it is in {}{}", text,
                     found > 3 ? fmt::format(" and {} more", found - 3) : "");
}

std::string DataSet::orderText() const {
  std::string text;
  for (size_t s = 0; s < sources.size(); ++s) {
    text += fmt::format("{}{} samples", text.empty() ? "" : ", ",
                        sources[s]->size());
    if (sources.size() > 1)
      text += fmt::format(" of weight {}", weights[s]);
  }
  if (inputs.size() > 1) {
    text += " in buckets of";
    for (size_t b = 0; b < inputs.size(); ++b) {
      int64_t samples = 0;
      for (const std::vector<List> &ofSource : lists)
        samples += ofSource[b].size;
      text += fmt::format(" {}", samples);
    }
  }
  return text + (shuffle ? ", shuffled" : ", in their order");
}

//===----------------------------------------------------------------------===//
// Prefetcher
//===----------------------------------------------------------------------===//

Prefetcher::Prefetcher(const DataSet &data, const Metadata &metadata,
                       const Layout &layout, char *memory, int rank, int world,
                       int64_t position, int64_t steps)
    : data(data), metadata(metadata), layout(layout), memory(memory),
      rank(rank), world(world), position(position), steps(steps),
      inputs(inputsOf(metadata)) {
  int64_t globalBatch = metadata.train->globalBatch;
  if (data.buckets() > 1 && position % globalBatch)
    fail("the checkpoint is {} samples into the run, which is no whole number "
         "of steps of global_batch = {}; with buckets a step has samples of "
         "one; fix: the global_batch with which it was written",
         position, globalBatch);
  thread = std::thread([this] { orFatal([this] { loop(); }); });
}

Prefetcher::~Prefetcher() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void Prefetcher::assemble(const Batch &batch) {
  const std::vector<TensorType> &types = inputs[batch.bucket];
  for (int64_t row = 0; row < batch.samples; ++row) {
    DataSet::Sample sample = data.at(batch.firstPosition + row);
    for (size_t i = 0; i < types.size(); ++i) {
      size_t rowBytes =
          types[i].bytes() / static_cast<size_t>(types[i].shape[0]);
      data.read(sample, i,
                batch.data + layout.inputOffsets[batch.bucket][i] +
                    static_cast<size_t>(row) * rowBytes,
                scratch);
    }
  }
}

void Prefetcher::loop() {
  const TrainPolicy &train = *metadata.train;
  for (int64_t step = 0; step < steps; ++step) {
    int64_t stepStart = position + step * train.globalBatch;
    size_t bucket = data.bucketAt(stepStart);
    int64_t samples = train.buckets[bucket].microBatch;
    StepPlan plan(train.globalBatch, samples, world);
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
      Batch batch;
      batch.firstPosition = stepStart + index * samples;
      batch.counts = counts;
      batch.bucket = bucket;
      batch.samples = samples;
      batch.microBatches = plan.microBatches;
      batch.endsStep = round + 1 == plan.rounds;
      batch.data = memory + static_cast<size_t>(set) * layout.inputSetBytes;
      assemble(batch);
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
