// Modules of PTX text, functions, launches.
#include "tools/standin/driver/Driver.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace standin;
using namespace standin::driver;
using exec::Memory;

namespace {
struct Log {
  char *buffer = nullptr;
  size_t size = 0;
  void **written =
      nullptr; // the option of the size says afterwards how much is filled
  void put(const std::string &text) const {
    if (!buffer || !size)
      return;
    snprintf(buffer, size, "%s", text.c_str());
    if (written)
      *written = (void *)strlen(buffer);
  }
};

CUresult place(CUmod_st &m, int device) {
  for (auto &owned : m.ptx->vars) {
    ptx::Var &v = *owned;
    if (v.space == ptx::Space::Shared)
      continue;
    if (v.isExtern)
      return refuse(cuda::INVALID_PTX,
                    "variable '" + v.name +
                        "' is extern: modules are not linked");
    const exec::Allocation *a = Memory::get().allocate(
        std::max<uint64_t>(v.size, 1), device, "variable '" + v.name + "'");
    if (!a)
      return refuse(cuda::OUT_OF_MEMORY,
                    "no memory for variable '" + v.name + "'");
    m.addresses[&v] = a->addr;
    uint8_t *host = reinterpret_cast<uint8_t *>(a->addr + a->hostDelta);
    memset(host, 0, v.size); // variables without an initialiser are zero
    if (!v.init.empty())
      memcpy(host, v.init.data(), v.init.size());
    Memory::get().markWritten(*a, a->addr, v.size);
  }
  for (auto &v : m.ptx->vars)
    for (auto &r : v->relocs) {
      auto it = m.ptx->varNamed.find(r.symbol);
      if (it == m.ptx->varNamed.end() || !m.addresses.count(it->second))
        return refuse(cuda::INVALID_PTX,
                      "the initialiser of '" + v->name + "' names '" +
                          r.symbol +
                          "', which is no variable in global memory");
      uint64_t value = m.addresses[it->second] + (uint64_t)r.offset,
               at = m.addresses[v.get()];
      const exec::Allocation *a = Memory::get().find(at);
      memcpy(reinterpret_cast<void *>(at + r.at + a->hostDelta), &value, 8);
    }
  return cuda::SUCCESS;
}
void unplace(CUmod_st &m) {
  for (auto &[v, addr] : m.addresses)
    Memory::get().release(addr);
}

CUresult load(CUmodule *out, const char *image, const Log &info,
              const Log &error) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!out || !image)
    return refuse(cuda::INVALID_VALUE, "cuModuleLoadData: null pointer");
  uint32_t magic;
  memcpy(&magic, image, 4);
  if (magic == 0x464c457f || magic == 0xba55ed50 || magic == 0x466243b1) {
    std::string text = std::string("cuModuleLoadData: the image is a ") +
                       (magic == 0x464c457f ? "cubin" : "fatbin") +
                       ", machine code of a GPU: the stand-in executes PTX; "
                       "embed the PTX text (nvcc -ptx, llc -march=nvptx64)";
    // Who reads the log has another image to try.
    if (error.buffer) {
      error.put(text);
      return cuda::NO_BINARY_FOR_GPU;
    }
    return refuse(cuda::NO_BINARY_FOR_GPU, text);
  }
  auto m = std::make_unique<CUmod_st>();
  m->context = c;
  try {
    m->ptx = ptx::parse(image);
    if (m->ptx->version.empty() || m->ptx->target.rfind("sm_", 0) != 0)
      throw ptx::Error(
          1, "the text does not begin with .version and .target sm_NN");
    int sm = atoi(m->ptx->target.c_str() + 3);
    if (sm > 90 || m->ptx->target == "sm_90a") {
      std::string text =
          "the PTX is for " + m->ptx->target + ", the stand-in is an sm_90";
      error.put(text);
      return refuse(cuda::NO_BINARY_FOR_GPU, text);
    }
    if (CUresult r = place(*m, c->device)) {
      unplace(*m);
      return r;
    }
    // All kernels are decoded now, as the JIT compiler of a driver would.
    for (auto &[name, fn] : m->ptx->functions) {
      if (!fn->isEntry || !fn->isDefined)
        continue;
      auto f = std::make_unique<CUfunc_st>();
      f->module = m.get();
      f->kernel = exec::decode(
          *m->ptx, name, [&](const ptx::Var *v) { return m->addresses.at(v); });
      m->functions[name] = std::move(f);
    }
  } catch (ptx::Error &e) {
    unplace(*m);
    error.put(e.what());
    return refuse(cuda::INVALID_PTX, e.what());
  }
  info.put("ff-standin (not a GPU): " + std::to_string(m->functions.size()) +
           " kernels");
  *out = m.release();
  return cuda::SUCCESS;
}
} // namespace

