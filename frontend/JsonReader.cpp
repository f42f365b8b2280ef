//===- JsonReader.cpp - JSON from front to back -----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/JsonReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"

using namespace ff::frontend;
using llvm::StringRef;

JsonReader::JsonReader(StringRef text, StringRef subject)
    : text(text), subject(subject) {
  size_t offset = 0;
  if (!llvm::json::isUTF8(text, &offset))
    fail((subject + " is not UTF-8 at byte " + llvm::Twine(offset)).str());
}

bool JsonReader::fail(std::string message) {
  if (wrong.empty())
    wrong = std::move(message);
  return false;
}

bool JsonReader::failAt(StringRef expected) {
  return fail((subject + " is not JSON: expected " + expected + " at byte " +
               llvm::Twine(at))
                  .str());
}

char JsonReader::peek() {
  if (!wrong.empty())
    return 0;
  while (at < text.size() && StringRef(" \t\r\n").contains(text[at]))
    ++at;
  return at < text.size() ? text[at] : 0;
}

bool JsonReader::consume(char c) {
  if (peek() != c || at >= text.size())
    return false;
  ++at;
  return true;
}

bool JsonReader::end() {
  peek();
  return at == text.size() || failAt("its end");
}

bool JsonReader::object(llvm::function_ref<bool(StringRef, size_t)> member) {
  if (!consume('{'))
    return failAt("'{'");
  if (consume('}'))
    return true;
  std::string key;
  do {
    peek();
    size_t offset = at;
    if (!string(key))
      return false;
    if (!consume(':'))
      return failAt("':'");
    if (!member(key, offset))
      return fail((subject + " is not read further").str());
  } while (consume(','));
  return consume('}') || failAt("',' or '}'");
}

bool JsonReader::array(llvm::function_ref<bool()> item) {
  if (!consume('['))
    return failAt("'['");
  if (consume(']'))
    return true;
  do {
    if (!item())
      return fail((subject + " is not read further").str());
  } while (consume(','));
  return consume(']') || failAt("',' or ']'");
}

bool JsonReader::string(std::string &value) {
  value.clear();
  if (!consume('"'))
    return failAt("a string");
  while (at < text.size()) {
    size_t begin = at;
    while (at < text.size() && text[at] != '"' && text[at] != '\\' &&
           static_cast<unsigned char>(text[at]) >= 0x20)
      ++at;
    value.append(text.data() + begin, at - begin);
    if (at == text.size())
      break;
    if (text[at] == '"') {
      ++at;
      return true;
    }
    if (text[at] != '\\')
      return failAt("no control character");
    if (!escape(value))
      return false;
  }
  return failAt("the end of a string");
}

bool JsonReader::codeUnit(unsigned &unit) {
  StringRef digits = text.substr(at, 4);
  if (digits.size() < 4 || !llvm::all_of(digits, llvm::isHexDigit))
    return failAt("four hexadecimal digits");
  at += 4;
  return !digits.getAsInteger(16, unit);
}

bool JsonReader::escape(std::string &value) {
  ++at; // the backslash
  char c = at < text.size() ? text[at] : 0;
  constexpr StringRef names = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
  if (size_t i = c ? names.find(c) : StringRef::npos; i != StringRef::npos) {
    value += values[i];
    ++at;
    return true;
  }
  if (c != 'u')
    return failAt("an escape sequence");
  ++at;
  unsigned unit, low;
  if (!codeUnit(unit))
    return false;
  if (unit >= 0xD800 && unit < 0xDC00) { // the first of a pair
    if (text.substr(at, 2) != "\\u")
      return failAt("the second half of a surrogate pair");
    at += 2;
    if (!codeUnit(low))
      return false;
    if (low < 0xDC00 || low >= 0xE000)
      return failAt("the second half of a surrogate pair");
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  } else if (unit >= 0xDC00 && unit < 0xE000) {
    return failAt("no lone half of a surrogate pair");
  }
  char buffer[4], *out = buffer;
  llvm::ConvertCodePointToUTF8(unit, out);
  value.append(buffer, out);
  return true;
}

/// A number or a word, as it is written.
bool JsonReader::scalar(StringRef &token) {
  peek();
  if (!wrong.empty())
    return false;
  token = text.drop_front(at).take_while([](char c) {
    return llvm::isAlnum(c) || c == '-' || c == '+' || c == '.';
  });
  bool word = token == "true" || token == "false" || token == "null";
  StringRef rest = token;
  rest.consume_front("-");
  StringRef whole = rest.take_while(llvm::isDigit);
  rest = rest.drop_front(whole.size());
  bool number = !whole.empty() && (whole.size() == 1 || whole[0] != '0');
  if (number && rest.consume_front(".")) {
    StringRef digits = rest.take_while(llvm::isDigit);
    number = !digits.empty();
    rest = rest.drop_front(digits.size());
  }
  if (number && rest.consume_front_insensitive("e")) {
    if (!rest.consume_front("+"))
      rest.consume_front("-");
    StringRef digits = rest.take_while(llvm::isDigit);
    number = !digits.empty();
    rest = rest.drop_front(digits.size());
  }
  if (!word && (!number || !rest.empty()))
    return failAt("a value");
  at += token.size();
  return true;
}

bool JsonReader::integer(uint64_t &value, StringRef &token) {
  char c = peek();
  if (c == '{' || c == '[' || c == '"') {
    size_t begin = at;
    bool read = skip();
    token = text.slice(begin, at).take_front(20);
    return read && false;
  }
  return scalar(token) && llvm::all_of(token, llvm::isDigit) &&
         !token.getAsInteger(10, value) && value <= INT64_MAX;
}

bool JsonReader::skip() {
  std::string open, ignored; // the brackets that are open
  do {
    char c = peek();
    StringRef token;
    if (c == '{' || c == '[') {
      if (open.size() == 100) // the reference reader takes 128
        return fail((subject + " is nested too deeply").str());
      ++at;
      open += c == '{' ? '}' : ']';
      if (!consume(open.back())) {
        if (c == '{' && !(string(ignored) && (consume(':') || failAt("':'"))))
          return false;
        continue;
      }
      open.pop_back();
    } else if (c == '"' ? !string(ignored) : !scalar(token)) {
      return false;
    }
    // After a value: the next item, or the ends of what it is the last of.
    while (!open.empty() && consume(open.back()))
      open.pop_back();
    if (open.empty())
      break;
    if (!consume(','))
      return failAt("','");
    if (open.back() == '}' &&
        !(string(ignored) && (consume(':') || failAt("':'"))))
      return false;
  } while (wrong.empty());
  return wrong.empty();
}
