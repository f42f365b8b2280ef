//===- StaticTest.cpp - The library beside another C++ runtime ------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Given a file that is no Parquet, the library throws and catches inside. This
// program does as well, by the C++ runtime that is linked into it.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/ff_parquet.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

int main(int argc, char **argv) {
  try {
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw std::runtime_error(dlerror());
    auto get =
        reinterpret_cast<ff_parquet_get_fn>(dlsym(library, "ff_parquet_get"));
    if (!get || get()->version != FF_PARQUET_VERSION)
      throw std::runtime_error("ff_parquet_get");
    char error[FF_PARQUET_ERROR] = "";
    if (get()->open(argv[2], error) || !std::strstr(error, "Parquet"))
      throw std::runtime_error("opened: " + std::string(error));
    throw std::runtime_error(error);
  } catch (const std::runtime_error &error) {
    std::puts(error.what());
    return std::strstr(error.what(), "not a Parquet file") ? 0 : 1;
  }
}
