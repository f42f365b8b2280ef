//===- ParquetLibrary.h - Opens the library for Parquet ---------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_PARQUETLIBRARY_H
#define FF_FRONTEND_PARQUETLIBRARY_H

#include "runtime/abi/ff_parquet.h"

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace ff::frontend {

/// libff_parquet.so at $FF_PARQUET_LIBRARY, or of this build. Null, with what
/// was tried, where there is none: it is optional when ff is built.
const ff_parquet_api *loadParquetLibrary(std::string &wrong);

/// The files below a folder whose names end in `suffix`, sorted. Empty, or what
/// is wrong with the folder.
std::string listFiles(llvm::StringRef folder, llvm::StringRef suffix,
                      std::vector<std::string> &files);

} // namespace ff::frontend

#endif // FF_FRONTEND_PARQUETLIBRARY_H
