//===- Toml.h - TOML with the place of everything ---------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the frontend needs of a TOML document: its tables in the order of the
// text, and the place of each key, value and character of a string. Toml.cpp
// alone includes toml++.
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_TOML_H
#define FF_FRONTEND_TOML_H

#include "frontend/Diagnostics.h"
#include <memory>
#include <vector>

namespace ff::frontend {

struct Node;

struct Entry {
  std::string key;
  SMLoc keyLoc;
  std::unique_ptr<Node> value;
};

struct Node {
  enum class Kind { Table, Array, String, Integer, Float, Boolean, Other };

  Kind kind = Kind::Other;
  SMLoc loc;
  std::string string;                       ///< of a String
  int64_t integer = 0;                      ///< of an Integer
  double number = 0;                        ///< of a Float or an Integer
  bool boolean = false;                     ///< of a Boolean
  std::vector<Entry> entries;               ///< of a Table, in source order
  std::vector<std::unique_ptr<Node>> items; ///< of an Array

  bool isTable() const { return kind == Kind::Table; }
  bool isArray() const { return kind == Kind::Array; }
  bool isString() const { return kind == Kind::String; }
  bool isInteger() const { return kind == Kind::Integer; }
  bool isNumber() const { return isInteger() || kind == Kind::Float; }
  bool isBoolean() const { return kind == Kind::Boolean; }

  /// "a string", "a table", ... for messages.
  StringRef kindName() const;
  const Entry *find(StringRef key) const;
  Entry *find(StringRef key);
  const Node *get(StringRef key) const;
};

/// Parses `text`, which must belong to `diags`. Null after an error.
std::unique_ptr<Node> parseToml(StringRef text, Diagnostics &diags);

/// Parses `key = text`, where `text` may be a string without quotes. Null after
/// an error.
std::unique_ptr<Node> parseAssignment(StringRef key, StringRef text,
                                      Diagnostics &diags);

/// Where each character of a string stands in the source; one entry more than
/// it has characters, for its end. Understands all four quotes of TOML.
std::vector<SMLoc> charactersOf(const Node &string);

/// The value as TOML, on one line.
void printToml(const Node &node, llvm::raw_ostream &os);

} // namespace ff::frontend

#endif // FF_FRONTEND_TOML_H
