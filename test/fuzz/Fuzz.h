//===- Fuzz.h - Broken inputs for the frontend ------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_TEST_FUZZ_FUZZ_H
#define FF_TEST_FUZZ_FUZZ_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ff::fuzz {

/// SplitMix64: the same inputs everywhere for the same seed.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// Below `bound`, which may be 0.
  size_t below(size_t bound) { return bound ? next() % bound : 0; }
  bool oneIn(size_t n) { return below(n) == 0; }
  template <typename Range> auto &pick(Range &range) {
    return range[below(std::size(range))];
  }

private:
  uint64_t state;
};

/// Changes `text` in one to four places. `words` are what the language knows.
void mutate(std::string &text, Random &random,
            llvm::ArrayRef<llvm::StringRef> words);

/// Names and contents of the files of one input.
using Files = std::vector<std::pair<std::string, std::string>>;

enum class Verdict { Refused, Valid };

/// What is fuzzed.
class Target {
public:
  virtual ~Target() = default;
  /// The files of input `index`; those of index 0 and the next are the seeds as
  /// they are. Depends on nothing else.
  virtual Files make(uint64_t seed, uint64_t index) const = 0;
  /// How many seeds there are.
  virtual size_t seeds() const = 0;
  /// Runs the frontend on the files, which lie in `folder`. `fault` stays empty
  /// unless the verdict of the frontend is wrong.
  virtual Verdict run(llvm::StringRef folder, const Files &files,
                      std::string &fault) = 0;
};

/// Contents of the files of a folder whose names end in `suffix`, by name.
Files readFolder(llvm::StringRef folder, llvm::StringRef suffix);

/// What refers to a place: "file:line:column: error: ".
bool hasPlacedError(llvm::StringRef diagnostics);

std::unique_ptr<Target> makeHeaderTarget(llvm::StringRef seeds);
std::unique_ptr<Target> makeSpecTarget(llvm::StringRef seeds);

} // namespace ff::fuzz

#endif // FF_TEST_FUZZ_FUZZ_H
