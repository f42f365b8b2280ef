//===- Libraries.cpp - CUDA's libraries, opened at start ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Libraries.h"
#include "runtime/core/Error.h"

#include <dlfcn.h>

#include <initializer_list>
#include <vector>

namespace ff::rt::cuda {

namespace {

/// Of cuDriverGetVersion. PTX 7.8, which the kernels are written in,
/// needs 11.8; minor versions within CUDA 12 are compatible with each other.
constexpr int minDriver = 12000;
/// ncclCommSplit came with 2.18.
constexpr int minNccl = 21800;

std::vector<std::string> problems;

/// A library, or the reason why not in `problems`. Never closed: CUDA's
/// libraries have threads of their own.
class Library {
public:
  Library(std::initializer_list<const char *> names, const char *fix)
      : fix(fix) {
    std::string tried;
    for (const char *candidate : names) {
      if ((handle = dlopen(candidate, RTLD_NOW | RTLD_LOCAL))) {
        name = candidate;
        return;
      }
      const char *text = dlerror();
      tried += fmt::format("{}{}", tried.empty() ? "" : "; ",
                           text ? text : candidate);
    }
    problems.push_back(fmt::format("{} cannot be opened ({}); fix: {}",
                                   names.size() ? *names.begin() : "", tried,
                                   fix));
  }

  template <typename Function>
  void find(const char *symbol, Function &function) {
    if (!handle || incomplete)
      return;
    function = reinterpret_cast<Function>(dlsym(handle, symbol));
    if (function)
      return;
    incomplete = true;
    problems.push_back(
        fmt::format("{} is too old: it has no {}; fix: {}", name, symbol, fix));
  }

  bool usable() const { return handle && !incomplete; }

  std::string name;

private:
  void *handle = nullptr;
  const char *fix;
  bool incomplete = false;
};

void addTo(std::string &versions, const std::string &one) {
  versions += (versions.empty() ? "" : ", ") + one;
}

std::string dotted(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

constexpr const char *driverFix =
    "install the NVIDIA driver of CUDA 12.0 or later; on a machine without a "
    "GPU run it under ff-standin";

/// The driver's version, 0 where there is none.
int openDriver(CudaApi &api, std::string &versions) {
  Library library({"libcuda.so.1"}, driverFix);
#define FF_ENTRY(member, symbol, parameters) library.find(#symbol, api.member);
  FF_CUDA_ENTRY_POINTS(FF_ENTRY)
#undef FF_ENTRY
  int version = 0;
  if (!library.usable() || api.driverGetVersion(&version))
    return 0;
  if (version < minDriver)
    problems.push_back(fmt::format("the NVIDIA driver is too old: it is for "
                                   "CUDA {}.{}, and ff needs {}.{} "
                                   "or later; fix: {}",
                                   version / 1000, version % 1000 / 10,
                                   minDriver / 1000, minDriver % 1000 / 10,
                                   driverFix));
  addTo(versions,
        fmt::format("CUDA driver {}.{}", version / 1000, version % 1000 / 10));
  return version;
}

void openCublasLt(CublasLtApi &api, int driver, std::string &versions) {
  constexpr const char *fix =
      "install cuBLAS of CUDA 12 or 13, or put its folder (such as "
      "/usr/local/cuda/lib64) into LD_LIBRARY_PATH; without a GPU run under "
      "ff-standin";
  // cuBLAS needs a driver of its own major version, or a later one.
  bool old = driver && driver < 13000;
  Library library =
      old ? Library({"libcublasLt.so.12"}, fix)
          : Library({"libcublasLt.so.13", "libcublasLt.so.12"}, fix);
#define FF_ENTRY(member, symbol) library.find(#symbol, api.member);
  FF_CUBLASLT_ENTRY_POINTS(FF_ENTRY)
#undef FF_ENTRY
  if (library.usable())
    addTo(versions, "cuBLASLt " + dotted(api.getVersion()));
}

void openNccl(NcclApi &api, std::string &versions) {
  constexpr const char *fix =
      "install NCCL 2.18 or later (libnccl2), or put its folder into "
      "LD_LIBRARY_PATH; without a GPU run under ff-standin";
  Library library({"libnccl.so.2"}, fix);
#define FF_ENTRY(member, symbol) library.find(#symbol, api.member);
  FF_NCCL_ENTRY_POINTS(FF_ENTRY)
#undef FF_ENTRY
  int version = 0;
  if (!library.usable() || api.getVersion(&version))
    return;
  if (version < minNccl)
    problems.push_back(fmt::format(
        "libnccl.so.2 is too old: it is NCCL {}, and ff needs {} or "
        "later; fix: {}",
        dotted(static_cast<size_t>(version)),
        dotted(static_cast<size_t>(minNccl)), fix));
  addTo(versions, "NCCL " + dotted(static_cast<size_t>(version)));
}

CudaApi cudaApi;
CublasLtApi cublasApi;
NcclApi ncclApi;
Libraries opened;

} // namespace

void openLibraries(bool collectives) {
  if (opened.cuda && (opened.nccl || !collectives))
    return;
  problems.clear();
  Libraries found;
  int driver = openDriver(cudaApi, found.versions);
  openCublasLt(cublasApi, driver, found.versions);
  if (collectives)
    openNccl(ncclApi, found.versions);
  if (!problems.empty()) {
    std::string text = "CUDA: ";
    for (size_t i = 0; i < problems.size(); ++i)
      text += (i ? "; also: " : "") + problems[i];
    if (!found.versions.empty())
      text += "; found: " + found.versions;
    throw Error(text);
  }
  found.cuda = &cudaApi;
  found.cublas = &cublasApi;
  found.nccl = collectives ? &ncclApi : nullptr;
  opened = found;
}

const Libraries &libraries() {
  if (!opened.cuda)
    failInternal("CUDA's libraries are not open");
  return opened;
}

} // namespace ff::rt::cuda
