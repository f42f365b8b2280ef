//===- Trainer.cpp - The training loop ------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Trainer.h"
#include "runtime/core/Error.h"
#include "runtime/launch/Launch.h"
#include "runtime/train/LoadReport.h"
#include "runtime/train/Schedule.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

namespace ff::rt {

const ff_entry &RunSetup::entry(const std::string &name) const {
  for (int32_t i = 0; i < numEntries; ++i)
    if (name == entries[i].name)
      return entries[i];
  failInternal("there is no compiled program '{}'", name);
}

/// What a checkpoint says that the run read.
static std::vector<std::string> dataPaths(const RunSetup &setup) {
  if (!setup.options.data.empty())
    return setup.options.data;
  std::vector<std::string> paths;
  for (const SourcePolicy &source : setup.metadata.data->sources)
    paths.insert(paths.end(), source.paths.begin(), source.paths.end());
  return paths;
}

Trainer::Trainer(const RunSetup &setup)
    : setup(setup), metadata(setup.metadata),
      train((programOf(metadata, RunMode::Train), *metadata.train)),
      comm(setup.comm), ctx(metadata, RunMode::Train, setup.backend, comm),
      checkpointer(metadata, ctx.layout, ctx.arena, comm, setup.options.out,
                   dataPaths(setup)),
      data(metadata, setup.options.data),
      lastStep(setup.options.steps >= 0 ? setup.options.steps : train.steps) {
  for (const BucketPolicy &bucket : train.buckets)
    entries.push_back(&setup.entry(bucket.program));
  weighted = ctx.program.outputs.size() == 2;
  for (const TensorType &output : ctx.program.outputs)
    if (output.numel() != 1 ||
        (output.dtype != FF_F32 && output.dtype != FF_F64) ||
        output.dtype != ctx.program.outputs[0].dtype)
      failInternal("'{}' of program '{}' is not a number of f32 or f64",
                   output.name, train.program);
  if (ctx.program.outputs.empty() || ctx.program.outputs.size() > 2)
    failInternal("program '{}' returns neither a loss nor a sum and a count",
                 train.program);
  ctx.profile.enabled = setup.options.profile;
  checkpointer.setDataOrder(data.orderText());
  ctx.device->findId = [this](int64_t id) {
    return data.findId(doneSamples, train.globalBatch, id);
  };
}

void Trainer::warn(const std::string &text) const {
  if (comm.rank == 0)
    std::fprintf(stderr, "warning: %s\n", text.c_str());
}

/// Takes the output folder for this process until it ends: two trainers would
/// write over each other's checkpoints.
static void lockOutput(const std::string &out) {
  std::filesystem::create_directories(out);
  int fd = open(out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    fail("cannot open {}: {}", out, std::strerror(errno));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail("another trainer writes to {}; fix: another --out, or end it first",
         out);
}

void Trainer::restore() {
  if (comm.rank == 0)
    lockOutput(setup.options.out);
  const std::string &out = setup.options.out;
  std::vector<std::string> warnings;
  auto found = agreeOnCheckpoint(comm, out, setup.options.resume, warnings);
  for (const std::string &text : warnings)
    warn(text);
  std::optional<LoadReport> report;
  if (setup.options.reportLoading)
    report.emplace(comm);
  Loading loading(comm, setup.options.loadPerNode);
  size_t bytes = loadParameters(metadata, ctx.layout, ctx.arena, loading.team);
  std::string loaded;
  if (report)
    loaded = report->finish(setup.options.loadPerNode ? "per-node" : "per-rank",
                            bytes, metadata, ctx.layout, ctx.baselineRss);
  if (found) {
    for (const std::string &text : checkpointer.load(*found, loading.team))
      warn(text);
    doneSteps = savedStep = found->step;
    doneSamples = found->samples;
  }
  ctx.device->mastersChanged();
  if (train.emaDecay && !(found && found->hasEma)) {
    if (found)
      warn(fmt::format("{} has no EMA; it starts from the weights of step {}",
                       found->path, found->step));
    ctx.device->startEma();
  }
  if (comm.rank != 0)
    return;
  std::filesystem::create_directories(out);
  log =
      std::make_unique<MetricsLog>(out, doneSteps, lastStep, metadata.logEvery);
  if (found)
    log->note(
        fmt::format("resumed from {} at step {}", found->path, found->step));
  if (report)
    log->note(loaded);
  checkSpace();
}

void Trainer::checkSpace() const {
  const CheckpointPolicy &policy = metadata.checkpoint;
  const std::string &out = setup.options.out;
  std::optional<uint64_t> free = freeBytes(out);
  if (!free)
    return;
  uint64_t one = checkpointer.bytes();
  auto keep = static_cast<uint64_t>(std::max<int64_t>(policy.keep, 1));
  bool saves = policy.every > 0 || policy.atEnd;
  if (one > *free && saves && doneSteps < lastStep)
    fail("a checkpoint needs {} bytes in {}, which has {} bytes free; fix: "
         "another --out, or free {} bytes",
         one, out, *free, one - *free);
  // One more than is kept: the new one is complete before the oldest goes.
  uint64_t existing = checkpointFolders(out).size();
  uint64_t more = keep + 1 > existing ? keep + 1 - existing : 1;
  if (one * more > *free)
    warn(fmt::format("checkpoints will need {} bytes more in {} ({} of {} "
                     "bytes), which has {} bytes free; fix: a smaller "
                     "checkpoint.keep ({}), or another --out",
                     one * more, out, more, one, *free, policy.keep));
}

void Trainer::run() {
  restore();
  if (doneSteps >= lastStep && log)
    log->note(fmt::format("nothing to do: the run is at step {} of {}",
                          doneSteps, lastStep));
  prefetcher = std::make_unique<Prefetcher>(
      data, metadata, ctx.layout, ctx.device->inputMemory(), comm.rank,
      comm.world(), doneSamples, std::max<int64_t>(lastStep - doneSteps, 0));
  Clock::time_point start = Clock::now();
  bool stopped = false;
  while (doneSteps < lastStep && !stopped) {
    ctx.profile.step.clear();
    Clock::time_point stepStart = Clock::now();
    StepResult result = step();
    if (ctx.profile.enabled)
      ctx.profile.stepSeconds.push_back(secondsSince(stepStart));
    if (log)
      log->record(result.metrics);
    stopped = result.stop;
    int64_t every = metadata.checkpoint.every;
    if (every > 0 && doneSteps % every == 0 && doneSteps < lastStep && !stopped)
      saveCheckpoint(false);
  }
  ctx.device->settle(); // the last update may have failed, too
  if ((stopped || metadata.checkpoint.atEnd) && savedStep != doneSteps)
    saveCheckpoint(true);
  if (stopped && log)
    log->note(fmt::format("stopped by a signal after step {}; --resume auto "
                          "continues",
                          doneSteps));
  if (ctx.profile.enabled && comm.rank == 0) {
    log->note(ctx.profileReport(secondsSince(start)));
    if (comm.world() == 1)
      log->note(replayMatmuls());
  }
  if (setup.options.reportMemory && log)
    log->note(ctx.memoryReport());
  if (!saveError.empty())
    fail("the last checkpoint was not saved: {}", saveError);
}

static double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

std::string Trainer::replayMatmuls() {
  // On the buffers of the last step, so memory is as it was in training; what
  // they hold no longer matters.
  constexpr int repetitions = 30;
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    Clock::time_point start = Clock::now();
    for (const Profile::MatmulCall &call : ctx.profile.step)
      ctx.device->matmul(call.matmul, call.a, call.b, call.bias, call.c);
    ctx.device->settle();
    seconds.push_back(secondsSince(start));
  }
  double step = median(ctx.profile.stepSeconds), alone = median(seconds);
  return fmt::format("a step takes {:.2f} ms, its {} matmuls alone {:.2f} ms "
                     "(medians): ratio {:.2f}",
                     1e3 * step, ctx.profile.step.size(), 1e3 * alone,
                     step / std::max(alone, 1e-9));
}

double Trainer::divisor(const Report &total) const {
  if (weighted)
    return total.weightSum;
  return static_cast<double>(total.microBatches);
}

void Trainer::computeGradients(Report &report) {
  ctx.device->beginStep();
  Prefetcher::Batch batch;
  while (!batch.endsStep) {
    {
      ProfileScope scope(ctx.profile, CallKind::DataWait);
      ctx.device->finishInputs();
      batch = prefetcher->next();
    }
    if (setup.options.dumpSamples && batch.counts)
      printSamples(batch);
    // The total count is known after the step: gradients are divided by it
    // then.
    double share =
        weighted ? 1.0 : 1.0 / static_cast<double>(batch.microBatches);
    ctx.run(*entries[batch.bucket],
            {batch.data, batch.firstPosition, batch.counts ? share : 0.0,
             batch.counts, batch.bucket});
    report.microBatches = batch.microBatches;
  }
  ProfileScope scope(ctx.profile, CallKind::Collective);
  StepSums sums = ctx.device->finishStep();
  report.lossSum = sums.loss;
  report.weightSum = sums.weight;
}

Trainer::Report Trainer::gatherReports(const Report &mine, int &nonfiniteRank) {
  ProfileScope scope(ctx.profile, CallKind::Collective);
  std::string bytes(reinterpret_cast<const char *>(&mine), sizeof mine);
  Report total{};
  nonfiniteRank = -1;
  std::vector<std::string> all = comm.exchange(bytes);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    Report report;
    std::memcpy(&report, all[rank].data(), sizeof report);
    total.lossSum += report.lossSum;
    total.weightSum += report.weightSum;
    total.stop |= report.stop;
    total.microBatches = report.microBatches;
    // The replicas hold the same slices: one of them counts.
    if (static_cast<int64_t>(rank) >= comm.mesh.shard)
      continue;
    total.sumOfSquares += report.sumOfSquares;
    total.nonfinite += report.nonfinite;
    if (report.nonfinite && nonfiniteRank < 0) {
      nonfiniteRank = static_cast<int>(rank);
      total.firstNonfinite = report.firstNonfinite;
    }
  }
  return total;
}

