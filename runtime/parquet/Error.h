//===- Error.h - Errors inside the library --------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the library a failure is an exception. Those of Arrow are exceptions
// too. None crosses the C functions (ParquetApi.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_PARQUET_ERROR_H
#define FF_RUNTIME_PARQUET_ERROR_H

#include <fmt/core.h>

#include <stdexcept>

namespace ff::parquet {

/// A failure with the text that the user reads.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

} // namespace ff::parquet

#endif // FF_RUNTIME_PARQUET_ERROR_H
