//===- CpuDevice.cpp - The cores of the host ------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/CpuDevice.h"
#include "runtime/compute/Embedding.h"
#include "runtime/compute/Random.h"
#include "runtime/compute/Threads.h"

namespace ff::rt {

CpuDevice::CpuDevice(const Metadata &metadata, const Program &program,
                     const Layout &layout, HostCommunicator &comm)
    : metadata(metadata), program(program), layout(layout),
      matmuls(metadata.matmuls), memory(layout.totalBytes),
      exchange(metadata, program, layout, memory, comm),
      optimizer(metadata, layout, memory, comm.shardIndex()),
      lossIsF64(!program.outputs.empty() &&
                program.outputs[0].dtype == FF_F64) {
  matmuls.setScratch(memory.at(layout.matmulScratch));
}

void CpuDevice::parallelFor(ff_kernel_fn kernel, void *const *buffers,
                            int64_t n, int64_t grain) {
  rt::parallelFor(n, grain, [&](int64_t begin, int64_t end) {
    kernel(buffers, begin, end);
  });
}

void CpuDevice::matmul(size_t matmul, const void *a, const void *b,
                       const void *bias, void *c) {
  matmuls.run(matmul, a, b, bias, c);
}

void CpuDevice::random(int32_t site, ff_distribution distribution, DType dtype,
                       void *out, int64_t rows, int64_t perSample) {
  fillRandom(metadata.seed, site, distribution, dtype, batch.firstSample, rows,
             perSample, out);
}

void CpuDevice::embedding(DType dtype, const void *table, const int64_t *ids,
                          void *out, int64_t n, int64_t rows, int64_t width) {
  int64_t bad = firstBadId(ids, n, rows);
  if (bad >= 0)
    failId(bad, ids[bad], rows);
  embeddingLookup(dtype, table, ids, out, n, width);
}

void CpuDevice::embeddingGrad(DType dtype, const void *dout, const int64_t *ids,
                              void *grad, int64_t n, int64_t rows,
                              int64_t width) {
  rt::embeddingGrad(dtype, dout, ids, grad, n, rows, width);
}

const void *CpuDevice::input(size_t index) {
  return batch.inputs + layout.inputOffsets[batch.bucket][index];
}

void *CpuDevice::output(size_t index) {
  return memory.at<char>(layout.outputs) + layout.outputOffsets[index];
}

const void *CpuDevice::lossSeed() {
  if (lossIsF64)
    return &batch.lossSeed;
  return &lossSeedF32;
}

char *CpuDevice::inputMemory() { return memory.at<char>(layout.inputs); }

double CpuDevice::number(size_t index) {
  const void *value = output(index);
  return lossIsF64 ? *static_cast<const double *>(value)
                   : static_cast<double>(*static_cast<const float *>(value));
}

void CpuDevice::run(ff_ctx *ctx, const ff_entry &entry,
                    const MicroBatch &next) {
  batch = next;
  lossSeedF32 = static_cast<float>(batch.lossSeed);
  entry.run(ctx);
  if (!batch.counts)
    return;
  sums.loss += number(0);
  if (program.outputs.size() > 1)
    sums.weight += number(1);
}

void CpuDevice::beginStep() {
  sums = StepSums();
  exchange.beginStep();
}

StepSums CpuDevice::finishStep() {
  exchange.finishStep();
  return sums;
}

} // namespace ff::rt
