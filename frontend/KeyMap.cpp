//===- KeyMap.cpp - Names of files as names of parameters -----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/KeyMap.h"

#include "frontend/WeightReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace ff::frontend;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;
using Tensor = WeightFiles::Tensor;
using Captures = std::vector<std::string>;

namespace {

struct Rule {
  SMLoc loc;
  SmallVector<const Node *> from, to;
  bool used = false;
};

/// Tensors that a rule joins, by the pattern that each matches.
struct Join {
  const Rule *rule;
  Captures captures;
  SmallVector<const Tensor *> parts;
};

class KeyMap {
public:
  KeyMap(WeightFiles &files, StringRef component, Diagnostics &diags)
      : files(files), component(component), diags(diags) {}

  using ShapeOf =
      llvm::function_ref<std::optional<ArrayRef<int64_t>>(StringRef)>;
  bool parse(const Node &list);
  bool apply(ShapeOf shapeOf);

private:
  Diagnostics::Report fail(SMLoc loc, const Twine &message) {
    failed = true;
    return diags.error(loc, message);
  }
  void add(Tensor tensor, const Rule *rule);
  void rename(const Tensor &tensor, Rule &rule, const Captures &captures);
  void split(const Tensor &tensor, Rule &rule, const Captures &captures,
             ShapeOf shapeOf);
  void join(const Join &group);
  void checkUsed();

  WeightFiles &files;
  StringRef component;
  Diagnostics &diags;
  bool failed = false;
  std::vector<Rule> rules;
  std::vector<Tensor> result;
  llvm::StringMap<size_t> byName; ///< of the result
};

} // namespace

/// What each `*` stands for: as little as it can, the last one the rest.
static std::optional<Captures> capture(StringRef pattern, StringRef name) {
  SmallVector<StringRef> literals;
  pattern.split(literals, '*');
  Captures captures;
  if (!name.consume_front(literals.front()))
    return std::nullopt;
  if (literals.size() == 1)
    return name.empty() ? std::optional(captures) : std::nullopt;
  StringRef last = literals.back();
  for (StringRef literal : ArrayRef(literals).drop_front().drop_back()) {
    size_t at = name.find(literal);
    if (at == StringRef::npos)
      return std::nullopt;
    captures.push_back(name.take_front(at).str());
    name = name.drop_front(at + literal.size());
  }
  if (!name.consume_back(last))
    return std::nullopt;
  captures.push_back(name.str());
  return captures;
}

static std::string substitute(StringRef pattern, const Captures &captures) {
  std::string text;
  size_t next = 0;
  for (char c : pattern)
    if (c == '*')
      text += captures[next++];
    else
      text += c;
  return text;
}

/// The tensor as it lies in its file: one of an adapter has another name there.
static Tensor::Piece wholeOf(const Tensor &tensor) {
  if (!tensor.pieces.empty())
    return tensor.pieces.front();
  return {tensor.file, tensor.key, tensor.shape, 0, tensor.numel()};
}

