//===- JsonReader.h - JSON from front to back -------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_JSONREADER_H
#define FF_FRONTEND_JSONREADER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace ff::frontend {

/// Reads JSON whose layout is known, without building a tree.
///
/// Headers and indices of weights come from outside and list thousands of
/// tensors: unlike llvm::json this keeps duplicate keys and the offset of each
/// key, takes integers as they are written, and uses no stack for nesting.
/// After the first error every call returns false.
class JsonReader {
public:
  /// Checks that `text` is UTF-8. Errors call it `subject`.
  JsonReader(llvm::StringRef text, llvm::StringRef subject);

  /// What is wrong and where, or empty.
  const std::string &error() const { return wrong; }
  /// Records an error of the caller, without a place. Returns false.
  bool fail(std::string message);

  /// Calls `member` with each key and its offset; it must read the value. Keys
  /// that stand twice are passed twice.
  bool object(llvm::function_ref<bool(llvm::StringRef, size_t)> member);
  /// Calls `item` before each item; it must read the item.
  bool array(llvm::function_ref<bool()> item);
  bool string(std::string &value);
  /// An integer from 0 to 2^63 - 1. Otherwise false, without an error unless
  /// the value is no JSON; the value is read and `token` says what it was.
  bool integer(uint64_t &value, llvm::StringRef &token);
  /// Reads any value.
  bool skip();
  /// The next character that is not white space, or 0 at the end.
  char peek();
  /// What was read so far, in characters.
  size_t offset() const { return at; }
  /// Whether nothing but white space is left; an error if not.
  bool end();

private:
  bool failAt(llvm::StringRef expected);
  bool consume(char c);
  bool escape(std::string &value);
  bool codeUnit(unsigned &unit);
  bool scalar(llvm::StringRef &token);

  llvm::StringRef text, subject;
  size_t at = 0;
  std::string wrong;
};

} // namespace ff::frontend

#endif // FF_FRONTEND_JSONREADER_H
