//===- Context.cpp - State of a rank, calls of generated code -------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Context.h"
#include "runtime/compute/MatmulType.h"
#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"

#include <functional>
#include <numeric>

using namespace ff::rt;

/// The layout, once it is known that the spec allows it.
static Layout makeLayout(const Metadata &metadata, RunMode mode,
                         Backend &backend, MeshShape mesh) {
  Layout layout = computeLayout(
      metadata,
      LayoutRequest{mode, mesh, backend.matmulScratchBytes(metadata)});
  checkLimits(metadata, layout);
  return layout;
}

ff_ctx::ff_ctx(const Metadata &metadata, RunMode mode, Backend &backend,
               Communicator &comm)
    : metadata(metadata), program(programOf(metadata, mode)), comm(comm),
      layout(makeLayout(metadata, mode, backend, comm.mesh)),
      baselineRss(residentBytes()),
      device(backend.open(metadata, program, layout, comm)),
      arena(device->arena()), units(device->units()) {}

std::string ff_ctx::memoryReport() const {
  return fmt::format("{{\"arena_bytes\":{},\"planned_arena_bytes\":{},"
                     "\"baseline_rss\":{},\"peak_rss\":{},"
                     "\"planned_host_bytes\":{}}}",
                     arena.size(), layout.totalBytes, baselineRss,
                     peakResidentBytes(), layout.hostBytes);
}

/// The shape of a matmul, and how it is computed.
static std::string textOf(const MatmulType &type,
                          const std::string &implementation) {
  int64_t batch = std::accumulate(type.batch.begin(), type.batch.end(),
                                  int64_t{1}, std::multiplies<>());
  std::string text = fmt::format("m {}, n {}, k {}", type.m, type.n, type.k);
  if (batch > 1)
    text += fmt::format(", batch {}", batch);
  text += fmt::format(", {}", dtypeName(type.dtype));
  if (type.resultDtype() != type.dtype)
    text += fmt::format(" to {}", dtypeName(type.resultDtype()));
  if (type.bias)
    text += ", bias";
  if (type.activation != Activation::None)
    text += ", activation";
  return implementation.empty() ? text : text + " (" + implementation + ")";
}

std::string ff_ctx::profileReport(double totalSeconds) {
  ProfileTexts texts;
  for (const KernelType &kernel : metadata.kernels)
    texts.kernels.push_back(
        {kernel.name, static_cast<double>(kernel.bytes), kernel.flops});
  for (size_t i = 0; i < metadata.matmuls.size(); ++i) {
    const MatmulType &matmul = metadata.matmuls[i];
    texts.matmuls.push_back(
        {textOf(matmul, device->implementation(i)), 0, matmulFlops(matmul)});
  }
  texts.copyRate = device->copyRate();
  return profile.table(totalSeconds, texts);
}

/// A call of generated code. A profile has its time to the end of its work.
template <typename Body>
static void call(ff_ctx *ctx, CallKind kind, Body &&body) {
  orFatal([&] {
    ProfileScope scope(ctx->profile, kind);
    body(*ctx->device);
    if (ctx->profile.enabled)
      ctx->device->settle();
  });
}

/// Likewise, of a kernel or a matmul that has a line of its own.
template <typename Body>
static void numberedCall(ff_ctx *ctx, CallKind kind, int32_t number,
                         Body &&body) {
  orFatal([&] {
    if (!ctx->profile.enabled)
      return body();
    ctx->profile.addNumbered(kind, static_cast<size_t>(number),
                             ctx->device->timed(body));
  });
}

extern "C" {

void ff_rt_parallel_for(ff_ctx *ctx, ff_kernel_fn kernel, void *const *buffers,
                        int64_t n, int64_t grain) {
  call(ctx, CallKind::Kernel,
       [&](Device &device) { device.parallelFor(kernel, buffers, n, grain); });
}

void ff_rt_launch(ff_ctx *ctx, int32_t kernel, void *const *buffers) {
  numberedCall(ctx, CallKind::Kernel, kernel,
               [&] { ctx->device->launch(kernel, buffers); });
}

void ff_rt_matmul(ff_ctx *ctx, int32_t matmul, const void *a, const void *b,
                  const void *bias, void *c) {
  orFatal([&] {
    auto number = static_cast<size_t>(matmul);
    if (matmul < 0 || number >= ctx->metadata.matmuls.size())
      failInternal("matmul number {}", matmul);
    if (ctx->profile.enabled)
      ctx->profile.step.push_back({number, a, b, bias, c});
  });
  numberedCall(ctx, CallKind::Matmul, matmul, [&] {
    ctx->device->matmul(static_cast<size_t>(matmul), a, b, bias, c);
  });
}

void ff_rt_random(ff_ctx *ctx, int32_t site, int32_t distribution,
                  int32_t dtype, void *out, int64_t batch, int64_t perSample) {
  call(ctx, CallKind::Random, [&](Device &device) {
    device.random(site, static_cast<ff_distribution>(distribution),
                  static_cast<DType>(dtype), out, batch, perSample);
  });
}

void ff_rt_embedding(ff_ctx *ctx, int32_t dtype, const void *table,
                     const int64_t *ids, void *out, int64_t n, int64_t rows,
                     int64_t width) {
  call(ctx, CallKind::Embedding, [&](Device &device) {
    device.embedding(static_cast<DType>(dtype), table, ids, out, n, rows,
                     width);
  });
}

void ff_rt_embedding_grad(ff_ctx *ctx, int32_t dtype, const void *dout,
                          const int64_t *ids, void *grad, int64_t n,
                          int64_t rows, int64_t width) {
  call(ctx, CallKind::Embedding, [&](Device &device) {
    device.embeddingGrad(static_cast<DType>(dtype), dout, ids, grad, n, rows,
                         width);
  });
}

void *ff_rt_arena(ff_ctx *ctx) {
  return ctx->arena.at(ctx->layout.activations);
}

const void *ff_rt_input(ff_ctx *ctx, int32_t index) {
  return ctx->device->input(static_cast<size_t>(index));
}

void *ff_rt_output(ff_ctx *ctx, int32_t index) {
  return ctx->device->output(static_cast<size_t>(index));
}

const void *ff_rt_loss_seed(ff_ctx *ctx) { return ctx->device->lossSeed(); }

void ff_rt_gather_start(ff_ctx *ctx, int32_t unit, int32_t slot) {
  orFatal([&] { ctx->units.gatherStart(unit, slot); });
}

void ff_rt_gather_wait(ff_ctx *ctx, int32_t unit) {
  call(ctx, CallKind::GatherWait,
       [&](Device &) { ctx->units.gatherWait(unit); });
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
  call(ctx, CallKind::ReduceWait,
       [&](Device &) { ctx->units.reduceWait(unit); });
}

} // extern "C"