FF_CUDA cuModuleLoadData(CUmodule *out, const void *image) {
  return load(out, (const char *)image, {}, {});
}
FF_CUDA cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n,
                           int *options, void **values) {
  Log info, error;
  for (unsigned i = 0; i < n; ++i)
    switch (options[i]) {
    case cuda::InfoLogBuffer:
      info.buffer = (char *)values[i];
      break;
    case cuda::InfoLogBytes:
      info.size = (size_t)values[i], info.written = &values[i];
      break;
    case cuda::ErrorLogBuffer:
      error.buffer = (char *)values[i];
      break;
    case cuda::ErrorLogBytes:
      error.size = (size_t)values[i], error.written = &values[i];
      break;
    default:
      break; // of code generation
    }
  info.put(""), error.put("");
  return load(out, (const char *)image, info, error);
}
FF_CUDA cuModuleLoad(CUmodule *out, const char *path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return refuse(cuda::FILE_NOT_FOUND,
                  "cuModuleLoad: cannot read '" + std::string(path) + "'");
  std::stringstream text;
  text << in.rdbuf();
  return load(out, (text.str() + std::string(4, 0)).c_str(), {}, {});
}
FF_CUDA cuModuleUnload(CUmodule m) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!m)
    return cuda::INVALID_HANDLE;
  synchronizeAll(c);
  unplace(*m);
  delete m;
  return cuda::SUCCESS;
}
FF_CUDA cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!m)
    return cuda::INVALID_HANDLE;
  auto it = m->functions.find(name);
  if (it == m->functions.end())
    return refuse(cuda::NOT_FOUND,
                  "cuModuleGetFunction: the module has no kernel '" +
                      std::string(name) + "'");
  *out = it->second.get();
  return cuda::SUCCESS;
}
FF_CUDA cuModuleGetGlobal_v2(CUdeviceptr *p, size_t *bytes, CUmodule m,
                             const char *name) {
  if (!m)
    return cuda::INVALID_HANDLE;
  auto it = m->ptx->varNamed.find(name);
  if (it == m->ptx->varNamed.end() || !m->addresses.count(it->second))
    return refuse(cuda::NOT_FOUND,
                  "cuModuleGetGlobal: the module has no variable '" +
                      std::string(name) + "'");
  if (p)
    *p = m->addresses[it->second];
  if (bytes)
    *bytes = it->second->size;
  return cuda::SUCCESS;
}
FF_CUDA cuModuleGetGlobal(CUdeviceptr *p, size_t *bytes, CUmodule m,
                          const char *name) {
  return cuModuleGetGlobal_v2(p, bytes, m, name);
}

