// Each check provoked: the CUresult and what the message names.
#include "test/standin/Device.h"

using namespace standin;
using namespace standin::test;

namespace {
// A kernel with one pointer in %x, the thread in %t, 256 bytes of shared memory
// s.
std::string kernel(const std::string &body, const std::string &extra = "") {
  return header() + extra +
         ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<4>;\n.reg .b16 "
         "%h<4>;\n.reg .b32 %t, %r<9>;\n.reg .b64 %x, %w<9>;\n"
         ".shared .align 16 .b8 s[256];\n.local .align 16 .b8 l[16];\n"
         "mov.u32 %t, %tid.x;\nld.param.u64 %x, [p];\n" +
         body + "\nret;\n}\n";
}
class Check : public testing::Test {
protected:
  Device dev;
  CUdeviceptr p = 0;
  void SetUp() override { p = dev.put(std::vector<uint32_t>(64, 7)); }
  void expect(const std::string &body, CUresult code,
              std::vector<std::string> words, unsigned block = 32,
              unsigned grid = 1) {
    dev.load(kernel(body));
    auto [r, text] = dev.provoke("k", grid, block, p);
    EXPECT_EQ(r, code) << text;
    words.push_back(code ? "ff-standin (not a GPU): error: kernel 'k': " : "");
    for (auto &w : words)
      EXPECT_NE(text.find(w), std::string::npos)
          << "no '" << w << "' in: " << text;
  }
};

TEST_F(Check, OutOfBounds) {
  expect("mul.wide.u32 %w0, %t, 4;\nadd.s64 %x, %x, %w0;\nld.global.u32 %r0, "
         "[%x+200];",
         cuda::ILLEGAL_ADDRESS,
         {"read of 4 bytes at global address", "is out of bounds",
          "block (0,0,0), thread (14,0,0), PTX line 16: ld.global.u32 %r0, "
          "[%x+200]",
          "0 bytes after allocation #", "cuMemAlloc, 256 bytes"});
}
TEST_F(Check, ErrorsStay) {
  expect("ld.global.u32 %r0, [%x+256];", cuda::ILLEGAL_ADDRESS, {});
  CUdeviceptr q;
  EXPECT_EQ(cuMemAlloc_v2(&q, 4), cuda::ILLEGAL_ADDRESS);
}
TEST_F(Check, BeforeTheBegin) {
  expect("st.global.u32 [%x+-4], 1;", cuda::ILLEGAL_ADDRESS,
         {"write of 4 bytes", "4 bytes before allocation #"});
}
TEST_F(Check, Straddling) {
  expect("ld.global.v2.u64 {%w1, %w2}, [%x+248];", cuda::MISALIGNED_ADDRESS,
         {"is misaligned"});
}
TEST_F(Check, NullPointer) {
  expect("mov.u64 %x, 0;\nld.global.u32 %r0, [%x+8];", cuda::ILLEGAL_ADDRESS,
         {"(a null pointer)"});
}
TEST_F(Check, Misaligned) {
  expect("ld.global.u32 %r0, [%x+2];", cuda::MISALIGNED_ADDRESS,
         {"read of 4 bytes", "is misaligned"});
}
TEST_F(Check, UseAfterFree) {
  cuMemFree_v2(p);
  expect("ld.global.u32 %r0, [%x+16];", cuda::ILLEGAL_ADDRESS,
         {"is a use after free", "byte 16 of freed allocation #"});
}
TEST_F(Check, OtherDevice) {
  CUdeviceptr mine = p;
  {
    Device other(1);
    p = other.empty<uint32_t>(4);
  }
  cuCtxSynchronize();
  expect("st.global.u32 [%x], 1;", cuda::ILLEGAL_ADDRESS,
         {"is in the memory of another device", "device 1"});
  p = mine;
}
TEST_F(Check, Unwritten) {
  p = dev.empty<uint32_t>(8);
  expect("setp.ne.u32 %p0, %t, 0;\n@!%p0 st.global.u32 [%x], 1;\nld.global.u32 "
         "%r0, [%x];\nld.global.u32 %r0, [%x+4];",
         cuda::LAUNCH_FAILED,
         {"nobody wrote this memory", "ld.global.u32 %r0, [%x+4]"});
}
TEST_F(Check, UnwrittenCopy) {
  CUdeviceptr q = dev.empty<uint32_t>(8);
  uint32_t host[8];
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuMemcpyDtoH_v2(host, q, 32), cuda::INVALID_VALUE);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "cuMemcpyDtoH reads memory that nobody wrote: byte 0 of 32"),
            std::string::npos);
}
TEST_F(Check, SharedOutOfBounds) {
  expect("mov.u32 %r0, s;\nst.shared.u32 [%r0+256], %t;", cuda::ILLEGAL_ADDRESS,
         {"write of 4 bytes at shared address",
          "shared memory of the block: 256 bytes"});
}
TEST_F(Check, SharedUnwritten) {
  expect("ld.shared.u32 %r1, [s+8];", cuda::LAUNCH_FAILED,
         {"nobody wrote byte 0 of it", "ld.shared.u32"});
}
TEST_F(Check, LocalOutOfBounds) {
  expect("mov.u64 %w0, l;\nst.local.u32 [%w0+16], %t;", cuda::ILLEGAL_ADDRESS,
         {"local address", "local memory of the thread: 16 bytes"});
}
TEST_F(Check, LocalUnwritten) {
  expect("ld.local.u32 %r0, [l];", cuda::LAUNCH_FAILED,
         {"at local address 0x0: nobody wrote byte 0"});
}
TEST_F(Check, GenericWhereSharedIsMeant) {
  expect("mov.u64 %w0, s;\ncvta.shared.u64 %w1, %w0;\nst.u32 [%w1], "
         "1;\nst.shared.u32 [%w1], 1;",
         cuda::INVALID_ADDRESS_SPACE, {"where a shared one is meant"});
}

