// A device, its memory and its kernels for tests of the stand-in. Each object
// has a context of its own: errors do not leave a test.
#ifndef FF_TEST_STANDIN_DEVICE_H
#define FF_TEST_STANDIN_DEVICE_H

#include "tools/standin/api/Cuda.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

extern "C" {
CUresult cuInit(unsigned);
CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
CUresult cuCtxDestroy_v2(CUcontext);
CUresult cuCtxSynchronize();
CUresult cuModuleLoadDataEx(CUmodule *, const void *, unsigned, int *, void **);
CUresult cuModuleUnload(CUmodule);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *);
CUresult cuFuncSetAttribute(CUfunction, int, int);
CUresult cuFuncGetAttribute(int *, int, CUfunction);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemHostAlloc(void **, size_t, unsigned);
CUresult cuMemFreeHost(void *);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
CUresult cuMemsetD8_v2(CUdeviceptr, uint8_t, size_t);
CUresult cuMemsetD32Async(CUdeviceptr, uint32_t, size_t, CUstream);
CUresult cuStreamCreate(CUstream *, unsigned);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamQuery(CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuStreamBeginCapture_v2(CUstream, int);
CUresult cuStreamEndCapture(CUstream, CUgraph *);
CUresult cuEventCreate(CUevent *, unsigned);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventSynchronize(CUevent);
CUresult cuEventElapsedTime(float *, CUevent, CUevent);
CUresult cuLaunchHostFunc(CUstream, CUhostFn, void *);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *, CUgraph,
                                     unsigned long long);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuGetErrorName(CUresult, const char **);
CUresult cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned,
                        unsigned, unsigned, unsigned, CUstream, void **,
                        void **);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, CUfunction, int,
                                                     size_t);
CUresult cuPointerGetAttribute(void *, int, CUdeviceptr);
CUresult cuDeviceGetAttribute(int *, int, CUdevice);
uint64_t ffStandinInstructions();
}

namespace standin::test {

inline std::string readFile(const std::string &name) {
  std::ifstream in(std::string(FF_STANDIN_KERNELS) + "/" + name);
  EXPECT_TRUE(in) << name;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class Device {
public:
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  explicit Device(int ordinal = 0) {
    EXPECT_EQ(cuInit(0), 0);
    EXPECT_EQ(cuCtxCreate_v2(&context, 0, ordinal), 0);
  }
  ~Device() { cuCtxDestroy_v2(context); }
  void load(const std::string &ptx) {
    char log[4096] = "";
    int options[] = {cuda::ErrorLogBuffer, cuda::ErrorLogBytes};
    void *values[] = {log, (void *)sizeof log};
    ASSERT_EQ(cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values), 0)
        << log << "\n"
        << ptx.substr(0, 3000);
  }
  CUfunction function(const char *name) {
    CUfunction f = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&f, module, name), 0) << name;
    return f;
  }
  template <class T> CUdeviceptr put(const std::vector<T> &v) {
    CUdeviceptr p = empty<T>(v.size());
    EXPECT_EQ(cuMemcpyHtoD_v2(p, v.data(), v.size() * sizeof(T)), 0);
    return p;
  }
  template <class T> CUdeviceptr empty(size_t n) {
    CUdeviceptr p = 0;
    EXPECT_EQ(cuMemAlloc_v2(&p, n * sizeof(T)), 0);
    return p;
  }
  template <class T> std::vector<T> get(CUdeviceptr p, size_t n) {
    std::vector<T> v(n);
    EXPECT_EQ(cuMemcpyDtoH_v2(v.data(), p, n * sizeof(T)), 0);
    return v;
  }
  template <class... A>
  CUresult launch(const char *name, unsigned grid, unsigned block,
                  unsigned shared, CUstream s, A... args) {
    return launch3(name, {grid, 1, 1}, {block, 1, 1}, shared, s, args...);
  }
  struct Dims {
    unsigned x, y, z;
  };
  template <class... A>
  CUresult launch3(const char *name, Dims g, Dims b, unsigned shared,
                   CUstream s, A... args) {
    void *params[] = {&args..., nullptr};
    return cuLaunchKernel(function(name), g.x, g.y, g.z, b.x, b.y, b.z, shared,
                          s, params, nullptr);
  }
  // Launches, waits, and gives the result with what stderr said.
  template <class... A>
  std::pair<CUresult, std::string> provoke(const char *name, unsigned grid,
                                           unsigned block, A... args) {
    testing::internal::CaptureStderr();
    CUresult r = launch(name, grid, block, 0, nullptr, args...);
    if (!r)
      r = cuCtxSynchronize();
    return {r, testing::internal::GetCapturedStderr()};
  }
};