void Trainer::failNonfinite(const Report &total, int rank) const {
  std::string where;
  if (rank >= 0) {
    auto pieces = ownedPieces(metadata, ctx.layout,
                              rank % static_cast<int>(comm.mesh.shard));
    const OwnedPiece &piece = pieces[static_cast<size_t>(total.firstNonfinite)];
    const Group &group = metadata.groups[piece.group];
    where =
        fmt::format(", first in '{}' on rank {}",
                    metadata.fullName(group, group.params[piece.param]), rank);
  }
  fail("step {}: {} elements of the gradients are not finite{}, the loss is "
       "{}; fix: a lower lr, clip_norm, or on_nonfinite = \"skip\"",
       doneSteps + 1, total.nonfinite, where, total.lossSum / divisor(total));
}

Trainer::StepResult Trainer::step() {
  Clock::time_point start = Clock::now();
  Report mine{};
  computeGradients(mine);
  {
    ProfileScope scope(ctx.profile, CallKind::Optimizer);
    GradientStats stats = ctx.device->gradientStats();
    mine.sumOfSquares = stats.sumOfSquares;
    mine.nonfinite = stats.nonfinite;
    mine.firstNonfinite = stats.firstNonfinite;
  }
  mine.stop = stopRequested();
  int nonfiniteRank;
  Report total = gatherReports(mine, nonfiniteRank);
  StepResult result;
  result.stop = total.stop != 0;
  StepMetrics &metrics = result.metrics;
  double parts = divisor(total);
  if (weighted && (parts < 0 || (parts == 0 && !train.skipNonfinite)))
    fail("step {}: the counts that the program returns add up to {}; fix: a "
         "count above 0{}",
         doneSteps + 1, parts,
         parts < 0 ? ""
                   : ", or on_nonfinite = \"skip\", which leaves the step out");
  metrics.loss = total.lossSum / parts;
  // Of a program with a count the gradients are still those of the sum.
  double gradScale = weighted ? 1.0 / parts : 1.0;
  if (!setup.options.dumpGradients.empty() && firstStep)
    dumpGradients(gradScale);
  firstStep = false;
  metrics.gradNorm = std::sqrt(total.sumOfSquares) * gradScale;
  bool finite = std::isfinite(metrics.gradNorm) && std::isfinite(metrics.loss);
  if (!finite && !train.skipNonfinite)
    failNonfinite(total, nonfiniteRank);
  metrics.skipped = !finite;
  ++doneSteps;
  doneSamples += train.globalBatch;
  metrics.step = doneSteps;
  metrics.samples = doneSamples;
  metrics.lr =
      learningRate(*metadata.optimizer,
                   metadata.schedule.value_or(SchedulePolicy{}), doneSteps);
  if (finite) {
    ProfileScope scope(ctx.profile, CallKind::Optimizer);
    double scale = 1.0;
    if (train.clipNorm) // as torch.nn.utils.clip_grad_norm_
      scale = std::min(1.0, *train.clipNorm / (metrics.gradNorm + 1e-6));
    ctx.device->update(doneSteps, metrics.lr, scale * gradScale);
  }
  metrics.samplesPerSecond =
      static_cast<double>(train.globalBatch) / secondsSince(start);
  return result;
}

