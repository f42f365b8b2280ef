//===- KeyTable.h - Every key of the language, once -------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table drives validation, defaults, did-you-mean, --print-resolved, the
// JSON Schema and the language reference.
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_KEYTABLE_H
#define FF_FRONTEND_KEYTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace ff::frontend {

enum class KeyType {
  String,
  Integer,
  Float, ///< an integer does as well
  Boolean,
  Choice,  ///< a string out of `choices`
  Strings, ///< a string or an array of strings
  StringArray,
  FloatPair,     ///< an array of two numbers
  IntegerOrAuto, ///< a positive integer or "auto"
  Expression,    ///< an integer, or a string with an expression over the config
  Path,          ///< a string, relative to the folder of the spec
  StringTable,   ///< a table of strings
  Config,        ///< a table, or the path of a JSON file
  FreeTable,     ///< a table with any keys
  ConfigDecl,    ///< an array of names, or a table name = default
  ParamTable,    ///< a table: name = shape or name = table of section.NAME
  Initializer,   ///< a string or a table; see Initializer.cpp
  Shape,         ///< an array of Expressions
  SectionTable,  ///< a table: name = table of section.NAME
  Section,       ///< a table of its own section
  Tables,        ///< an array of tables of section.NAME
  Units,         ///< "blocks", a table { min_params }, or an array of patterns
  Recompute,     ///< "none", "block", or an array of patterns
  Buckets,       ///< "auto", or an array of tables of integers
  Bytes,         ///< a number of bytes, or a string such as "80GiB"
};

/// What numbers are allowed.
enum class Range {
  Any,
  Positive,
  NotNegative,
  UnitInterval,
  Count, ///< positive, and an int32_t
  Scale, ///< 1 to 64
};

struct SectionInfo {
  llvm::StringLiteral name; ///< "train"; "bundle.*" for [bundle.NAME]
  bool required;
  llvm::StringLiteral doc;
};

struct KeyInfo {
  llvm::StringLiteral section;
  llvm::StringLiteral name;
  KeyType type;
  Range range;
  /// "required", or the default as TOML, or "" where absent means "not asked
  /// for".
  llvm::StringLiteral fallback;
  llvm::StringLiteral choices; ///< separated by '|'
  llvm::StringLiteral doc;
  llvm::StringLiteral example; ///< as TOML

  bool isRequired() const { return fallback == "required"; }
  bool hasDefault() const { return !fallback.empty() && !isRequired(); }
};

/// A key of another tool, or of an older version.
struct RenamedKey {
  llvm::StringLiteral name;
  llvm::StringLiteral section;
  llvm::StringLiteral key;
  llvm::StringLiteral note; ///< empty, or what differs
};

llvm::ArrayRef<SectionInfo> getSections();
llvm::ArrayRef<KeyInfo> getKeys();
llvm::ArrayRef<RenamedKey> getRenamedKeys();

const SectionInfo *findSection(llvm::StringRef section);
const KeyInfo *findKey(llvm::StringRef section, llvm::StringRef name);
/// A readable name of the type.
llvm::StringRef describeType(KeyType type);

} // namespace ff::frontend

#endif // FF_FRONTEND_KEYTABLE_H
