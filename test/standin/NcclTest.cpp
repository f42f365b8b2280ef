// Collectives between processes of this machine: results, mismatches, missing
// ranks.
#include "runtime/cuda/api/Nccl.h"
#include "test/standin/Device.h"

#include <chrono>
#include <cstdlib>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace standin;
using namespace standin::test;

namespace {
struct Outcome {
  int status;
  std::string text; // what it said on stderr
};
// One process a rank. The parent uses no device: it must be able to fork.
std::vector<Outcome>
run(int n, const std::function<void(int, ncclComm_t, CUstream, Device &)> &f) {
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<pid_t> pids;
  std::vector<int> pipes;
  for (int r = 0; r < n; ++r) {
    int p[2];
    EXPECT_EQ(pipe(p), 0);
    pid_t pid = fork();
    if (!pid) {
      dup2(p[1], 2), dup2(p[1], 1);
      close(p[0]);
      int failed = 0;
      {
        Device dev(r);
        CUstream s;
        cuStreamCreate(&s, cuda::NonBlocking);
        ncclComm_t c = nullptr;
        EXPECT_EQ(ncclCommInitRank(&c, n, id, r), ncclSuccess);
        if (c)
          f(r, c, s, dev);
        failed = testing::Test::HasFailure();
      }
      fflush(stdout), fflush(stderr);
      _exit(failed);
    }
    close(p[1]);
    pids.push_back(pid), pipes.push_back(p[0]);
  }
  std::vector<Outcome> out;
  for (int r = 0; r < n; ++r) {
    Outcome o;
    char buffer[4096];
    for (ssize_t k; (k = read(pipes[r], buffer, sizeof buffer)) > 0;)
      o.text.append(buffer, (size_t)k);
    close(pipes[r]);
    waitpid(pids[r], &o.status, 0);
    out.push_back(o);
  }
  return out;
}
void good(int n,
          const std::function<void(int, ncclComm_t, CUstream, Device &)> &f) {
  auto out = run(n, f);
  for (int r = 0; r < n; ++r)
    EXPECT_EQ(out[r].status, 0) << "rank " << r << ": " << out[r].text;
}
class Ranks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Nccl, Ranks, testing::Values(1, 2, 3, 4));
#define P(p) reinterpret_cast<void *>(p)

