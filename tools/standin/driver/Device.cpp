// Initialisation, devices, contexts, errors.
#include "tools/standin/driver/Driver.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace standin;
using namespace standin::driver;

namespace standin::driver {

void say(const std::string &text) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  fprintf(stderr, "ff-standin (not a GPU): %s\n", text.c_str());
  fflush(stderr);
}
CUresult refuse(int code, const std::string &text) {
  say(text);
  return code;
}

State &state() {
  static State *s = [] { // outlives the workers
    auto *s = new State;
    const char *n = getenv("FF_STANDIN_DEVICES"),
               *delay = getenv("FF_STANDIN_DELAY");
    s->devices = n ? atoi(n) : 8;
    s->delay = delay && strcmp(delay, "0") != 0;
    return s;
  }();
  return *s;
}

namespace {
thread_local std::vector<CUcontext> current;

CUcontext makeContext(int device) {
  auto *c = new CUctx_st;
  c->device = device;
  c->legacy = newStream(c, false);
  state().contexts.insert(c);
  return c;
}
void endContext(CUcontext c) {
  synchronizeAll(c);
  std::lock_guard lock(state().mutex);
  for (auto &s : c->streams)
    s->stop = true, s->allowed = s->submitted;
  c->legacy->stop = true, c->legacy->allowed = c->legacy->submitted;
  c->streams.clear();
  c->live = false; // never freed: a stale handle is an error, not a crash
  state().contexts.erase(c);
  state().changed.notify_all();
}
} // namespace

CUcontext currentContext() {
  return current.empty() ? nullptr : current.back();
}

CUresult ready(CUcontext &context) {
  if (!state().initialized)
    return cuda::NOT_INITIALIZED;
  context = currentContext();
  if (!context || !context->live)
    return cuda::INVALID_CONTEXT;
  return context->error;
}
} // namespace standin::driver