const char *store =
    "mov.u32 %r0, s;\nmad.lo.u32 %r1, %t, 4, %r0;\nst.shared.u32 [%r1], %t;\n";
const char *next =
    "xor.b32 %r2, %t, 32;\nmad.lo.u32 %r2, %r2, 4, %r0;\n"; // the same lane of
                                                            // the other warp
TEST_F(Check, RaceReadAfterWrite) {
  expect(std::string(store) + next +
             "setp.ge.u32 %p0, %t, 32;\n@%p0 ld.shared.u32 %r3, [%r2];",
         cuda::LAUNCH_FAILED,
         {"race: read of 4 bytes at shared address 0x400, written by thread "
          "(0,0,0) at PTX line 16 with no barrier between",
          "thread (32,0,0), PTX line 20"},
         64);
}
TEST_F(Check, NoRaceWithBarrier) {
  expect(std::string(store) + next + "bar.sync 0;\nld.shared.u32 %r3, [%r2];",
         cuda::SUCCESS, {}, 64);
}
TEST_F(Check, RaceWriteAfterRead) {
  expect(std::string(store) + next +
             "bar.sync 0;\nsetp.lt.u32 %p0, %t, 32;\n@%p0 ld.shared.u32 %r3, "
             "[%r2];\n@!%p0 st.shared.u32 [%r1], 1;",
         cuda::LAUNCH_FAILED,
         {"race: write of 4 bytes", "read by thread (0,0,0)"}, 64);
}
TEST_F(Check, RaceOfWrites) {
  expect("st.shared.u32 [s], %t;", cuda::LAUNCH_FAILED,
         {"race: write of 4 bytes", "thread (1,0,0)",
          "written by thread (0,0,0)"});
}
TEST_F(Check, SameValueIsNoRace) {
  expect("st.shared.u32 [s], 5;", cuda::SUCCESS, {}, 64);
}
TEST_F(Check, AtomicsAreNoRace) {
  expect(
      "setp.eq.u32 %p0, %t, 0;\n@%p0 st.shared.u32 [s], 0;\nbar.sync "
      "0;\nred.shared.add.u32 [s], 1;\nbar.sync 0;\nld.shared.u32 %r0, [s];\n"
      "st.global.u32 [%x], %r0;",
      cuda::SUCCESS, {}, 64);
  EXPECT_EQ(dev.get<uint32_t>(p, 1)[0], 64u);
}
TEST_F(Check, RaceWithinAWarpWantsSyncwarp) {
  std::string neighbour = "xor.b32 %r2, %t, 1;\nmad.lo.u32 %r2, %r2, 4, %r0;\n";
  expect(store + neighbour + "ld.shared.u32 %r3, [%r2];", cuda::LAUNCH_FAILED,
         {"race: read"});
}
TEST_F(Check, SyncwarpOrders) {
  std::string neighbour =
      "xor.b32 %r2, %t, 1;\nmad.lo.u32 %r2, %r2, 4, %r0;\nbar.warp.sync -1;\n";
  expect(store + neighbour + "ld.shared.u32 %r3, [%r2];", cuda::SUCCESS, {});
}
TEST_F(Check, BytesDoNotRace) {
  expect("mov.u32 %r0, s;\nadd.u32 %r0, %r0, %t;\ncvt.u16.u32 %h0, "
         "%t;\nst.shared.u8 [%r0], %h0;",
         cuda::SUCCESS, {}, 64);
}

