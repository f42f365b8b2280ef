//===- Context.cpp - State of a rank, calls of generated code -------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Context.h"
#include "runtime/compute/Embedding.h"
#include "runtime/compute/Random.h"
#include "runtime/compute/Threads.h"
#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"

using namespace ff::rt;

namespace {
LayoutRequest makeRequest(RunMode mode, MeshShape mesh,
                          const Matmuls &matmuls) {
  return LayoutRequest{mode, mesh, matmuls.scratchBytes()};
}

/// The layout, once it is known that the spec allows it.
Layout makeLayout(const Metadata &metadata, const LayoutRequest &request) {
  Layout layout = computeLayout(metadata, request);
  checkLimits(metadata, layout);
  return layout;
}
} // namespace

ff_ctx::ff_ctx(const Metadata &metadata, RunMode mode, Communicator &comm)
    : metadata(metadata), program(programOf(metadata, mode)),
      matmuls(metadata.matmuls),
      layout(makeLayout(metadata, makeRequest(mode, comm.mesh, matmuls))),
      baselineRss(residentBytes()), arena(layout.totalBytes), comm(comm),
      units(metadata, program, layout, arena, comm) {
  request = makeRequest(mode, comm.mesh, matmuls);
  matmuls.setScratch(arena.at(layout.matmulScratch));
  lossIsF64 = !program.outputs.empty() && program.outputs[0].dtype == FF_F64;
}

void ff_ctx::run(const ff_entry &entry, const char *batchInputs, int64_t first,
                 double lossSeed) {
  inputs = batchInputs;
  firstSample = first;
  lossSeedF64 = lossSeed;
  lossSeedF32 = static_cast<float>(lossSeed);
  entry.run(this);
}

std::string ff_ctx::memoryReport() const {
  return fmt::format("{{\"arena_bytes\":{},\"planned_arena_bytes\":{},"
                     "\"baseline_rss\":{},\"peak_rss\":{},"
                     "\"planned_host_bytes\":{}}}",
                     arena.size(), layout.totalBytes, baselineRss,
                     peakResidentBytes(), layout.hostBytes);
}

const void *ff_ctx::output(size_t index) const {
  return arena.at<char>(layout.outputs) + layout.outputOffsets[index];
}

extern "C" {

void ff_rt_parallel_for(ff_ctx *ctx, ff_kernel_fn kernel, void *const *buffers,
                        int64_t n, int64_t grain) {
  ProfileScope scope(ctx->profile, CallKind::Kernel);
  parallelFor(n, grain,
              [&](int64_t begin, int64_t end) { kernel(buffers, begin, end); });
}

void ff_rt_matmul(ff_ctx *ctx, int32_t matmul, const void *a, const void *b,
                  const void *bias, void *c) {
  orFatal([&] {
    if (matmul < 0 || size_t(matmul) >= ctx->metadata.matmuls.size())
      failInternal("matmul number {}", matmul);
    if (!ctx->profile.enabled)
      return ctx->matmuls.run(static_cast<size_t>(matmul), a, b, bias, c);
    Clock::time_point start = Clock::now();
    ctx->matmuls.run(static_cast<size_t>(matmul), a, b, bias, c);
    ctx->profile.addMatmul(static_cast<size_t>(matmul), secondsSince(start));
    ctx->profile.step.push_back({static_cast<size_t>(matmul), a, b, bias, c});
  });
}

void ff_rt_random(ff_ctx *ctx, int32_t site, int32_t distribution,
                  int32_t dtype, void *out, int64_t batch, int64_t perSample) {
  ProfileScope scope(ctx->profile, CallKind::Random);
  orFatal([&] {
    fillRandom(
        ctx->metadata.seed, site, static_cast<ff_distribution>(distribution),
        static_cast<DType>(dtype), ctx->firstSample, batch, perSample, out);
  });
}

void ff_rt_embedding(ff_ctx *ctx, int32_t dtype, const void *table,
                     const int64_t *ids, void *out, int64_t n, int64_t rows,
                     int64_t width) {
  ProfileScope scope(ctx->profile, CallKind::Embedding);
  orFatal([&] {
    embeddingLookup(static_cast<DType>(dtype), table, ids, out, n, rows, width);
  });
}

void ff_rt_embedding_grad(ff_ctx *ctx, int32_t dtype, const void *dout,
                          const int64_t *ids, void *grad, int64_t n,
                          int64_t rows, int64_t width) {
  ProfileScope scope(ctx->profile, CallKind::Embedding);
  orFatal([&] {
    embeddingGrad(static_cast<DType>(dtype), dout, ids, grad, n, rows, width);
  });
}

void *ff_rt_arena(ff_ctx *ctx) {
  return ctx->arena.at(ctx->layout.activations);
}

const void *ff_rt_input(ff_ctx *ctx, int32_t index) {
  return ctx->inputs + ctx->layout.inputOffsets[static_cast<size_t>(index)];
}

void *ff_rt_output(ff_ctx *ctx, int32_t index) {
  return const_cast<void *>(ctx->output(static_cast<size_t>(index)));
}

const void *ff_rt_loss_seed(ff_ctx *ctx) {
  if (ctx->lossIsF64)
    return &ctx->lossSeedF64;
  return &ctx->lossSeedF32;
}

void ff_rt_gather_start(ff_ctx *ctx, int32_t unit, int32_t slot) {
  orFatal([&] { ctx->units.gatherStart(unit, slot); });
}

void ff_rt_gather_wait(ff_ctx *ctx, int32_t unit) {
  ProfileScope scope(ctx->profile, CallKind::GatherWait);
  orFatal([&] { ctx->units.gatherWait(unit); });
}

void ff_rt_release(ff_ctx *ctx, int32_t unit) {
  orFatal([&] { ctx->units.release(unit); });
}

const void *ff_rt_group_data(ff_ctx *ctx, int32_t group) {
  return orFatal([&] { return ctx->units.groupData(group); });
}

void *ff_rt_group_grad(ff_ctx *ctx, int32_t group, int32_t slot) {
  return orFatal([&] { return ctx->units.groupGrad(group, slot); });
}

void ff_rt_reduce_start(ff_ctx *ctx, int32_t unit, int32_t slot) {
  orFatal([&] { ctx->units.reduceStart(unit, slot); });
}

void ff_rt_reduce_wait(ff_ctx *ctx, int32_t unit) {
  ProfileScope scope(ctx->profile, CallKind::ReduceWait);
  orFatal([&] { ctx->units.reduceWait(unit); });
}

} // extern "C"
