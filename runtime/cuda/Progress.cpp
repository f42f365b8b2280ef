//===- Progress.cpp - Waiting for a GPU, with an end ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Progress.h"
#include "runtime/core/Error.h"
#include "runtime/core/Profile.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace ff::rt::cuda {

Deadline::Deadline(double seconds, std::string what)
    : timer([this, seconds, what = std::move(what)] {
        std::unique_lock<std::mutex> lock(mutex);
        if (!over.wait_for(lock, std::chrono::duration<double>(seconds),
                           [this] { return done; }))
          fatal(fmt::format("no progress for {:.0f} s, in {}; fix: look at the "
                            "other ranks, whose last messages say where they "
                            "are; --timeout gives them longer",
                            seconds, what));
      }) {}

Deadline::~Deadline() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    done = true;
  }
  over.notify_all();
  timer.join();
}

Progress::Progress(double timeoutSeconds, std::function<std::string()> errorOf)
    : timeout(timeoutSeconds), errorOf(std::move(errorOf)) {}

void Progress::attach(CUdeviceptr address) { word = address; }

void Progress::begin(const std::string &what, Stream &stream) {
  if (!word)
    return;
  auto it = std::find(names.begin(), names.end(), what);
  if (it == names.end())
    it = names.insert(names.end(), what);
  auto mark = static_cast<uint32_t>(it - names.begin()) + 1;
  check(libraries().cuda->memsetD32Async(word, mark, 1, stream.handle),
        "cuMemsetD32Async");
}

void Progress::end(Stream &stream) {
  if (word)
    check(libraries().cuda->memsetD32Async(word, 0, 1, stream.handle),
          "cuMemsetD32Async");
}

std::string Progress::current() {
  uint32_t mark = 0;
  if (word) {
    check(libraries().cuda->memcpyDtoHAsync(copy.data, word, sizeof mark,
                                            side.handle),
          "cuMemcpyDtoHAsync");
    side.record(copied);
    // Where streams share a queue (CUDA_DEVICE_MAX_CONNECTIONS) it hangs, too.
    Clock::time_point start = Clock::now();
    while (!copied.done() && secondsSince(start) < 5)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!copied.done())
      return "what the GPU does not say";
    std::memcpy(&mark, copy.data, sizeof mark);
  }
  if (mark == 0 || mark > names.size())
    return "no collective";
  return names[mark - 1];
}

void Progress::wait(const Event &event) {
  Clock::time_point start = Clock::now();
  double nextCheck = 0.1;
  // Most waits are short: look often at first.
  for (int i = 0; !event.done(); ++i) {
    if (i < 1000) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    double seconds = secondsSince(start);
    if (seconds < nextCheck)
      continue;
    nextCheck = seconds + 0.1;
    // Nothing is unwound: modules, streams and memory of the GPU are destroyed
    // once it is idle, which it never is.
    if (std::string error = errorOf(); !error.empty())
      fatal(fmt::format("{}: {}", current(), error));
    if (seconds > timeout)
      fatal(fmt::format("no progress on the GPU for {:.0f} s, in {}; fix: look "
                        "at the other ranks, whose last messages say where "
                        "they are; --timeout gives them longer",
                        seconds, current()));
  }
}

void Progress::wait(Stream &stream) {
  stream.record(settled);
  wait(settled);
}

} // namespace ff::rt::cuda
