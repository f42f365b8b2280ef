//===- SampleTest.cpp - Sampling ------------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TinyRun.h"
#include "runtime/train/Image.h"
#include "runtime/train/Safetensors.h"

#include <gtest/gtest.h>

using namespace ff::rt;
using namespace ff::rt::test;

TEST(Sample, DoesNotDependOnRanks) {
  TinyRun run;
  ASSERT_EQ(run.run("--steps 4").status, 0);
  RunResult result = run.run("--sample");
  ASSERT_EQ(result.status, 0) << result.err;
  std::string path = run.out("samples.safetensors");
  std::string expected = readFile(path),
              picture = readFile(run.out("samples.png"));
  EXPECT_EQ(readTensor(path, "label"),
            (std::vector<double>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(readTensor(path, "image").size(), 40u);
  EXPECT_EQ(picture.substr(1, 3), "PNG");
  for (const char *ranks : {"2", "3", "5"}) {
    ASSERT_EQ(run.run(std::string("--sample --ranks ") + ranks).status, 0);
    EXPECT_EQ(readFile(path), expected) << ranks << " ranks";
  }
}

TEST(Sample, UsesEmaOrModel) {
  TinyRun run;
  ASSERT_EQ(run.run("--steps 4").status, 0);
  auto first = [&](const char *weights) {
    run.metadata["sample"]["weights"] = weights;
    EXPECT_EQ(run.run("--sample").status, 0);
    return readTensor(run.out("samples.safetensors"), "image")[0];
  };
  auto bias = [&](const char *file) {
    return readTensor(run.out(std::string("step-00000004/state/") + file),
                      "net.a.bias")[0];
  };
  EXPECT_NEAR(first("model") - first("ema"),
              bias("master.safetensors") - bias("ema.safetensors"), 1e-6);
}

TEST(Sample, InputsOfAFile) {
  TinyRun run;
  ASSERT_EQ(run.run("--steps 4").status, 0);
  std::string path = run.folder() + "/labels";
  std::vector<int32_t> labels = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1};
  writeFile(path, safetensors(R"({"l":{"dtype":"I32","shape":[11],)"
                              R"("data_offsets":[0,44]}})",
                              bytesOf(labels)));
  run.metadata["sample"]["inputs"]["label"] = {{"file", path}, {"tensor", "l"}};
  RunResult result = run.run("--sample --ranks 2");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(readTensor(run.out("samples.safetensors"), "label"),
            (std::vector<double>{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  run.metadata["sample"]["count"] = 12;
  result = run.run("--sample");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("the 12 samples of input 'label' need"),
            std::string::npos)
      << result.err;
}

TEST(Sample, NeedsACheckpoint) {
  TinyRun run;
  RunResult result = run.run("--sample --ranks 2");
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("there is no checkpoint in"), std::string::npos)
      << result.err;
}

TEST(Image, GridScalesAndClamps) {
  ImagePolicy image;
  image.columns = 2;
  image.scale = 2;
  image.low = -1;
  image.high = 1;
  std::vector<float> samples = {-1, 0, 5, /**/ 1, -9, 0.5};
  // Three samples of 1 x 1 x 2 in two columns: the fourth cell is black.
  auto pixels = makeGrid(image, samples.data(), 3, 1, 1, 2);
  ASSERT_EQ(pixels.size(), 8u * 4u);
  std::vector<unsigned char> row0(pixels.begin(), pixels.begin() + 8);
  EXPECT_EQ(row0,
            (std::vector<unsigned char>{0, 0, 128, 128, 255, 255, 255, 255}));
  std::vector<unsigned char> row3(pixels.begin() + 24, pixels.end());
  EXPECT_EQ(row3, (std::vector<unsigned char>{0, 0, 191, 191, 0, 0, 0, 0}));
}
