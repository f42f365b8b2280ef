//===- CudaDevice.h - A GPU that trains -----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Three streams: compute, communication (NcclCommunicator) and the copies of
// inputs. The host runs ahead of them, by at most two micro-batches, and waits
// where it needs a number: once in each step.
//
// A micro-batch runs call by call once, since plans and kernels are made when
// they come first; then it is captured as a CUDA graph. What changes between
// micro-batches is in device memory (BatchScalars), or part of the key of the
// graph: the input set and which gradients start from zero.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_CUDADEVICE_H
#define FF_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/core/Backend.h"
#include "runtime/cuda/CudaMatmuls.h"
#include "runtime/cuda/CudaUnitExchange.h"
#include "runtime/cuda/DeviceArena.h"
#include "runtime/cuda/Stopwatch.h"

#include <map>

namespace ff::rt::cuda {

class CudaDevice final : public Device {
public:
  CudaDevice(const Metadata &metadata, const Program &program,
             const Layout &layout, const Context &context,
             NcclCommunicator &comm, const ff_device_image &image,
             const Backend &backend);
  ~CudaDevice() override;

  const Arena &arena() const override { return memory; }
  UnitExchange &units() override { return exchange; }

  void launch(int32_t kernel, void *const *buffers) override;
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

  char *inputMemory() override { return pinned.data; }
  void run(ff_ctx *ctx, const ff_entry &entry,
           const MicroBatch &batch) override;
  void finishInputs() override;
  const void *result(size_t index) override;
  void settle() override;

  void beginStep() override;
  StepSums finishStep() override;
  GradientStats gradientStats() override { return stats; }
  void update(int64_t step, double lr, double gradScale) override;
  void mastersChanged() override;
  void startEma() override;

  double timed(const std::function<void()> &calls) override;
  double copyRate() override;
  std::string implementation(size_t matmul) const override {
    return matmuls.implementation(matmul);
  }

private:
  struct Graph {
    CUgraphExec exec = nullptr;
    int runs = 0;
    std::vector<char> staleAfter;
  };
  /// What the calls of a micro-batch depend on: the input set, the bucket, and
  /// which gradients are stale.
  using GraphKey = std::tuple<size_t, size_t, std::vector<char>>;

  std::vector<TrainedPiece> trainedPieces() const;
  void copyInputs(const MicroBatch &batch);
  void runCalls(ff_ctx *ctx, const ff_entry &entry);
  void capture(ff_ctx *ctx, const ff_entry &entry, Graph &graph);
  /// The record on the host; an Error where a lookup failed.
  StepRecord readRecord();
  CUdeviceptr records() const { return memory.address(layout.records); }
  CUdeviceptr scalars() const {
    return records() + recordBytes + set * scalarBytes;
  }

  const Metadata &metadata;
  const Program &program;
  const Layout &layout;
  NcclCommunicator &comm;
  bool useGraphs, training;
  Stream compute, copies;
  DeviceArena memory;
  PinnedMemory pinned; ///< input sets, their scalars, the record
  Module module;
  std::vector<CUfunction> functions; ///< by number of the kernel
  std::vector<void *> arguments;     ///< of the launch that is made
  CudaMatmuls matmuls;
  DeviceKernels kernels;
  CudaUnitExchange exchange;

  size_t set = 0; ///< the input set on the device that runs
  size_t bucket = 0;
  Event copied, recorded;
  Event computed[deviceInputSets]; ///< the last run with an input set
  bool hasRun = false;
  std::map<GraphKey, Graph> graphs;
  GradientStats stats;
  Stopwatch stopwatch;
  std::vector<char> resultBytes;
};

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_CUDADEVICE_H
