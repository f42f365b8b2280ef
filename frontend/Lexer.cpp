//===- Lexer.cpp - Tokens of the forward language ---------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Lexer.h"

#include "llvm/ADT/StringExtras.h"

using namespace ff::frontend;

static bool startsName(char c) { return llvm::isAlpha(c) || c == '_'; }
static bool inName(char c) { return llvm::isAlnum(c) || c == '_'; }

namespace {
class Lexer {
public:
  Lexer(const Node &string, Diagnostics &diags, std::vector<Token> &tokens)
      : text(string.string), places(charactersOf(string)), diags(diags),
        tokens(tokens) {}

  bool run();

private:
  bool lexLineStart();
  bool lexToken();
  void lexName();
  bool lexNumber();
  bool lexString();
  bool lexSign();
  char peek(size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  void add(Token::Kind kind, size_t begin, StringRef content) {
    tokens.push_back({kind, places[begin], content.str()});
  }

  StringRef text;
  std::vector<SMLoc> places;
  Diagnostics &diags;
  std::vector<Token> &tokens;
  std::vector<size_t> indents;
  size_t at = 0;
  unsigned depth = 0; ///< of open brackets, in which newlines do not count
};
} // namespace

/// Reads the indentation of a line and compares it with the lines before.
bool Lexer::lexLineStart() {
  size_t begin = at;
  while (peek() == ' ')
    ++at;
  if (peek() == '\t') {
    diags.error(places[at], "a tab in the indentation; use spaces");
    return false;
  }
  if (peek() == '\n' || peek() == '#' || at >= text.size())
    return true; // an empty line says nothing
  size_t indent = at - begin;
  if (indents.empty())
    indents.push_back(indent);
  if (indent > indents.back()) {
    indents.push_back(indent);
    add(Token::Kind::Indent, at, "");
    return true;
  }
  while (indent < indents.back() && indents.size() > 1) {
    indents.pop_back();
    add(Token::Kind::Dedent, at, "");
  }
  if (indent == indents.back())
    return true;
  diags.error(places[at], "this line is indented by " + Twine(indent) +
                              " spaces, which no line above it is");
  return false;
}

void Lexer::lexName() {
  size_t begin = at;
  auto eatWord = [&] {
    while (inName(peek()))
      ++at;
  };
  eatWord();
  // Names of parameters have numeric segments: net.0.proj.
  while (peek() == '.' && inName(peek(1))) {
    ++at;
    eatWord();
  }
  add(Token::Kind::Name, begin, text.slice(begin, at));
}

bool Lexer::lexNumber() {
  size_t begin = at;
  bool isFloat = false;
  auto eatDigits = [&] {
    while (llvm::isDigit(peek()) || (peek() == '_' && llvm::isDigit(peek(1))))
      ++at;
  };
  eatDigits();
  if (peek() == '.') {
    isFloat = true;
    ++at;
    eatDigits();
  }
  if (peek() == 'e' || peek() == 'E') {
    size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (llvm::isDigit(peek(1 + sign))) {
      isFloat = true;
      at += 1 + sign;
      eatDigits();
    }
  }
  if (startsName(peek())) {
    diags.error(places[begin], "'" + text.slice(begin, at + 1) +
                                   "' is neither a number nor a name");
    return false;
  }
  std::string digits = text.slice(begin, at).str();
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  add(isFloat ? Token::Kind::Float : Token::Kind::Integer, begin, digits);
  return true;
}

bool Lexer::lexString() {
  size_t begin = at;
  char quote = text[at++];
  while (peek() != quote) {
    if (at >= text.size() || peek() == '\n') {
      diags.error(places[begin], "this string does not end on its line");
      return false;
    }
    ++at;
  }
  add(Token::Kind::String, begin, text.slice(begin + 1, at));
  ++at;
  return true;
}

bool Lexer::lexSign() {
  // Longest first.
  static constexpr llvm::StringLiteral signs[] = {
      "...", "**=", "//=", "**", "//", "==", "!=", "<=", ">=", "+=", "-=",
      "*=",  "/=",  "%=",  "@=", "+",  "-",  "*",  "/",  "%",  "@",  "<",
      ">",   "=",   "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",  "."};
  for (StringRef sign : signs) {
    if (!text.substr(at).starts_with(sign))
      continue;
    if (sign == "(" || sign == "[" || sign == "{")
      ++depth;
    if ((sign == ")" || sign == "]" || sign == "}") && depth)
      --depth;
    add(Token::Kind::Sign, at, sign);
    at += sign.size();
    return true;
  }
  diags.error(places[at],
              "'" + text.substr(at, 1) + "' has no meaning in this language");
  return false;
}

bool Lexer::lexToken() {
  char c = peek();
  if (startsName(c)) {
    lexName();
    return true;
  }
  if (llvm::isDigit(c) || (c == '.' && llvm::isDigit(peek(1))))
    return lexNumber();
  if (c == '\'' || c == '"')
    return lexString();
  return lexSign();
}

bool Lexer::run() {
  if (!lexLineStart())
    return false;
  while (at < text.size()) {
    char c = peek();
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '\\' && peek(1) == '\n') {
      at += 2;
    } else if (c == '\n') {
      if (depth == 0 && !tokens.empty() &&
          tokens.back().kind != Token::Kind::Newline)
        add(Token::Kind::Newline, at, "");
      ++at;
      if (depth == 0 && !lexLineStart())
        return false;
    } else if (!lexToken()) {
      return false;
    }
  }
  if (!tokens.empty() && tokens.back().kind != Token::Kind::Newline)
    add(Token::Kind::Newline, at, "");
  for (; indents.size() > 1; indents.pop_back())
    add(Token::Kind::Dedent, at, "");
  add(Token::Kind::End, at, "");
  return true;
}

bool ff::frontend::tokenize(const Node &string, Diagnostics &diags,
                            std::vector<Token> &tokens) {
  return Lexer(string, diags, tokens).run();
}
