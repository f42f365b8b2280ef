//===- CheckpointTest.cpp - Checkpoints, resume, faults while saving ------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Checkpoint.h"
#include "TinyRun.h"
#include "runtime/core/Error.h"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>

using namespace ff::rt;
using namespace ff::rt::test;
namespace fs = std::filesystem;

namespace {
const char *const stateFiles[] = {"master", "exp_avg", "exp_avg_sq", "ema"};

void expectSameState(const TinyRun &a, const TinyRun &b,
                     const std::string &step) {
  for (const char *name : stateFiles) {
    std::string path = step + "/state/" + name + ".safetensors";
    EXPECT_EQ(readFile(a.out(path)), readFile(b.out(path))) << path;
  }
}
} // namespace

TEST(Checkpoint, ResumeIsBitwiseTheUninterruptedRun) {
  for (const char *ranks : {"--ranks 1", "--ranks 3"}) {
    TinyRun whole, cut;
    ASSERT_EQ(whole.run(ranks).status, 0);
    // Killed in step 7; the newest checkpoint is that of step 4.
    std::string call =
        std::string(ranks) == "--ranks 1" ? "kill@0@20" : "kill@1@7";
    EXPECT_NE(cut.run(ranks, "TINY_FAULT=" + call).status, 0);
    ASSERT_FALSE(fs::exists(cut.out("step-00000008")));
    RunResult resumed = cut.run(std::string(ranks) + " --resume auto");
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_NE(resumed.out.find("at step 4"), std::string::npos) << resumed.out;
    EXPECT_EQ(cut.metrics("loss"), whole.metrics("loss"));
    EXPECT_EQ(cut.metrics("grad_norm"), whole.metrics("grad_norm"));
    expectSameState(cut, whole, "step-00000012");
  }
}

TEST(Checkpoint, ResumesOnAnotherNumberOfRanks) {
  TinyRun whole;
  ASSERT_EQ(whole.run("--ranks 1").status, 0);
  for (auto [before, after] :
       {std::pair<int, int>{1, 4}, {3, 2}, {5, 1}, {2, 3}}) {
    TinyRun run;
    ASSERT_EQ(run.run("--steps 5 --ranks " + std::to_string(before)).status, 0);
    RunResult result =
        run.run("--resume auto --ranks " + std::to_string(after));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_LT(relativeError(run.metrics("loss"), whole.metrics("loss")), 1e-5)
        << before << " then " << after;
  }
}

TEST(Checkpoint, FilesDoNotDependOnRanks) {
  TinyRun one, three;
  one.metadata["optimizer"]["lr"] = three.metadata["optimizer"]["lr"] = 0.0;
  ASSERT_EQ(one.run("--ranks 1 --steps 4").status, 0);
  ASSERT_EQ(three.run("--ranks 3 --steps 4").status, 0);
  // Without an update the weights are the initial ones: bitwise equal.
  for (const char *path : {"state/master.safetensors", "state/ema.safetensors",
                           "model/net/diffusion_pytorch_model.safetensors",
                           "model/net/config.json"})
    EXPECT_EQ(readFile(one.out(std::string("step-00000004/") + path)),
              readFile(three.out(std::string("step-00000004/") + path)))
        << path;
}

TEST(Checkpoint, KeepsTheNewest) {
  TinyRun run;
  run.metadata["checkpoint"]["every"] = 2;
  ASSERT_EQ(run.run("").status, 0);
  auto folders = checkpointFolders(run.out());
  ASSERT_EQ(folders.size(), 2u);
  EXPECT_EQ(folders[0], run.out("step-00000012"));
  EXPECT_EQ(folders[1], run.out("step-00000010"));
}

TEST(Checkpoint, DamagedOnesAreIgnoredWithTheReason) {
  TinyRun run;
  ASSERT_EQ(run.run("").status, 0);
  std::string newest = run.out("step-00000012"),
              path = newest + "/state/ema.safetensors";
  std::string bytes = readFile(path);
  bytes[bytes.size() - 5] ^= 1;
  writeFile(path, bytes);
  fs::create_directory(run.out("step-99999999999999999999")); // of no run
  std::vector<std::string> warnings;
  auto found = findCheckpoint(run.out(), "auto", warnings);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 8);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("has the checksum"), std::string::npos);

  writeFile(path, bytes.substr(0, 50));
  EXPECT_NE(errorOf([&] { verifyCheckpoint(newest); }).find("has 50 bytes"),
            std::string::npos);
  fs::remove(path);
  EXPECT_NE(errorOf([&] { verifyCheckpoint(newest); }).find("is missing"),
            std::string::npos);
  writeFile(newest + "/manifest.json", "{\"format\":");
  EXPECT_NE(errorOf([&] { verifyCheckpoint(newest); }).find("is damaged"),
            std::string::npos);
  RunResult result = run.run("--resume " + newest);
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("is damaged"), std::string::npos) << result.err;
}