FF_CUDA cuInit(unsigned flags) {
  if (flags)
    return cuda::INVALID_VALUE;
  if (!exec::Memory::get().ok())
    return refuse(
        cuda::OUT_OF_MEMORY,
        "cuInit: the machine lends no address space for device memory");
  std::lock_guard lock(state().mutex);
  state().initialized = true;
  return state().devices > 0 ? cuda::SUCCESS : cuda::NO_DEVICE;
}
FF_CUDA cuDriverGetVersion(int *version) {
  const char *claimed = getenv("FF_STANDIN_DRIVER_VERSION");
  *version = claimed ? atoi(claimed) : 13000;
  return cuda::SUCCESS;
}
FF_CUDA cuDeviceGetCount(int *count) {
  if (!state().initialized)
    return cuda::NOT_INITIALIZED;
  *count = state().devices;
  return cuda::SUCCESS;
}
static CUresult checkDevice(int d) {
  if (!state().initialized)
    return cuda::NOT_INITIALIZED;
  return d >= 0 && d < state().devices ? cuda::SUCCESS : cuda::INVALID_DEVICE;
}
FF_CUDA cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return checkDevice(ordinal);
}
FF_CUDA cuDeviceGetName(char *name, int length, CUdevice d) {
  if (CUresult r = checkDevice(d))
    return r;
  snprintf(name, (size_t)length, "ff-standin (not a GPU)");
  return cuda::SUCCESS;
}
FF_CUDA cuDeviceTotalMem_v2(size_t *bytes, CUdevice d) {
  *bytes = exec::Memory::get().totalPerDevice();
  return checkDevice(d);
}
FF_CUDA cuDeviceTotalMem(size_t *bytes, CUdevice d) {
  return cuDeviceTotalMem_v2(bytes, d);
}
/// 90 for 9.0.
static int capability() {
  const char *claimed = getenv("FF_STANDIN_CAPABILITY");
  return claimed ? atoi(claimed) : 90;
}
FF_CUDA cuDeviceComputeCapability(int *major, int *minor, CUdevice d) {
  *major = capability() / 10, *minor = capability() % 10;
  return checkDevice(d);
}
FF_CUDA cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice d) {
  snprintf(uuid->bytes, sizeof uuid->bytes, "ff-standin %d", d);
  return checkDevice(d);
}
FF_CUDA cuDeviceGetUuid(CUuuid *uuid, CUdevice d) {
  return cuDeviceGetUuid_v2(uuid, d);
}
FF_CUDA cuDeviceGetPCIBusId(char *id, int length, CUdevice d) {
  snprintf(id, (size_t)length, "ffff:%02x:00.0", d);
  return checkDevice(d);
}
FF_CUDA cuDeviceGetAttribute(int *value, int attribute, CUdevice d) {
  if (CUresult r = checkDevice(d))
    return r;
  using namespace cuda::limits;
  static const std::map<int, int> values = {
      {1, threadsPerBlock},
      {2, blockX},
      {3, blockY},
      {4, blockZ},
      {5, (int)gridX},
      {6, gridY},
      {7, gridZ},
      {8, sharedPerBlock},
      {9, 65536 /* constant memory */},
      {10, 32 /* warp */},
      {11, 2147483647 /* pitch */},
      {12, registersPerBlock},
      {13, 1980000 /* kHz */},
      {14, 512 /* texture alignment */},
      {15, 1 /* overlap */},
      {16, multiprocessors},
      {17, 0 /* run-time limit */},
      {18, 0 /* integrated */},
      {19, 1 /* maps host memory */},
      {20, 0 /* compute mode */},
      {31, 1 /* concurrent kernels */},
      {32, 1 /* ECC */},
      {33, 0},
      {34, 0},
      {35, 0},
      {36, 2619000 /* memory kHz */},
      {37, 5120 /* bus bits */},
      {38, 50 * 1024 * 1024 /* L2 */},
      {39, threadsPerMultiprocessor},
      {40, 3 /* copy engines */},
      {41, 1 /* unified addressing */},
      {50, 0},
      {78, 1 /* stream priorities */},
      {79, 1},
      {80, 1},
      {81, sharedPerMultiprocessor},
      {82, registersPerBlock},
      {83, 0 /* managed memory */},
      {84, 0},
      {85, 0},
      {86, 0},
      {87, 32},
      {88, 0},
      {89, 0},
      {90, 0 /* compute preemption */},
      {91, 1 /* host pointers of registered memory serve */},
      {95, 0 /* cooperative launch */},
      {97, sharedOptin},
      {102, 0 /* virtual memory management */},
      {106, blocksPerMultiprocessor},
      {111, 1024 /* reserved shared memory */},
      {115, 0 /* memory pools */},
      {120, 0 /* clusters */}};
  if (attribute == 75 || attribute == 76) {
    *value = attribute == 75 ? capability() / 10 : capability() % 10;
    return cuda::SUCCESS;
  }
  auto it = values.find(attribute);
  if (it == values.end())
    return refuse(cuda::INVALID_VALUE, "cuDeviceGetAttribute: attribute " +
                                           std::to_string(attribute) +
                                           " is not modelled");
  *value = it->second;
  return cuda::SUCCESS;
}

