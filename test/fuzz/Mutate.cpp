//===- Mutate.cpp - Changes a text at random --------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Fuzz.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace ff::fuzz;
using llvm::StringRef;

uint64_t Random::next() {
  state += 0x9E3779B97F4A7C15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

namespace {
struct Span {
  size_t begin, end;
};
} // namespace

/// Words, numbers, strings and single characters.
static std::vector<Span> tokensOf(StringRef text) {
  std::vector<Span> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    char c = text[i++];
    if (llvm::isSpace(c))
      continue;
    if (llvm::isAlnum(c) || c == '_' || c == '-' || c == '.')
      while (i < text.size() &&
             (llvm::isAlnum(text[i]) || text[i] == '_' || text[i] == '.'))
        ++i;
    else if (c == '"') {
      while (i < text.size() && text[i] != '"' && text[i] != '\n')
        ++i;
      i = std::min(i + 1, text.size());
    }
    tokens.push_back({begin, i});
  }
  return tokens;
}

static std::vector<Span> linesOf(StringRef text) {
  std::vector<Span> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    end = end == StringRef::npos ? text.size() : end + 1;
    lines.push_back({begin, end});
    begin = end;
  }
  return lines;
}

static std::string textOf(const std::string &text, Span span) {
  return text.substr(span.begin, span.end - span.begin);
}

static void replace(std::string &text, Span span, StringRef by) {
  text.replace(span.begin, span.end - span.begin, by.str());
}

static void swapSpans(std::string &text, Span a, Span b) {
  if (a.begin > b.begin)
    std::swap(a, b);
  if (a.end > b.begin)
    return;
  std::string first = textOf(text, a), second = textOf(text, b);
  replace(text, b, first);
  replace(text, a, second);
}

static constexpr StringRef numbers[] = {"0",
                                        "-1",
                                        "1",
                                        "-0",
                                        "1.0",
                                        "0.5",
                                        "7",
                                        "127",
                                        "65536",
                                        "2147483647",
                                        "2147483648",
                                        "4294967296",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "18446744073709551616",
                                        "-9223372036854775808",
                                        "100000000000000000000000000",
                                        "1e308",
                                        "1e400",
                                        "1e-400",
                                        "nan",
                                        "inf",
                                        "-inf",
                                        "0x10",
                                        "1_000",
                                        "01",
                                        "1e3",
                                        "true",
                                        "1979-05-27T07:32:00Z"};

static constexpr StringRef nests[] = {
    "[", "{", "(", "{\"a\":", "[[", "-", "not ", "{ a = ", "f(", "\"", "'''"};

static void nest(std::string &text, Random &random) {
  StringRef open = random.pick(nests);
  size_t depth = size_t(1) << random.below(15);
  std::string all;
  for (size_t i = 0; i < depth; ++i)
    all += open;
  size_t at = random.below(text.size() + 1);
  text.insert(at, all);
  if (random.oneIn(2)) {
    char close = open.contains('[') ? ']' : open.contains('(') ? ')' : '}';
    size_t after = at + all.size() + random.below(4);
    text.insert(std::min(after, text.size()), std::string(depth, close));
  }
}

/// A token of the kind that `wanted` tells, or any if there is none.
template <typename Fn>
static Span pickToken(const std::string &text, const std::vector<Span> &tokens,
                      Random &random, Fn wanted) {
  std::vector<Span> some;
  for (Span span : tokens)
    if (wanted(text[span.begin]))
      some.push_back(span);
  return some.empty() ? random.pick(tokens) : random.pick(some);
}

static void mutateOnce(std::string &text, Random &random,
                       llvm::ArrayRef<StringRef> words) {
  std::vector<Span> tokens = tokensOf(text), lines = linesOf(text);
  if (tokens.empty()) {
    text += random.pick(numbers);
    return;
  }
  auto isNumber = [](char c) { return llvm::isDigit(c) || c == '-'; };
  auto isString = [](char c) { return c == '"'; };
  auto isWord = [](char c) { return llvm::isAlpha(c) || c == '_'; };
  size_t at = random.below(text.size());
  switch (random.below(18)) {
  case 0: // a bit
    text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
    return;
  case 1: // bytes more
    for (size_t i = 0, n = 1 + random.below(4); i < n; ++i)
      text.insert(at, 1, static_cast<char>(random.next()));
    return;
  case 2: // bytes less
    text.erase(at, 1 + random.below(random.oneIn(4) ? 100 : 4));
    return;
  case 3:
    text.resize(at);
    return;
  case 4:
    return swapSpans(text, random.pick(tokens), random.pick(tokens));
  case 5:
  case 6:
    return replace(text, pickToken(text, tokens, random, isNumber),
                   random.pick(numbers));
  case 7: { // a line twice
    Span line = random.pick(lines);
    text.insert(random.pick(lines).begin, textOf(text, line));
    return;
  }
  case 8:
    return replace(text, random.pick(lines), "");
  case 9:
    return swapSpans(text, random.pick(lines), random.pick(lines));
  case 10: { // keys and other strings
    Span a = pickToken(text, tokens, random, isString);
    return swapSpans(text, a, pickToken(text, tokens, random, isString));
  }
  case 11:
    return nest(text, random);
  case 12: { // one token for another of the same text
    std::string by = textOf(text, random.pick(tokens));
    return replace(text, random.pick(tokens), by);
  }
  case 13:
    return replace(text, random.pick(tokens), "");
  case 14:
    return replace(text, pickToken(text, tokens, random, isWord),
                   random.pick(words));
  case 15: // a word more
    text.insert(random.pick(tokens).begin, (random.pick(words) + " ").str());
    return;
  case 16: { // a part twice
    size_t size = std::min<size_t>(1 + random.below(200), text.size() - at);
    std::string part = text.substr(at, size);
    text.insert(random.below(text.size()), part);
    return;
  }
  default: { // two strings become equal
    std::string by = textOf(text, pickToken(text, tokens, random, isString));
    return replace(text, pickToken(text, tokens, random, isString), by);
  }
  }
}

void ff::fuzz::mutate(std::string &text, Random &random,
                      llvm::ArrayRef<StringRef> words) {
  constexpr size_t limit = 1 << 20;
  // Mostly one change: with more of them the first hides the others.
  size_t count = random.oneIn(2) ? 1 : 1 + random.below(4);
  for (size_t i = 0; i < count; ++i) {
    mutateOnce(text, random, words);
    if (text.size() > limit)
      text.resize(limit);
  }
}