/// The strings of a key that is one or several.
static SmallVector<const Node *> stringsOf(const Node &node) {
  SmallVector<const Node *> strings;
  if (node.isString())
    strings.push_back(&node);
  for (const auto &item : node.items)
    strings.push_back(item.get());
  return strings;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

bool KeyMap::parse(const Node &list) {
  for (const auto &item : list.items) {
    Rule rule{item->loc, stringsOf(*item->get("from")),
              stringsOf(*item->get("to"))};
    if (rule.from.empty() || rule.to.empty() ||
        (rule.from.size() > 1 && rule.to.size() > 1)) {
      fail(rule.loc, "a rule of 'keys' takes " + Twine(rule.from.size()) +
                         " tensors to " + Twine(rule.to.size()) + " parameters")
          .note("it renames one tensor, joins several into one parameter, or "
                "splits one into several");
      continue;
    }
    size_t stars = StringRef(rule.from.front()->string).count('*');
    for (const Node *pattern :
         llvm::concat<const Node *const>(rule.from, rule.to)) {
      size_t own = StringRef(pattern->string).count('*');
      if (own != stars)
        fail(pattern->loc, "'" + pattern->string + "' has " + Twine(own) +
                               " '*', '" + rule.from.front()->string +
                               "' has " + Twine(stars))
            .note("all patterns of a rule have as many, so that it can be "
                  "undone when weights are exported");
      if (StringRef(pattern->string).contains("**"))
        fail(pattern->loc, "'" + pattern->string + "' has '*' behind '*'")
            .note("what each of them stands for is not clear: leave one out");
    }
    rules.push_back(std::move(rule));
  }
  return !failed;
}

/// A rule that matches nothing is a misspelt one.
void KeyMap::checkUsed() {
  std::vector<std::string> keys;
  for (const Tensor &tensor : files.tensors)
    keys.push_back(tensor.key);
  for (const Rule &rule : rules) {
    if (rule.used)
      continue;
    StringRef pattern = rule.from.front()->string;
    auto report =
        fail(rule.from.front()->loc,
             "'" + pattern + "' in 'keys' of component '" + component +
                 "' matches no tensor of the files that "
                 "an earlier rule leaves");
    if (auto near = nearestNames(pattern, keys, 3); !near.empty())
      report.note("the nearest are " + quotedList(near));
  }
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

void KeyMap::add(Tensor tensor, const Rule *rule) {
  auto [it, fresh] = byName.try_emplace(tensor.key, result.size());
  if (fresh) {
    result.push_back(std::move(tensor));
    return;
  }
  auto nameOf = [](const Tensor &t) {
    return t.pieces.empty() ? t.key : t.pieces.front().key;
  };
  const Tensor &other = result[it->second];
  fail(rule ? rule->loc : rules.front().loc,
       "the tensors '" + nameOf(other) + "' and '" + nameOf(tensor) +
           "' of the files both become '" + tensor.key + "' of component '" +
           component + "'")
      .note("let one of the rules match less, or give the other tensor a name "
            "that 'on_unexpected' ignores");
}

void KeyMap::rename(const Tensor &tensor, Rule &rule,
                    const Captures &captures) {
  Tensor renamed = tensor;
  renamed.key = substitute(rule.to.front()->string, captures);
  renamed.pieces = {wholeOf(tensor)};
  add(std::move(renamed), &rule);
}

void KeyMap::split(const Tensor &tensor, Rule &rule, const Captures &captures,
                   ShapeOf shapeOf) {
  int64_t rows = tensor.shape.empty() ? 0 : tensor.shape.front();
  int64_t rowSize = rows ? tensor.numel() / rows : 0;
  std::string sizes;
  int64_t at = 0;
  std::vector<Tensor> parts;
  for (const Node *pattern : rule.to) {
    std::string name = substitute(pattern->string, captures);
    std::optional<ArrayRef<int64_t>> shape = shapeOf(name);
    if (!shape || shape->empty()) {
      fail(pattern->loc, "'" + tensor.key + "' of the files is split into '" +
                             name + "', which component '" + component +
                             "' does not have");
      return;
    }
    Tensor part = tensor;
    part.key = name;
    part.shape.front() = shape->front();
    Tensor::Piece piece = wholeOf(tensor);
    piece.first = at * rowSize;
    piece.count = shape->front() * rowSize;
    part.pieces = {piece};
    at += shape->front();
    sizes += (sizes.empty() ? "'" : " + '") + name + "' " +
             std::to_string(shape->front());
    parts.push_back(std::move(part));
  }
  if (at != rows) {
    fail(rule.loc, "'" + tensor.key + "' of the files is " +
                       shapeText(tensor.shape) +
                       ", and the parameters that it "
                       "is split into have " +
                       Twine(at) + " rows")
        .note("rows: " + sizes);
    return;
  }
  for (Tensor &part : parts)
    add(std::move(part), &rule);
}

void KeyMap::join(const Join &group) {
  const Rule &rule = *group.rule;
  std::string name = substitute(rule.to.front()->string, group.captures);
  const Tensor *first = nullptr;
  for (auto [part, pattern] : llvm::zip_equal(group.parts, rule.from)) {
    if (!part) {
      fail(pattern->loc, "'" + name + "' of component '" + component +
                             "' is joined from " + Twine(rule.from.size()) +
                             " tensors, and the files lack '" +
                             substitute(pattern->string, group.captures) + "'");
      return;
    }
    first = first ? first : part;
    auto inner = [](const Tensor &t) { return ArrayRef(t.shape).drop_front(); };
    if (part->shape.empty() || part->dtype != first->dtype ||
        inner(*part) != inner(*first)) {
      fail(rule.loc, "'" + first->key + "' is " + first->dtype + " " +
                         shapeText(first->shape) + ", and '" + part->key +
                         "', which it is joined with, is " + part->dtype + " " +
                         shapeText(part->shape))
          .note("tensors are joined along dim 0: the other dims and the dtype "
                "are the same");
      return;
    }
  }
  Tensor joined = *first;
  joined.key = name;
  joined.shape.front() = 0;
  for (const Tensor *part : group.parts) {
    joined.shape.front() += part->shape.front();
    joined.pieces.push_back(wholeOf(*part));
  }
  add(std::move(joined), &rule);
}

bool KeyMap::apply(ShapeOf shapeOf) {
  std::map<std::pair<size_t, Captures>, Join> joins;
  for (const Tensor &tensor : files.tensors) {
    bool matched = false;
    for (auto [i, rule] : llvm::enumerate(rules)) {
      for (auto [part, pattern] : llvm::enumerate(rule.from)) {
        auto captures = capture(pattern->string, tensor.key);
        if (!captures)
          continue;
        matched = rule.used = true;
        if (rule.to.size() > 1) {
          split(tensor, rule, *captures, shapeOf);
        } else if (rule.from.size() == 1) {
          rename(tensor, rule, *captures);
        } else {
          Join &group = joins[{i, *captures}];
          group.rule = &rule;
          group.captures = *captures;
          group.parts.resize(rule.from.size());
          group.parts[part] = &tensor;
        }
        break;
      }
      if (matched)
        break;
    }
    if (!matched)
      add(tensor, nullptr);
  }
  for (const auto &[key, group] : joins)
    join(group);
  checkUsed();
  if (!failed)
    files.tensors = std::move(result);
  return !failed;
}

bool ff::frontend::applyKeyMap(
    WeightFiles &files, const Node &rules, StringRef component,
    llvm::function_ref<std::optional<ArrayRef<int64_t>>(StringRef)> shapeOf,
    Diagnostics &diags) {
  KeyMap map(files, component, diags);
  return map.parse(rules) && map.apply(shapeOf);
}
