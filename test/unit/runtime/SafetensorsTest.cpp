//===- SafetensorsTest.cpp - Reading and writing safetensors --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Safetensors.h"
#include "TestSupport.h"
#include "runtime/core/Error.h"
#include "runtime/train/TensorFile.h"

#include <gtest/gtest.h>

using namespace ff::rt;
using namespace ff::rt::test;

namespace {
/// The error of a file with this header and so many bytes of data.
std::string errorOfFile(const std::string &header, size_t dataBytes) {
  TempFolder folder;
  std::string path = folder.path("t.safetensors");
  writeFile(path, safetensors(header, std::string(dataBytes, '\0')));
  std::string error = errorOf([&] { SafetensorsFile file(path); });
  size_t at;
  while ((at = error.find(path)) != std::string::npos)
    error.replace(at, path.size(), "FILE");
  return error;
}
const char *const twoTensors =
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("b":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}})";
} // namespace

TEST(Safetensors, ReadsTensors) {
  TempFolder folder;
  std::string path = folder.path("t.safetensors");
  writeFile(path, safetensors(twoTensors, bytesOf<float>({1.5f, -2.0f}) +
                                              bytesOf<int64_t>({42})));
  EXPECT_EQ(readTensor(path, "a"), (std::vector<double>{1.5, -2.0}));
  EXPECT_EQ(readTensor(path, "b"), (std::vector<double>{42}));
  EXPECT_EQ(errorOf([&] { SafetensorsFile(path).tensor("c"); }),
            path + " has no tensor 'c'; it has 'a', 'b'");
}

TEST(Safetensors, TruncatedFileNamesTheFirstTensorThatIsCut) {
  std::string size = std::to_string(8 + std::string(twoTensors).size());
  std::string error = errorOfFile(twoTensors, 10);
  EXPECT_NE(error.find("FILE is truncated"), std::string::npos) << error;
  EXPECT_NE(error.find("cut is 'b'"), std::string::npos) << error;
  EXPECT_NE(error.find("fix:"), std::string::npos) << error;
}

TEST(Safetensors, TruncatedHeader) {
  TempFolder folder;
  std::string path = folder.path("t.safetensors");
  writeFile(path, safetensors(twoTensors, "").substr(0, 40));
  EXPECT_NE(errorOf([&] {
              SafetensorsFile file(path);
            }).find("is truncated: its header needs"),
            std::string::npos);
  writeFile(path, "abc");
  EXPECT_NE(errorOf([&] { SafetensorsFile file(path); }).find("has 3 bytes"),
            std::string::npos);
  writeFile(path, std::string(64, '\xff'));
  EXPECT_NE(errorOf([&] { SafetensorsFile file(path); }).find("the limit of"),
            std::string::npos);
  EXPECT_NE(errorOf([&] {
              SafetensorsFile file(folder.path("no"));
            }).find("cannot open"),
            std::string::npos);
}

TEST(Safetensors, DuplicateNamesGiveBothOffsets) {
  EXPECT_EQ(
      errorOfFile(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                  R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                  8),
      "duplicate tensor 'a' in FILE (header offsets 1 and 54)");
}

TEST(Safetensors, BadOffsets) {
  EXPECT_EQ(
      errorOfFile(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                  R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                  12),
      "tensors 'a' and 'b' in FILE overlap: one ends at 8, the other begins at "
      "4");
  EXPECT_EQ(
      errorOfFile(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                  12),
      "FILE has 4 bytes of no tensor before 'a'");
  EXPECT_NE(errorOfFile(
                R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 12)
                .find("has 4 bytes behind the last tensor"),
            std::string::npos);
}

TEST(Safetensors, BadTensors) {
  EXPECT_EQ(
      errorOfFile(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}})",
                  8),
      "tensor 'a' in FILE has dtype F16 and shape [2], which is 4 bytes, but "
      "the data offsets [0, 8]");
  EXPECT_EQ(errorOfFile(
                R"({"a":{"dtype":"X9","shape":[2],"data_offsets":[0,8]}})", 8),
            "tensor 'a' in FILE has the unknown dtype 'X9'");
  EXPECT_NE(errorOfFile(
                R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8)
                .find("has the shape [-2]"),
            std::string::npos);
  EXPECT_NE(
      errorOfFile(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,2],)"
                  R"("data_offsets":[0,8]}})",
                  8)
          .find("too large"),
      std::string::npos);
  EXPECT_NE(errorOfFile(R"({"a":{"dtype":"F32","shape":[2]}})", 8)
                .find("data_offsets"),
            std::string::npos);
  EXPECT_NE(errorOfFile("{oops", 0).find("is not JSON"), std::string::npos);
  EXPECT_NE(errorOfFile("[]", 0).find("is not a JSON object"),
            std::string::npos);
}