inline std::string header() {
  return ".version 8.0\n.target sm_90\n.address_size 64\n";
}

template <class T> std::string widthOf() {
  return std::to_string(8 * sizeof(T));
}

// d[i] = the instruction applied to a[i], b[i], c[i], one thread each. The text
// may name %d, %a, %b, %c, the predicate %p.
template <class D, class A, class B = A, class C = A>
std::vector<D> apply(const std::string &text, const std::vector<A> &a,
                     std::vector<B> b = {}, std::vector<C> c = {}) {
  size_t n = a.size();
  b.resize(n), c.resize(n);
  auto reg = [](size_t bytes) {
    return bytes == 1 ? std::string("16") : std::to_string(8 * bytes);
  };
  auto mem = [](size_t bytes) {
    return (bytes == 1 ? "u" : "b") + std::to_string(8 * bytes);
  };
  std::string ptx = header() +
                    ".visible .entry k(.param .u64 pa, .param .u64 pb, .param "
                    ".u64 pc, .param .u64 pd, .param .u32 pn)\n{\n"
                    ".reg .pred %p, %q, %out;\n.reg .b32 %i, %n, %t<8>;\n.reg "
                    ".b64 %x, %y, %w<8>;\n.reg .b16 %h<8>;\n";
  ptx += ".reg .b" + reg(sizeof(D)) + " %d;\n.reg .b" + reg(sizeof(A)) +
         " %a;\n.reg .b" + reg(sizeof(B)) + " %b;\n.reg .b" + reg(sizeof(C)) +
         " %c;\n";
  ptx += "mov.u32 %i, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmov.u32 %t0, "
         "%tid.x;\nmad.lo.u32 %i, %i, %n, %t0;\n"
         "ld.param.u32 %n, [pn];\nsetp.ge.u32 %out, %i, %n;\n@%out ret;\n";
  auto access = [&](const char *p, size_t bytes) {
    return std::string("ld.param.u64 %x, [") + p + "];\nmul.wide.u32 %y, %i, " +
           std::to_string(bytes) + ";\nadd.s64 %x, %x, %y;\n";
  };
  ptx +=
      access("pa", sizeof(A)) + "ld.global." + mem(sizeof(A)) + " %a, [%x];\n";
  ptx +=
      access("pb", sizeof(B)) + "ld.global." + mem(sizeof(B)) + " %b, [%x];\n";
  ptx +=
      access("pc", sizeof(C)) + "ld.global." + mem(sizeof(C)) + " %c, [%x];\n";
  ptx += text + "\n" + access("pd", sizeof(D)) + "st.global." + mem(sizeof(D)) +
         " [%x], %d;\nret;\n}\n";
  Device dev;
  dev.load(ptx);
  if (!dev.module)
    return std::vector<D>(n);
  CUdeviceptr pd = dev.empty<D>(n);
  EXPECT_EQ(dev.launch("k", (unsigned)(n + 63) / 64, 64, 0, nullptr, dev.put(a),
                       dev.put(b), dev.put(c), pd, (uint32_t)n),
            0);
  return dev.get<D>(pd, n);
}

inline uint32_t bits(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
inline float number(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
inline uint64_t bits(double f) {
  uint64_t u;
  memcpy(&u, &f, 8);
  return u;
}

} // namespace standin::test

#endif
