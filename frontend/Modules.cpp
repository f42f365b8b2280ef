//===- Modules.cpp - Modules, and what they are for a config ----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Modules.h"

#include "frontend/Evaluator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace ff;
using namespace ff::frontend;

const ModuleDecl::ConfigDecl *ModuleDecl::findConfig(StringRef name) const {
  auto it = llvm::find_if(config, [&](auto &c) { return c.name == name; });
  return it == config.end() ? nullptr : &*it;
}

const Node *ModuleDecl::published(StringRef key) const {
  const Node *section = table->get("published");
  return section && section->isTable() ? section->get(key) : nullptr;
}

Param *ModuleType::findParam(StringRef name) {
  auto it = llvm::find_if(params, [&](Param &p) { return p.name == name; });
  return it == params.end() ? nullptr : &*it;
}

Submodule *ModuleType::findModule(StringRef name) {
  auto it =
      llvm::find_if(modules, [&](Submodule &m) { return m.name == name; });
  return it == modules.end() ? nullptr : &*it;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

const ModuleDecl *ModuleTable::getDecl(StringRef name, SMLoc loc) {
  auto it = decls.find(name);
  if (it != decls.end())
    return it->second.get();
  const ModuleSource *source = spec.findModule(name);
  if (!source) {
    auto report = diags.error(loc, "there is no module '" + name + "'");
    std::vector<StringRef> known;
    for (const ModuleSource &module : spec.getModules())
      known.push_back(module.name);
    if (auto near = nearest(name, known))
      report.note("did you mean '" + *near + "'?");
    else if (known.empty())
      report.note("no module is defined or imported; see 'imports' in "
                  "[pipeline]");
    else
      report.note("the modules are " + quotedList(known));
    return nullptr;
  }
  auto decl = std::make_unique<ModuleDecl>();
  decl->name = source->name;
  decl->loc = source->loc;
  decl->table = source->table;
  decl->broken = !parseDecl(*decl);
  return (decls[name] = std::move(decl)).get();
}

bool ModuleTable::parseConfigDecl(ModuleDecl &decl) {
  const Node *config = decl.table->get("config");
  if (!config)
    return true;
  if (config->isArray()) {
    for (const auto &item : config->items)
      if (item->isString())
        decl.config.push_back(
            {item->string, item->loc, nullptr, nullptr, nullptr});
    return true;
  }
  for (const Entry &entry : config->entries) {
    const Node *value = entry.value.get(), *from = nullptr, *oneOf = nullptr;
    if (value->isTable()) {
      for (const Entry &key : value->entries)
        if ((key.key != "default" || key.value->isTable()) &&
            (key.key != "from" || !key.value->isString()) &&
            (key.key != "one_of" || key.value->items.empty())) {
          diags.error(key.keyLoc, "the default of '" + entry.key +
                                      "' must be a plain value, {} for none, "
                                      "or { from = EXPRESSION, default = "
                                      "VALUE, one_of = [VALUES] }");
          return false;
        }
      from = value->get("from");
      oneOf = value->get("one_of");
      value = value->get("default");
    }
    ExprPtr expr = from ? parseExpression(*from, diags) : nullptr;
    if (from && !expr)
      return false;
    decl.config.push_back(
        {entry.key, entry.keyLoc, value, std::move(expr), oneOf});
  }
  return true;
}

bool ModuleTable::parseDecl(ModuleDecl &decl) {
  const Node &table = *decl.table;
  bool ok = parseConfigDecl(decl);
  if (const Node *inputs = table.get("inputs"); inputs && inputs->isArray())
    for (const auto &item : inputs->items) {
      InputDecl input;
      ok &= item->isString() && parseInput(*item, diags, input);
      decl.inputs.push_back(std::move(input));
    }
  if (const Node *unit = table.get("unit"); unit && unit->isBoolean())
    decl.unit = unit->boolean;
  const Node *forward = table.get("forward");
  if (!forward || !forward->isString())
    return false; // reported by the validation
  decl.forwardLoc = forward->loc;
  return parseForward(*forward, diags, decl.body) && ok;
}

//===----------------------------------------------------------------------===//
// Elaboration
//===----------------------------------------------------------------------===//

ModuleType *ModuleTable::getType(const ModuleDecl &decl, ConfigArgs args,
                                 SMLoc loc) {
  if (decl.broken || !completeConfig(decl, args, loc))
    return nullptr;
  auto cycle =
      llvm::find_if(elaborating, [&](auto &e) { return e.first == &decl; });
  if (cycle != elaborating.end()) {
    auto report =
        diags.error(loc, "module '" + decl.name + "' contains itself");
    for (++cycle; cycle != elaborating.end(); ++cycle)
      report.note(cycle->second, "through '" + cycle->first->name + "'");
    return nullptr;
  }
  std::string key = decl.name + "(";
  llvm::raw_string_ostream os(key);
  for (auto &[name, value] : args) {
    printKey(value.value, os);
    os << ",";
  }
  auto [it, added] = types.try_emplace(key, nullptr);
  if (!added)
    return it->second->broken ? nullptr : it->second;
  owned.push_back(std::make_unique<ModuleType>());
  ModuleType &type = *owned.back();
  it->second = &type;
  type.decl = &decl;
  type.number = owned.size() - 1;
  type.config = std::move(args);
  elaborating.push_back({&decl, loc});
  // Both, so that the errors of both are found.
  bool params = addParams(type), modules = addModules(type);
  elaborating.pop_back();
  type.broken = !params || !modules;
  return type.broken ? nullptr : &type;
}

Val ModuleTable::evaluate(ModuleType &type, const Node &node,
                          std::optional<int64_t> index) {
  if (!node.isString())
    return valueOf(node, diags);
  auto [it, added] = expressions.try_emplace(&node, nullptr);
  if (added)
    it->second = parseExpression(node, diags);
  const Expr *expr = it->second.get();
  if (!expr)
    return Val::error();
  Scope scope;
  scope.type = &type;
  if (index)
    scope.variables["index"] = Val::of(*index);
  return Evaluator(diags, /*elaborator=*/nullptr, scope).evaluate(*expr);
}

std::optional<bool> ModuleTable::holds(ModuleType &type, const Node &table,
                                       StringRef key) {
  const Node *when = table.isTable() ? table.get(key) : nullptr;
  if (!when)
    return true;
  Val value = evaluate(type, *when);
  if (value.isError())
    return std::nullopt;
  if (!value.isBoolean() && !value.isInteger()) {
    diags.error(when->loc, "'" + key + "' must be true or false, not " +
                               describeKind(value));
    return std::nullopt;
  }
  return value.integer != 0;
}

bool ModuleTable::addParams(ModuleType &type) {
  const Node *params = type.decl->table->get("params");
  bool ok = true;
  if (params && params->isTable())
    for (const Entry &entry : params->entries)
      ok &= addParam(type, entry);
  return ok;
}

bool ModuleTable::addParam(ModuleType &type, const Entry &entry) {
  const Node &node = *entry.value;
  const Node *shape = node.isTable() ? node.get("shape") : &node;
  std::optional<bool> exists = holds(type, node);
  if (!shape || !shape->isArray() || !exists)
    return false;
  if (!*exists) // its shape may make no sense
    return true;
  Param param;
  param.name = entry.key;
  param.loc = entry.keyLoc;
  for (const auto &item : shape->items) {
    Val size = evaluate(type, *item);
    if (size.isError())
      return false;
    if (!size.isInteger() || size.integer < 1) {
      std::string what = size.isInteger() ? std::to_string(size.integer)
                                          : describeKind(size).str();
      diags.error(item->loc, "a size of parameter '" + entry.key +
                                 "' must be a positive integer, not " + what);
      return false;
    }
    param.shape.push_back(size.integer);
    param.dims.push_back(item->isString() ? StringRef(item->string) : "");
  }
  if (isTooLarge(param.shape)) {
    diags.error(shape->loc,
                "parameter '" + entry.key + "' has more than 2^40 elements");
    return false;
  }
  const Node *init = node.isTable() ? node.get("init") : nullptr;
  param.init = getInitializer(context, init, param.name, param.shape, diags);
  if (!param.init)
    return false;
  if (node.isTable()) {
    if (const Node *tie = node.get("tie"); tie && tie->isString()) {
      param.tie = tie->string;
      param.tieLoc = tie->loc;
    }
    std::optional<bool> buffer = holds(type, node, "buffer");
    if (!buffer)
      return false;
    param.buffer = node.get("buffer") && *buffer;
    if (const Node *dtype = node.get("dtype"); dtype && dtype->isString()) {
      param.dtype = dtype->string;
      if (!param.buffer) {
        diags
            .error(dtype->loc,
                   "parameter '" + entry.key + "' has a dtype and is no buffer")
            .note("the dtypes of parameters are those of [precision]; set "
                  "buffer = true for a table that it leaves alone");
        return false;
      }
    }
  }
  const Node *decay = node.isTable() ? node.get("decay") : nullptr;
  param.decay =
      decay && decay->isBoolean() ? decay->boolean : param.shape.size() >= 2;
  type.params.push_back(std::move(param));
  return true;
}

bool ModuleTable::addModules(ModuleType &type) {
  const Node *modules = type.decl->table->get("modules");
  bool ok = true;
  if (modules && modules->isTable())
    for (const Entry &entry : modules->entries)
      if (entry.value->isTable())
        ok &= addModule(type, entry);
  return ok;
}

ModuleType *ModuleTable::elementType(ModuleType &type, const Node &sub,
                                     const ModuleDecl &decl,
                                     std::optional<int64_t> index) {
  ConfigArgs args;
  if (const Node *config = sub.get("config"); config && config->isTable())
    for (const Entry &arg : config->entries)
      args[arg.key] = {evaluate(type, *arg.value, index), arg.keyLoc};
  return getType(decl, std::move(args), sub.get("module")->loc);
}

bool ModuleTable::addModule(ModuleType &type, const Entry &entry) {
  const Node &node = *entry.value;
  const Node *name = node.get("module"), *count = node.get("count");
  std::optional<bool> exists = holds(type, node);
  if (!exists || !name || !name->isString())
    return false;
  Submodule sub;
  sub.name = entry.key;
  sub.loc = entry.keyLoc;
  if (count) {
    Val value = evaluate(type, *count);
    if (value.isError())
      return false;
    if (!value.isInteger() || value.integer < 0) {
      diags.error(count->loc, "'count' must be an integer, zero or more");
      return false;
    }
    sub.isList = true;
    sub.count = value.integer;
  }
  if (!*exists)
    return true;
  const ModuleDecl *decl = getDecl(name->string, name->loc);
  if (!decl)
    return false;
  // Each is an operation and has a name: bound what a wrong number costs.
  constexpr uint64_t limit = 1 << 18;
  for (int64_t i = 0; i < std::max<int64_t>(sub.count, 1); ++i) {
    sub.types.push_back(elementType(
        type, node, *decl, sub.isList ? std::optional(i) : std::nullopt));
    if (!sub.types.back())
      return false;
    if (sub.count > 0)
      type.size += 1 + sub.types[i]->params.size() + sub.types[i]->size;
    if (type.size > limit)
      break;
  }
  if (type.size > limit) {
    diags
        .error(count ? count->loc : sub.loc,
               "module '" + type.decl->name + "' with " + Twine(sub.count) +
                   " of '" + sub.name + "' has more than 2^18 parameters and " +
                   "submodules")
        .note("lower 'count'");
    return false;
  }
  type.modules.push_back(std::move(sub));
  return true;
}