FF_CUDA cuFuncGetAttribute(int *value, int attribute, CUfunction f) {
  if (!f)
    return cuda::INVALID_HANDLE;
  const exec::Kernel &k = *f->kernel;
  uint32_t local = 0;
  for (auto &fn : k.functions)
    local += fn->localBytes;
  switch (attribute) {
  case cuda::MaxThreadsPerBlock: {
    const unsigned *m = k.fn->maxThreads, *r = k.fn->requiredThreads;
    *value = r[0]   ? (int)(r[0] * r[1] * r[2])
             : m[0] ? (int)(m[0] * m[1] * m[2])
                    : (int)cuda::limits::threadsPerBlock;
    return cuda::SUCCESS;
  }
  case cuda::SharedBytes:
    *value = (int)k.staticShared;
    return cuda::SUCCESS;
  case cuda::ConstBytes:
    *value = 0;
    return cuda::SUCCESS;
  case cuda::LocalBytes:
    *value = (int)local;
    return cuda::SUCCESS;
  case cuda::PtxVersion:
  case cuda::BinaryVersion:
    *value = 90;
    return cuda::SUCCESS;
  case cuda::CacheModeCa:
    *value = 0;
    return cuda::SUCCESS;
  case cuda::MaxDynamicSharedBytes:
    *value = (int)f->dynamicShared;
    return cuda::SUCCESS;
  case cuda::PreferredCarveout:
    *value = f->carveout;
    return cuda::SUCCESS;
  default:
    return refuse(cuda::NOT_SUPPORTED,
                  "cuFuncGetAttribute: attribute " + std::to_string(attribute) +
                      " is not modelled (registers are assigned by ptxas, "
                      "which does not run here)");
  }
}
FF_CUDA cuFuncSetAttribute(CUfunction f, int attribute, int value) {
  if (!f)
    return cuda::INVALID_HANDLE;
  if (attribute == cuda::MaxDynamicSharedBytes) {
    if (value < 0 ||
        (unsigned)value + f->kernel->staticShared > cuda::limits::sharedOptin)
      return refuse(cuda::INVALID_VALUE,
                    "cuFuncSetAttribute: kernel '" + f->kernel->name +
                        "': " + std::to_string(value) +
                        " bytes of dynamic shared memory beside " +
                        std::to_string(f->kernel->staticShared) +
                        " static ones exceed " +
                        std::to_string(cuda::limits::sharedOptin));
    f->dynamicShared = (unsigned)value;
    return cuda::SUCCESS;
  }
  if (attribute == cuda::PreferredCarveout) {
    f->carveout = value;
    return cuda::SUCCESS;
  }
  return refuse(cuda::NOT_SUPPORTED, "cuFuncSetAttribute: attribute " +
                                         std::to_string(attribute) +
                                         " is not modelled");
}
FF_CUDA cuFuncSetCacheConfig(CUfunction, int) { return cuda::SUCCESS; }
FF_CUDA cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f,
                                                    int threads,
                                                    size_t dynamic) {
  using namespace cuda::limits;
  if (!f || threads <= 0)
    return cuda::INVALID_VALUE;
  unsigned rounded = ((unsigned)threads + 31) / 32 * 32;
  uint64_t shared =
      f->kernel->staticShared + dynamic + 1024; // and the system's
  *blocks = (int)std::min<uint64_t>({blocksPerMultiprocessor,
                                     threadsPerMultiprocessor / rounded,
                                     sharedPerMultiprocessor / shared});
  if ((unsigned)threads > threadsPerBlock ||
      f->kernel->staticShared + dynamic > sharedOptin)
    *blocks = 0;
  return cuda::SUCCESS;
}
FF_CUDA cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, CUfunction f, int threads, size_t dynamic, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads,
                                                     dynamic);
}