TEST_P(Ranks, Collectives) {
  int n = GetParam();
  good(n, [n](int rank, ncclComm_t c, CUstream s, Device &dev) {
    int count = 0, me = -1;
    EXPECT_EQ(ncclCommCount(c, &count), 0);
    EXPECT_EQ(count, n);
    EXPECT_EQ(ncclCommUserRank(c, &me), 0);
    EXPECT_EQ(me, rank);
    size_t k = 300000; // over one chunk
    std::vector<float> x(k);
    for (size_t i = 0; i < k; ++i)
      x[i] = (float)(i % 1000) + rank;
    float ranks = (float)n, sumOfRanks = ranks * (ranks - 1) / 2;
    auto in = dev.put(x), out = dev.empty<float>(k * n);
    EXPECT_EQ(ncclAllReduce(P(in), P(out), k, ncclFloat32, ncclSum, c, s), 0);
    EXPECT_EQ(cuStreamSynchronize(s), 0);
    auto r = dev.get<float>(out, k);
    for (size_t i = 0; i < k; i += 777)
      ASSERT_EQ(r[i], ranks * (float)(i % 1000) + sumOfRanks);
    EXPECT_EQ(ncclAllGather(P(in), P(out), k, ncclFloat32, c, s), 0);
    EXPECT_EQ(cuStreamSynchronize(s), 0);
    r = dev.get<float>(out, k * n);
    for (size_t i = 0; i < k * n; i += 777)
      ASSERT_EQ(r[i], (float)(i % k % 1000) + (float)(i / k));
    // A shard of what was gathered: every rank gave the same.
    auto shard = dev.empty<float>(k);
    EXPECT_EQ(
        ncclReduceScatter(P(out), P(shard), k, ncclFloat32, ncclAvg, c, s), 0);
    EXPECT_EQ(cuStreamSynchronize(s), 0);
    r = dev.get<float>(shard, k);
    for (size_t i = 0; i < k; i += 777)
      ASSERT_EQ(r[i], x[i]);
    EXPECT_EQ(ncclBroadcast(P(in), P(out), k, ncclFloat32, n - 1, c, s), 0);
    EXPECT_EQ(ncclReduce(P(in), P(shard), k, ncclFloat32, ncclMax, 0, c, s), 0);
    EXPECT_EQ(cuStreamSynchronize(s), 0);
    EXPECT_EQ(dev.get<float>(out, k)[5], 5.0f + n - 1);
    if (rank == 0)
      EXPECT_EQ(dev.get<float>(shard, k)[5], 5.0f + n - 1);
    // Every rank sends to the next.
    EXPECT_EQ(ncclGroupStart(), 0);
    EXPECT_EQ(ncclSend(P(in), k, ncclFloat32, (rank + 1) % n, c, s), 0);
    EXPECT_EQ(ncclRecv(P(out), k, ncclFloat32, (rank + n - 1) % n, c, s), 0);
    EXPECT_EQ(ncclGroupEnd(), 0);
    EXPECT_EQ(cuStreamSynchronize(s), 0);
    EXPECT_EQ(dev.get<float>(out, k)[7], 7.0f + (rank + n - 1) % n);
    EXPECT_EQ(ncclCommDestroy(c), 0);
  });
}
TEST(Nccl, Types) {
  good(3, [](int rank, ncclComm_t c, CUstream s, Device &dev) {
    auto check = [&](auto values, ncclDataType_t type, ncclRedOp_t op,
                     auto want) {
      using T = typename decltype(values)::value_type;
      auto p = dev.put(std::vector<T>{values[rank]});
      EXPECT_EQ(ncclAllReduce(P(p), P(p), 1, type, op, c, s), 0);
      EXPECT_EQ(cuStreamSynchronize(s), 0);
      EXPECT_EQ(dev.get<T>(p, 1)[0], (T)want) << type << " " << op;
    };
    check(std::vector<uint16_t>{0x3f80, 0x4000, 0x4040}, ncclBfloat16, ncclSum,
          0x40c0); // 1+2+3
    check(std::vector<uint16_t>{0x3c00, 0x4000, 0x4200}, ncclFloat16, ncclAvg,
          0x4000); // 2
    check(std::vector<uint16_t>{0x3f80, 0x3b00, 0x3b00}, ncclBfloat16, ncclSum,
          0x3f80); // 1 + 2 * 2^-9: even
    check(std::vector<double>{1e300, -1e300, 1}, ncclFloat64, ncclSum,
          1.0); // in the order of ranks
    check(std::vector<int32_t>{5, -7, 3}, ncclInt32, ncclMin, -7);
    check(std::vector<int64_t>{1ll << 40, 1, 1}, ncclInt64, ncclSum,
          (1ll << 40) + 2);
    check(std::vector<uint8_t>{200, 100, 3}, ncclUint8, ncclMax, 200);
    check(std::vector<int8_t>{100, 100, 100}, ncclInt8, ncclSum, (int8_t)300);
  });
}
TEST(Nccl, Split) {
  good(4, [](int rank, ncclComm_t c, CUstream s, Device &dev) {
    ncclComm_t part = nullptr;
    ASSERT_EQ(ncclCommSplit(c, rank % 2, -rank, &part, nullptr), 0);
    int n = 0, me = -1;
    ncclCommCount(part, &n), ncclCommUserRank(part, &me);
    EXPECT_EQ(n, 2);
    EXPECT_EQ(me, rank < 2 ? 1 : 0); // the key turns the order round
    auto p = dev.put(std::vector<int>{rank});
    EXPECT_EQ(ncclAllReduce(P(p), P(p), 1, ncclInt32, ncclSum, part, s), 0);
    EXPECT_EQ(cuStreamSynchronize(s), 0);
    EXPECT_EQ(dev.get<int>(p, 1)[0], rank % 2 ? 4 : 2);
  });
}
// A kernel before, a copy after: the collective stands in the order of the
// stream, also when captured.
TEST(Nccl, StreamOrderAndGraphs) {
  good(2, [](int rank, ncclComm_t c, CUstream s, Device &dev) {
    auto p = dev.put(std::vector<int>{1});
    CUgraph graph;
    CUgraphExec exec;
    ASSERT_EQ(cuStreamBeginCapture_v2(s, 0), 0);
    ASSERT_EQ(ncclAllReduce(P(p), P(p), 1, ncclInt32, ncclSum, c, s), 0);
    ASSERT_EQ(cuStreamEndCapture(s, &graph), 0);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(cuGraphLaunch(exec, s), 0);
    ASSERT_EQ(cuStreamSynchronize(s), 0);
    EXPECT_EQ(dev.get<int>(p, 1)[0], 32);
  });
}
TEST(Nccl, MismatchIsAnErrorOnEveryRank) {
  auto out = run(3, [](int rank, ncclComm_t c, CUstream s, Device &dev) {
    auto p = dev.put(std::vector<float>(8));
    EXPECT_EQ(ncclAllReduce(P(p), P(p), rank == 1 ? 4 : 8, ncclFloat32, ncclSum,
                            c, s),
              0);
    EXPECT_EQ(cuStreamSynchronize(s), cuda::LAUNCH_FAILED);
    ncclResult_t e;
    EXPECT_EQ(ncclCommGetAsyncError(c, &e), 0);
    EXPECT_EQ(e, ncclInvalidUsage);
  });
  for (auto &o : out) {
    EXPECT_EQ(o.status, 0) << o.text;
    EXPECT_NE(o.text.find("ff-standin (not a GPU): error: NCCL: the ranks make "
                          "different calls"),
              std::string::npos)
        << o.text;
    EXPECT_NE(o.text.find("ncclAllReduce(count 4, f32, sum) as call 1"),
              std::string::npos)
        << o.text;
    EXPECT_NE(o.text.find("ncclAllReduce(count 8, f32, sum) as call 1"),
              std::string::npos)
        << o.text;
  }
}
TEST(Nccl, MismatchOfMessages) {
  auto out = run(2, [](int rank, ncclComm_t c, CUstream s, Device &dev) {
    auto p = dev.put(std::vector<float>(8));
    if (rank == 0)
      EXPECT_EQ(ncclSend(P(p), 8, ncclFloat32, 1, c, s), 0);
    else
      EXPECT_EQ(ncclRecv(P(p), 8, ncclInt32, 0, c, s), 0);
    cuStreamSynchronize(s);
  });
  EXPECT_NE(
      out[1].text.find(
          "rank 1 ncclRecv(count 8, i32), but rank 0 ncclSend(count 8, f32)"),
      std::string::npos)
      << out[1].text;
}
TEST(Nccl, MissingRankTimesOut) {
  setenv("FF_STANDIN_TIMEOUT", "1", 1);
  auto out = run(3, [](int rank, ncclComm_t c, CUstream s, Device &dev) {
    auto p = dev.put(std::vector<float>(8));
    if (rank == 2) { // alive, but elsewhere
      std::this_thread::sleep_for(std::chrono::seconds(3));
      return;
    }
    EXPECT_EQ(ncclAllReduce(P(p), P(p), 8, ncclFloat32, ncclSum, c, s), 0);
    EXPECT_EQ(cuStreamSynchronize(s), cuda::LAUNCH_FAILED);
  });
  unsetenv("FF_STANDIN_TIMEOUT");
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(out[r].status, 0) << out[r].text;
    EXPECT_NE(
        out[r].text.find("no progress for 1 s (FF_STANDIN_TIMEOUT): rank " +
                         std::to_string(r) +
                         " waits in ncclAllReduce(count 8, f32, sum) as call 1 "
                         "for ranks 2 (no call yet)"),
        std::string::npos)
        << out[r].text;
  }
}
TEST(Nccl, RankThatNeverJoins) {
  setenv("FF_STANDIN_TIMEOUT", "1", 1);
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclComm_t c = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(ncclCommInitRank(&c, 2, id, 0), ncclSystemError);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "the communicator of 2 ranks lacks ranks 1"),
            std::string::npos);
  unsetenv("FF_STANDIN_TIMEOUT");
}
TEST(Nccl, WrongArguments) {
  good(1, [](int, ncclComm_t c, CUstream s, Device &dev) {
    auto p = dev.put(std::vector<float>(8));
    EXPECT_EQ(ncclAllReduce(P(p), P(p), 8, (ncclDataType_t)42, ncclSum, c, s),
              ncclInvalidArgument);
    EXPECT_EQ(ncclBroadcast(P(p), P(p), 8, ncclFloat32, 1, c, s),
              ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(P(p), P(p), 9, ncclFloat32, ncclSum, c, s),
              ncclSuccess); // more than there is
    EXPECT_EQ(cuStreamSynchronize(s), cuda::LAUNCH_FAILED);
  });
}
} // namespace
