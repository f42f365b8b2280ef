//===- ProfileTest.cpp - Tables of --profile ------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Profile.h"

#include <gtest/gtest.h>
#include <sstream>

using namespace ff::rt;

namespace {

/// The words of the line of a kernel or matmul.
std::vector<std::string> row(const std::string &table, const char *kind) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
      words.push_back(word);
    if (words.size() > 2 && words[0] == kind)
      return words;
  }
  return {};
}

TEST(Profile, RatesAreOfAllCallsButTheFirst) {
  Profile profile;
  profile.addNumbered(CallKind::Kernel, 1, 1.0); // loads the kernel
  profile.addNumbered(CallKind::Kernel, 1, 1e-3);
  profile.addNumbered(CallKind::Kernel, 1, 3e-3);
  profile.addNumbered(CallKind::Matmul, 0, 5e-3);
  ProfileTexts texts{{{"unused"}, {"name", 4e6, 0}},
                     {{"m 2, n 3, k 4", 0, 1e10}},
                     /*copyRate=*/4e9};
  std::string table = profile.table(2.0, texts);
  EXPECT_EQ(row(table, "kernel"),
            (std::vector<std::string>{"kernel", "1", "3", "2000.00", "1004.000",
                                      "2.0", "50.0", "-", "name"}));
  EXPECT_EQ(
      row(table, "matmul"),
      (std::vector<std::string>{"matmul", "0", "1", "5000.00", "5.000", "-",
                                "-", "2.000", "m", "2,", "n", "3,", "k", "4"}));
  EXPECT_EQ(table.find("unused"), std::string::npos);
}

TEST(Profile, WithoutNumberedCallsThereIsNoSuchTable) {
  Profile profile;
  profile.add(CallKind::Random, 1.0);
  EXPECT_EQ(profile.table(2.0, {}).find("us/call"), std::string::npos);
}

} // namespace
