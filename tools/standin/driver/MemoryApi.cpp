// Allocation, copies and fills. Ranges are checked at the call, bytes that
// nobody wrote when the copy is executed.
#include "tools/standin/driver/Driver.h"

#include <cstdlib>
#include <cstring>

using namespace standin;
using namespace standin::driver;
using exec::Allocation;
using exec::Memory;

namespace {
const Allocation *range(const std::string &call, CUdeviceptr p, uint64_t n) {
  const Allocation *a = Memory::get().find(p);
  if (a && a->live && p - a->addr + n <= a->size)
    return a;
  say("error: " + call + ": the " + std::to_string(n) + " bytes at " +
      exec::hex(p) + " are not within a live allocation: " +
      Memory::get().describe(a && a->live ? a->addr + a->size : p));
  return nullptr;
}
void *hostOf(const Allocation &a, CUdeviceptr p) {
  return reinterpret_cast<void *>(p + a.hostDelta);
}
void checkWritten(const std::string &call, const Allocation &a, CUdeviceptr p,
                  uint64_t n) {
  uint64_t at = Memory::get().firstUnwritten(a, p, n);
  if (at < n)
    throw exec::Fault{cuda::INVALID_VALUE,
                      call + " reads memory that nobody wrote: byte " +
                          std::to_string(at) + " of " + std::to_string(n) +
                          "\n  " + Memory::get().describe(p + at)};
}
bool pinned(const void *p, size_t n) {
  const Allocation *a = Memory::get().find((uint64_t)p);
  return a && a->device < 0 && (uint64_t)p + n <= a->addr + a->size;
}

enum class Kind { HtoD, DtoH, DtoD };
CUresult copy(const std::string &call, Kind kind, uint64_t dst, uint64_t src,
              size_t n, CUstream s, bool async) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  StreamRef ref = streamOf(s, c);
  if (!n)
    return cuda::SUCCESS;
  if (kind != Kind::DtoH && !range(call, dst, n))
    return cuda::INVALID_VALUE;
  if (kind != Kind::HtoD && !range(call, src, n))
    return cuda::INVALID_VALUE;
  if (!async)
    if (CUresult r = notWhileCapturing(c, call.c_str()))
      return r;
  bool capturing = ref->capture != nullptr;
  // Pageable memory is read during the call; pinned memory when the copy is
  // executed.
  std::shared_ptr<std::vector<uint8_t>> staged;
  bool pageable = (kind == Kind::HtoD && !pinned((void *)src, n)) ||
                  (kind == Kind::DtoH && !pinned((void *)dst, n));
  if (kind == Kind::HtoD && pageable && async && !capturing)
    staged = std::make_shared<std::vector<uint8_t>>((uint8_t *)src,
                                                    (uint8_t *)src + n);
  CUresult r = enqueue(ref, call, [=] {
    Memory &m = Memory::get();
    if (kind == Kind::HtoD) {
      const Allocation *to = range(call, dst, n);
      if (!to)
        throw exec::Fault{cuda::ILLEGAL_ADDRESS,
                          call + " ran after its memory was freed"};
      memcpy(hostOf(*to, dst), staged ? staged->data() : (void *)src, n);
      m.markWritten(*to, dst, n);
    } else {
      const Allocation *from = range(call, src, n),
                       *to = kind == Kind::DtoD ? range(call, dst, n) : nullptr;
      if (!from || (kind == Kind::DtoD && !to))
        throw exec::Fault{cuda::ILLEGAL_ADDRESS,
                          call + " ran after its memory was freed"};
      if (!to) {
        checkWritten(call, *from, src, n);
        memcpy((void *)dst, hostOf(*from, src), n);
      } else {
        memmove(hostOf(*to, dst), hostOf(*from, src), n);
        m.copyShadow(*to, dst, *from, src, n);
      }
    }
  });
  if (r)
    return r;
  // A copy to pageable memory returns when it is done.
  return !async || (kind == Kind::DtoH && pageable && !capturing)
             ? synchronize(ref)
             : cuda::SUCCESS;
}