FF_CUDA cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                       unsigned bx, unsigned by, unsigned bz, unsigned dynamic,
                       CUstream s, void **params, void **extra) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!f)
    return refuse(cuda::INVALID_HANDLE, "cuLaunchKernel: null function");
  StreamRef ref = streamOf(s, c);
  const exec::Kernel &k = *f->kernel;
  std::string who = "launch of kernel '" + k.name + "': ";
  using namespace cuda::limits;
  auto dims = [](unsigned x, unsigned y, unsigned z) {
    return "(" + std::to_string(x) + "," + std::to_string(y) + "," +
           std::to_string(z) + ")";
  };
  if (f->module->context->device != c->device)
    return refuse(cuda::INVALID_HANDLE,
                  who + "its module was loaded in a context of device " +
                      std::to_string(f->module->context->device) +
                      ", the current one is of device " +
                      std::to_string(c->device));
  if (!gx || !gy || !gz || gx > gridX || gy > gridY || gz > gridZ)
    return refuse(cuda::INVALID_VALUE, who + "grid " + dims(gx, gy, gz) +
                                           " is outside of 1.." +
                                           dims(gridX, gridY, gridZ));
  if (!bx || !by || !bz || bx > blockX || by > blockY || bz > blockZ ||
      (uint64_t)bx * by * bz > threadsPerBlock)
    return refuse(cuda::INVALID_VALUE,
                  who + "block " + dims(bx, by, bz) + " is outside of 1.." +
                      dims(blockX, blockY, blockZ) + " or has over " +
                      std::to_string(threadsPerBlock) + " threads");
  const unsigned *m = k.fn->maxThreads, *q = k.fn->requiredThreads;
  if (m[0] && bx * by * bz > m[0] * m[1] * m[2])
    return refuse(cuda::INVALID_VALUE, who + std::to_string(bx * by * bz) +
                                           " threads exceed .maxntid, " +
                                           std::to_string(m[0] * m[1] * m[2]));
  if (q[0] && (bx != q[0] || by != q[1] || bz != q[2]))
    return refuse(cuda::INVALID_VALUE, who + "block " + dims(bx, by, bz) +
                                           " is not .reqntid, " +
                                           dims(q[0], q[1], q[2]));
  if (dynamic > f->dynamicShared)
    return refuse(cuda::INVALID_VALUE,
                  who + std::to_string(dynamic) +
                      " bytes of dynamic shared memory exceed " +
                      std::to_string(f->dynamicShared) +
                      ": raise CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES "
                      "with cuFuncSetAttribute");
  if (k.staticShared > sharedPerBlock || k.staticShared + dynamic > sharedOptin)
    return refuse(cuda::INVALID_VALUE,
                  who + std::to_string(k.staticShared) +
                      " bytes of static shared memory (at most " +
                      std::to_string(sharedPerBlock) + ") and " +
                      std::to_string(dynamic) + " dynamic exceed " +
                      std::to_string(sharedOptin));
  auto launch = std::make_shared<exec::Launch>();
  launch->params.resize(k.paramBytes);
  if (extra) {
    const void *buffer = nullptr;
    const size_t *size = nullptr;
    for (void **e = extra; *e; e += 2)
      if (*e == (void *)1)
        buffer = e[1];
      else if (*e == (void *)2)
        size = (const size_t *)e[1];
    if (params || !buffer || !size || *size != k.paramBytes)
      return refuse(cuda::INVALID_VALUE,
                    who + "it takes " + std::to_string(k.paramBytes) +
                        " bytes of parameters, the buffer has " +
                        std::to_string(size ? *size : 0));
    memcpy(launch->params.data(), buffer, *size);
  } else if (!k.fn->params.empty()) {
    if (!params)
      return refuse(cuda::INVALID_VALUE,
                    who + "it takes " + std::to_string(k.fn->params.size()) +
                        " parameters, none is given");
    const exec::DFunc &entry = *k.functions[0];
    for (size_t i = 0; i < k.fn->params.size(); ++i) {
      if (!params[i])
        return refuse(cuda::INVALID_VALUE, who + "parameter " +
                                               std::to_string(i) +
                                               " is a null pointer");
      const ptx::Var &v = *k.fn->params[i];
      memcpy(launch->params.data() + entry.offsets.at(&v), params[i], v.size);
    }
  }
  launch->kernel = &k;
  unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  memcpy(launch->grid, grid, sizeof grid),
      memcpy(launch->block, block, sizeof block);
  launch->dynamicShared = dynamic, launch->device = c->device,
  launch->counter = &state().instructions;
  auto kernel =
      f->kernel; // with its module's text, for as long as the launch waits
  auto text = f->module->ptx;
  return enqueue(ref, "kernel '" + k.name + "'",
                 [launch, kernel, text] { exec::runLaunch(*launch); });
}

// For the benchmark: thread instructions executed since the process began.
extern "C" __attribute__((visibility("default"))) uint64_t
ffStandinInstructions() {
  return state().instructions;
}