/// What is written is the gradient of the loss, and what is trained with stays
/// as it is: a run with a dump is the run without.
void Trainer::dumpGradients(double scale) {
  const std::string &path = setup.options.dumpGradients;
  ParameterFile file =
      stateFile(metadata, ctx.layout, path, StateKind::Gradient);
  if (comm.rank == 0)
    file.plan.create(path);
  comm.barrier();
  writePieces(file, path, metadata, ctx.layout, ctx.arena,
              writtenPieces(metadata, ctx.layout, comm.mesh, comm.rank), scale);
  comm.barrier();
}

void Trainer::printSamples(const Prefetcher::Batch &batch) const {
  std::string line =
      fmt::format("samples step {} rank {}:", doneSteps + 1, comm.rank);
  for (int64_t i = 0; i < batch.samples; ++i)
    line += fmt::format(" {}", data.numberOf(data.at(batch.firstPosition + i)));
  line += "\n";
  // One write, so that the lines of several ranks do not mix.
  std::fflush(stdout);
  ssize_t written = write(STDOUT_FILENO, line.data(), line.size());
  (void)written;
}

void Trainer::saveCheckpoint(bool last) {
  ProfileScope scope(ctx.profile, CallKind::Checkpoint);
  saveError = checkpointer.save(doneSteps, doneSamples);
  if (saveError.empty()) {
    savedStep = doneSteps;
    return;
  }
  // A full disk must not cost the steps in memory: the next save may succeed.
  if (!last)
    warn(fmt::format("no checkpoint at step {}: {}; the earlier ones are kept "
                     "and training goes on",
                     doneSteps, saveError));
}

void runTraining(const RunSetup &setup) {
  Trainer trainer(setup);
  // Ends the process while the trainer is there: its destructor would wait for
  // a GPU that another rank has left in a collective.
  orFatal([&] { trainer.run(); });
}

} // namespace ff::rt
