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

/// What a kernel or a matmul is.
struct ProfiledCall {
  std::string text;
  double bytes = 0; ///< that it moves; 0: not known
  double flops = 0; ///< 0: not counted
};

/// What the numbers of a profile stand for.
struct ProfileTexts {
  std::vector<ProfiledCall> kernels, matmuls;
  /// Bytes that a large copy reads and writes in a second; 0: not measured.
  double copyRate = 0;
};

/// Times of the step thread. Not thread safe: only that thread writes.
class Profile {
public:
  bool enabled = false;

  void add(CallKind kind, double seconds);
  /// A call of the kernel or the matmul of that number; `kind` says which.
  void addNumbered(CallKind kind, size_t number, double seconds);

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
  /// of the numbered kernels and matmuls.
  std::string table(double totalSeconds, const ProfileTexts &texts) const;

private:
  struct Entry {
    double seconds = 0;
    int64_t calls = 0;
    double first = 0; ///< seconds of the first call

    /// Of all calls but the first, which loads code and fills caches.
    double mean() const {
      return calls > 1 ? (seconds - first) / static_cast<double>(calls - 1)
                       : seconds;
    }
  };
  std::string numberedTable(const ProfileTexts &texts) const;

  std::array<Entry, numCallKinds> kinds;
  std::vector<Entry> kernels, matmuls;
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
