//===- NcclCommunicator.cpp - Ranks that talk through NCCL ----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/NcclCommunicator.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ff::rt::cuda {

void check(ncclResult_t result, const char *call) {
  if (result == ncclSuccess)
    return;
  const NcclApi &nccl = *libraries().nccl;
  const char *last = nccl.getLastError(nullptr);
  fail("{}: {}{}{}; NCCL_DEBUG=INFO says more", call,
       nccl.getErrorString(result), last && *last ? ": " : "",
       last ? last : "");
}

ncclDataType_t ncclType(DType dtype) {
  switch (dtype) {
  case FF_F32:
    return ncclFloat32;
  case FF_F64:
    return ncclFloat64;
  case FF_F16:
    return ncclFloat16;
  case FF_BF16:
    return ncclBfloat16;
  default:
    failInternal("a reduction of {}", dtypeName(dtype));
  }
}

NcclCommunicator::NcclCommunicator(const LaunchInfo &info, MeshShape mesh,
                                   RankStore *store, double timeoutSeconds)
    : Communicator(info.rank, mesh),
      progress(timeoutSeconds, [this] { return asyncError(); }), store(store),
      timeoutSeconds(timeoutSeconds) {
  if (!store)
    return;
  const char *mixing = std::getenv("NCCL_GRAPH_MIXING_SUPPORT");
  if (mixing && std::string(mixing) == "0")
    fail("NCCL_GRAPH_MIXING_SUPPORT=0 forbids collectives beside those of CUDA "
         "graphs, which this trainer has; fix: unset it, or set it to 1");
  Deadline deadline(timeoutSeconds, "the start of NCCL");
  const NcclApi &nccl = *libraries().nccl;
  ncclUniqueId id{};
  const std::string key = "nccl/id";
  if (rank == 0) {
    check(nccl.getUniqueId(&id), "ncclGetUniqueId");
    store->set(
        key, std::vector<char>(id.internal, id.internal + sizeof id.internal));
  } else {
    store->wait({key}, joinTimeout);
    std::vector<char> bytes = store->get(key);
    std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof id.internal),
                id.internal);
  }
  check(nccl.commInitRank(&worldComm, world(), id, rank), "ncclCommInitRank");
  auto split = [&](int color, int index, ncclComm_t &comm) {
    check(nccl.commSplit(worldComm, color, index, &comm, nullptr),
          "ncclCommSplit");
  };
  // Every rank splits, for the axis of one rank, too, or none does.
  if (mesh.shard > 1)
    split(replicateIndex(), shardIndex(), shardComm);
  if (mesh.replicate > 1)
    split(shardIndex(), replicateIndex(), replicateComm);
}

NcclCommunicator::~NcclCommunicator() {
  for (ncclComm_t comm : {shardComm, replicateComm, worldComm})
    if (comm)
      libraries().nccl->commDestroy(comm);
}

void NcclCommunicator::attach(CUdeviceptr address, CUdeviceptr progressWord,
                              Stream *stream) {
  buffer = address;
  compute = stream;
  progress.attach(progressWord);
}

std::string NcclCommunicator::asyncError() const {
  if (!worldComm)
    return "";
  for (ncclComm_t comm : {worldComm, shardComm, replicateComm}) {
    ncclResult_t error = ncclSuccess;
    if (!comm)
      continue;
    libraries().nccl->commGetAsyncError(comm, &error);
    if (error != ncclSuccess && error != ncclInProgress) {
      const char *last = libraries().nccl->getLastError(comm);
      return fmt::format("NCCL: {}{}{}",
                         libraries().nccl->getErrorString(error),
                         last && *last ? ": " : "", last ? last : "");
    }
  }
  return "";
}

/// Up to exchangeBytes of every rank of `comm`, in the order of ranks.
void NcclCommunicator::gatherBytes(const char *mine, char *all, size_t bytes,
                                   ncclComm_t comm, int ranks) {
  if (compute) {
    compute->record(computed);
    stream.after(computed);
  }
  const CudaApi &api = *libraries().cuda;
  CUdeviceptr others = buffer + exchangeBytes;
  check(api.memcpyHtoDAsync(buffer, mine, bytes, stream.handle),
        "cuMemcpyHtoDAsync");
  progress.begin("the exchange of the hosts", stream);
  check(libraries().nccl->allGather(reinterpret_cast<void *>(buffer),
                                    reinterpret_cast<void *>(others), bytes,
                                    ncclUint8, comm, stream.handle),
        "ncclAllGather");
  progress.end(stream);
  // First, since a copy to memory that is not pinned waits without an end.
  progress.wait(stream);
  check(api.memcpyDtoHAsync(all, others, bytes * static_cast<size_t>(ranks),
                            stream.handle),
        "cuMemcpyDtoHAsync");
  progress.wait(stream);
}

