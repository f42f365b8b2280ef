//===- Sampler.cpp - Draws samples from a checkpoint ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Context.h"
#include "runtime/train/Image.h"
#include "runtime/train/Run.h"
#include "runtime/train/Safetensors.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace ff::rt {

namespace {

/// Where the values of one input come from.
class InputSource {
public:
  InputSource(const SamplePolicy &policy, const TensorType &input)
      : input(input) {
    auto found = std::find_if(
        policy.inputs.begin(), policy.inputs.end(),
        [&](const SampleInput &entry) { return entry.name == input.name; });
    if (found == policy.inputs.end())
      fail("[sample] has no inputs.{}, which the program '{}' needs; fix: {} = "
           "{{ cycle = N }} or {{ file = F, tensor = T }}",
           input.name, policy.program, input.name);
    cycle = found->cycle;
    if (cycle > 0)
      return;
    file = std::make_unique<SafetensorsFile>(found->file);
    tensor = &file->tensor(found->tensor);
    std::vector<int64_t> expected = input.shape;
    expected[0] = tensor->shape.empty() ? 0 : tensor->shape[0];
    if (tensor->shape != expected || tensor->shape[0] < policy.count)
      fail("'{}' in {} has the shape {}; the {} samples of input '{}' need at "
           "least that many rows of {}",
           found->tensor, found->file, shapeText(tensor->shape), policy.count,
           input.name, shapeText({input.shape.begin() + 1, input.shape.end()}));
    if (!convertFromFile(tensor->dtype, nullptr, input.dtype, nullptr, 0, true))
      fail("'{}' in {} has dtype {}, which does not convert to the {} of input "
           "'{}' without loss",
           found->tensor, found->file, tensor->dtype, dtypeName(input.dtype),
           input.name);
  }

  int64_t rowElements() const { return input.numel() / input.shape[0]; }

  void read(int64_t sample, void *out) const {
    if (cycle > 0) {
      int64_t value = sample % cycle;
      // Through f64, which is exact for any cycle in use.
      return fillElements(input.dtype, out, static_cast<double>(value),
                          rowElements());
    }
    const char *from =
        file->data(*tensor) + static_cast<size_t>(sample * rowElements()) *
                                  fileDtypeSize(tensor->dtype);
    convertFromFile(tensor->dtype, from, input.dtype, out, rowElements(), true);
  }

private:
  const TensorType &input;
  int64_t cycle = 0;
  std::unique_ptr<SafetensorsFile> file;
  const FileTensor *tensor = nullptr;
};

/// The sampling of one rank.
class Sampler {
public:
  explicit Sampler(const RunSetup &setup)
      : setup(setup), metadata(setup.metadata),
        ctx(metadata, RunMode::Sample, setup.backend, setup.comm),
        policy(*metadata.sample), entry(setup.entry(policy.program)),
        plan(plannedTensors(resultTensors())) {
    for (const TensorType &input : ctx.program.inputs)
      sources.emplace_back(policy, input);
    ctx.profile.enabled = setup.options.profile;
  }

  void run() {
    loadWeights();
    const std::string &out = setup.options.out;
    std::string path = out + "/samples.safetensors";
    if (setup.comm.rank == 0) {
      std::filesystem::create_directories(out);
      plan.create(path);
    }
    setup.comm.barrier();
    Clock::time_point start = Clock::now();
    {
      DurableFile file(path, false);
      drawAll(file);
    }
    setup.comm.barrier();
    if (setup.comm.rank == 0)
      finish(path, secondsSince(start));
  }

private:
  int64_t batchSize() const {
    const Program &program = ctx.program;
    const TensorType &first =
        program.inputs.empty() ? program.outputs.at(0) : program.inputs[0];
    return first.shape.at(0);
  }

  /// Outputs and inputs, with `count` rows.
  std::vector<TensorType> resultTensors() const {
    std::vector<TensorType> tensors = ctx.program.outputs;
    tensors.insert(tensors.end(), ctx.program.inputs.begin(),
                   ctx.program.inputs.end());
    for (TensorType &tensor : tensors) {
      if (tensor.shape.empty() || tensor.shape[0] != batchSize())
        fail("'{}' of the program '{}' has the shape {}; when sampling, dim 0 "
             "is the sample",
             tensor.name, policy.program, shapeText(tensor.shape));
      tensor.shape[0] = policy.count;
    }
    return tensors;
  }

