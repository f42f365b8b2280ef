//===- CpuDevice.h - The cores of the host --------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CPU_CPUDEVICE_H
#define FF_RUNTIME_CPU_CPUDEVICE_H

#include "runtime/compute/Matmul.h"
#include "runtime/cpu/HostUnitExchange.h"
#include "runtime/cpu/Optimizer.h"

namespace ff::rt {

class CpuDevice final : public Device {
public:
  CpuDevice(const Metadata &metadata, const Program &program,
            const Layout &layout, HostCommunicator &comm);

  const Arena &arena() const override { return memory; }
  UnitExchange &units() override { return exchange; }

  void parallelFor(ff_kernel_fn kernel, void *const *buffers, int64_t n,
                   int64_t grain) override;
  void matmul(size_t matmul, const void *a, const void *b, const void *bias,
              void *c) override;
  void random(int32_t site, ff_distribution distribution, DType dtype,
              void *out, int64_t batch, int64_t perSample) override;
  void embedding(DType dtype, const void *table, const int64_t *ids, void *out,
                 int64_t n, int64_t rows, int64_t width) override;
  void embeddingGrad(DType dtype, const void *dout, const int64_t *ids,
                     void *grad, int64_t n, int64_t rows,
                     int64_t width) override;
  const void *input(size_t index) override;
  void *output(size_t index) override;
  const void *lossSeed() override;

  char *inputMemory() override;
  void run(ff_ctx *ctx, const ff_entry &entry,
           const MicroBatch &batch) override;
  const void *result(size_t index) override { return output(index); }

  void beginStep() override;
  StepSums finishStep() override;
  GradientStats gradientStats() override { return optimizer.gradientStats(); }
  void update(int64_t step, double lr, double gradScale) override {
    optimizer.update(step, lr, gradScale);
  }
  void startEma() override { optimizer.startEma(); }

private:
  double number(size_t output);

  const Metadata &metadata;
  const Program &program;
  const Layout &layout;
  Matmuls matmuls;
  HostArena memory;
  HostUnitExchange exchange;
  Optimizer optimizer;
  StepSums sums;

  // Of the micro-batch that runs.
  MicroBatch batch;
  float lossSeedF32 = 0;
  bool lossIsF64;
};

} // namespace ff::rt

#endif // FF_RUNTIME_CPU_CPUDEVICE_H
