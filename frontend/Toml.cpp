//===- Toml.cpp - TOML with the place of everything -------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Toml.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/impl/preprocessor.h>
// toml++ 3 assumes of a key what the next lines of its parser check and report:
// a header such as `[.x]` is undefined behaviour with the assumption, and an
// error without.
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT_ASSUME(expr) static_assert(true)
#include <toml++/toml.h>

using namespace ff::frontend;
using llvm::raw_ostream;

StringRef Node::kindName() const {
  switch (kind) {
  case Kind::Table:
    return "a table";
  case Kind::Array:
    return "an array";
  case Kind::String:
    return "a string";
  case Kind::Integer:
    return "an integer";
  case Kind::Float:
    return "a float";
  case Kind::Boolean:
    return "a boolean";
  case Kind::Other:
    return "a date or time";
  }
  llvm_unreachable("all kinds are covered");
}

const Entry *Node::find(StringRef key) const {
  auto it =
      llvm::find_if(entries, [&](const Entry &e) { return e.key == key; });
  return it == entries.end() ? nullptr : &*it;
}

Entry *Node::find(StringRef key) {
  return const_cast<Entry *>(std::as_const(*this).find(key));
}

const Node *Node::get(StringRef key) const {
  const Entry *entry = find(key);
  return entry ? entry->value.get() : nullptr;
}

namespace {
/// Copies toml++'s tree, whose tables are sorted by key, into ours.
class Importer {
public:
  explicit Importer(StringRef text) : text(text) {
    lineStarts.push_back(0);
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n')
        lineStarts.push_back(i + 1);
  }

  /// toml++ counts columns in code points, a place counts bytes.
  SMLoc place(const toml::source_position &position) const {
    size_t line = position.line ? position.line - 1 : 0;
    size_t at = line < lineStarts.size() ? lineStarts[line] : text.size();
    for (size_t c = 1; c < position.column && at < text.size(); ++c) {
      ++at;
      while (at < text.size() && (text[at] & 0xC0) == 0x80)
        ++at;
    }
    return SMLoc::getFromPointer(text.data() + std::min(at, text.size()));
  }

  std::unique_ptr<Node> import(const toml::node &node) const {
    auto result = std::make_unique<Node>();
    result->loc = place(node.source().begin);
    if (const auto *table = node.as_table())
      importTable(*table, *result);
    else if (const auto *array = node.as_array())
      importArray(*array, *result);
    else
      importScalar(node, *result);
    return result;
  }

private:
  void importTable(const toml::table &table, Node &result) const {
    result.kind = Node::Kind::Table;
    for (auto &&[key, value] : table)
      result.entries.push_back(
          {std::string(key.str()), place(key.source().begin), import(value)});
    llvm::sort(result.entries, [](const Entry &a, const Entry &b) {
      return a.keyLoc.getPointer() < b.keyLoc.getPointer();
    });
  }

  void importArray(const toml::array &array, Node &result) const {
    result.kind = Node::Kind::Array;
    for (const toml::node &item : array)
      result.items.push_back(import(item));
  }

  void importScalar(const toml::node &node, Node &result) const {
    if (const auto *string = node.as_string()) {
      result.kind = Node::Kind::String;
      result.string = string->get();
    } else if (const auto *integer = node.as_integer()) {
      result.kind = Node::Kind::Integer;
      result.integer = integer->get();
      result.number = static_cast<double>(result.integer);
    } else if (const auto *number = node.as_floating_point()) {
      result.kind = Node::Kind::Float;
      result.number = number->get();
    } else if (const auto *boolean = node.as_boolean()) {
      result.kind = Node::Kind::Boolean;
      result.boolean = boolean->get();
    }
  }

  StringRef text;
  std::vector<size_t> lineStarts;
};
} // namespace

std::unique_ptr<Node> ff::frontend::parseToml(StringRef text,
                                              Diagnostics &diags) {
  Importer importer(text);
  toml::parse_result result =
      toml::parse(std::string_view(text.data(), text.size()), std::string());
  if (!result) {
    // toml++ says "Error while parsing ...: what"; the place is ours to say.
    StringRef what(result.error().description().data(),
                   result.error().description().size());
    auto [context, detail] = what.split(": ");
    if (context.starts_with("Error while parsing") && !detail.empty())
      what = detail;
    // "cannot redefine existing string 'name'"
    bool twice = what.starts_with("cannot redefine existing");
    std::string message =
        twice ? ("duplicate key " + what.substr(what.find('\''))).str()
              : what.str();
    diags.error(importer.place(result.error().source().begin), message);
    return nullptr;
  }
  return importer.import(result.table());
}

