//===- Error.h - Errors that end the trainer ------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the runtime a failure is an exception of type Error. It never crosses
// the C ABI: the outermost function of each thread hands it to fatal(), which
// reports it once, with the rank, and ends all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_ERROR_H
#define FF_RUNTIME_CORE_ERROR_H

#include <fmt/core.h>

#include <functional>
#include <stdexcept>
#include <string>

namespace ff::rt {

/// A failure with the text that the user reads: what, expected and actual, fix.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Throws an Error with a text in the format of fmt.
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an Error which says that the compiler and the runtime disagree.
template <typename... Args>
[[noreturn]] void failInternal(fmt::format_string<Args...> format,
                               Args &&...args) {
  throw Error("internal error: " +
              fmt::format(format, std::forward<Args>(args)...));
}

/// Sets the rank that error messages name. Before this call they name none.
void setErrorRank(int rank);

/// Called once with the message of the first fatal error of this process. It
/// tells the other ranks, and returns whether this rank should print it (false
/// when another rank was first).
void setAbortHook(std::function<bool(const std::string &)> hook);

/// Prints `error: [rank R] MESSAGE` on stderr, ends all ranks, and exits this
/// process with status 1. Any thread may call it; the first caller wins.
[[noreturn]] void fatal(const std::string &message);

/// Calls fatal() with the exception that is being handled.
[[noreturn]] void fatalCurrentException();

/// Runs `body`, and ends all ranks where it throws.
template <typename Body> auto orFatal(Body &&body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    fatalCurrentException();
  }
}

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_ERROR_H
