//===- MatchWeights.cpp - Tensors of files for parameters -------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/WeightMatcher.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace ff::frontend;
using llvm::ArrayRef;

std::string Matcher::describeFiles() const {
  if (files.files.size() == 1)
    return "'" + files.files.front() + "'";
  if (!files.index.empty())
    return "the files of '" + files.index + "'";
  if (files.files.empty())
    return "no file";
  return "the " + std::to_string(files.files.size()) + " shards from '" +
         files.files.front() + "'";
}

bool Matcher::matchesAny(const Node *table, ArrayRef<StringRef> names) {
  return table && llvm::any_of(table->entries, [&](const Entry &entry) {
           return llvm::any_of(names, [&](StringRef name) {
             return matchesPattern(entry.key, name);
           });
         });
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Attempt Matcher::attempt(const Wrapping &wrapping) const {
  Attempt result;
  result.wrapping = wrapping;
  result.match.assign(expected.size(), -1);
  result.used.assign(keys.size(), false);
  llvm::StringMap<int> tensors;
  for (auto [i, key] : llvm::enumerate(keys)) {
    result.names.push_back(wrapping.strip(key));
    result.unique &=
        tensors.try_emplace(result.names.back(), static_cast<int>(i)).second;
  }
  for (auto [i, want] : llvm::enumerate(expected)) {
    llvm::SmallVector<StringRef> choices{want.name};
    llvm::append_range(choices, want.aliases);
    for (StringRef name : choices) {
      auto it = tensors.find(name);
      if (it == tensors.end())
        continue;
      if (result.match[i] < 0)
        result.match[i] = it->second;
      result.used[it->second] = true;
    }
    if (result.match[i] >= 0)
      ++result.found;
    else if (!want.optional && !matchesAny(onMissing, choices))
      result.missing.push_back(want.name);
  }
  for (auto [i, key] : llvm::enumerate(keys)) {
    StringRef name = result.names[i];
    bool isSpare = llvm::any_of(spare, [&](StringRef pattern) {
      return matchesPattern(pattern, name);
    });
    if (!result.used[i] && !isSpare && !matchesAny(onUnexpected, {key, name}))
      result.unexpected.push_back(key);
  }
  return result;
}

void Matcher::checkActions(const Node *table, StringRef key, StringRef action) {
  if (!table)
    return;
  for (const Entry &entry : table->entries)
    if (!entry.value->isString() || entry.value->string != action) {
      std::string value;
      llvm::raw_string_ostream os(value);
      printToml(*entry.value, os);
      fail(entry.value->loc, "'" + key + "' of component '" + component +
                                 "' cannot be " + value + " for '" + entry.key +
                                 "'")
          .note("it can be \"" + action + "\"");
    }
}

/// A pattern that matches nothing is a misspelt one.
void Matcher::checkPatterns(const Node *table, StringRef key, StringRef what,
                            ArrayRef<std::string> all,
                            ArrayRef<std::string> others) {
  if (!table)
    return;
  for (const Entry &entry : table->entries) {
    auto matches = [&](const std::string &name) {
      return matchesPattern(entry.key, name);
    };
    if (llvm::any_of(all, matches) || llvm::any_of(others, matches))
      continue;
    auto report = fail(entry.keyLoc, "'" + entry.key + "' in '" + key +
                                         "' of component '" + component +
                                         "' matches no " + what);
    std::vector<std::string> near = nearestNames(entry.key, all, 3);
    if (near.empty())
      report.note("there is none");
    else
      report.note("the nearest are " + quotedList(near));
  }
}

void Matcher::reportOtherModel() {
  auto report =
      fail(loc, describeFiles() + (files.files.size() == 1 ? " is" : " are") +
                    " of another model: of " + counted(keys.size(), "tensor") +
                    " none has the name of a parameter of component '" +
                    component + "', which has " + Twine(expected.size()));
  std::vector<std::string> wanted;
  for (const ExpectedTensor &tensor : expected)
    wanted.push_back(tensor.name);
  report.note("the files have " + someOf(keys));
  report.note("the component has " + someOf(wanted));
  if (StringRef theirs = detectConvention(keys); !theirs.empty())
    report.note("the names of the files are those of " + theirs);
  // Only names of files are stripped: the other way around it is the module
  // that is declared with a wrapper.
  llvm::StringSet<> held;
  held.insert(keys.begin(), keys.end());
  for (const Wrapping &wrapping : findWrappings(wanted)) {
    auto isHeld = [&](const std::string &name) {
      return held.count(wrapping.strip(name)) > 0;
    };
    if (!llvm::all_of(wanted, isHeld))
      continue;
    report.note("the names of the component without " + wrapping.describe() +
                " are in the files: declare its parameters without");
    return;
  }
}

/// The line of the spec that would allow what is wrong.
void Matcher::suggest(Diagnostics::Report &report, const Attempt &best) const {
  auto line = [&](StringRef key, ArrayRef<std::string> wrong, StringRef action,
                  auto &&isRight) {
    if (wrong.empty())
      return;
    // One pattern for all, where it takes nothing else in.
    StringRef common = wrong.front();
    for (StringRef name : wrong)
      while (!name.starts_with(common))
        common = common.drop_back();
    common = common.take_front(common.rfind('.') + 1);
    std::string all = (common + "*").str();
    std::string text;
    if (wrong.size() > 1 && !common.empty() && !isRight(all))
      text = "\"" + all + "\" = \"" + action.str() + "\"";
    else
      for (StringRef name : wrong.take_front(3))
        text += (text.empty() ? "\"" : ", \"") + name.str() + "\" = \"" +
                action.str() + "\"";
    if (StringRef(text).count('=') > 1 && wrong.size() > 3)
      text += ", ...";
    report.note("if that is meant: " + key + " = { " + text + " }");
  };
  line("on_missing", best.missing, "init", [&](StringRef pattern) {
    for (auto [i, want] : llvm::enumerate(expected))
      if (best.match[i] >= 0 && matchesPattern(pattern, want.name))
        return true;
    return false;
  });
  line("on_unexpected", best.unexpected, "ignore", [&](StringRef pattern) {
    for (auto [i, key] : llvm::enumerate(keys))
      if (best.used[i] && matchesPattern(pattern, key))
        return true;
    return false;
  });
}

void Matcher::reportNames(const Attempt &best) {
  const auto &missing = best.missing, &unexpected = best.unexpected;
  std::string text;
  if (!missing.empty())
    text = counted(missing.size(), "parameter") + " of component '" +
           component.str() + "' " + (missing.size() == 1 ? "is" : "are") +
           " not in " + describeFiles();
  if (!unexpected.empty())
    text += (text.empty() ? describeFiles() + " has "
                          : std::string(", which has ")) +
            counted(unexpected.size(), "tensor") +
            (missing.empty()
                 ? " that component '" + component.str() + "' does not have"
                 : " that it does not have");
  auto report = fail(loc, text);
  auto examples = [&](StringRef title, ArrayRef<std::string> wrong,
                      ArrayRef<std::string> others) {
    if (!wrong.empty())
      report.note(title + someOf(wrong));
    for (const std::string &name : wrong.take_front(3))
      if (auto near = nearestNames(name, others, 1); !near.empty())
        report.note("nearest to '" + name + "' is '" + near.front() + "'");
  };
  // Nearest are first those that have no partner either.
  examples("missing: ", missing, unexpected.empty() ? keys : unexpected);
  examples("not expected: ", unexpected, {});
  if (!files.index.empty() && !missing.empty())
    report.note("the index '" + files.index + "' does not list '" +
                missing.front() + "'" + (missing.size() > 1 ? " either" : ""));
  if (!best.wrapping.isNone())
    report.note("the names are compared without " + best.wrapping.describe());
  StringRef theirs = detectConvention(unexpected),
            ours = detectConvention(missing);
  if (!theirs.empty() && theirs != ours)
    report.note("the names of the files are those of " + theirs);
  if (!missing.empty())
    for (const ExpectedTensor &want : expected)
      if (want.name == missing.front() && want.loc.isValid())
        report.note(want.loc, "'" + want.name + "' is declared here");
  suggest(report, best);
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

bool Matcher::run(std::vector<int> &match) {
  checkActions(onMissing, "on_missing", "init");
  checkActions(onUnexpected, "on_unexpected", "ignore");

  std::vector<Attempt> attempts;
  const Attempt *best = nullptr;
  std::vector<std::string> fitting;
  for (const Wrapping &wrapping : findWrappings(keys)) {
    attempts.push_back(attempt(wrapping));
    if (attempts.back().fits())
      fitting.push_back(wrapping.describe());
    if (attempts.front().fits())
      break; // as they stand
  }
  for (const Attempt &attempt : attempts) {
    auto rank = [](const Attempt &a) {
      return std::tuple(a.fits(), a.unique, a.found);
    };
    if (!best || rank(attempt) > rank(*best))
      best = &attempt;
  }
  checkPatterns(onMissing, "on_missing", "parameter", names, {});
  checkPatterns(onUnexpected, "on_unexpected", "tensor of the files", keys,
                best->names);
  match = best->match;
  bool needsAny = llvm::any_of(
      expected, [](const ExpectedTensor &tensor) { return !tensor.optional; });
  if (fitting.size() > 1) {
    fail(loc, "the names of " + describeFiles() + " are those of component '" +
                  component + "' without " +
                  llvm::join(fitting, ", and also without "))
        .note("give a file that holds the model once");
  } else if (!best->found && needsAny && !keys.empty()) {
    reportOtherModel();
  } else if (!best->missing.empty() || !best->unexpected.empty()) {
    reportNames(*best);
  } else {
    if (!best->wrapping.isNone())
      Diagnostics::Report(diags, loc, /*silent=*/false)
          .note("the names of " + describeFiles() + " are taken without " +
                best->wrapping.describe());
    checkTies(*best);
  }
  // What has a name has a shape, whatever else is wrong.
  if (best->unique) {
    checkShapes(*best);
    checkDtypes(*best);
  }
  return !failed;
}

bool ff::frontend::matchWeights(const WeightFiles &files,
                                ArrayRef<ExpectedTensor> expected,
                                const Node *onMissing, const Node *onUnexpected,
                                StringRef component, SMLoc loc,
                                Diagnostics &diags, std::vector<int> &match,
                                ArrayRef<StringRef> spare) {
  return Matcher(files, expected, onMissing, onUnexpected, component, loc,
                 diags, spare)
      .run(match);
}