TEST(Safetensors, ConvertsOnlyWithoutLoss) {
  float out[2];
  uint8_t bytes[2] = {3, 255};
  EXPECT_TRUE(convertFromFile("U8", bytes, FF_F32, out, 2, true));
  EXPECT_EQ(out[1], 255.0f);
  double wide[2] = {0.1, 0.2};
  EXPECT_FALSE(convertFromFile("F64", wide, FF_F32, out, 2, true));
  EXPECT_TRUE(convertFromFile("F64", wide, FF_F32, out, 2, false));
  EXPECT_FALSE(convertFromFile("I64", wide, FF_F32, out, 2, true));
  EXPECT_FALSE(convertFromFile("F32", out, FF_I64, wide, 1, false));
}

TEST(TensorFile, RoundTrip) {
  TempFolder folder;
  std::string path = folder.path("t.safetensors");
  TensorFilePlan plan({{"x \"y\"", "F32", {2, 2}}, {"n", "I64", {}}});
  plan.create(path);
  {
    DurableFile file(path, false);
    std::vector<float> x = {1, 2, 3, 4};
    int64_t n = -5;
    file.write(x.data() + 2, 8, plan.offset(0) + 8);
    file.write(x.data(), 8, plan.offset(0));
    file.write(&n, 8, plan.offset(1));
  }
  plan.verify(path);
  EXPECT_EQ(readTensor(path, "x \"y\""), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(readTensor(path, "n"), (std::vector<double>{-5}));
  TensorFilePlan other({{"x \"y\"", "F32", {4}}, {"n", "I64", {}}});
  EXPECT_EQ(errorOf([&] { other.verify(path); }),
            "'x \"y\"' in " + path +
                ": expected F32 [4], the file has F32 "
                "[2, 2]");
}

TEST(TensorFile, VerifyFindsWhatIsMissing) {
  TempFolder folder;
  std::string path = folder.path("t.safetensors");
  TensorFilePlan({{"a", "F32", {2}}, {"b", "F32", {0, 3}}}).create(path);
  EXPECT_EQ(
      errorOf([&] { TensorFilePlan({{"lora_A", "F32", {2}}}).verify(path); }),
      "'lora_A' in " + path +
          ": expected F32 [2], the file has no such tensor");
  EXPECT_EQ(errorOf([&] { TensorFilePlan({{"a", "F32", {2}}}).verify(path); }),
            path + " has 2 tensors, expected 1");
  EXPECT_EQ(
      errorOf([&] {
        TensorFilePlan({{"a", "F32", {2}}, {"b", "F32", {0, 3}}}).verify(path);
      }),
      "'b' in " + path + " is empty: its shape is [0, 3]");
}

TEST(TensorFile, CoverageFindsHolesAndOverlaps) {
  TensorFilePlan plan({{"a", "F32", {4}}, {"b", "BF16", {8}}});
  size_t start = plan.offset(0);
  plan.checkCoverage("F", {{start + 16, 16}, {start, 16}});
  EXPECT_EQ(plan.dataBytes(), 32u);
  auto bytes = [&](size_t from, size_t to) {
    return "[" + std::to_string(start + from) + ", " +
           std::to_string(start + to) + ")";
  };
  EXPECT_EQ(errorOf([&] {
              plan.checkCoverage("F", {{start, 16}, {start + 20, 12}});
            }),
            "internal error: no rank wrote the bytes " + bytes(16, 20) +
                " of F, in 'b'");
  EXPECT_EQ(errorOf([&] { plan.checkCoverage("F", {{start, 24}}); }),
            "internal error: no rank wrote the bytes " + bytes(24, 32) +
                " of F, in 'b'");
  EXPECT_EQ(
      errorOf([&] { plan.checkCoverage("F", {{start, 16}, {start + 8, 24}}); }),
      "internal error: several ranks wrote the bytes " + bytes(8, 16) +
          " of F, in 'a'");
  EXPECT_EQ(errorOf([&] { plan.checkCoverage("F", {}); }),
            "internal error: no rank wrote the bytes " + bytes(0, 32) +
                " of F, in 'a'");
}
