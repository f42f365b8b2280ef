//===- ParquetLibrary.cpp - Opens the library for Parquet -------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/ParquetLibrary.h"

#include "llvm/Support/DynamicLibrary.h"
#include <cstdlib>

using namespace ff::frontend;

const ff_parquet_api *ff::frontend::loadParquetLibrary(std::string &wrong) {
  const char *given = std::getenv("FF_PARQUET_LIBRARY");
  std::string path = given ? given : FF_PARQUET_BUILT;
  // Never closed: files may outlive whoever opened it.
  std::string why;
  auto library =
      llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &why);
  auto get = library.isValid()
                 ? reinterpret_cast<ff_parquet_get_fn>(
                       library.getAddressOfSymbol("ff_parquet_get"))
                 : nullptr;
  const ff_parquet_api *api = get ? get() : nullptr;
  if (api && api->version == FF_PARQUET_VERSION)
    return api;
  wrong = "Parquet is read by libff_parquet.so, which could not be loaded (" +
          (why.empty() ? path + " is of another version of ff" : why) +
          "); build ff where Apache Arrow is installed (tools/setup.sh does), "
          "or name the library in $FF_PARQUET_LIBRARY";
  return nullptr;
}
