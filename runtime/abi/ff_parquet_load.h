//===- ff_parquet_load.h - Opens the library for Parquet ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libff_parquet.so is looked for at $FF_PARQUET_LIBRARY where that is set, else
// beside the executable, else where the build has it. The compiler and trainers
// share this, and throw nothing in it.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_ABI_FF_PARQUET_LOAD_H
#define FF_RUNTIME_ABI_FF_PARQUET_LOAD_H

#include "runtime/abi/ff_parquet.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace ff {

/// The library, which stays open. Null, with what was tried and how to mend it,
/// where there is none. `built` is its place in the build.
inline const ff_parquet_api *loadParquetLibrary(const char *built,
                                                std::string &wrong) {
  std::vector<std::string> paths;
  if (const char *given = std::getenv("FF_PARQUET_LIBRARY")) {
    paths.push_back(given);
  } else {
    char exe[4096];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe);
    std::string path(exe, length > 0 ? static_cast<size_t>(length) : 0);
    if (auto slash = path.rfind('/'); slash != std::string::npos)
      paths.push_back(path.substr(0, slash) + "/libff_parquet.so");
    paths.push_back(built);
  }
  wrong =
      "Parquet is read by libff_parquet.so, which could not be loaded; fix: "
      "build ff where Apache Arrow is installed (tools/setup.sh does that), "
      "and put the library beside the executable or name it in "
      "$FF_PARQUET_LIBRARY";
  for (const std::string &path : paths) {
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      wrong += std::string("; ") + dlerror();
      continue;
    }
    auto get =
        reinterpret_cast<ff_parquet_get_fn>(dlsym(handle, "ff_parquet_get"));
    const ff_parquet_api *api = get ? get() : nullptr;
    if (api && api->version == FF_PARQUET_VERSION)
      return api;
    wrong += "; " + path + " is of another version of ff";
  }
  return nullptr;
}

} // namespace ff

#endif // FF_RUNTIME_ABI_FF_PARQUET_LOAD_H