std::vector<std::string> NcclCommunicator::exchange(const std::string &mine) {
  if (!store)
    return {mine};
  if (!buffer)
    return exchangeByStore(mine);
  auto ranks = static_cast<size_t>(world());
  // The length and as much as fits go first: for most exchanges that is all.
  constexpr size_t head = 128, room = head - sizeof(uint64_t);
  std::string first(head, '\0');
  uint64_t size = mine.size();
  std::memcpy(first.data(), &size, sizeof size);
  std::copy_n(mine.begin(), std::min(mine.size(), room),
              first.begin() + sizeof size);
  std::string heads(head * ranks, '\0');
  gatherBytes(first.data(), heads.data(), head, worldComm, world());
  std::vector<std::string> all(ranks);
  size_t longest = 0;
  for (size_t i = 0; i < ranks; ++i) {
    std::memcpy(&size, heads.data() + i * head, sizeof size);
    longest = std::max<size_t>(longest, size);
    all[i].assign(heads, i * head + sizeof size, std::min<size_t>(size, room));
    all[i].resize(size);
  }
  std::string piece(exchangeBytes, '\0'), pieces(exchangeBytes * ranks, '\0');
  for (size_t at = room; at < longest; at += exchangeBytes) {
    size_t bytes = std::min(exchangeBytes, longest - at);
    if (at < mine.size())
      mine.copy(piece.data(), bytes, at);
    gatherBytes(piece.data(), pieces.data(), bytes, worldComm, world());
    for (size_t i = 0; i < ranks; ++i)
      if (at < all[i].size())
        std::memcpy(all[i].data() + at, pieces.data() + i * bytes,
                    std::min(bytes, all[i].size() - at));
  }
  return all;
}

std::vector<std::string>
NcclCommunicator::exchangeByStore(const std::string &mine) {
  Deadline deadline(timeoutSeconds, "the exchange of the hosts");
  std::string prefix = fmt::format("exchange/{}/", exchanges++);
  auto keyOf = [&](int index) { return prefix + std::to_string(index); };
  auto get = [&](const std::string &key) {
    store->wait({key}, std::chrono::hours(24 * 30));
    std::vector<char> bytes = store->get(key);
    return std::string(bytes.begin(), bytes.end());
  };
  // Rank 0 collects and hands out, so that messages are as many as ranks.
  std::vector<std::string> all;
  std::string joined;
  if (rank != 0) {
    store->set(keyOf(rank), std::vector<char>(mine.begin(), mine.end()));
    joined = get(prefix + "all");
  } else {
    for (int i = 0; i < world(); ++i) {
      std::string text = i == 0 ? mine : get(keyOf(i));
      uint64_t size = text.size();
      joined.append(reinterpret_cast<const char *>(&size), sizeof size);
      joined += text;
    }
    store->set(prefix + "all", std::vector<char>(joined.begin(), joined.end()));
  }
  for (size_t at = 0; at < joined.size();) {
    uint64_t size;
    std::memcpy(&size, joined.data() + at, sizeof size);
    all.push_back(joined.substr(at + sizeof size, size));
    at += sizeof size + size;
  }
  return all;
}

void NcclCommunicator::allGather(const std::vector<GatherPart> &parts) {
  if (!shardComm)
    return;
  auto ranks = static_cast<size_t>(mesh.shard);
  std::vector<char> pieces(exchangeBytes * ranks);
  for (const GatherPart &part : parts) {
    char *data = static_cast<char *>(part.buffer);
    size_t own = static_cast<size_t>(shardIndex()) * part.bytesPerRank;
    for (size_t at = 0; at < part.bytesPerRank; at += exchangeBytes) {
      size_t bytes = std::min(exchangeBytes, part.bytesPerRank - at);
      gatherBytes(data + own + at, pieces.data(), bytes, shardComm,
                  static_cast<int>(mesh.shard));
      for (size_t i = 0; i < ranks; ++i)
        std::memcpy(data + i * part.bytesPerRank + at,
                    pieces.data() + i * bytes, bytes);
    }
  }
}

} // namespace ff::rt::cuda
