//===- CudaUnitExchange.h - Units in the memory of a GPU ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Collectives have a stream of their own. What it does for a unit begins after
// the compute that was launched before the call, and compute goes on beside it
// until the call that waits: order is events, the host never waits.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_CUDAUNITEXCHANGE_H
#define FF_RUNTIME_CUDA_CUDAUNITEXCHANGE_H

#include "runtime/comm/UnitExchange.h"
#include "runtime/cuda/DeviceKernels.h"
#include "runtime/cuda/NcclCommunicator.h"

namespace ff::rt::cuda {

class CudaUnitExchange final : public UnitExchange {
public:
  CudaUnitExchange(const Metadata &metadata, const Program &program,
                   const Layout &layout, const Arena &arena,
                   NcclCommunicator &comm, Stream &compute,
                   DeviceKernels &kernels);

  /// Which gradient slices are stale: what calls of generated code depend on,
  /// beside the program, so a captured graph is for one of them.
  std::vector<char> staleGradients() const { return fresh; }
  /// After a graph was replayed: what the calls in it would have left.
  void setStaleGradients(const std::vector<char> &stale) { fresh = stale; }

private:
  void startGather(int unit, int slot) override;
  void awaitGather(int unit) override;
  void startReduce(int unit, int slot) override;
  void awaitReduce(int unit) override;
  void sumOverReplicas() override;

  CUdeviceptr addressOf(const void *data) const {
    return reinterpret_cast<CUdeviceptr>(data);
  }
  /// The communication stream goes on after what compute has been given.
  void follow();
  std::string nameOf(int unit) const { return metadata.units[unit].name; }

  NcclCommunicator &comm;
  Stream &compute;
  DeviceKernels &kernels;
  Event ready, summed;
  std::vector<std::unique_ptr<Event>> gatherDone, reduceDone; ///< of each unit
  std::vector<char> gathering; ///< units whose gather does anything
  /// Tables of DeviceKernels::zero() by unit and gradient slot; -1: no gaps.
  std::vector<std::vector<int>> gapTables;
};

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_CUDAUNITEXCHANGE_H