static void printString(StringRef text, raw_ostream &os) {
  os << '"';
  for (char c : text) {
    if (c == '"' || c == '\\')
      os << '\\' << c;
    else if (c == '\n')
      os << "\\n";
    else
      os << c;
  }
  os << '"';
}

std::unique_ptr<Node> ff::frontend::parseAssignment(StringRef key,
                                                    StringRef text,
                                                    Diagnostics &diags) {
  std::string value = ("value = " + text + "\n").str();
  toml::parse_result result = toml::parse(value, std::string());
  std::string line = (key + " = ").str();
  llvm::raw_string_ostream os(line);
  // `lr=1e-3` needs no quotes and neither does `name=digits`.
  if (result && result.table().size() == 1)
    os << text;
  else
    printString(text, os);
  os << "\n";
  StringRef buffer = diags.addFile(
      llvm::MemoryBuffer::getMemBufferCopy(line, "<command line>"));
  std::unique_ptr<Node> node = parseToml(buffer, diags);
  // `a.b.c = 1` is a table in a table.
  for (size_t i = 0; node && i <= key.count('.'); ++i) {
    if (!node->isTable() || node->entries.empty())
      return nullptr;
    node = std::move(node->entries.front().value);
  }
  return node;
}

/// The number of bytes of the escape sequence at `text` (from its backslash),
/// and of the characters that it stands for.
static std::pair<size_t, size_t> escapeSize(StringRef text) {
  char kind = text.size() > 1 ? text[1] : 0;
  if (kind != 'u' && kind != 'U')
    return {2, 1};
  size_t digits = kind == 'u' ? 4 : 8;
  unsigned code = 0;
  if (text.substr(2, digits).getAsInteger(16, code))
    return {2, 1};
  size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  return {2 + digits, bytes};
}

std::vector<SMLoc> ff::frontend::charactersOf(const Node &string) {
  std::vector<SMLoc> places;
  places.reserve(string.string.size() + 1);
  const char *at = string.loc.getPointer();
  char quote = *at;
  bool literal = quote == '\'';
  bool multiline = at[1] == quote && at[2] == quote;
  at += multiline ? 3 : 1;
  // A newline right after the opening quotes does not count.
  if (multiline && at[0] == '\r' && at[1] == '\n')
    at += 2;
  else if (multiline && at[0] == '\n')
    ++at;
  while (places.size() < string.string.size() && *at) {
    if (at[0] == '\r' && at[1] == '\n')
      ++at; // toml++ gives one newline for both
    if (literal || *at != '\\') {
      places.push_back(SMLoc::getFromPointer(at++));
      continue;
    }
    size_t blank = StringRef(at + 1).find_first_not_of(" \t\r\n");
    if (multiline && StringRef(at + 1, blank).contains('\n')) {
      at += 1 + blank; // a backslash at the end of a line joins lines
      continue;
    }
    auto [bytes, characters] = escapeSize(StringRef(at));
    places.insert(places.end(), characters, SMLoc::getFromPointer(at));
    at += bytes;
  }
  places.resize(string.string.size() + 1, SMLoc::getFromPointer(at));
  return places;
}

void ff::frontend::printToml(const Node &node, raw_ostream &os) {
  switch (node.kind) {
  case Node::Kind::String:
    return printString(node.string, os);
  case Node::Kind::Integer:
    os << node.integer;
    return;
  case Node::Kind::Float:
    os << llvm::format("%.12g", node.number);
    return;
  case Node::Kind::Boolean:
    os << (node.boolean ? "true" : "false");
    return;
  case Node::Kind::Array:
    os << "[";
    llvm::interleaveComma(node.items, os,
                          [&](const auto &item) { printToml(*item, os); });
    os << "]";
    return;
  case Node::Kind::Table:
    os << "{ ";
    llvm::interleaveComma(node.entries, os, [&](const Entry &entry) {
      bool bare = llvm::all_of(entry.key, [](char c) {
        return llvm::isAlnum(c) || c == '_' || c == '-';
      });
      if (bare)
        os << entry.key;
      else
        printString(entry.key, os);
      os << " = ";
      printToml(*entry.value, os);
    });
    os << " }";
    return;
  case Node::Kind::Other:
    os << "?";
    return;
  }
}
