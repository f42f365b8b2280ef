//===- Pattern.cpp - Patterns over dotted names -----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Pattern.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>

using namespace ff::frontend;
using llvm::StringRef;

bool ff::frontend::matchesPattern(StringRef pattern, StringRef name) {
  // Only the last `*` needs to be tried again: what an earlier one took is the
  // least that it can, which leaves the most to the rest.
  size_t p = 0, n = 0, star = StringRef::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != StringRef::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return pattern.drop_front(p).find_first_not_of('*') == StringRef::npos;
}

/// Edits that make `name` match `pattern`; letter case is none.
static unsigned distanceOf(StringRef pattern, StringRef name) {
  llvm::SmallVector<unsigned, 64> row(name.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (char c : pattern) {
    unsigned diagonal = row[0];
    if (c != '*')
      ++row[0];
    for (size_t i = 1; i <= name.size(); ++i) {
      unsigned above = row[i];
      bool same = c == '?' || llvm::toLower(c) == llvm::toLower(name[i - 1]);
      row[i] = c == '*'
                   ? std::min(above, row[i - 1])
                   : std::min({diagonal + !same, above + 1, row[i - 1] + 1});
      diagonal = above;
    }
  }
  return row.back();
}

bool ff::frontend::matchesParts(StringRef pattern, StringRef name) {
  for (StringRef rest = name; !rest.empty(); rest = rest.split('.').second) {
    StringRef run = rest;
    while (true) {
      if (matchesPattern(pattern, run))
        return true;
      size_t dot = run.rfind('.');
      if (dot == StringRef::npos)
        break;
      run = run.take_front(dot);
    }
  }
  return false;
}

std::vector<std::string>
ff::frontend::nearestNames(StringRef pattern, llvm::ArrayRef<std::string> names,
                           size_t count) {
  std::vector<std::pair<unsigned, size_t>> order;
  for (size_t i = 0; i < names.size(); ++i)
    order.push_back({distanceOf(pattern, names[i]), i});
  llvm::sort(order);
  std::vector<std::string> nearest;
  llvm::StringSet<> seen;
  for (auto [distance, i] : order) {
    if (nearest.size() == count)
      break;
    std::string form;
    for (char c : names[i])
      if (!llvm::isDigit(c))
        form += c;
      else if (form.empty() || form.back() != '#')
        form += '#';
    if (seen.insert(form).second)
      nearest.push_back(names[i]);
  }
  return nearest;
}
