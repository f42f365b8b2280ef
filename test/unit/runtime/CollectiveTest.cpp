//===- CollectiveTest.cpp - Collectives over forked ranks -----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"
#include "runtime/core/Error.h"
#include "runtime/cpu/CommThread.h"
#include "runtime/cpu/GlooCommunicator.h"

#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace ff::rt;

namespace {

using Body = std::function<bool(HostCommunicator &)>;

/// Runs `body` on the ranks of a mesh, each in a process; true where it
/// returned true on all of them.
bool onRanks(MeshShape mesh, const Body &body) {
  int status = 0;
  std::optional<LaunchInfo> info =
      launch(static_cast<int>(mesh.world()), status);
  if (!info)
    return status == 0;
  if (mesh.world() == 1)
    return body(*makeSoloCommunicator());
  setErrorRank(info->rank);
  bool good = orFatal([&] {
    RankStore store(*info);
    bool result = orFatal([&] {
      auto comm = makeGlooCommunicator(*info, mesh, store);
      bool good = body(*comm);
      comm->barrier();
      return good;
    });
    store.leave();
    return result;
  });
  _exit(good ? 0 : 1); // this is a fork: the other tests are the parent's
}

double valueOf(int rank, int64_t i) { return 1.0 / (1 + i) + rank * 0.25; }

bool checkGather(HostCommunicator &comm) {
  const int64_t owned[2] = {16, 48};
  std::vector<std::vector<float>> buffers;
  std::vector<GatherPart> parts;
  for (int64_t size : owned) {
    buffers.emplace_back(size * comm.mesh.shard, -1.0f);
    for (int64_t i = 0; i < size; ++i)
      buffers.back()[size * comm.shardIndex() + i] =
          static_cast<float>(valueOf(comm.shardIndex(), i));
  }
  for (size_t part = 0; part < 2; ++part)
    parts.push_back(
        {buffers[part].data(), static_cast<size_t>(owned[part]) * 4});
  comm.allGather(parts);
  for (size_t part = 0; part < 2; ++part)
    for (int rank = 0; rank < comm.mesh.shard; ++rank)
      for (int64_t i = 0; i < owned[part]; ++i)
        if (buffers[part][owned[part] * rank + i] !=
            static_cast<float>(valueOf(rank, i)))
          return false;
  return true;
}

template <typename T> bool checkReduce(HostCommunicator &comm, DType dtype) {
  int64_t owned = 32, shard = comm.mesh.shard;
  std::vector<T> buffer(owned * shard);
  for (int64_t i = 0; i < owned * shard; ++i) {
    double value = comm.shardIndex() + 1.0 + static_cast<double>(i % 8);
    convertElements(FF_F64, &value, dtype, &buffer[i], 1);
  }
  std::vector<float> sum(owned, 100.0f);
  alignas(64) char scratch[2 * 32 * 8];
  for (bool overwrite : {true, false})
    comm.reduceScatter(
        {{dtype, buffer.data(), owned, FF_F32, sum.data(), overwrite}}, scratch,
        sizeof scratch);
  for (int64_t i = 0; i < owned; ++i) {
    double all = static_cast<double>(shard) * static_cast<double>(i % 8) +
                 static_cast<double>(shard * (shard + 1)) / 2;
    if (sum[i] != static_cast<float>(2 * all))
      return false;
  }
  return true;
}

bool checkAllReduce(HostCommunicator &comm) {
  for (Axis axis : {Axis::Replicate, Axis::Shard})
    for (int64_t n : {1, 3, 16, 101}) {
      int index =
          axis == Axis::Shard ? comm.shardIndex() : comm.replicateIndex();
      std::vector<double> data(n);
      for (int64_t i = 0; i < n; ++i)
        data[i] = index + 0.5 * static_cast<double>(i);
      std::vector<char> scratch(2 * 1024);
      comm.allReduce(axis, FF_F64, data.data(), n, scratch.data(),
                     scratch.size());
      double ranks = static_cast<double>(comm.size(axis));
      for (int64_t i = 0; i < n; ++i)
        if (data[i] !=
            ranks * (ranks - 1) / 2 + ranks * 0.5 * static_cast<double>(i))
          return false;
    }
  return true;
}

bool checkExchange(HostCommunicator &comm) {
  for (int round = 0; round < 3; ++round) {
    std::string mine(static_cast<size_t>(comm.rank * round), 'x');
    auto all = comm.exchange(mine);
    for (int rank = 0; rank < comm.world(); ++rank)
      if (all[static_cast<size_t>(rank)].size() !=
          static_cast<size_t>(rank * round))
        return false;
  }
  return comm.fromRankZero("from " + std::to_string(comm.rank)) == "from 0";
}

const MeshShape meshes[] = {{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5},
                            {2, 1}, {2, 2}, {3, 1}, {5, 1}};

} // namespace

TEST(Collectives, AllOfThemOnEveryMesh) {
  for (MeshShape mesh : meshes) {
    bool good = onRanks(mesh, [](HostCommunicator &comm) {
      return checkGather(comm) && checkReduce<float>(comm, FF_F32) &&
             checkReduce<uint16_t>(comm, FF_BF16) && checkExchange(comm) &&
             (comm.mesh.replicate == 1 || checkAllReduce(comm));
    });
    EXPECT_TRUE(good) << mesh.replicate << " x " << mesh.shard;
  }
}

TEST(Collectives, LargeMessages) {
  EXPECT_TRUE(onRanks({1, 3}, [](HostCommunicator &comm) {
    const int64_t owned = 1 << 20;
    std::vector<float> gradient(owned * 3, 1.0f), sum(owned);
    std::vector<char> scratch(2 * owned * sizeof(float));
    comm.reduceScatter(
        {{FF_F32, gradient.data(), owned, FF_F32, sum.data(), true}},
        scratch.data(), scratch.size());
    return sum.front() == 3.0f && sum.back() == 3.0f;
  }));
}

TEST(Collectives, ErrorOfOneRankEndsAllInSeconds) {
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(onRanks({1, 4}, [](HostCommunicator &comm) {
    if (comm.rank == 2)
      fail("made up for this test");
    comm.barrier(); // waits for rank 2, which never comes
    return true;
  }));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

TEST(CommThread, RunsTasksInOrder) {
  std::vector<int> order;
  {
    CommThread thread(
        [&](const CommThread::Task &task) { order.push_back(task.unit); },
        true);
    uint64_t ticket = 0;
    for (int i = 0; i < 100; ++i)
      ticket = thread.push({0, i, 0});
    thread.wait(ticket);
    EXPECT_EQ(order.size(), 100u);
  }
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(order[static_cast<size_t>(i)], i);
}
