// Streams, events and graphs. CMakeLists.txt runs this a second time with
// FF_STANDIN_DELAY=1, where missing waits must show.
#include "test/standin/Device.h"

#include <cstdlib>
#include <thread>

using namespace standin;
using namespace standin::test;

namespace {
bool delayed() { return getenv("FF_STANDIN_DELAY") != nullptr; }
class Streams : public testing::Test {
protected:
  Device dev;
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;
  CUdeviceptr p = 0;
  uint32_t *host = nullptr; // pinned
  void SetUp() override {
    ASSERT_EQ(cuStreamCreate(&a, cuda::NonBlocking), 0);
    ASSERT_EQ(cuStreamCreate(&b, cuda::NonBlocking), 0);
    ASSERT_EQ(cuEventCreate(&event, 0), 0);
    ASSERT_EQ(cuMemHostAlloc((void **)&host, 4096, 0), 0);
    p = dev.put(std::vector<uint32_t>(64, 1));
    dev.load(header() + ".visible .entry twice(.param .u64 p)\n{\n.reg .b32 "
                        "%r<2>;\n.reg .b64 %x;\nld.param.u64 %x, [p];\n"
                        "ld.global.u32 %r0, [%x];\nadd.u32 %r0, %r0, "
                        "%r0;\nst.global.u32 [%x], %r0;\nret;\n}\n");
  }
  CUresult twice(CUstream s) { return dev.launch("twice", 1, 1, 0, s, p); }
};

TEST_F(Streams, InOrder) {
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(twice(a), 0);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(host, p, 4, a), 0);
  ASSERT_EQ(cuStreamSynchronize(a), 0);
  EXPECT_EQ(host[0], 32u);
}
TEST_F(Streams, EventsOrder) {
  ASSERT_EQ(cuMemsetD32Async(p, 21, 64, a), 0);
  ASSERT_EQ(cuEventRecord(event, a), 0);
  ASSERT_EQ(cuStreamWaitEvent(b, event, 0), 0);
  ASSERT_EQ(twice(b), 0);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(host, p, 4, b), 0);
  ASSERT_EQ(cuStreamSynchronize(b), 0);
  EXPECT_EQ(host[0], 42u);
}
// Without the wait, the delay mode lets the second stream run first.
TEST_F(Streams, MissingWaitShows) {
  if (!delayed())
    GTEST_SKIP() << "only the delay mode makes it certain";
  ASSERT_EQ(cuMemsetD32Async(p, 21, 64, a), 0);
  ASSERT_EQ(twice(b), 0);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(host, p, 4, b), 0);
  ASSERT_EQ(cuStreamSynchronize(b), 0);
  EXPECT_EQ(host[0], 2u);
  ASSERT_EQ(cuStreamSynchronize(a), 0);
}
TEST_F(Streams, MissingSynchronisationWithTheHostShows) {
  if (!delayed())
    GTEST_SKIP();
  host[0] = 5;
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(p, host, 4, a), 0);
  host[0] = 6; // too early: the copy reads pinned memory when it runs
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(host + 1, p, 4, a), 0);
  host[1] = 99;
  EXPECT_EQ(host[1], 99u);
  ASSERT_EQ(cuStreamSynchronize(a), 0);
  EXPECT_EQ(host[1], 6u);
}
TEST_F(Streams, NullStreamWaitsForBlockingOnes) {
  CUstream c;
  ASSERT_EQ(cuStreamCreate(&c, 0), 0);
  ASSERT_EQ(cuMemsetD32Async(p, 3, 64, c), 0);
  EXPECT_EQ(dev.get<uint32_t>(p, 1)[0],
            3u); // cuMemcpyDtoH runs on the null stream
  ASSERT_EQ(cuMemsetD32Async(p, 4, 64, nullptr), 0);
  ASSERT_EQ(twice(c), 0);
  ASSERT_EQ(cuStreamSynchronize(c), 0);
  EXPECT_EQ(dev.get<uint32_t>(p, 1)[0], 8u);
  ASSERT_EQ(cuStreamDestroy_v2(c), 0);
}
TEST_F(Streams, QueriesTimesAndHostFunctions) {
  CUevent end;
  ASSERT_EQ(cuEventCreate(&end, 0), 0);
  ASSERT_EQ(cuEventRecord(event, a), 0);
  ASSERT_EQ(cuLaunchHostFunc(
                a,
                [](void *) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(20));
                },
                nullptr),
            0);
  ASSERT_EQ(cuEventRecord(end, a), 0);
  EXPECT_EQ(cuStreamQuery(a), cuda::NOT_READY);
  ASSERT_EQ(cuEventSynchronize(end), 0);
  EXPECT_EQ(cuStreamQuery(a), 0);
  float ms;
  ASSERT_EQ(cuEventElapsedTime(&ms, event, end), 0);
  EXPECT_GE(ms, 19);
}
TEST_F(Streams, GraphsAreReplayed) {
  CUevent back;
  ASSERT_EQ(cuEventCreate(&back, cuda::DisableTiming), 0);
  ASSERT_EQ(cuStreamBeginCapture_v2(a, 0), 0);
  ASSERT_EQ(twice(a), 0);
  ASSERT_EQ(cuEventRecord(event, a), 0);
  ASSERT_EQ(cuStreamWaitEvent(b, event, 0), 0);
  ASSERT_EQ(twice(b), 0);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(host, p, 4, b), 0);
  ASSERT_EQ(cuEventRecord(back, b), 0);
  ASSERT_EQ(cuStreamWaitEvent(a, back, 0), 0);
  CUgraph graph;
  ASSERT_EQ(cuStreamEndCapture(a, &graph), 0);
  EXPECT_EQ(dev.get<uint32_t>(p, 1)[0], 1u); // nothing ran
  CUgraphExec exec;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(cuGraphLaunch(exec, a), 0);
  ASSERT_EQ(cuStreamSynchronize(a), 0);
  EXPECT_EQ(host[0], 64u);
}
TEST_F(Streams, CaptureErrors) {
  ASSERT_EQ(cuStreamBeginCapture_v2(a, 0), 0);
  ASSERT_EQ(twice(a), 0);
  EXPECT_EQ(cuStreamSynchronize(a), cuda::STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph;
  EXPECT_EQ(cuStreamEndCapture(a, &graph), cuda::STREAM_CAPTURE_INVALIDATED);
  ASSERT_EQ(cuStreamBeginCapture_v2(a, 0), 0);
  ASSERT_EQ(cuEventRecord(event, a), 0);
  ASSERT_EQ(cuStreamWaitEvent(b, event, 0), 0);
  ASSERT_EQ(twice(b), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuStreamEndCapture(a, &graph), cuda::STREAM_CAPTURE_UNJOINED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "does not wait for node 0, kernel 'twice'"),
            std::string::npos);
}
TEST_F(Streams, DeviceMemoryIsNotTheHosts) {
  EXPECT_DEATH(*(volatile uint32_t *)p = 1, "");
}
TEST_F(Streams, AttributesAndEntryPoints) {
  int v = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&v, 97, 0), 0);
  EXPECT_EQ(v, 227 * 1024);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &v, dev.function("twice"), 256, 100 * 1024),
            0);
  EXPECT_EQ(v, 2);
  void *fn = nullptr;
  int status = -1;
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &fn, 13000, 0, &status), 0);
  EXPECT_EQ(fn, (void *)&cuMemAlloc_v2);
  testing::internal::CaptureStderr();
  EXPECT_EQ(
      cuGetProcAddress_v2("cuLaunchCooperativeKernel", &fn, 13000, 0, &status),
      0);
  EXPECT_EQ(((CUresult(*)())fn)(), cuda::NOT_SUPPORTED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "cuLaunchCooperativeKernel is not implemented by the stand-in"),
            std::string::npos);
  const char *name;
  EXPECT_EQ(cuGetErrorName(700, &name), 0);
  EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, 2, p), 0);
  EXPECT_EQ(type, 2u);
}
} // namespace
