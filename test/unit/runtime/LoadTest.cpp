//===- LoadTest.cpp - Loading weights, memory, disk -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelSupport.h"
#include "runtime/core/Arena.h"
#include "runtime/train/TensorFile.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace ff::rt;
using namespace ff::rt::test;

namespace {
/// The line of --report-memory.
nlohmann::json memoryOf(const RunResult &result) {
  EXPECT_EQ(result.status, 0) << result.err;
  size_t at = result.out.find("{\"arena_bytes\"");
  if (at == std::string::npos) {
    ADD_FAILURE() << "no report in " << result.out;
    return {};
  }
  return nlohmann::json::parse(
      result.out.substr(at, result.out.find('\n', at) - at));
}

double megabytes(const nlohmann::json &report, const char *key) {
  return report[key].get<double>() / 1e6;
}

/// The one tensor "f.w" in a frozen group of that type.
void addWeight(TinyRun &run, const std::string &master, float value) {
  std::string path = run.folder() + "/w.safetensors";
  writeFile(path, safetensors(R"({"f.w":{"dtype":"F32","shape":[3],)"
                              R"("data_offsets":[0,12]}})",
                              bytesOf(std::vector<float>{1, value, -2})));
  run.metadata["components"][0]["files"] = {path};
  addGroup(run.metadata,
           frozenGroup(master, master, master, true, {{"f.w", "F32", {3}}}));
}
} // namespace

TEST(Load, ValuesBeyondTheTypeAreErrors) {
  TinyRun run;
  addWeight(run, "f16", -1e6f);
  RunResult result = run.run("--ranks 2");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err,
            "error: [rank 0] 'f.w' in " + run.folder() +
                "/w.safetensors has F32 values up to 1e+06, which are infinite "
                "in f16, the master dtype of 'net.f.w'; fix: a wider dtype for "
                "the parameters of 'net'\n");
  TinyRun infinite; // it was infinite before
  addWeight(infinite, "f16", INFINITY);
  EXPECT_EQ(infinite.run("--steps 1").status, 0);
  TinyRun fits;
  addWeight(fits, "f16", 65504.0f);
  EXPECT_EQ(fits.run("--steps 1").status, 0);
}

TEST(Load, MemoryIsTheSliceAndABuffer) {
#ifdef FF_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer takes memory of its own";
#endif
  // 256 MB, one tensor of 160 MB among others; the file has no blocks on disk.
  TinyRun run;
  std::vector<PlannedTensor> planned;
  std::vector<MadeTensor> tensors;
  for (int i = 0; i < 7; ++i) {
    int64_t rows = (i == 3 ? 160 : 16) * 256;
    tensors.push_back({"t" + std::to_string(i), "F32", {rows, 1000}});
    planned.push_back({tensors.back().name, "F32", tensors.back().shape});
  }
  std::string path = run.folder() + "/big.safetensors";
  TensorFilePlan plan(planned);
  writeFile(path, "");
  {
    TensorFilePlan header(planned);
    header.create(path);
  }
  run.metadata["components"][0]["files"] = {path};
  auto group = frozenGroup("bf16", "bf16", "bf16", true, tensors);
  group["unit"] = 2; // never gathered
  for (auto &param : group["params"])
    param["save"] = nullptr;
  run.metadata["units"].push_back(
      {{"name", "net.big"}, {"component", 0}, {"groups", {3}}});
  run.metadata["groups"].push_back(group);
  auto report = memoryOf(run.run("--ranks 2 --steps 1 --report-memory"));
  double slice = 256 * 256 * 1000 * 2 / 2 / 1e6;
  EXPECT_GT(megabytes(report, "arena_bytes"), slice);
  double taken =
      megabytes(report, "peak_rss") - megabytes(report, "baseline_rss");
  // The largest tensor (163 MB) is not needed as a whole.
  EXPECT_LT(taken, slice + 64);
  EXPECT_GE(taken, slice * 0.95);
}

TEST(Memory, ThePlanIsWhatIsTaken) {
#ifdef FF_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer takes memory of its own";
#endif
  for (const char *arguments : {"", "--ranks 2"}) {
    TinyRun run;
    makeLora(run); // saves and merges
    run.metadata["programs"][0]["arena_bytes"] = 100'000'000;
    auto report = memoryOf(
        run.run(std::string("--steps 4 --report-memory ") + arguments));
    EXPECT_EQ(report["arena_bytes"], report["planned_arena_bytes"]);
    double planned = megabytes(report, "planned_arena_bytes") +
                     megabytes(report, "planned_host_bytes");
    double taken =
        megabytes(report, "peak_rss") - megabytes(report, "baseline_rss");
    EXPECT_LT(std::abs(taken - planned) / planned, 0.05)
        << taken << " MB, planned " << planned << " with '" << arguments << "'";
  }
}

TEST(Memory, MoreThanTheMachineHas) {
  EXPECT_NE(errorOf([] { HostArena arena(size_t{1} << 46); })
                .find("a rank needs 70368744177664 bytes of memory, the "
                      "machine has "),
            std::string::npos);
}

TEST(Disk, NoCheckpointFits) {
  TinyRun run;
  RunResult result = run.run("--ranks 2", "FF_FREE_DISK=1000");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find(" bytes in " + run.out() +
                            ", which has 1000 bytes free; fix: another --out, "
                            "or free "),
            std::string::npos)
      << result.err;
}

TEST(Disk, FewCheckpointsFit) {
  TinyRun run;
  RunResult result = run.run("", "FF_FREE_DISK=5000");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("warning: checkpoints will need "),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("which has 5000 bytes free; fix: a smaller "
                            "checkpoint.keep (2), or another --out"),
            std::string::npos)
      << result.err;
}

TEST(Disk, ALimitOfFileSizesIsAMessage) {
  TinyRun run;
  RunResult result = runShell(
      run.folder(), "ulimit -f 1; " + run.command("--steps 1 --ranks 2"));
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
}