TEST(Checkpoint, AFreshRunNeverOverwritesOne) {
  TinyRun run;
  ASSERT_EQ(run.run("--steps 4").status, 0);
  RunResult result = run.run("--ranks 2");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("already holds checkpoints"), std::string::npos);
}

TEST(Checkpoint, StartingOverSetsEarlierOnesAside) {
  TinyRun run;
  ASSERT_EQ(run.run("--steps 4").status, 0);
  RunResult result = run.run("--steps 1 --resume none --ranks 2");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(verifyCheckpoint(run.out("previous-1/step-00000004")).step, 4);
  EXPECT_EQ(checkpointFolders(run.out()).size(), 1u);
  EXPECT_EQ(run.metrics("step"), std::vector<double>{1});
}

TEST(Checkpoint, AnotherSpecIsAnError) {
  TinyRun run;
  ASSERT_EQ(run.run("--steps 4").status, 0);
  run.metadata["seed"] = 8;
  RunResult result = run.run("--resume auto");
  EXPECT_NE(result.err.find("made with seed 7"), std::string::npos);
  run.metadata["seed"] = 7;
  run.metadata["groups"][1]["trainable"] = false;
  result = run.run("--resume auto");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(
      result.err.find("trained other parameters: 1 of the 3 there are not "
                      "trained now: 'net.b.weight' (f32 [1, 7]); 0 of "
                      "the 2 now are not there: nothing; fix: "),
      std::string::npos)
      << result.err;
}

TEST(Checkpoint, KillAtAnyWriteLeavesTheOneBefore) {
  TinyRun base;
  ASSERT_EQ(base.run("--steps 4").status, 0);
  int kills = 0;
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 500);
    TinyRun run;
    fs::copy(base.out(), run.out(), fs::copy_options::recursive);
    run.metadata["checkpoint"]["keep"] = 1;
    RunResult result = run.run("--steps 5 --resume auto",
                               "FF_FAULT_WRITE=" + std::to_string(n));
    std::vector<std::string> warnings;
    auto found = findCheckpoint(run.out(), "auto", warnings);
    ASSERT_TRUE(found) << "nothing to resume after a kill at operation " << n;
    EXPECT_TRUE(found->step == 4 || found->step == 5);
    EXPECT_TRUE(warnings.empty()) << warnings[0];
    if (result.status == 0)
      break;
    ASSERT_EQ(result.status, 128 + SIGKILL);
    ++kills;
    if (n % 9 == 1) { // and it goes on from there
      RunResult next = run.run("--steps 5 --resume auto");
      EXPECT_EQ(next.status, 0) << next.err;
      EXPECT_EQ(verifyCheckpoint(run.out("step-00000005")).step, 5);
      for (const auto &entry : fs::directory_iterator(run.out()))
        EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
    }
  }
  EXPECT_GT(kills, 40); // every file has several operations
}

TEST(Checkpoint, KillOfOneOfSeveralRanksWhileSaving) {
  TinyRun base;
  ASSERT_EQ(base.run("--steps 4 --ranks 2").status, 0);
  for (int n : {1, 4, 9, 15}) {
    TinyRun run;
    fs::copy(base.out(), run.out(), fs::copy_options::recursive);
    RunResult result = run.run("--steps 5 --resume auto --ranks 2",
                               "FF_FAULT_WRITE=" + std::to_string(n) + "@1");
    EXPECT_EQ(result.status, 128 + SIGKILL);
    EXPECT_LT(result.seconds, 15);
    std::vector<std::string> warnings;
    auto found = findCheckpoint(run.out(), "auto", warnings);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->step, 4);
  }
}

TEST(Checkpoint, FullDiskKeepsTheOneBefore) {
  for (const char *ranks : {"--ranks 1", "--ranks 2"}) {
    TinyRun run;
    ASSERT_EQ(run.run(std::string("--steps 4 ") + ranks).status, 0);
    RunResult result = run.run(std::string("--steps 5 --resume auto ") + ranks,
                               "FF_FULL_DISK=5");
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find("No space left on device"), std::string::npos);
    EXPECT_NE(result.err.find("bytes to " + run.out()), std::string::npos)
        << result.err;
    EXPECT_EQ(verifyCheckpoint(run.out("step-00000004")).step, 4);
    EXPECT_EQ(checkpointFolders(run.out()).size(), 1u);
  }
}

TEST(Checkpoint, FullDiskInTheMiddleGoesOn) {
  TinyRun run;
  RunResult result = run.run("--ranks 2", "FF_FULL_DISK=5@0");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("warning: no checkpoint at step 4"),
            std::string::npos);
  EXPECT_EQ(checkpointFolders(run.out()).size(), 2u);
}
