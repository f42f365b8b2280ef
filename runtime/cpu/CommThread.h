//===- CommThread.h - The communication thread of a rank ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CPU_COMMTHREAD_H
#define FF_RUNTIME_CPU_COMMTHREAD_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ff::rt {

/// Runs collectives one after the other, in the order in which the step thread
/// hands them over, so that they overlap with compute and every rank has the
/// same order.
class CommThread {
public:
  struct Task {
    int kind;
    int unit;
    int slot;
  };

  /// `handler` runs each task, on the communication thread; what it throws ends
  /// all ranks. Without `threaded` it runs in push(), on the step thread.
  CommThread(std::function<void(const Task &)> handler, bool threaded);

  /// Runs what is queued, then ends the thread.
  ~CommThread();

  /// Returns a ticket for wait().
  uint64_t push(Task task);

  /// Returns when the task of `ticket`, and so every earlier one, is done.
  void wait(uint64_t ticket);

private:
  void loop();

  std::function<void(const Task &)> handler;
  std::mutex mutex;
  std::condition_variable queued, finished;
  std::deque<Task> tasks;
  uint64_t pushed = 0, done = 0;
  bool stopping = false;
  std::thread thread; // last: it uses all of the above
};

} // namespace ff::rt

#endif // FF_RUNTIME_CPU_COMMTHREAD_H