template <class T>
CUresult fill(const std::string &call, CUdeviceptr p, T value, size_t count,
              CUstream s, bool async) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  StreamRef ref = streamOf(s, c);
  if (!count)
    return cuda::SUCCESS;
  if (p % sizeof(T) || !range(call, p, count * sizeof(T)))
    return p % sizeof(T)
               ? refuse(cuda::INVALID_VALUE, call + ": misaligned address")
               : (CUresult)cuda::INVALID_VALUE;
  CUresult r = enqueue(ref, call, [=] {
    const Allocation *a = range(call, p, count * sizeof(T));
    if (!a)
      throw exec::Fault{cuda::ILLEGAL_ADDRESS,
                        call + " ran after its memory was freed"};
    T *d = (T *)hostOf(*a, p);
    std::fill(d, d + count, value);
    Memory::get().markWritten(*a, p, count * sizeof(T));
  });
  // The synchronous form may return early on a GPU too: it is only ordered.
  return r || async ? r : synchronize(ref);
}
} // namespace

FF_CUDA cuMemAlloc_v2(CUdeviceptr *out, size_t n) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!out || !n)
    return refuse(cuda::INVALID_VALUE,
                  "cuMemAlloc: null pointer or zero bytes");
  const Allocation *a = Memory::get().allocate(n, c->device, "cuMemAlloc");
  if (!a)
    return refuse(
        cuda::OUT_OF_MEMORY,
        "cuMemAlloc: " + std::to_string(n) +
            " bytes exceed what is left of FF_STANDIN_MEMORY on device " +
            std::to_string(c->device));
  *out = a->addr;
  return cuda::SUCCESS;
}
FF_CUDA cuMemAlloc(CUdeviceptr *out, size_t n) { return cuMemAlloc_v2(out, n); }
FF_CUDA cuMemFree_v2(CUdeviceptr p) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!p)
    return cuda::SUCCESS;
  if (CUresult r = notWhileCapturing(c, "cuMemFree"))
    return r;
  if (CUresult r = synchronizeAll(c)) // as the driver does
    return r;
  const Allocation *a = Memory::get().find(p);
  if (!a || a->addr != p || a->device < 0 || !Memory::get().release(p))
    return refuse(cuda::INVALID_VALUE,
                  "cuMemFree: " + exec::hex(p) +
                      " is not the begin of a live allocation: " +
                      Memory::get().describe(p));
  return cuda::SUCCESS;
}
FF_CUDA cuMemFree(CUdeviceptr p) { return cuMemFree_v2(p); }
FF_CUDA cuMemGetInfo_v2(size_t *free, size_t *total) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  uint64_t f, t;
  Memory::get().usage(c->device, f, t);
  *free = f, *total = t;
  return cuda::SUCCESS;
}
FF_CUDA cuMemGetInfo(size_t *free, size_t *total) {
  return cuMemGetInfo_v2(free, total);
}

FF_CUDA cuMemHostAlloc(void **out, size_t n, unsigned) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!out || !n)
    return cuda::INVALID_VALUE;
  *out = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
  if (!*out)
    return cuda::OUT_OF_MEMORY;
  Memory::get().addHost(*out, n, "cuMemHostAlloc");
  return cuda::SUCCESS;
}
FF_CUDA cuMemAllocHost_v2(void **out, size_t n) {
  return cuMemHostAlloc(out, n, 0);
}
FF_CUDA cuMemFreeHost(void *p) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  const Allocation *a = Memory::get().find((uint64_t)p);
  if (!a || a->addr != (uint64_t)p || a->what != "cuMemHostAlloc")
    return refuse(cuda::INVALID_VALUE,
                  "cuMemFreeHost: not an address that cuMemHostAlloc gave");
  synchronizeAll(c);
  Memory::get().release((uint64_t)p);
  free(p);
  return cuda::SUCCESS;
}
FF_CUDA cuMemHostRegister_v2(void *p, size_t n, unsigned) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!p || !n)
    return cuda::INVALID_VALUE;
  const Allocation *a = Memory::get().find((uint64_t)p),
                   *b = Memory::get().find((uint64_t)p + n - 1);
  if ((a && a->live) || (b && b->live))
    return cuda::HOST_MEMORY_ALREADY_REGISTERED;
  Memory::get().addHost(p, n, "cuMemHostRegister");
  return cuda::SUCCESS;
}
FF_CUDA cuMemHostRegister(void *p, size_t n, unsigned flags) {
  return cuMemHostRegister_v2(p, n, flags);
}
FF_CUDA cuMemHostUnregister(void *p) {
  const Allocation *a = Memory::get().find((uint64_t)p);
  if (!a || a->addr != (uint64_t)p || a->what != "cuMemHostRegister")
    return cuda::HOST_MEMORY_NOT_REGISTERED;
  CUcontext c = currentContext();
  if (c)
    synchronizeAll(c);
  Memory::get().release((uint64_t)p);
  return cuda::SUCCESS;
}
FF_CUDA cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned) {
  const Allocation *a = Memory::get().find((uint64_t)p);
  *out = (CUdeviceptr)p;
  return a && a->device < 0 ? cuda::SUCCESS : cuda::INVALID_VALUE;
}

