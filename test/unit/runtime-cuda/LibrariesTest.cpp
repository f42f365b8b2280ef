//===- LibrariesTest.cpp - CUDA's libraries and driver --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceTest.h"
#include "runtime/core/Error.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace ff::rt;
using namespace ff::rt::cuda;
using namespace ff::rt::cuda::test;

namespace {
std::string messageOf(void (*body)()) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

bool hasDriver() { return dlopen("libcuda.so.1", RTLD_NOW) != nullptr; }

constexpr const char *ptx = R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry write(.param .u64 to, .param .u32 value)
{
.reg .b64 %to;
.reg .b32 %value;
ld.param.u64 %to, [to];
ld.param.u32 %value, [value];
st.global.u32 [%to], %value;
ret;
}
)";

class Driver : public DeviceTest {};
} // namespace

TEST(Libraries, Missing) {
  if (hasDriver())
    GTEST_SKIP() << "this machine has a driver";
  std::string text = messageOf([] { openLibraries(true); });
  EXPECT_TRUE(contains(text, "CUDA: libcuda.so.1 cannot be opened (")) << text;
  EXPECT_TRUE(contains(text, "fix: install the NVIDIA driver of CUDA 12.0 or "
                             "later; on a machine without a GPU run it under "
                             "ff-standin"))
      << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(contains(messageOf([] { libraries(); }), "are not open"));
}

TEST(Libraries, OldDriver) {
  if (!std::getenv("FF_STANDIN_DRIVER_VERSION"))
    GTEST_SKIP() << "the driver is not old";
  std::string text = messageOf([] { openLibraries(false); });
  EXPECT_TRUE(contains(text, "CUDA: the NVIDIA driver is too old: it is for "
                             "CUDA 11.7, and ff needs 12.0 or later; fix: "))
      << text;
  EXPECT_TRUE(contains(text, "found: CUDA driver 11.7, cuBLASLt ")) << text;
}

TEST(Libraries, Versions) {
  if (!hasDriver() || std::getenv("FF_STANDIN_DRIVER_VERSION"))
    GTEST_SKIP() << "this machine has no driver";
  openLibraries(false);
  EXPECT_EQ(libraries().nccl, nullptr);
  openLibraries(true);
  ASSERT_NE(libraries().nccl, nullptr);
  EXPECT_TRUE(contains(libraries().versions, "CUDA driver "))
      << libraries().versions;
  EXPECT_TRUE(contains(libraries().versions, ", NCCL 2."))
      << libraries().versions;
}

TEST_F(Driver, ErrorsNameTheCall) {
  EXPECT_EQ(messageOf([] {
              check(OUT_OF_MEMORY, "cuMemAlloc");
            }).find("cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY"),
            0u);
  EXPECT_TRUE(contains(messageOf([] { DeviceMemory(size_t{1} << 50); }),
                       "are free; fix: a smaller micro_batch"));
  EXPECT_TRUE(contains(messageOf([] { Context(99); }), "needs GPU 99"));
}

TEST_F(Driver, ModulesAndLaunches) {
  // What is no cubin of this chip is passed over.
  Module module(ptx, "no cubin");
  CUfunction function = module.function("write");
  EXPECT_NE(module.function("write", 64 << 10), nullptr);
  EXPECT_TRUE(contains(
      messageOf([] { Module(ptx, nullptr).function("absent"); }), "'absent'"));
  std::string text = messageOf([] {
    Module bad(".version 7.8\n.target sm_80\n.address_size 64\nnonsense\n",
               nullptr);
  });
  EXPECT_TRUE(contains(text, "the driver does not load the kernels: "
                             "CUDA_ERROR_INVALID_PTX"))
      << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);

  Array to(std::vector<uint32_t>(1));
  uint32_t value = 42;
  void *arguments[] = {&to.address, &value};
  Stream other;
  Event start(true), end(true);
  stream->record(start);
  launch(function, 0, 1, 0, *stream, arguments); // nothing
  launch(function, 1, 1, 0, *stream, arguments);
  stream->record(end);
  other.after(end);
  PinnedMemory host(4);
  EXPECT_EQ(host.data[0], 0);
  check(
      libraries().cuda->memcpyDtoHAsync(host.data, to.address, 4, other.handle),
      "copy");
  other.synchronize();
  EXPECT_EQ(host.data[0], 42);
  end.wait();
  EXPECT_TRUE(end.done());
  EXPECT_GE(end.since(start), 0);
}
