//===- ModuleConfig.cpp - Config values: given, computed, default -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Evaluator.h"
#include "frontend/Modules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace ff;
using namespace ff::frontend;

Val ff::frontend::valueOf(const Node &node, Diagnostics &diags) {
  switch (node.kind) {
  case Node::Kind::Integer:
    return Val::of(node.integer);
  case Node::Kind::Float:
    return Val::of(node.number);
  case Node::Kind::Boolean:
    return Val::of(node.boolean);
  case Node::Kind::String:
    return Val::ofString(node.string);
  case Node::Kind::Array: {
    Val list = Val::of(Val::Kind::List);
    for (const auto &item : node.items)
      list.items.push_back(valueOf(*item, diags));
    return list;
  }
  default:
    diags.error(node.loc, "a config value cannot be " + node.kindName());
    return Val::error();
  }
}

/// Takes over the type of the default: an integer may stand for a float.
static bool matchDefault(const Val &fallback, ConfigValue &given,
                         StringRef name, Diagnostics &diags) {
  if (given.value.kind == fallback.kind || given.value.isError())
    return true;
  if (fallback.kind == Val::Kind::Float && given.value.isInteger()) {
    given.value = Val::of(given.value.asDouble());
    return true;
  }
  if (fallback.isInteger() && given.value.kind == Val::Kind::Float)
    return true; // mlp_ratio = 4, and 8/3 is given
  diags.error(given.loc, "config value '" + name + "' must be " +
                             describeKind(fallback) + ", not " +
                             describeKind(given.value));
  return false;
}

/// The names of values in an expression.
static void collectNames(const Expr &expr, std::vector<StringRef> &names) {
  if (expr.kind == Expr::Kind::Name && expr.text != "pi")
    names.push_back(expr.text);
  bool isCall = expr.kind == Expr::Kind::Call; // of a builtin
  for (const ExprPtr &operand : llvm::drop_begin(expr.operands, isCall ? 1 : 0))
    if (operand)
      collectNames(*operand, names);
  for (const Keyword &keyword : expr.keywords)
    collectNames(*keyword.value, names);
}

static bool isNamedBy(const ModuleDecl &decl, StringRef field) {
  return llvm::any_of(decl.config, [&](auto &config) {
    std::vector<StringRef> names;
    if (config.from)
      collectNames(*config.from, names);
    return llvm::is_contained(names, field);
  });
}

bool ModuleDecl::readsMembersOf(StringRef object) const {
  auto isMember = [&](StringRef name) {
    return name.consume_front(object) && name.starts_with(".");
  };
  const Node *fixed = published("fixed");
  if (fixed && llvm::any_of(fixed->entries, [&](const Entry &entry) {
        return isMember(entry.key);
      }))
    return true;
  return llvm::any_of(config, [&](const ConfigDecl &config) {
    std::vector<StringRef> names;
    if (config.from)
      collectNames(*config.from, names);
    return llvm::any_of(names, isMember);
  });
}

static bool isListed(const Node *list, StringRef name) {
  return list && llvm::any_of(list->items, [&](auto &item) {
           return item->isString() && item->string == name;
         });
}

static std::string textOf(const Val &value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (value.isString())
    os << '"' << value.text << '"';
  else if (value.isBoolean())
    os << (value.integer ? "true" : "false");
  else if (value.isInteger())
    os << value.integer;
  else if (value.isNumber())
    os << value.number;
  else if (value.isList())
    llvm::interleaveComma(value.items, os << '[',
                          [&](const Val &item) { os << textOf(item); });
  else
    os << describeKind(value);
  return value.isList() ? text + "]" : text;
}

/// Whether a value is one that the module knows.
bool ModuleTable::checkOneOf(const ModuleDecl &decl,
                             const ModuleDecl::ConfigDecl &config,
                             const Val &value, SMLoc loc) {
  if (!config.oneOf || value.isError())
    return true;
  std::vector<std::string> known;
  for (const auto &item : config.oneOf->items)
    known.push_back(textOf(valueOf(*item, diags)));
  if (llvm::is_contained(known, textOf(value)))
    return true;
  diags
      .error(loc, "'" + config.name + "' of module '" + decl.name +
                      "' can be " + llvm::join(known, " or ") + ", not " +
                      textOf(value))
      .note(config.oneOf->loc, "it is declared here");
  return false;
}

/// A value of the spec beside a config file must be what the fields of the file
/// make it: the file is saved with the weights, and says what other libraries
/// build of them.
bool ModuleTable::checkPublished(const ModuleDecl &decl,
                                 const ModuleDecl::ConfigDecl &config,
                                 const ConfigValue &given,
                                 const ConfigArgs &args) {
  if (!config.from || given.isPublished || given.value.isError())
    return true;
  std::vector<StringRef> names;
  collectNames(*config.from, names);
  Scope scope;
  for (StringRef name : names) {
    auto field = args.find(name);
    if (field == args.end() || !field->second.isPublished ||
        field->second.value.isNone())
      return true;
    scope.variables[name] = field->second.value;
  }
  Val computed = Evaluator(diags, nullptr, scope).evaluate(*config.from);
  if (names.empty() || computed.isError() ||
      textOf(computed) == textOf(given.value))
    return !computed.isError();
  diags
      .error(given.loc, "'" + config.name + "' = " + textOf(given.value) +
                            " of module '" + decl.name + "' is " +
                            textOf(computed) + " in the config file")
      .note(args.find(names.front())->second.loc,
            "it follows from " + quotedList(names) + "; give " +
                (names.size() == 1 ? "that" : "those") + " instead");
  return false;
}