FF_CUDA cuMemcpyHtoD_v2(CUdeviceptr d, const void *s, size_t n) {
  return copy("cuMemcpyHtoD", Kind::HtoD, d, (uint64_t)s, n, nullptr, false);
}
FF_CUDA cuMemcpyDtoH_v2(void *d, CUdeviceptr s, size_t n) {
  return copy("cuMemcpyDtoH", Kind::DtoH, (uint64_t)d, s, n, nullptr, false);
}
FF_CUDA cuMemcpyDtoD_v2(CUdeviceptr d, CUdeviceptr s, size_t n) {
  return copy("cuMemcpyDtoD", Kind::DtoD, d, s, n, nullptr, false);
}
FF_CUDA cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n,
                             CUstream st) {
  return copy("cuMemcpyHtoDAsync", Kind::HtoD, d, (uint64_t)s, n, st, true);
}
FF_CUDA cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, CUstream st) {
  return copy("cuMemcpyDtoHAsync", Kind::DtoH, (uint64_t)d, s, n, st, true);
}
FF_CUDA cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n,
                             CUstream st) {
  return copy("cuMemcpyDtoDAsync", Kind::DtoD, d, s, n, st, true);
}
FF_CUDA cuMemcpyHtoD(CUdeviceptr d, const void *s, size_t n) {
  return cuMemcpyHtoD_v2(d, s, n);
}
FF_CUDA cuMemcpyDtoH(void *d, CUdeviceptr s, size_t n) {
  return cuMemcpyDtoH_v2(d, s, n);
}
FF_CUDA cuMemcpyDtoD(CUdeviceptr d, CUdeviceptr s, size_t n) {
  return cuMemcpyDtoD_v2(d, s, n);
}
FF_CUDA cuMemcpyHtoDAsync(CUdeviceptr d, const void *s, size_t n, CUstream st) {
  return cuMemcpyHtoDAsync_v2(d, s, n, st);
}
FF_CUDA cuMemcpyDtoHAsync(void *d, CUdeviceptr s, size_t n, CUstream st) {
  return cuMemcpyDtoHAsync_v2(d, s, n, st);
}
FF_CUDA cuMemcpyDtoDAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream st) {
  return cuMemcpyDtoDAsync_v2(d, s, n, st);
}
static Kind kindOf(CUdeviceptr d, CUdeviceptr s) {
  bool to = Memory::get().inArena(d), from = Memory::get().inArena(s);
  return to ? (from ? Kind::DtoD : Kind::HtoD) : Kind::DtoH;
}
FF_CUDA cuMemcpyAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream st) {
  return copy("cuMemcpyAsync", kindOf(d, s), d, s, n, st, true);
}
FF_CUDA cuMemcpy(CUdeviceptr d, CUdeviceptr s, size_t n) {
  return copy("cuMemcpy", kindOf(d, s), d, s, n, nullptr, false);
}

