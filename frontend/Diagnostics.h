//===- Diagnostics.h - Errors with a place, a caret and a fix ---*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_DIAGNOSTICS_H
#define FF_FRONTEND_DIAGNOSTICS_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>
#include <set>
#include <string>

namespace ff::frontend {

using llvm::SMLoc;
using llvm::StringRef;
using llvm::Twine;

/// The texts of all files that were read, and what is wrong with them.
///
/// A place is a pointer into the text of its file (llvm::SMLoc), so that line
/// and column are computed only for what is printed or given to an operation.
class Diagnostics {
public:
  explicit Diagnostics(llvm::raw_ostream &os) : os(os) {}

  /// What error() and warning() return, to add notes to. Silent for an error
  /// that was reported before at the same place.
  class Report {
  public:
    Report(Diagnostics &diags, SMLoc loc, bool silent)
        : diags(diags), loc(loc), silent(silent) {}
    /// Points at another place.
    Report &note(SMLoc place, const Twine &message);
    /// Says how to fix it; printed at the place of the error, without source.
    Report &note(const Twine &message);

  private:
    Diagnostics &diags;
    SMLoc loc;
    bool silent;
  };

  Report error(SMLoc loc, const Twine &message);
  Report warning(SMLoc loc, const Twine &message);
  unsigned getNumErrors() const { return numErrors; }

  /// Takes over the text of a file; returns it.
  StringRef addFile(std::unique_ptr<llvm::MemoryBuffer> buffer);
  /// The file that holds `loc`, as it was named.
  StringRef fileOf(SMLoc loc) const;
  /// "file:line:column".
  std::string describe(SMLoc loc) const;
  /// The first place of the file that holds `loc`.
  SMLoc startOfFile(SMLoc loc) const;
  mlir::FileLineColLoc location(mlir::MLIRContext *context, SMLoc loc);

private:
  bool seenBefore(SMLoc loc, const Twine &message);

  llvm::raw_ostream &os;
  llvm::SourceMgr sources;
  std::set<std::pair<const char *, std::string>> seen;
  unsigned numErrors = 0;
};

/// The candidate that differs least from `name`, if any is near enough to be
/// what was meant.
template <typename Range>
std::optional<std::string> nearest(StringRef name, const Range &candidates) {
  std::optional<std::string> best;
  if (name.empty())
    return best;
  unsigned bestDistance = (name.size() + 2) / 3 + 1;
  for (const auto &candidate : candidates) {
    StringRef text(candidate);
    unsigned distance = name.edit_distance_insensitive(text);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = text.str();
    }
  }
  return best;
}

/// "'a', 'b' and 'c'", for messages that list what there is.
template <typename Range> std::string quotedList(const Range &names) {
  std::string text;
  size_t i = 0, n = std::distance(names.begin(), names.end());
  for (const auto &name : names) {
    if (i)
      text += i + 1 == n ? " and " : ", ";
    text += ("'" + StringRef(name) + "'").str();
    ++i;
  }
  return text;
}

} // namespace ff::frontend

#endif // FF_FRONTEND_DIAGNOSTICS_H
