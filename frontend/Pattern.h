//===- Pattern.h - Patterns over dotted names -------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_PATTERN_H
#define FF_FRONTEND_PATTERN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace ff::frontend {

/// Whether `name` matches a pattern of the language: `*` stands for any
/// characters, dots among them, as in fnmatch and PEFT; `?` for one. All other
/// characters stand for themselves. Takes time |pattern| × |name| at most.
bool matchesPattern(llvm::StringRef pattern, llvm::StringRef name);

/// Whether the pattern matches a run of whole parts of a dotted name: "norm*"
/// matches "blocks.0.norm1.weight", "ff.net" matches "blocks.0.ff.net.2.bias".
bool matchesParts(llvm::StringRef pattern, llvm::StringRef name);

/// The names that `pattern` misses by least, nearest first, for the error about
/// a pattern that matches nothing. Of names that differ in numbers alone, as
/// those of blocks do, one is listed.
std::vector<std::string> nearestNames(llvm::StringRef pattern,
                                      llvm::ArrayRef<std::string> names,
                                      size_t count);

} // namespace ff::frontend

#endif // FF_FRONTEND_PATTERN_H
