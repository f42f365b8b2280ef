//===- CudaDevice.cpp - A GPU that trains ---------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaDevice.h"
#include "runtime/core/Error.h"
#include "runtime/train/Parameters.h"

#include <cmath>
#include <cstring>

namespace ff::rt::cuda {

static CUdeviceptr addressOf(const void *data) {
  return reinterpret_cast<CUdeviceptr>(data);
}

static_assert(sizeof(StepRecord) <= recordBytes &&
              sizeof(BatchScalars) <= scalarBytes &&
              recordBytes + deviceInputSets * scalarBytes <= tablesOffset - 64);

/// Where Progress has its word: behind the scalars.
constexpr size_t progressOffset = tablesOffset - 64;

CudaDevice::CudaDevice(const Metadata &metadata, const Program &program,
                       const Layout &layout, const Context &context,
                       NcclCommunicator &comm, const ff_device_image &image,
                       const Backend &backend)
    : metadata(metadata), program(program), layout(layout), comm(comm),
      useGraphs(backend.graphs && !backend.profile),
      training(!layout.gradSlots.empty()),
      memory(layout, context.name, compute, comm.progress),
      pinned(inputSets * (layout.inputSetBytes + scalarBytes) + recordBytes),
      module(image.ptx, image.cubin),
      matmuls(metadata.matmuls, metadata.target->tf32,
              memory.address(layout.matmulScratch)),
      kernels(trainedPieces(), records() + tablesOffset,
              layout.records.bytes - tablesOffset),
      exchange(metadata, program, layout, memory, comm, compute, kernels) {
  for (const KernelType &kernel : metadata.kernels) {
    if (kernel.sharedBytes > context.maxSharedBytes)
      fail("kernel '{}' needs {} bytes of shared memory, a block of this GPU "
           "({}) has {}; fix: compile for its chip",
           kernel.name, kernel.sharedBytes, context.name,
           context.maxSharedBytes);
    functions.push_back(
        module.function(kernel.name.c_str(), kernel.sharedBytes));
  }
  if (comm.world() > 1)
    comm.attach(memory.address(layout.collectives), records() + progressOffset,
                &compute);
}

CudaDevice::~CudaDevice() {
  for (auto &entry : graphs)
    if (entry.second.exec)
      libraries().cuda->graphExecDestroy(entry.second.exec);
  // The communicator outlives the arena.
  comm.attach(0, 0, nullptr);
}

std::vector<TrainedPiece> CudaDevice::trainedPieces() const {
  std::vector<TrainedPiece> pieces;
  auto owned = ownedPieces(metadata, layout, comm.shardIndex());
  for (size_t i = 0; training && i < owned.size(); ++i) {
    const Group &group = metadata.groups[owned[i].group];
    const GroupLayout &place = layout.groups[owned[i].group];
    if (!group.trainable)
      continue;
    auto at = [&](const Region &region, DType dtype) -> CUdeviceptr {
      if (!region.bytes)
        return 0;
      return memory.address(region) +
             static_cast<size_t>(owned[i].sliceBegin) * dtypeSize(dtype);
    };
    TrainedPiece piece{};
    piece.master = at(place.master, group.masterDtype);
    piece.grad = at(place.grad, place.gradDtype);
    piece.expAvg = at(place.expAvg, place.stateDtype);
    piece.expAvgSq = at(place.expAvgSq, place.stateDtype);
    piece.ema = at(place.ema, place.stateDtype);
    piece.copy = at(place.copy, group.dtype);
    piece.count = owned[i].count;
    piece.index = static_cast<int64_t>(i);
    piece.decay = group.params[owned[i].param].decay;
    // What is not sharded is the same on every rank: one of them counts it.
    piece.inNorm = place.shards > 1 || comm.shardIndex() == 0;
    piece.masterDtype = group.masterDtype;
    piece.gradDtype = place.gradDtype;
    piece.stateDtype = place.stateDtype;
    piece.copyDtype = group.dtype;
    pieces.push_back(piece);
  }
  return pieces;
}

//===----------------------------------------------------------------------===//
// Calls of generated code
//===----------------------------------------------------------------------===//

void CudaDevice::launch(int32_t kernel, void *const *buffers) {
  const KernelType &type = metadata.kernels.at(static_cast<size_t>(kernel));
  arguments.resize(static_cast<size_t>(type.buffers));
  for (int i = 0; i < type.buffers; ++i)
    arguments[i] = const_cast<void **>(&buffers[i]);
  cuda::launch(functions[static_cast<size_t>(kernel)], type.blocks,
               type.threads, type.sharedBytes, compute, arguments.data());
}

void CudaDevice::matmul(size_t matmul, const void *a, const void *b,
                        const void *bias, void *c) {
  matmuls.run(matmul, a, b, bias, c, compute);
}

void CudaDevice::random(int32_t site, ff_distribution distribution, DType dtype,
                        void *out, int64_t batch, int64_t perSample) {
  kernels.random(metadata.seed, site, distribution, dtype, scalars(), batch,
                 perSample, addressOf(out), compute);
}

void CudaDevice::embedding(DType dtype, const void *table, const int64_t *ids,
                           void *out, int64_t n, int64_t rows, int64_t width) {
  kernels.embedding(dtype, addressOf(table), addressOf(ids), addressOf(out), n,
                    rows, width, records(), compute);
}

void CudaDevice::embeddingGrad(DType dtype, const void *dout,
                               const int64_t *ids, void *grad, int64_t n,
                               int64_t rows, int64_t width) {
  kernels.embeddingGrad(dtype, addressOf(dout), addressOf(ids), addressOf(grad),
                        n, rows, width, compute);
}

const void *CudaDevice::input(size_t index) {
  return memory.at<char>(layout.inputs) + set * layout.inputSetBytes +
         layout.inputOffsets[bucket][index];
}

void *CudaDevice::output(size_t index) {
  return memory.at<char>(layout.outputs) + layout.outputOffsets[index];
}

const void *CudaDevice::lossSeed() {
  bool isF64 = !program.outputs.empty() && program.outputs[0].dtype == FF_F64;
  return reinterpret_cast<void *>(
      scalars() + (isF64 ? offsetof(BatchScalars, lossSeedF64)
                         : offsetof(BatchScalars, lossSeedF32)));
}

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

void CudaDevice::copyInputs(const MicroBatch &batch) {
  const CudaApi &api = *libraries().cuda;
  // Compute may still read what the run before the last one had here.
  if (hasRun)
    copies.after(computed[set]);
  size_t hostSet = 0;
  if (layout.inputSetBytes) {
    hostSet =
        static_cast<size_t>(batch.inputs - pinned.data) / layout.inputSetBytes;
    check(api.memcpyHtoDAsync(
              memory.address(layout.inputs) + set * layout.inputSetBytes,
              batch.inputs, layout.inputSetBytes, copies.handle),
          "cuMemcpyHtoDAsync");
  }
  BatchScalars values;
  values.firstSample = batch.firstSample;
  values.lossSeedF64 = batch.lossSeed;
  values.lossSeedF32 = static_cast<float>(batch.lossSeed);
  values.counts = batch.counts;
  // finishInputs() protects it, as it does the inputs.
  char *host =
      pinned.data + inputSets * layout.inputSetBytes + hostSet * scalarBytes;
  std::memcpy(host, &values, sizeof values);
  check(api.memcpyHtoDAsync(scalars(), host, sizeof values, copies.handle),
        "cuMemcpyHtoDAsync");
  copies.record(copied);
  compute.after(copied);
}

void CudaDevice::finishInputs() {
  if (hasRun)
    comm.progress.wait(copied);
}

void CudaDevice::capture(ff_ctx *ctx, const ff_entry &entry, Graph &graph) {
  const CudaApi &api = *libraries().cuda;
  CUgraph captured = nullptr;
  check(api.streamBeginCapture(compute.handle, ThreadLocal),
        "cuStreamBeginCapture");
  entry.run(ctx);
  check(api.streamEndCapture(compute.handle, &captured), "cuStreamEndCapture");
  check(api.graphInstantiate(&graph.exec, captured, 0), "cuGraphInstantiate");
  check(api.graphDestroy(captured), "cuGraphDestroy");
  graph.staleAfter = exchange.staleGradients();
}

void CudaDevice::runCalls(ff_ctx *ctx, const ff_entry &entry) {
  if (!useGraphs)
    return entry.run(ctx);
  Graph &graph = graphs[{set, bucket, exchange.staleGradients()}];
  // The first run of all makes what is made lazily, such as plans of matmuls.
  if (!hasRun || ++graph.runs < 2)
    return entry.run(ctx);
  if (graph.exec)
    exchange.setStaleGradients(graph.staleAfter);
  else
    capture(ctx, entry, graph);
  check(libraries().cuda->graphLaunch(graph.exec, compute.handle),
        "cuGraphLaunch");
}

void CudaDevice::run(ff_ctx *ctx, const ff_entry &entry,
                     const MicroBatch &batch) {
  set = (set + 1) % deviceInputSets;
  bucket = batch.bucket;
  copyInputs(batch);
  runCalls(ctx, entry);
  if (training)
    kernels.recordLoss(program.outputs[0].dtype, addressOf(output(0)),
                       program.outputs.size() > 1 ? addressOf(output(1)) : 0,
                       scalars(), records(), compute);
  compute.record(computed[set]);
  hasRun = true;
}

const void *CudaDevice::result(size_t index) {
  size_t bytes = program.outputs[index].bytes();
  resultBytes.resize(bytes);
  Region region = layout.outputs;
  region.offset += layout.outputOffsets[index];
  memory.read(region, 0, bytes, [&](const char *data, size_t at, size_t n) {
    std::memcpy(resultBytes.data() + at, data, n);
  });
  return resultBytes.data();
}

void CudaDevice::settle() {
  comm.progress.wait(copies);
  comm.progress.wait(compute);
  comm.progress.wait(comm.stream);
  if (!training)
    readRecord();
}

StepRecord CudaDevice::readRecord() {
  StepRecord record;
  char *host = pinned.data + inputSets * (layout.inputSetBytes + scalarBytes);
  check(libraries().cuda->memcpyDtoHAsync(host, records(), sizeof record,
                                          compute.handle),
        "cuMemcpyDtoHAsync");
  compute.record(recorded);
  comm.progress.wait(recorded);
  std::memcpy(&record, host, sizeof record);
  if (record.badIdRow)
    failId(record.badIdRow - 1, record.badId, record.badIdRows);
  return record;
}

//===----------------------------------------------------------------------===//
// An optimizer step
//===----------------------------------------------------------------------===//

void CudaDevice::beginStep() {
  check(libraries().cuda->memsetD8Async(records(), 0, recordBytes,
                                        compute.handle),
        "cuMemsetD8Async");
  exchange.beginStep();
}

StepSums CudaDevice::finishStep() {
  exchange.finishStep();
  kernels.gradientStats(records(), compute);
  StepRecord record = readRecord();
  stats = {record.sumOfSquares, record.nonfinite, record.firstNonfinite - 1};
  return {record.lossSum, record.weightSum};
}

void CudaDevice::update(int64_t step, double lr, double gradScale) {
  const OptimizerPolicy &policy = *metadata.optimizer;
  auto count = static_cast<double>(step);
  AdamWScalars scalars{};
  scalars.beta1 = policy.beta1;
  scalars.beta2 = policy.beta2;
  scalars.eps = policy.eps;
  scalars.stepSize = lr / (1 - std::pow(policy.beta1, count));
  scalars.correction = 1 / std::sqrt(1 - std::pow(policy.beta2, count));
  scalars.lr = lr;
  scalars.weightDecay = policy.weightDecay;
  scalars.gradScale = gradScale;
  scalars.emaDecay = metadata.train->emaDecay.value_or(0.0);
  kernels.adamw(scalars, compute);
}

void CudaDevice::mastersChanged() {
  for (size_t i = 0; i < metadata.groups.size(); ++i) {
    const Group &group = metadata.groups[i];
    const GroupLayout &place = layout.groups[i];
    if (place.copy.bytes)
      kernels.convert(group.masterDtype, memory.address(place.master),
                      group.dtype, memory.address(place.copy), place.owned,
                      compute);
  }
}

void CudaDevice::startEma() { kernels.startEma(compute); }

//===----------------------------------------------------------------------===//
// Profiles
//===----------------------------------------------------------------------===//

double CudaDevice::timed(const std::function<void()> &calls) {
  stopwatch.time(compute, calls);
  settle();
  return stopwatch.seconds();
}

double CudaDevice::copyRate() {
  // Beside the arena, where there is room: without it there are no shares.
  size_t free = 0, total = 0;
  check(libraries().cuda->memGetInfo(&free, &total), "cuMemGetInfo");
  return free > 3 * copyRateBytes ? cuda::copyRate(compute, copyRateBytes) : 0;
}

} // namespace ff::rt::cuda
