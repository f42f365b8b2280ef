//===- FailureTest.cpp - One rank's failure ends all ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TinyRun.h"
#include "runtime/train/Checkpoint.h"

#include <cmath>
#include <csignal>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace ff::rt::test;

namespace {
/// Commands that start `ranks` ranks as torchrun would: no parent of ours.
std::string torchrun(const TinyRun &run, int ranks, int port,
                     const std::string &environment) {
  std::string all;
  for (int rank = 0; rank < ranks; ++rank)
    all += run.command("--steps 500",
                       environment + " RANK=" + std::to_string(rank) +
                           " WORLD_SIZE=" + std::to_string(ranks) +
                           " LOCAL_RANK=" + std::to_string(rank) +
                           " LOCAL_WORLD_SIZE=" + std::to_string(ranks) +
                           " MASTER_ADDR=localhost MASTER_PORT=" +
                           std::to_string(port)) +
           " & p" + std::to_string(rank) + "=$!; ";
  // The status is that of the ranks together, as a decimal number.
  std::string status = "s=0; ";
  for (int rank = 0; rank < ranks; ++rank)
    status += "wait $p" + std::to_string(rank) + " || s=$((s+1)); ";
  return all + status + "exit $s";
}

int countOf(const std::string &text, const std::string &part) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
    ++count;
  return count;
}

/// A port that was free a moment ago.
int freePort() {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  bind(fd, reinterpret_cast<sockaddr *>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

/// "Within seconds", on a machine that is busy with a build.
constexpr double fewSeconds = 15;
} // namespace

TEST(Failure, ErrorOfOneRankEndsAllWithItsMessage) {
  TinyRun run;
  RunResult result = run.run("--ranks 3", "TINY_FAULT=error@1@2");
  EXPECT_EQ(result.status, 1);
  EXPECT_LT(result.seconds, fewSeconds);
  EXPECT_EQ(result.err.find("error: [rank 1] embedding: input row 0 has the id "
                            "42"),
            0u)
      << result.err;
  EXPECT_EQ(countOf(result.err, "error:"), 1) << result.err;
}

TEST(Failure, ARankThatIsKilledEndsAll) {
  for (int rank : {0, 2}) {
    TinyRun run;
    RunResult result =
        run.run("--ranks 3", "TINY_FAULT=kill@" + std::to_string(rank) + "@2");
    EXPECT_EQ(result.status, 128 + SIGKILL);
    EXPECT_LT(result.seconds, fewSeconds);
    EXPECT_NE(result.err.find("[rank " + std::to_string(rank) +
                              "] ended by signal 9"),
              std::string::npos)
        << result.err;
  }
}

TEST(Failure, WithoutAParentOfOursToo) {
  for (int failing : {0, 1}) {
    TinyRun run;
    RunResult result =
        runShell(run.folder(), torchrun(run, 3, freePort(),
                                        "TINY_FAULT=error@" +
                                            std::to_string(failing) + "@3"));
    EXPECT_EQ(result.status, 3) << "all three ranks fail";
    EXPECT_LT(result.seconds, fewSeconds);
    EXPECT_EQ(countOf(result.err, "error:"), 1) << result.err;
    EXPECT_EQ(result.err.find("error: [rank " + std::to_string(failing) + "]"),
              0u)
        << result.err;
  }
}

TEST(Failure, WithoutAParentOfOursAKillIsNoticed) {
  for (int failing : {0, 2}) {
    TinyRun run;
    RunResult result =
        runShell(run.folder(),
                 torchrun(run, 3, freePort(),
                          "TINY_FAULT=kill@" + std::to_string(failing) + "@3"));
    EXPECT_EQ(result.status, 3);
    EXPECT_LT(result.seconds, fewSeconds);
    EXPECT_NE(result.err.find("error: [rank " + std::to_string(failing) +
                              "] ended without a message"),
              std::string::npos)
        << result.err;
  }
}

TEST(Failure, NonfiniteStopsEveryRank) {
  for (const char *ranks : {"--ranks 1", "--ranks 3"}) {
    TinyRun run;
    RunResult result = run.run(ranks, "TINY_FAULT=nan@0@4");
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find("are not finite, first in 'net."),
              std::string::npos)
        << result.err;
    EXPECT_EQ(countOf(result.err, "error:"), 1) << result.err;
  }
}

TEST(Failure, NonfiniteIsSkippedByEveryRank) {
  TinyRun run;
  run.metadata["train"]["on_nonfinite"] = "skip";
  RunResult result = run.run("--ranks 3", "TINY_FAULT=nan@1@4");
  EXPECT_EQ(result.status, 0) << result.err;
  auto losses = run.metrics("loss");
  ASSERT_EQ(losses.size(), 12u);
  EXPECT_TRUE(std::isnan(losses[3]));
  EXPECT_TRUE(std::isfinite(losses[4]));
  EXPECT_NE(readFile(run.out("metrics.jsonl")).find("\"skipped\":true"),
            std::string::npos);
}

TEST(Failure, SigtermSavesAndEndsWell) {
  for (const char *ranks : {"1", "3"}) {
    TinyRun run;
    run.metadata["train"]["steps"] = 100000000;
    run.metadata["checkpoint"]["every"] = 0;
    RunResult result = runShell(
        run.folder(), run.command(std::string("--ranks ") + ranks) +
                          " & p=$!; until [ -s " + run.out("metrics.jsonl") +
                          " ]; do sleep 0.05; done; kill -TERM $p; wait $p");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.out.find("stopped by a signal"), std::string::npos);
    auto folders = ff::rt::checkpointFolders(run.out());
    ASSERT_EQ(folders.size(), 1u);
    EXPECT_EQ(ff::rt::verifyCheckpoint(folders[0]).step,
              static_cast<int64_t>(run.metrics("step").back()));
  }
}
