//===- LaunchTest.cpp - Variables of launchers ----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Launch.h"
#include "TestSupport.h"
#include "runtime/core/Error.h"

#include <gtest/gtest.h>
#include <map>

using namespace ff::rt;

namespace {
std::map<std::string, std::string> environment;

LaunchInfo infoOf(std::map<std::string, std::string> variables) {
  environment = std::move(variables);
  return launchFromEnvironment([](const char *name) -> const char * {
    auto it = environment.find(name);
    return it == environment.end() ? nullptr : it->second.c_str();
  });
}
} // namespace

TEST(Launch, AloneWithoutVariables) {
  LaunchInfo info = infoOf({});
  EXPECT_EQ(info.rank, 0);
  EXPECT_EQ(info.world, 1);
}

TEST(Launch, Torchrun) {
  LaunchInfo info = infoOf({{"RANK", "5"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "1"},
                            {"LOCAL_WORLD_SIZE", "4"},
                            {"MASTER_ADDR", "node0"},
                            {"MASTER_PORT", "1234"}});
  EXPECT_EQ(info.rank, 5);
  EXPECT_EQ(info.world, 8);
  EXPECT_EQ(info.localRank, 1);
  EXPECT_EQ(info.localWorld, 4);
  EXPECT_EQ(info.masterAddress, "node0");
  EXPECT_EQ(info.masterPort, 1234);
}

TEST(Launch, Slurm) {
  LaunchInfo info = infoOf({{"SLURM_PROCID", "3"},
                            {"SLURM_NTASKS", "8"},
                            {"SLURM_LOCALID", "1"},
                            {"SLURM_NNODES", "4"},
                            {"SLURM_JOB_ID", "70012"},
                            {"SLURM_JOB_NODELIST", "gpu[03-06],other"}});
  EXPECT_EQ(info.rank, 3);
  EXPECT_EQ(info.localWorld, 2);
  EXPECT_EQ(info.masterAddress, "gpu03");
  EXPECT_EQ(info.masterPort, 29512);
}

TEST(Launch, OpenMpi) {
  LaunchInfo info = infoOf({{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(info.rank, 1);
  EXPECT_EQ(info.world, 2);
  EXPECT_EQ(info.masterAddress, "127.0.0.1");
}

TEST(Launch, PortIsChecked) {
  using ff::rt::test::errorOf;
  std::string error = errorOf([] {
    infoOf({{"RANK", "0"},
            {"WORLD_SIZE", "2"},
            {"MASTER_ADDR", "node0"},
            {"MASTER_PORT", "99999"}});
  });
  EXPECT_NE(error.find("MASTER_PORT=99999 is no port"), std::string::npos)
      << error;
}

TEST(Launch, BadVariablesAreNamed) {
  using ff::rt::test::errorOf;
  EXPECT_NE(errorOf([] {
              infoOf({{"RANK", "x"}, {"WORLD_SIZE", "2"}});
            }).find("RANK is 'x'"),
            std::string::npos);
  EXPECT_EQ(errorOf([] { infoOf({{"RANK", "2"}, {"WORLD_SIZE", "2"}}); }),
            "the environment says RANK = 2 and WORLD_SIZE = 2");
  EXPECT_NE(errorOf([] {
              infoOf({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
            }).find("MASTER_ADDR is not set"),
            std::string::npos);
}