TEST_F(Check, BarrierMissed) {
  expect("setp.eq.u32 %p0, %t, 40;\n@%p0 bra END;\nbar.sync 0;\nEND:",
         cuda::LAUNCH_FAILED,
         {"barrier 0: 63 of 64 threads wait at it, 1 have exited",
          "the first that misses it is thread 40, which has exited"},
         64);
}
TEST_F(Check, BarriersDiffer) {
  expect("setp.lt.u32 %p0, %t, 7;\n@%p0 bra A;\nbar.sync 0;\nbra "
         "END;\nA:\nbar.sync 0;\nEND:",
         cuda::LAUNCH_FAILED,
         {"the threads of one warp wait at different barriers"});
}
TEST_F(Check, MemberMissing) {
  expect("setp.lt.u32 %p0, %t, 7;\n@%p0 bra A;\nbra END;\nA:\nbar.warp.sync "
         "-1;\nbra DONE;\nEND:\nbar.sync 0;\nDONE:",
         cuda::LAUNCH_FAILED,
         {"wait for others of their member mask that never come here"});
}
TEST_F(Check, ShuffleFromAbsentLane) {
  expect("setp.ge.u32 %p0, %t, 16;\n@%p0 bra END;\nshfl.sync.idx.b32 %r0, %t, "
         "20, 31, 65535;\nEND:",
         cuda::LAUNCH_FAILED,
         {"the shuffle reads lane 20, which does not take part"});
}
TEST_F(Check, Trap) {
  expect("trap;", cuda::LAUNCH_FAILED, {"trap: the program stopped itself"});
}
TEST_F(Check, CopyAsyncWithoutWait) {
  expect("mov.u32 %r0, s;\ncp.async.ca.shared.global [%r0], [%x], "
         "4;\ncp.async.commit_group;\nld.shared.u32 %r1, [s];",
         cuda::LAUNCH_FAILED, {"nobody wrote byte 0 of it"}, 1);
}
TEST_F(Check, CopyAsyncWithWait) {
  expect("mov.u32 %r0, s;\ncp.async.ca.shared.global [%r0], [%x], "
         "4;\ncp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.u32 "
         "%r1, [s];",
         cuda::SUCCESS, {}, 1);
}

