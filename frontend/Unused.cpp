//===- Unused.cpp - What nothing in a module uses ---------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Modules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace ff;
using namespace ff::frontend;

static bool isWordOf(StringRef text, StringRef name) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(name); at != StringRef::npos;
       at = text.find(name, at + 1))
    if ((at == 0 || !isPart(text[at - 1])) &&
        (at + name.size() == text.size() || !isPart(text[at + name.size()])))
      return true;
  return false;
}

/// Whether any text below a node has the word, comments aside.
static bool mentions(const Node &node, StringRef name) {
  llvm::SmallVector<StringRef> lines;
  StringRef(node.string).split(lines, '\n');
  return llvm::any_of(lines,
                      [&](StringRef line) {
                        return isWordOf(line.split('#').first, name);
                      }) ||
         llvm::any_of(node.items,
                      [&](auto &item) { return mentions(*item, name); }) ||
         llvm::any_of(node.entries, [&](const Entry &entry) {
           return mentions(*entry.value, name);
         });
}

/// Whether it may matter to another config, or to other inputs: in a branch
/// that is not taken, in what a `when` leaves out.
static bool mattersElsewhere(const ModuleDecl &decl, StringRef name) {
  return llvm::any_of(decl.table->entries, [&](const Entry &entry) {
    return (entry.key == "forward" || entry.key == "params" ||
            entry.key == "modules" || entry.key == "config") &&
           mentions(*entry.value, name);
  });
}

/// Whether it has parameters that are trained.
static bool hasParams(const Submodule &sub) {
  return llvm::any_of(sub.types, [](const ModuleType *type) {
    return llvm::any_of(type->params,
                        [](const Param &param) { return !param.buffer; }) ||
           llvm::any_of(type->modules, hasParams);
  });
}

void ModuleTable::checkUses() {
  // A config value may matter to some configs alone, e.g. under an `if`.
  llvm::MapVector<const char *, std::pair<bool, std::string>> config;
  for (auto &type : owned) {
    if (!type->called || type->broken)
      continue;
    std::string module = " of module '" + type->decl->name + "'";
    for (Param &param : type->params)
      if (!param.used && !param.buffer)
        diags
            .error(param.loc, "parameter '" + param.name + "'" + module +
                                  " is not used in its forward")
            .note(type->decl->forwardLoc,
                  "it would be saved and sharded, and never trained");
    for (Submodule &sub : type->modules)
      if (!sub.used && sub.count > 0 &&
          (hasParams(sub) || !mattersElsewhere(*type->decl, sub.name)))
        diags.error(sub.loc, "submodule '" + sub.name + "'" + module +
                                 " is not used in its forward");
    for (auto &[name, value] : type->config) {
      auto &entry = config[value.loc.getPointer()];
      entry.first |= value.used || mattersElsewhere(*type->decl, name);
      entry.second = ("config value '" + name + "'" + module).str();
    }
  }
  for (auto &[loc, entry] : config)
    if (!entry.first)
      diags.error(SMLoc::getFromPointer(loc), entry.second + " is not used");
}
