//===- Profile.h - Where the time goes, for --profile ---------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_PROFILE_H
#define FF_RUNTIME_CORE_PROFILE_H

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ff::rt {

using Clock = std::chrono::steady_clock;

inline double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What the step thread is doing.
enum class CallKind {
  Kernel,
  Matmul,
  Random,
  Embedding,
  GatherWait,
  ReduceWait,
  DataWait,
  Collective,
  Optimizer,
  Checkpoint,
};
constexpr size_t numCallKinds = 10;

/// Times of the step thread. Not thread safe: only that thread writes.
class Profile {
public:
  bool enabled = false;

  void add(CallKind kind, double seconds);
  void addMatmul(size_t matmul, double seconds);

  /// The matmuls of the current step, to run them again alone.
  struct MatmulCall {
    size_t matmul;
    const void *a, *b, *bias;
    void *c;
  };
  std::vector<MatmulCall> step;
  /// Times of the steps so far, in seconds.
  std::vector<double> stepSeconds;

  /// A table of the call kinds, with the rest of `totalSeconds` at the end, and
  /// of the matmuls, slowest first, with the GFLOP/s of `flops`.
  std::string table(double totalSeconds,
                    const std::vector<double> &matmulFlops) const;

private:
  struct Entry {
    double seconds = 0;
    int64_t calls = 0;
  };
  std::array<Entry, numCallKinds> kinds;
  std::vector<Entry> matmuls;
};

/// Adds the time of its scope to a call kind.
class ProfileScope {
public:
  ProfileScope(Profile &profile, CallKind kind) : profile(profile), kind(kind) {
    if (profile.enabled)
      start = Clock::now();
  }
  ~ProfileScope() {
    if (profile.enabled)
      profile.add(kind, secondsSince(start));
  }
  ProfileScope(const ProfileScope &) = delete;
  ProfileScope &operator=(const ProfileScope &) = delete;

private:
  Profile &profile;
  CallKind kind;
  Clock::time_point start;
};

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_PROFILE_H