  void loadWeights() {
    std::vector<std::string> warnings;
    std::string resume =
        setup.options.resume.empty() ? "auto" : setup.options.resume;
    if (resume == "none")
      fail("--sample needs a checkpoint; fix: --resume auto or --resume PATH");
    auto found =
        agreeOnCheckpoint(setup.comm, setup.options.out, resume, warnings);
    if (setup.comm.rank == 0)
      for (const std::string &text : warnings)
        std::fprintf(stderr, "warning: %s\n", text.c_str());
    bool trained =
        std::any_of(metadata.groups.begin(), metadata.groups.end(),
                    [](const Group &group) { return group.trainable; });
    if (!found && trained)
      fail("there is no checkpoint in {}; fix: train first, or --out or "
           "--resume with the folder of a checkpoint",
           setup.options.out);
    Loading loading(setup.comm, setup.options.loadPerNode);
    loadParameters(metadata, ctx.layout, ctx.arena, loading.team);
    if (!found)
      return ctx.device->mastersChanged();
    Checkpointer checkpointer(metadata, ctx.layout, ctx.arena, setup.comm,
                              setup.options.out, {});
    checkpointer.loadForSampling(*found, policy.ema, loading.team);
    ctx.device->mastersChanged();
    if (setup.comm.rank == 0)
      std::printf("sampling with the %s of %s\n",
                  policy.ema ? "EMA" : "weights", found->path.c_str());
  }

  void drawAll(DurableFile &file) {
    int64_t batch = batchSize();
    int64_t batches = (policy.count + batch - 1) / batch;
    int64_t world = setup.comm.world();
    char *inputs = ctx.device->inputMemory();
    // Every rank runs the same number of batches, for the collectives.
    for (int64_t round = 0; round * world < batches; ++round) {
      int64_t index = round * world + setup.comm.rank;
      bool counts = index < batches;
      int64_t first = (counts ? index : batches - 1) * batch;
      for (size_t i = 0; i < sources.size(); ++i) {
        const TensorType &input = ctx.program.inputs[i];
        size_t rowBytes = input.bytes() / static_cast<size_t>(batch);
        char *to = inputs + ctx.layout.inputOffsets[0][i];
        // The rows behind the last sample repeat it.
        for (int64_t row = 0; row < batch; ++row)
          sources[i].read(std::min(first + row, policy.count - 1),
                          to + static_cast<size_t>(row) * rowBytes);
      }
      ctx.run(entry, {inputs, first, 0.0, false});
      ctx.device->settle();
      if (counts)
        write(file, first, std::min(batch, policy.count - first), batch);
    }
  }

  void write(DurableFile &file, int64_t first, int64_t rows, int64_t batch) {
    size_t outputs = ctx.program.outputs.size();
    for (size_t i = 0; i < plan.tensors().size(); ++i) {
      bool isOutput = i < outputs;
      const TensorType &type =
          isOutput ? ctx.program.outputs[i] : ctx.program.inputs[i - outputs];
      const void *data = isOutput ? ctx.device->result(i)
                                  : ctx.device->inputMemory() +
                                        ctx.layout.inputOffsets[0][i - outputs];
      size_t rowBytes = type.bytes() / static_cast<size_t>(batch);
      file.write(data, static_cast<size_t>(rows) * rowBytes,
                 plan.offset(i) + static_cast<size_t>(first) * rowBytes);
    }
  }

  void finish(const std::string &path, double seconds) {
    std::printf("%lld samples in %.2f s: %s\n",
                static_cast<long long>(policy.count), seconds, path.c_str());
    if (policy.image)
      writeImage(path);
    if (setup.options.reportMemory)
      std::printf("%s\n", ctx.memoryReport().c_str());
    if (ctx.profile.enabled)
      std::printf("%s", ctx.profileReport(seconds).c_str());
  }

  void writeImage(const std::string &path) const {
    const ImagePolicy &image = *policy.image;
    SafetensorsFile file(path);
    const FileTensor &tensor = file.tensor(image.output);
    const std::vector<int64_t> &shape = tensor.shape;
    if (shape.size() != 4 || (shape[1] != 1 && shape[1] != 3))
      fail("[sample] image.output '{}' has the shape {}; a picture needs "
           "[samples, 1 or 3, height, width]",
           image.output, shapeText(shape));
    std::vector<float> values(static_cast<size_t>(tensor.numel()));
    if (!convertFromFile(tensor.dtype, file.data(tensor), FF_F32, values.data(),
                         tensor.numel(), false))
      fail("[sample] image.output '{}' has dtype {}", image.output,
           tensor.dtype);
    auto pixels =
        makeGrid(image, values.data(), shape[0], shape[1], shape[2], shape[3]);
    int64_t rows = (shape[0] + image.columns - 1) / image.columns;
    std::string target =
        (std::filesystem::path(setup.options.out) / image.file).string();
    writePng(target, pixels, image.columns * shape[3] * image.scale,
             rows * shape[2] * image.scale, shape[1]);
    std::printf("picture: %s\n", target.c_str());
  }

  const RunSetup &setup;
  const Metadata &metadata;
  ff_ctx ctx;
  const SamplePolicy &policy;
  const ff_entry &entry;
  TensorFilePlan plan;
  std::vector<InputSource> sources;
};

} // namespace

void runSampling(const RunSetup &setup) {
  Sampler sampler(setup);
  orFatal([&] { sampler.run(); }); // as runTraining()
}

} // namespace ff::rt