FF_CUDA cuMemsetD8_v2(CUdeviceptr p, uint8_t v, size_t n) {
  return fill("cuMemsetD8", p, v, n, nullptr, false);
}
FF_CUDA cuMemsetD16_v2(CUdeviceptr p, uint16_t v, size_t n) {
  return fill("cuMemsetD16", p, v, n, nullptr, false);
}
FF_CUDA cuMemsetD32_v2(CUdeviceptr p, uint32_t v, size_t n) {
  return fill("cuMemsetD32", p, v, n, nullptr, false);
}
FF_CUDA cuMemsetD8(CUdeviceptr p, uint8_t v, size_t n) {
  return cuMemsetD8_v2(p, v, n);
}
FF_CUDA cuMemsetD16(CUdeviceptr p, uint16_t v, size_t n) {
  return cuMemsetD16_v2(p, v, n);
}
FF_CUDA cuMemsetD32(CUdeviceptr p, uint32_t v, size_t n) {
  return cuMemsetD32_v2(p, v, n);
}
FF_CUDA cuMemsetD8Async(CUdeviceptr p, uint8_t v, size_t n, CUstream s) {
  return fill("cuMemsetD8Async", p, v, n, s, true);
}
FF_CUDA cuMemsetD16Async(CUdeviceptr p, uint16_t v, size_t n, CUstream s) {
  return fill("cuMemsetD16Async", p, v, n, s, true);
}
FF_CUDA cuMemsetD32Async(CUdeviceptr p, uint32_t v, size_t n, CUstream s) {
  return fill("cuMemsetD32Async", p, v, n, s, true);
}

FF_CUDA cuPointerGetAttribute(void *data, int attribute, CUdeviceptr p) {
  const Allocation *a = Memory::get().find(p);
  if (!a || !a->live)
    return cuda::INVALID_VALUE;
  switch (attribute) {
  case 1: { // context: that of the device
    auto it = state().primary.find(a->device);
    *(CUcontext *)data =
        it == state().primary.end() ? currentContext() : it->second;
    return cuda::SUCCESS;
  }
  case 2:
    *(unsigned *)data = a->device < 0 ? 1 : 2;
    return cuda::SUCCESS; // host, device
  case 3:
    *(CUdeviceptr *)data = p;
    return cuda::SUCCESS;
  case 4:
    if (a->device >= 0)
      return cuda::INVALID_VALUE;
    *(void **)data = (void *)p;
    return cuda::SUCCESS;
  case 7:
    *(uint64_t *)data = a->id;
    return cuda::SUCCESS;
  case 8:
    *(unsigned *)data = 0;
    return cuda::SUCCESS; // not managed
  case 9:
    *(int *)data = a->device < 0 ? 0 : a->device;
    return cuda::SUCCESS;
  case 11:
    *(CUdeviceptr *)data = a->addr;
    return cuda::SUCCESS;
  case 12:
    *(size_t *)data = a->size;
    return cuda::SUCCESS;
  case 13:
    *(int *)data = 1;
    return cuda::SUCCESS; // mapped
  default:
    return refuse(cuda::NOT_SUPPORTED, "cuPointerGetAttribute: attribute " +
                                           std::to_string(attribute) +
                                           " is not modelled");
  }
}
FF_CUDA cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size,
                                CUdeviceptr p) {
  const Allocation *a = Memory::get().find(p);
  if (!a || !a->live)
    return cuda::NOT_FOUND;
  if (base)
    *base = a->addr;
  if (size)
    *size = a->size;
  return cuda::SUCCESS;
}

extern "C" __attribute__((visibility("default"))) void *
ffStandinMemory(const char *what, CUdeviceptr p, uint64_t n, int reads,
                int writes) {
  const Allocation *a = range(what, p, n);
  if (!a)
    return nullptr;
  if (reads) {
    uint64_t at = Memory::get().firstUnwritten(*a, p, n);
    if (at < n) {
      say("error: " + std::string(what) + ": nobody wrote byte " +
          std::to_string(at) + " of the " + std::to_string(n) +
          " it reads\n  " + Memory::get().describe(p + at));
      return nullptr;
    }
  }
  if (writes)
    Memory::get().markWritten(*a, p, n);
  return hostOf(*a, p);
}