FF_CUDA cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice d) {
  if (CUresult r = checkDevice(d))
    return r;
  std::lock_guard lock(state().mutex);
  CUcontext &c = state().primary[d];
  if (!c)
    c = makeContext(d);
  ++state().primaryCount[d];
  *out = c;
  return cuda::SUCCESS;
}
FF_CUDA cuDevicePrimaryCtxRelease_v2(CUdevice d) {
  if (CUresult r = checkDevice(d))
    return r;
  CUcontext c = nullptr;
  {
    std::lock_guard lock(state().mutex);
    if (state().primaryCount[d] == 0)
      return cuda::INVALID_CONTEXT;
    if (--state().primaryCount[d] == 0)
      std::swap(c, state().primary[d]);
  }
  if (c)
    endContext(c);
  return cuda::SUCCESS;
}
FF_CUDA cuDevicePrimaryCtxRelease(CUdevice d) {
  return cuDevicePrimaryCtxRelease_v2(d);
}
FF_CUDA cuDevicePrimaryCtxSetFlags_v2(CUdevice d, unsigned) {
  return checkDevice(d);
}
FF_CUDA cuDevicePrimaryCtxGetState(CUdevice d, unsigned *flags, int *active) {
  if (CUresult r = checkDevice(d))
    return r;
  *flags = 0, *active = state().primaryCount[d] > 0;
  return cuda::SUCCESS;
}
FF_CUDA cuDevicePrimaryCtxReset_v2(CUdevice d) {
  CUcontext c = nullptr;
  {
    std::lock_guard lock(state().mutex);
    std::swap(c, state().primary[d]);
    state().primaryCount[d] = 0;
  }
  if (c)
    endContext(c);
  return checkDevice(d);
}
FF_CUDA cuCtxCreate_v2(CUcontext *out, unsigned, CUdevice d) {
  if (CUresult r = checkDevice(d))
    return r;
  std::lock_guard lock(state().mutex);
  *out = makeContext(d);
  current.push_back(*out);
  return cuda::SUCCESS;
}
FF_CUDA cuCtxCreate(CUcontext *out, unsigned flags, CUdevice d) {
  return cuCtxCreate_v2(out, flags, d);
}
FF_CUDA cuCtxCreate_v4(CUcontext *out, void *, unsigned flags, CUdevice d) {
  return cuCtxCreate_v2(out, flags, d);
}
FF_CUDA cuCtxDestroy_v2(CUcontext c) {
  if (!c || !c->live)
    return cuda::INVALID_CONTEXT;
  if (!current.empty() && current.back() == c)
    current.pop_back();
  endContext(c);
  return cuda::SUCCESS;
}
FF_CUDA cuCtxDestroy(CUcontext c) { return cuCtxDestroy_v2(c); }
FF_CUDA cuCtxSetCurrent(CUcontext c) {
  if (!state().initialized)
    return cuda::NOT_INITIALIZED;
  if (!current.empty())
    current.pop_back();
  if (c)
    current.push_back(c);
  return cuda::SUCCESS;
}
FF_CUDA cuCtxGetCurrent(CUcontext *c) {
  *c = currentContext();
  return cuda::SUCCESS;
}
FF_CUDA cuCtxPushCurrent_v2(CUcontext c) {
  current.push_back(c);
  return cuda::SUCCESS;
}
FF_CUDA cuCtxPopCurrent_v2(CUcontext *c) {
  if (current.empty())
    return cuda::INVALID_CONTEXT;
  if (c)
    *c = current.back();
  current.pop_back();
  return cuda::SUCCESS;
}
FF_CUDA cuCtxGetDevice(CUdevice *d) {
  CUcontext c = currentContext();
  if (!c)
    return cuda::INVALID_CONTEXT;
  *d = c->device;
  return cuda::SUCCESS;
}
FF_CUDA cuCtxSynchronize() {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (CUresult r = notWhileCapturing(c, "cuCtxSynchronize"))
    return r;
  return synchronizeAll(c);
}
FF_CUDA cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (least)
    *least = 0;
  if (greatest)
    *greatest = 0;
  return cuda::SUCCESS;
}
FF_CUDA cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) {
  *can = 0; // kernels see the memory of their own device alone
  if (CUresult r = checkDevice(a))
    return r;
  return checkDevice(b);
}

// The newest version of an entry point that the asked-for CUDA version has.
FF_CUDA cuGetProcAddress_v2(const char *symbol, void **fn, int version,
                            uint64_t, int *status) {
  static void *self = [] {
    Dl_info info;
    return dladdr((void *)&cuInit, &info)
               ? dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY)
               : nullptr;
  }();
  std::string name = symbol;
  *fn = nullptr;
  if (name == "cuGraphInstantiate" && version >= 12000)
    *fn = self ? dlsym(self, "cuGraphInstantiateWithFlags") : nullptr;
  else if (name == "cuCtxCreate" && version >= 13000)
    *fn = self ? dlsym(self, "cuCtxCreate_v4") : nullptr;
  for (const char *suffix : {"_v2", ""})
    if (!*fn && self)
      *fn = dlsym(self, (name + suffix).c_str());
  if (status)
    *status = *fn ? 0 : 1;
  if (!*fn)
    say("cuGetProcAddress: no entry point '" + name + "'");
  return *fn || status ? cuda::SUCCESS : cuda::NOT_FOUND;
}
FF_CUDA cuGetProcAddress(const char *symbol, void **fn, int version,
                         uint64_t flags) {
  return cuGetProcAddress_v2(symbol, fn, version, flags, nullptr);
}

extern "C" __attribute__((visibility("default"))) int
ffStandinDevice(CUstream) {
  CUcontext c = currentContext();
  return c ? c->device : -1;
}
extern "C" __attribute__((visibility("default"))) void
ffStandinSay(const char *text) {
  say(text);
}
