//===- Progress.h - Waiting for a GPU, with an end ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_PROGRESS_H
#define FF_RUNTIME_CUDA_PROGRESS_H

#include "runtime/cuda/Driver.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ff::rt::cuda {

/// Ends all ranks with a message unless it is destroyed in time: for calls that
/// wait for other ranks without an end of their own.
class Deadline {
public:
  Deadline(double seconds, std::string what);
  ~Deadline();
  Deadline(const Deadline &) = delete;

private:
  std::mutex mutex;
  std::condition_variable over;
  bool done = false;
  std::thread timer; // last: it uses all of the above
};

/// Waits of the host for the device, which end: with an Error where NCCL has
/// failed, or where nothing moves for too long. Then it names the collective
/// that the device is in. Streams mark what they begin, so it works for graphs.
class Progress {
public:
  /// `errorOf` gives what NCCL says of a failure, or nothing.
  Progress(double timeoutSeconds, std::function<std::string()> errorOf);

  /// A word of device memory for the marks; 0: none, so nothing is named.
  void attach(CUdeviceptr word);

  /// Marks on `stream`, in its order, that `what` begins; the same text has the
  /// same mark. end() marks that it is over.
  void begin(const std::string &what, Stream &stream);
  void end(Stream &stream);

  /// Returns when the work before `event` is done.
  void wait(const Event &event);
  /// Likewise for all that is on the stream.
  void wait(Stream &stream);

private:
  std::string current();

  double timeout;
  std::function<std::string()> errorOf;
  CUdeviceptr word = 0;
  std::vector<std::string> names; ///< of the marks, from 1 on
  Event settled, copied;
  Stream side; ///< reads the word while another stream hangs
  PinnedMemory copy{sizeof(uint32_t)}; ///< of the word: others are waited for
};

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_PROGRESS_H