/// A field that is no config value: whether it has the one value that is known.
bool ModuleTable::checkField(const ModuleDecl &decl, StringRef name,
                             ConfigValue &given) {
  const Node *fixed = decl.published("fixed");
  const Node *wanted = fixed && fixed->isTable() ? fixed->get(name) : nullptr;
  if (!wanted)
    return true;
  Val value = valueOf(*wanted, diags);
  if (value.isError() || textOf(value) == textOf(given.value))
    return !value.isError();
  diags
      .error(given.loc, "module '" + decl.name + "' knows '" + name +
                            "' = " + textOf(value) + " alone, not " +
                            textOf(given.value))
      .note(wanted->loc, "it is declared here");
  return false;
}

std::optional<Val> ModuleTable::computeConfig(
    const ModuleDecl &decl, const ModuleDecl::ConfigDecl &config,
    const ConfigArgs &args, ConfigArgs &complete, SMLoc loc) {
  std::vector<StringRef> names, absent;
  if (config.from)
    collectNames(*config.from, names);
  Scope scope;
  bool isReported = false; // with what it is computed from
  for (StringRef name : names) {
    if (auto given = args.find(name); given != args.end())
      isReported |= given->second.value.isNone();
    else
      isReported |=
          decl.findConfig(name) && !complete.count(name) && name != config.name;
    if (auto it = complete.find(name); it != complete.end()) {
      it->second.used = true;
      scope.variables[name] = it->second.value;
    } else if (auto given = args.find(name); given != args.end()) {
      scope.variables[name] = given->second.value;
    } else if (!llvm::is_contained(absent, name)) {
      absent.push_back(name);
    }
  }
  if (isReported && !config.fallback)
    return std::nullopt;
  if (config.from && absent.empty()) {
    Val value = Evaluator(diags, nullptr, scope).evaluate(*config.from);
    ConfigValue computed{value, config.from->loc};
    if (value.isError() ||
        (config.fallback && !matchDefault(valueOf(*config.fallback, diags),
                                          computed, config.name, diags)))
      return std::nullopt;
    return computed.value;
  }
  if (config.fallback)
    return valueOf(*config.fallback, diags);
  auto report =
      diags.error(loc, "module '" + decl.name + "' needs the config value '" +
                           config.name + "'");
  if (config.from)
    report.note(config.loc,
                "it is computed here, from " + quotedList(absent) +
                    (absent.size() == 1 ? ", which is not given either"
                                        : ", which are not given either"));
  else
    report.note(config.loc, "it is declared here, without a default");
  return std::nullopt;
}

bool ModuleTable::completeConfig(const ModuleDecl &decl, ConfigArgs &args,
                                 SMLoc loc) {
  bool ok = true;
  std::vector<StringRef> strange;
  SMLoc firstStrange;
  for (auto &[name, value] : args) {
    const ModuleDecl::ConfigDecl *known = decl.findConfig(name);
    bool isNamed = isNamedBy(decl, name);
    if ((known || isNamed) && value.isPublished && value.value.isNone()) {
      diags.error(value.loc, "a config value cannot be an object");
      ok = false;
      continue;
    }
    if (known) {
      if (known->fallback)
        ok &=
            matchDefault(valueOf(*known->fallback, diags), value, name, diags);
      continue;
    }
    const Node *fixed = decl.published("fixed");
    if (isNamed || (fixed && fixed->get(name))) {
      ok &= checkField(decl, name, value);
      continue;
    }
    if (isListed(decl.published("ignored"), name))
      continue;
    if (value.isPublished && decl.table->get("published")) {
      if (strange.empty() || value.loc.getPointer() < firstStrange.getPointer())
        firstStrange = value.loc;
      strange.push_back(name);
      continue;
    }
    ok = false;
    auto report =
        diags.error(value.loc, "module '" + decl.name +
                                   "' has no config value '" + name + "'");
    std::vector<StringRef> names;
    for (auto &config : decl.config)
      names.push_back(config.name);
    if (auto near = nearest(name, names))
      report.note("did you mean '" + *near + "'?");
    report.note(decl.loc, names.empty() ? "it takes no config"
                                        : "its config is " + quotedList(names));
  }
  llvm::sort(strange); // JSON has no order
  if (!strange.empty())
    diags
        .warning(firstStrange, "module '" + decl.name + "' does not know " +
                                   quotedList(strange) + ", and ignores " +
                                   (strange.size() == 1 ? "it" : "them"))
        .note("'ignored' in [module." + decl.name +
              ".published] lists fields that do not matter");
  // In the order of the declaration, so that equal configs have equal keys.
  ConfigArgs complete;
  for (auto &config : decl.config) {
    auto it = args.find(config.name);
    if (it != args.end()) {
      ok &= checkOneOf(decl, config, it->second.value, it->second.loc) &&
            checkPublished(decl, config, it->second, args);
      complete[config.name] = {it->second.value, config.loc};
    } else if (auto value = computeConfig(decl, config, args, complete, loc)) {
      ok &= checkOneOf(decl, config, *value, loc);
      complete[config.name] = {*value, config.loc};
    } else {
      ok = false;
    }
  }
  args = std::move(complete);
  for (auto &[name, value] : args)
    ok &= !value.value.isError();
  return ok;
}
