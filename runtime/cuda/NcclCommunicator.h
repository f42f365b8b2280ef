//===- NcclCommunicator.h - Ranks that talk through NCCL ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_NCCLCOMMUNICATOR_H
#define FF_RUNTIME_CUDA_NCCLCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Store.h"
#include "runtime/cuda/Progress.h"

namespace ff::rt::cuda {

/// The communicators of the world and of the axes of the mesh. Collectives run
/// in the order in which they are called, which is the same on every rank: on
/// one stream, or within graphs on the compute stream, which exchange()
/// follows. So two communicators never wait for each other.
class NcclCommunicator final : public Communicator {
public:
  /// `store` is null where there is one rank. The device is current.
  NcclCommunicator(const LaunchInfo &info, MeshShape mesh, RankStore *store,
                   double timeoutSeconds);
  ~NcclCommunicator() override;

  /// Of host memory, in pieces: for merged weights.
  void allGather(const std::vector<GatherPart> &parts) override;
  std::vector<std::string> exchange(const std::string &mine) override;

  /// Device memory for exchange(), exchangeBytes of each rank and one more;
  /// 0: none, then it goes through the store. `compute` is the stream of graphs
  /// with collectives in them, or null.
  void attach(CUdeviceptr buffer, CUdeviceptr progressWord, Stream *compute);

  /// Null where the axis has one rank.
  ncclComm_t of(Axis axis) const {
    return axis == Axis::Shard ? shardComm : replicateComm;
  }

  /// Its kernels are few blocks, for which other ranks wait: they go before
  /// those of a large kernel that has not ended.
  Stream stream{/*first=*/true};
  Progress progress;

private:
  std::string asyncError() const;
  void gatherBytes(const char *mine, char *all, size_t bytes, ncclComm_t comm,
                   int ranks);
  std::vector<std::string> exchangeByStore(const std::string &mine);

  RankStore *store;
  double timeoutSeconds;
  int64_t exchanges = 0; ///< through the store
  CUdeviceptr buffer = 0;
  Stream *compute = nullptr;
  Event computed;
  ncclComm_t worldComm = nullptr, shardComm = nullptr, replicateComm = nullptr;
};

/// An Error that names the call and what NCCL says, unless it succeeded.
void check(ncclResult_t result, const char *call);

/// The type of NCCL; an internal Error for one that is not reduced.
ncclDataType_t ncclType(DType dtype);

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_NCCLCOMMUNICATOR_H