TEST_F(Check, LaunchLimits) {
  dev.load(kernel(""));
  auto refuse = [&](Device::Dims g, Device::Dims b, unsigned shared,
                    const std::string &word) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(dev.launch3("k", g, b, shared, nullptr, p), cuda::INVALID_VALUE);
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  refuse({1, 1, 1}, {1025, 1, 1}, 0, "launch of kernel 'k': block (1025,1,1)");
  refuse({1, 1, 1}, {32, 32, 2}, 0, "has over 1024 threads");
  refuse({1, 1, 1}, {1, 1, 65}, 0, "block (1,1,65)");
  refuse({1, 70000, 1}, {1, 1, 1}, 0, "grid (1,70000,1)");
  refuse({0, 1, 1}, {1, 1, 1}, 0, "grid (0,1,1)");
  refuse({1, 1, 1}, {1, 1, 1}, 49153,
         "49153 bytes of dynamic shared memory exceed 49152");
  CUfunction f = dev.function("k");
  EXPECT_EQ(cuFuncSetAttribute(f, cuda::MaxDynamicSharedBytes, 232449),
            cuda::INVALID_VALUE); // one above 227 KB
  EXPECT_EQ(cuFuncSetAttribute(f, cuda::MaxDynamicSharedBytes, 200000), 0);
  EXPECT_EQ(dev.launch("k", 1, 1, 200000, nullptr, p), 0);
}
TEST_F(Check, ParameterSizes) {
  dev.load(kernel(""));
  size_t size = 12;
  char buffer[16] = {};
  void *extra[] = {(void *)1, buffer, (void *)2, &size, nullptr};
  EXPECT_EQ(cuLaunchKernel(dev.function("k"), 1, 1, 1, 1, 1, 1, 0, nullptr,
                           nullptr, extra),
            cuda::INVALID_VALUE);
  size = 8;
  EXPECT_EQ(cuLaunchKernel(dev.function("k"), 1, 1, 1, 1, 1, 1, 0, nullptr,
                           nullptr, extra),
            0);
  EXPECT_EQ(cuLaunchKernel(dev.function("k"), 1, 1, 1, 1, 1, 1, 0, nullptr,
                           nullptr, nullptr),
            cuda::INVALID_VALUE);
}
TEST_F(Check, MachineCodeIsRefused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuModuleLoadDataEx(&dev.module,
                               "\x7f"
                               "ELF    ",
                               0, nullptr, nullptr),
            cuda::NO_BINARY_FOR_GPU);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("embed the PTX text"),
            std::string::npos);
}

