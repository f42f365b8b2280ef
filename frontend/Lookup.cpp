//===- Lookup.cpp - What names mean in a forward function -------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Builtins.h"
#include "frontend/Elaborator.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace ff;
using namespace ff::frontend;

static Val ofModule(Val::Kind kind, Instance instance) {
  Val value = Val::of(kind);
  value.instance = std::move(instance);
  return value;
}

/// `rest` is what follows the name of the submodule: "", "3" or "3.norm".
static std::optional<Val> lookupInSubmodule(const Instance &instance,
                                            Submodule &sub, StringRef rest,
                                            Elaborator *elaborator, SMLoc loc) {
  sub.used = true;
  Instance inner{sub.types.front(), instance.prefix + sub.name + ".",
                 instance.component, sub.types.front()->decl->unit,
                 instance.isBase};
  if (!sub.isList)
    return rest.empty() ? ofModule(Val::Kind::Module, inner)
                        : lookupInModule(inner, rest, elaborator, loc);
  if (rest.empty()) {
    Val list = ofModule(Val::Kind::Modules, inner);
    for (int64_t i = 0; i < sub.count; ++i)
      list.items.push_back(
          ofModule(Val::Kind::Module,
                   {sub.types[i], inner.prefix + std::to_string(i) + ".",
                    instance.component, /*isBlock=*/true, instance.isBase}));
    return list;
  }
  auto [number, tail] = rest.split('.');
  int64_t index = 0;
  if (number.getAsInteger(10, index) || index >= sub.count)
    return std::nullopt;
  inner.prefix += (number + ".").str();
  inner.isBlock = true;
  inner.type = sub.types[index];
  return tail.empty() ? ofModule(Val::Kind::Module, inner)
                      : lookupInModule(inner, tail, elaborator, loc);
}

std::optional<Val> ff::frontend::lookupInModule(const Instance &instance,
                                                StringRef path,
                                                Elaborator *elaborator,
                                                SMLoc loc) {
  ModuleType &type = *instance.type;
  if (Param *param = type.findParam(path)) {
    if (!elaborator)
      return std::nullopt; // a shape cannot depend on a tensor
    param->used = true;
    return elaborator->param(instance, *param, loc);
  }
  // Names of submodules may have dots: the longest one that fits.
  Submodule *best = nullptr;
  for (Submodule &sub : type.modules)
    if ((path == sub.name || path.starts_with(sub.name + ".")) &&
        (!best || sub.name.size() > best->name.size()))
      best = &sub;
  if (best)
    return lookupInSubmodule(
        instance, *best,
        path == best->name ? "" : path.drop_front(best->name.size() + 1),
        elaborator, loc);
  std::string prefix = (path + ".").str();
  if (llvm::any_of(type.params, [&](const Param &p) {
        return StringRef(p.name).starts_with(prefix);
      })) {
    Val group = ofModule(Val::Kind::Params, instance);
    group.text = path.str();
    return group;
  }
  return std::nullopt;
}

std::optional<Val> Evaluator::member(const Val &value, StringRef name,
                                     SMLoc loc) {
  if (value.isError())
    return value;
  if (value.isTensor() && name == "shape") {
    Val list = Val::of(Val::Kind::List);
    for (int64_t i = 0; i < value.rank(); ++i) {
      list.items.push_back(Val::of(value.shape()[i]));
      list.items.back().text = value.dimName(i).str();
    }
    return list;
  }
  bool isComponent = value.kind == Val::Kind::Module &&
                     value.instance.component && value.instance.prefix.empty();
  if (isComponent && name == "base") {
    StringRef component = value.instance.component.getValue();
    ComponentInfo *info = elaborator->infos.lookup(component);
    if (info && info->train == TrainMode::Full) {
      elaborator
          ->error(loc, "'" + component +
                           "' has no adapters: its base is what "
                           "is being trained")
          .note(info->trainLoc, "it is trained in full; a frozen component "
                                "with its weights keeps what it starts from");
      return Val::error();
    }
    Val base = value;
    base.instance.isBase = true;
    return base;
  }
  if (value.kind == Val::Kind::Module)
    return lookupInModule(value.instance, name, elaborator, loc);
  if (value.kind == Val::Kind::Params)
    return lookupInModule(value.instance, value.text + "." + name.str(),
                          elaborator, loc);
  return std::nullopt;
}

std::optional<Val> Evaluator::lookup(StringRef path, SMLoc loc) {
  auto variable = scope.variables.find(path);
  if (variable != scope.variables.end()) {
    Val value = variable->second;
    if (value.isInteger())
      value.text = path.str();
    return value;
  }
  auto [head, tail] = path.split('.');
  auto object = scope.variables.find(head);
  if (object != scope.variables.end())
    return member(object->second, tail, loc);
  if (scope.type) {
    auto config = scope.type->config.find(path);
    if (config != scope.type->config.end()) {
      config->second.used = true;
      Val value = config->second.value;
      if (value.isInteger())
        value.text = path.str();
      return value;
    }
    Instance instance = scope.instance;
    instance.type = scope.type;
    if (elaborator)
      if (auto found = lookupInModule(instance, path, elaborator, loc))
        return found;
  } else if (elaborator) {
    auto component = elaborator->components.find(head);
    if (component != elaborator->components.end()) {
      elaborator->usedComponents.insert(head.str());
      return tail.empty() ? component->second
                          : member(component->second, tail, loc);
    }
  }
  if (path == "pi")
    return Val::of(M_PI);
  return std::nullopt;
}

Val Evaluator::undefined(StringRef name, SMLoc loc) {
  std::vector<std::string> known;
  for (auto &variable : scope.variables)
    known.push_back(variable.first().str());
  if (scope.type) {
    for (auto &[config, value] : scope.type->config)
      known.push_back(config.str());
    if (elaborator) {
      for (const Param &param : scope.type->params) {
        known.push_back(param.name);
        known.push_back(StringRef(param.name).rsplit('.').first.str());
      }
      for (const Submodule &sub : scope.type->modules)
        known.push_back(sub.name);
    }
  } else if (elaborator) {
    for (auto &component : elaborator->components)
      known.push_back(component.first().str());
  }
  llvm::sort(known);
  auto [head, tail] = name.split('.');
  auto variable = scope.variables.find(head);
  if (variable != scope.variables.end() && !tail.empty()) {
    auto report =
        error(loc, "'" + head + "' is " + describeKind(variable->second) +
                       " and has no '" + tail + "'");
    if (variable->second.isTensor())
      report.note("a tensor has 'shape' alone; the rest are functions");
    return Val::error();
  }
  bool isParam = scope.type && !tail.empty();
  auto report = error(loc, isParam ? "undefined parameter '" + name + "'"
                                   : "undefined name '" + name + "'");
  if (findBuiltin(name))
    report.note("'" + name + "' is a function; call it with parentheses");
  else if (auto it = scope.oneSided.find(name); it != scope.oneSided.end())
    report.note(it->second, "one side alone of this branch defines it, and "
                            "samples take either");
  else if (auto near = nearest(name, known))
    report.note("did you mean '" + *near + "'?");
  if (isParam)
    report.note(scope.type->decl->loc,
                "module '" + scope.type->decl->name + "' is declared here");
  return Val::error();
}
