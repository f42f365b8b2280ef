//===- Error.cpp - Errors that end the trainer ----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <unistd.h>

namespace ff::rt {

namespace {
std::atomic<int> errorRank{-1};
std::atomic<bool> failing{false};
std::mutex hookMutex;
std::function<bool(const std::string &)> abortHook;
} // namespace

void setErrorRank(int rank) { errorRank = rank; }

void setAbortHook(std::function<bool(const std::string &)> hook) {
  std::lock_guard<std::mutex> lock(hookMutex);
  abortHook = std::move(hook);
}

void fatal(const std::string &message) {
  // A second failing thread waits for the first one to end the process.
  if (failing.exchange(true))
    for (;;)
      pause();
  bool print = true;
  {
    std::lock_guard<std::mutex> lock(hookMutex);
    if (abortHook)
      print = abortHook(message);
  }
  if (print) {
    int rank = errorRank;
    std::string line =
        rank < 0 ? fmt::format("error: {}\n", message)
                 : fmt::format("error: [rank {}] {}\n", rank, message);
    // One write, so that the lines of several processes do not mix.
    std::fflush(stdout);
    ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    (void)written;
  }
  // Not exit(): other threads still run and would meet destroyed objects.
  _exit(1);
}

void fatalCurrentException() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    fatal("out of memory");
  } catch (const std::exception &e) {
    fatal(e.what());
  } catch (...) {
    fatal("internal error: unknown exception");
  }
}

} // namespace ff::rt