// Spaces and forms of accesses that the kernels of compilers do not show.
TEST_F(Check, SpacesVectorsAndGenericAddresses) {
  dev.load(
      kernel("mov.u64 %w0, s;\ncvta.shared.u64 %w0, %w0;\nmov.u64 %w1, "
             "l;\ncvta.local.u64 %w1, %w1;\n"
             "ld.const.v2.u32 {%r0, %r1}, [c];\nst.v2.u32 [%w1+8], {%r0, "
             "%r1};\nld.v2.u32 {%r2, %r3}, [%w1+8];\n"
             "st.u32 [%w0], %r2;\nst.u32 [%w0+4], %r3;\nld.shared.v2.b32 {%r4, "
             "_}, [s];\nld.u32 %r5, [%w0+4];\n"
             "ld.global.u64 %w2, [ref];\nld.u32 %r6, [%w2];\nld.global.s8 %r7, "
             "[bytes+1];\n"
             "st.global.v4.u32 [%x], {%r4, %r5, %r6, %r7};\n"
             "isspacep.shared %p0, %w0;\nselp.u32 %r0, 1, 0, "
             "%p0;\nst.global.u32 [%x+16], %r0;",
             ".const .align 8 .u32 c[2] = {11, 22};\n.global .u32 g = "
             "33;\n.global .u64 ref = g;\n.global .s8 bytes[2] = {1, -2};\n"));
  ASSERT_EQ(dev.launch("k", 1, 1, 0, nullptr, p), 0);
  EXPECT_EQ(dev.get<uint32_t>(p, 5),
            (std::vector<uint32_t>{11, 22, 33, (uint32_t)-2, 1}));
  CUdeviceptr g;
  size_t n;
  ASSERT_EQ(cuModuleGetGlobal_v2(&g, &n, dev.module, "g"), 0);
  EXPECT_EQ(n, 4u);
  EXPECT_EQ(dev.get<uint32_t>(g, 1)[0], 33u);
}
TEST_F(Check, BranchTableAndWarpOperations) {
  dev.load(kernel(
      "and.b32 %r0, %t, 3;\nbrx.idx %r0, T;\nT: .branchtargets A, B, A, "
      "C;\nA:\nmov.u32 %r1, 10;\nbra END;\nB:\nmov.u32 %r1, 20;\nbra END;\n"
      "C:\nmov.u32 %r1, 30;\nEND:\nredux.sync.add.u32 %r2, %r1, "
      "-1;\nsetp.eq.u32 %p0, %r1, 10;\nvote.sync.ballot.b32 %r3, %p0, -1;\n"
      "match.any.sync.b32 %r4, %r1, -1;\nactivemask.b32 %r5;\nshfl.sync.up.b32 "
      "%r6|%p1, %t, 4, 0, -1;\nselp.u32 %r7, 1, 0, %p1;\n"
      "setp.ne.u32 %p2, %t, 5;\n@%p2 ret;\nst.global.v4.u32 [%x], {%r2, %r3, "
      "%r4, %r5};\nst.global.v2.u32 [%x+16], {%r6, %r7};"));
  ASSERT_EQ(dev.launch("k", 1, 32, 0, nullptr, p), 0);
  EXPECT_EQ(dev.get<uint32_t>(p, 6),
            (std::vector<uint32_t>{8 * (10 + 20 + 10 + 30), 0x55555555,
                                   0x22222222, 0xffffffff, 1, 1}));
}
TEST_F(Check, AtomicOperations) {
  p = dev.put(std::vector<uint32_t>{0, 100, 0, 0xff, 0, 0, 0, 5, 0, 0, 0, 0});
  dev.load(kernel("atom.global.add.u32 %r0, [%x], 2;\nred.global.min.s32 "
                  "[%x+4], %t;\natom.global.max.u32 %r1, [%x+8], %t;\n"
                  "red.global.and.b32 [%x+12], 0xf0;\nred.global.or.b32 "
                  "[%x+16], %t;\natom.global.cas.b32 %r2, [%x+20], 0, 9;\n"
                  "atom.global.inc.u32 %r3, [%x+24], 9;\natom.global.dec.u32 "
                  "%r3, [%x+28], 20;\nred.global.add.f32 [%x+32], 0f3F000000;\n"
                  "red.global.add.noftz.bf16x2 [%x+36], "
                  "0x3f803f80;\natom.global.exch.b32 %r4, [%x+40], 77;"));
  ASSERT_EQ(dev.launch("k", 1, 32, 0, nullptr, p), 0);
  EXPECT_EQ(dev.get<uint32_t>(p, 11),
            (std::vector<uint32_t>{64, 0, 31, 0xf0, 31, 9, 2, 15, bits(16.0f),
                                   0x42004200, 77}));
}
// A thread that holds a lock must run while others of its warp spin.
TEST_F(Check, SpinLockWithinAWarp) {
  p = dev.put(std::vector<uint32_t>{0, 0});
  dev.load(kernel("L:\natom.global.cas.b32 %r0, [%x], 0, 1;\nsetp.ne.u32 %p0, "
                  "%r0, 0;\n@%p0 bra L;\n"
                  "ld.volatile.global.u32 %r1, [%x+4];\nadd.u32 %r1, %r1, "
                  "1;\nst.volatile.global.u32 [%x+4], "
                  "%r1;\natom.global.exch.b32 %r0, [%x], 0;"));
  ASSERT_EQ(dev.launch("k", 1, 64, 0, nullptr, p), 0);
  EXPECT_EQ(dev.get<uint32_t>(p, 2)[1], 64u);
}
} // namespace
