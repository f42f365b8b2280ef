//===- WeightMatcher.h - Tensors of files for parameters --------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_WEIGHTMATCHER_H
#define FF_FRONTEND_WEIGHTMATCHER_H

#include "frontend/WeightNames.h"
#include "frontend/WeightReader.h"

namespace ff::frontend {

/// The names of the files without a wrapping, and what they are matched to.
struct Attempt {
  Wrapping wrapping;
  std::vector<std::string> names; ///< of the tensors, stripped
  std::vector<int> match;         ///< as that of matchWeights
  /// Of the tensors: whether a parameter has that name, or an alias.
  std::vector<bool> used;
  bool unique = true; ///< no two tensors have one name
  std::vector<std::string> missing, unexpected; ///< that no pattern allows
  size_t found = 0;

  bool fits() const {
    return unique && missing.empty() && unexpected.empty() && found;
  }
};

/// What matchWeights does. MatchWeights.cpp compares names, WeightShapes.cpp
/// the tensors that have them.
class Matcher {
public:
  Matcher(const WeightFiles &files, llvm::ArrayRef<ExpectedTensor> expected,
          const Node *onMissing, const Node *onUnexpected, StringRef component,
          SMLoc loc, Diagnostics &diags, llvm::ArrayRef<StringRef> spare)
      : files(files), expected(expected), onMissing(onMissing),
        onUnexpected(onUnexpected), component(component), loc(loc),
        diags(diags), spare(spare) {
    for (const WeightFiles::Tensor &tensor : files.tensors)
      keys.push_back(tensor.key);
    for (const ExpectedTensor &tensor : expected) {
      names.push_back(tensor.name);
      names.insert(names.end(), tensor.aliases.begin(), tensor.aliases.end());
    }
  }

  bool run(std::vector<int> &match);

private:
  Diagnostics::Report fail(SMLoc at, const Twine &message) {
    failed = true;
    return diags.error(at, message);
  }
  Attempt attempt(const Wrapping &wrapping) const;
  void checkActions(const Node *table, StringRef key, StringRef action);
  void checkPatterns(const Node *table, StringRef key, StringRef what,
                     llvm::ArrayRef<std::string> all,
                     llvm::ArrayRef<std::string> others);
  void reportOtherModel();
  void reportNames(const Attempt &best);
  void suggest(Diagnostics::Report &report, const Attempt &best) const;
  void checkTies(const Attempt &best);
  void checkShapes(const Attempt &best);
  void checkDtypes(const Attempt &best);

  /// Pairs of parameter and tensor in one file that have the same fault.
  using Faults = std::vector<std::pair<size_t, std::string>>;
  void reportFaults(unsigned file, const Faults &faults, StringRef what,
                    StringRef fix);

  std::string describeFiles() const;
  static bool matchesAny(const Node *table, llvm::ArrayRef<StringRef> names);

  const WeightFiles &files;
  llvm::ArrayRef<ExpectedTensor> expected;
  const Node *onMissing, *onUnexpected;
  StringRef component;
  SMLoc loc;
  Diagnostics &diags;
  llvm::ArrayRef<StringRef> spare;
  bool failed = false;
  std::vector<std::string> keys;  ///< of the tensors
  std::vector<std::string> names; ///< of the parameters, with aliases
};

} // namespace ff::frontend

#endif // FF_FRONTEND_WEIGHTMATCHER_H
