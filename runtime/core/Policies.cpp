//===- Policies.cpp - The policies in the metadata of a spec --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/JsonReader.h"
#include "runtime/core/Metadata.h"

namespace ff::rt {

namespace {

SourcePolicy parseSource(Reader &reader) {
  SourcePolicy source;
  std::string kind = reader.get<std::string>("kind");
  if (kind == "samples")
    source.kind = SourcePolicy::Samples;
  else if (kind == "parquet")
    source.kind = SourcePolicy::Parquet;
  else if (kind != "shards")
    failInternal("metadata: unknown kind of data '{}'", kind);
  source.paths = reader.get<std::vector<std::string>>("paths");
  source.weight = reader.get<double>("weight", 1.0);
  if (!(source.weight > 0))
    failInternal("metadata: the weight of a source is {}", source.weight);
  return source;
}

DataPolicy parseData(Reader reader) {
  DataPolicy data;
  reader.each("sources",
              [&](Reader &r) { data.sources.push_back(parseSource(r)); });
  if (reader.find("pad"))
    reader.each("pad", [&](Reader &r) {
      data.pads.push_back({r.get<std::string>("input"), r.get<int64_t>("to"),
                           r.get<std::string>("mask", "")});
    });
  const json &fields = reader.at("fields");
  if (!fields.is_object())
    failInternal("metadata: data.fields is not an object");
  for (const auto &item : fields.items()) {
    if (!item.value().is_string())
      failInternal("metadata: data.fields.{} is not a string", item.key());
    data.fields.emplace_back(item.key(), item.value().get<std::string>());
  }
  data.shuffle = reader.get<bool>("shuffle");
  reader.finish();
  return data;
}

TrainPolicy parseTrain(Reader reader) {
  TrainPolicy train;
  train.program = reader.get<std::string>("program");
  train.steps = reader.get<int64_t>("steps");
  train.globalBatch = reader.get<int64_t>("global_batch");
  train.microBatch = reader.get<int64_t>("micro_batch");
  train.clipNorm = reader.maybe<double>("clip_norm");
  train.emaDecay = reader.maybe<double>("ema_decay");
  std::string policy = reader.get<std::string>("on_nonfinite", "stop");
  if (policy != "stop" && policy != "skip")
    failInternal("metadata: train.on_nonfinite is '{}'", policy);
  train.skipNonfinite = policy == "skip";
  if (train.microBatch <= 0 || train.globalBatch <= 0 ||
      train.globalBatch % train.microBatch)
    failInternal("metadata: train.micro_batch ({}) does not divide "
                 "train.global_batch ({})",
                 train.microBatch, train.globalBatch);
  if (reader.find("buckets"))
    reader.each("buckets", [&](Reader &r) {
      BucketPolicy bucket{r.get<std::string>("program"),
                          r.get<int64_t>("micro_batch")};
      if (bucket.microBatch <= 0 || train.globalBatch % bucket.microBatch)
        failInternal("metadata: the micro_batch of '{}' ({}) does not divide "
                     "train.global_batch ({})",
                     bucket.program, bucket.microBatch, train.globalBatch);
      train.buckets.push_back(std::move(bucket));
    });
  if (train.buckets.empty())
    train.buckets.push_back({train.program, train.microBatch});
  reader.finish();
  return train;
}

OptimizerPolicy parseOptimizer(Reader reader) {
  std::string kind = reader.get<std::string>("kind");
  if (kind != "adamw")
    failInternal("metadata: unknown optimizer '{}'", kind);
  OptimizerPolicy optimizer;
  optimizer.lr = reader.get<double>("lr");
  optimizer.beta1 = reader.get<double>("beta1");
  optimizer.beta2 = reader.get<double>("beta2");
  optimizer.eps = reader.get<double>("eps");
  optimizer.weightDecay = reader.get<double>("weight_decay");
  reader.finish();
  return optimizer;
}

SchedulePolicy parseSchedule(Reader reader) {
  SchedulePolicy schedule;
  std::string kind = reader.get<std::string>("kind");
  if (kind != "constant" && kind != "cosine")
    failInternal("metadata: unknown schedule '{}'", kind);
  schedule.cosine = kind == "cosine";
  schedule.warmupSteps = reader.get<int64_t>("warmup_steps", 0);
  schedule.totalSteps = schedule.cosine ? reader.get<int64_t>("total_steps")
                                        : reader.get<int64_t>("total_steps", 0);
  schedule.finalLr = reader.get<double>("final_lr", 0.0);
  reader.finish();
  return schedule;
}

CheckpointPolicy parseCheckpoint(Reader reader) {
  CheckpointPolicy checkpoint;
  checkpoint.dir = reader.get<std::string>("dir");
  checkpoint.every = reader.get<int64_t>("every", 0);
  checkpoint.keep = reader.get<int64_t>("keep", 1);
  checkpoint.atEnd = reader.get<bool>("at_end", true);
  reader.finish();
  return checkpoint;
}

SampleInput parseSampleInput(const std::string &name, Reader reader) {
  SampleInput input;
  input.name = name;
  input.cycle = reader.get<int64_t>("cycle", 0);
  input.file = reader.get<std::string>("file", "");
  input.tensor = reader.get<std::string>("tensor", "");
  if (input.cycle <= 0 && (input.file.empty() || input.tensor.empty()))
    failInternal("metadata: sample.inputs.{} has neither 'cycle' nor 'file' "
                 "with 'tensor'",
                 name);
  reader.finish();
  return input;
}

ImagePolicy parseImage(Reader reader) {
  ImagePolicy image;
  image.output = reader.get<std::string>("output");
  image.file = reader.get<std::string>("file");
  image.columns = reader.get<int64_t>("columns");
  image.low = reader.get<double>("low");
  image.high = reader.get<double>("high");
  image.scale = reader.get<int64_t>("scale", 1);
  if (image.columns <= 0 || image.scale <= 0 || !(image.low < image.high))
    failInternal("metadata: sample.image has columns {}, scale {}, low {}, "
                 "high {}",
                 image.columns, image.scale, image.low, image.high);
  reader.finish();
  return image;
}

SamplePolicy parseSample(Reader reader) {
  SamplePolicy sample;
  sample.program = reader.get<std::string>("program");
  sample.count = reader.get<int64_t>("count");
  std::string weights = reader.get<std::string>("weights", "model");
  if (weights != "ema" && weights != "model")
    failInternal("metadata: sample.weights is '{}'", weights);
  sample.ema = weights == "ema";
  if (const json *inputs = reader.find("inputs"))
    for (const auto &item : inputs->items())
      sample.inputs.push_back(parseSampleInput(
          item.key(),
          Reader(item.value(), reader.pathOf("inputs") + "." + item.key())));
  if (reader.find("image"))
    sample.image = parseImage(reader.object("image"));
  reader.finish();
  return sample;
}

} // namespace

void parsePolicies(Reader &root, Metadata &metadata) {
  if (root.find("data"))
    metadata.data = parseData(root.object("data"));
  if (root.find("train"))
    metadata.train = parseTrain(root.object("train"));
  if (root.find("optimizer"))
    metadata.optimizer = parseOptimizer(root.object("optimizer"));
  if (root.find("schedule"))
    metadata.schedule = parseSchedule(root.object("schedule"));
  metadata.checkpoint = parseCheckpoint(root.object("checkpoint"));
  if (root.find("log")) {
    Reader log = root.object("log");
    metadata.logEvery = log.get<int64_t>("every", 1);
    log.finish();
  }
  if (root.find("sample"))
    metadata.sample = parseSample(root.object("sample"));
}

} // namespace ff::rt
