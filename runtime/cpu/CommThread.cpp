//===- CommThread.cpp - The communication thread of a rank ----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/CommThread.h"
#include "runtime/core/Error.h"

namespace ff::rt {

CommThread::CommThread(std::function<void(const Task &)> handler, bool threaded)
    : handler(std::move(handler)) {
  if (threaded)
    thread = std::thread([this] { orFatal([this] { loop(); }); });
}

CommThread::~CommThread() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  queued.notify_one();
  thread.join();
}

uint64_t CommThread::push(Task task) {
  if (!thread.joinable()) {
    handler(task);
    return ++pushed;
  }
  uint64_t ticket;
  {
    std::lock_guard<std::mutex> lock(mutex);
    tasks.push_back(task);
    ticket = ++pushed;
  }
  queued.notify_one();
  return ticket;
}

void CommThread::wait(uint64_t ticket) {
  if (!thread.joinable())
    return;
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return done >= ticket; });
}

void CommThread::loop() {
  for (;;) {
    Task task;
    {
      std::unique_lock<std::mutex> lock(mutex);
      queued.wait(lock, [&] { return stopping || !tasks.empty(); });
      if (tasks.empty())
        return;
      task = tasks.front();
      tasks.pop_front();
    }
    handler(task);
    {
      std::lock_guard<std::mutex> lock(mutex);
      ++done;
    }
    finished.notify_all();
  }
}

} // namespace ff::rt
