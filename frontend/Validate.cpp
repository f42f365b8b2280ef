//===- Validate.cpp - Keys that are unknown, misplaced or mistyped -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <limits>

using namespace ff::frontend;

/// "[train]" for "train", "[bundle.NAME]" for "bundle.*".
static std::string readable(StringRef section) {
  std::string text = "[";
  for (char c : section) {
    if (c == '*')
      text += "NAME";
    else
      text += c;
  }
  return text + "]";
}

static std::vector<StringRef> keysOf(StringRef section) {
  std::vector<StringRef> names;
  for (const KeyInfo &key : getKeys())
    if (key.section == section)
      names.push_back(key.name);
  return names;
}

/// The names of the top-level tables: "pipeline", "bundle", ...
static std::vector<StringRef> topLevelNames() {
  std::vector<StringRef> names;
  for (const SectionInfo &section : getSections()) {
    StringRef name = section.name.split('.').first;
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  }
  return names;
}

//===----------------------------------------------------------------------===//
// Unknown keys
//===----------------------------------------------------------------------===//

/// Sections in which `key` exists, as text.
static std::vector<std::string> sectionsWith(StringRef key) {
  std::vector<std::string> found;
  for (const KeyInfo &info : getKeys())
    if (info.name == key)
      found.push_back(readable(info.section));
  return found;
}

static void reportUnknown(const Entry &entry, StringRef section, StringRef name,
                          Diagnostics &diags) {
  StringRef key = entry.key;
  std::string where =
      section.empty() ? "at the top level" : ("in [" + name + "]").str();
  auto report = diags.error(entry.keyLoc, "unknown key '" + key + "' " + where);
  for (const RenamedKey &other : getRenamedKeys()) {
    if (other.name != key)
      continue;
    report.note("it is called '" + other.key + "' in " +
                readable(other.section) + " here" +
                (other.note.empty() ? "" : "; " + other.note));
    return;
  }
  // A near key of this section is likelier than the same key elsewhere only
  // where it is very near.
  std::optional<std::string> near = nearest(key, keysOf(section));
  std::vector<std::string> elsewhere = sectionsWith(key);
  if (!elsewhere.empty()) {
    report.note("'" + key + "' belongs in " + llvm::join(elsewhere, " or "));
    return;
  }
  if (near) {
    report.note("did you mean '" + *near + "'?");
    return;
  }
  std::vector<StringRef> all;
  for (const KeyInfo &info : getKeys())
    all.push_back(info.name);
  if (auto other = nearest(key, all))
    report.note("did you mean '" + *other + "' in " +
                llvm::join(sectionsWith(*other), " or ") + "?");
  else
    report.note("the keys here are " + quotedList(keysOf(section)));
}

//===----------------------------------------------------------------------===//
// Types and ranges
//===----------------------------------------------------------------------===//

static bool allItems(const Node &node, bool (Node::*holds)() const) {
  return node.isArray() &&
         llvm::all_of(node.items, [&](auto &i) { return ((*i).*holds)(); });
}

static bool isShape(const Node &node) {
  return node.isArray() && llvm::all_of(node.items, [](auto &item) {
           return item->isInteger() || item->isString();
         });
}

static bool hasType(const Node &node, KeyType type) {
  switch (type) {
  case KeyType::String:
  case KeyType::Choice:
  case KeyType::Path:
    return node.isString();
  case KeyType::Integer:
    return node.isInteger();
  case KeyType::Float:
    return node.isNumber();
  case KeyType::Boolean:
    return node.isBoolean();
  case KeyType::Strings:
    return node.isString() || allItems(node, &Node::isString);
  case KeyType::StringArray:
    return allItems(node, &Node::isString);
  case KeyType::FloatPair:
    return node.items.size() == 2 && allItems(node, &Node::isNumber);
  case KeyType::IntegerOrAuto:
    return node.isInteger() || (node.isString() && node.string == "auto");
  case KeyType::Expression:
    return node.isInteger() || node.isString() || node.isBoolean();
  case KeyType::StringTable:
    return node.isTable() && llvm::all_of(node.entries, [](const Entry &e) {
             return e.value->isString();
           });
  case KeyType::Units:
    if (node.isTable())
      return node.entries.size() == 1 && node.get("min_params") &&
             node.get("min_params")->isInteger() &&
             node.get("min_params")->integer > 0;
    return (node.isString() && node.string == "blocks") ||
           (!node.items.empty() && allItems(node, &Node::isString));
  case KeyType::Buckets:
    return (node.isString() && node.string == "auto") ||
           (!node.items.empty() && allItems(node, &Node::isTable) &&
            llvm::all_of(node.items, [](auto &item) {
              return !item->entries.empty() &&
                     llvm::all_of(item->entries, [](const Entry &entry) {
                       return entry.value->isInteger() &&
                              entry.value->integer > 0;
                     });
            }));
  case KeyType::Recompute:
    return (node.isString() &&
            (node.string == "none" || node.string == "block")) ||
           (!node.items.empty() && allItems(node, &Node::isString));
  case KeyType::Bytes:
    return (node.isInteger() && node.integer >= 0) ||
           (node.isString() && parseBytes(node.string));
  case KeyType::Config:
    return node.isTable() || node.isString();
  case KeyType::Tables:
    return allItems(node, &Node::isTable);
  case KeyType::ConfigDecl:
    return node.isTable() || allItems(node, &Node::isString);
  case KeyType::Initializer:
    return node.isString() || node.isTable();
  case KeyType::Shape:
    return isShape(node);
  case KeyType::FreeTable:
  case KeyType::ParamTable:
  case KeyType::SectionTable:
  case KeyType::Section:
    return node.isTable();
  }
  llvm_unreachable("all types are covered");
}

/// What the number should be, or empty where it is.
static StringRef outOfRange(double value, Range range) {
  switch (range) {
  case Range::Any:
    return "";
  case Range::Positive:
    return value > 0 ? "" : "positive";
  case Range::NotNegative:
    return value >= 0 ? "" : "zero or positive";
  case Range::UnitInterval:
    return value >= 0 && value < 1 ? "" : "at least 0 and below 1";
  case Range::Count:
    if (value <= 0)
      return "positive";
    return value <= std::numeric_limits<int32_t>::max() ? ""
                                                        : "at most 2147483647";
  case Range::Scale:
    return value >= 1 && value <= 64 ? "" : "from 1 to 64";
  }
  llvm_unreachable("all ranges are covered");
}

static void checkRange(const Node &node, const KeyInfo &key, StringRef name,
                       Diagnostics &diags) {
  if (node.isArray()) {
    for (const auto &item : node.items)
      checkRange(*item, key, name, diags);
    return;
  }
  if (!node.isNumber())
    return;
  std::string value;
  llvm::raw_string_ostream os(value);
  printToml(node, os);
  StringRef wanted = std::isfinite(node.number)
                         ? outOfRange(node.number, key.range)
                         : "finite";
  if (!wanted.empty())
    diags.error(node.loc,
                "'" + key.name + "' must be " + wanted + ", not " + value);
}

static void checkChoice(const Node &node, const KeyInfo &key,
                        Diagnostics &diags) {
  llvm::SmallVector<StringRef> choices;
  StringRef(key.choices).split(choices, '|');
  if (llvm::is_contained(choices, node.string))
    return;
  auto report = diags.error(node.loc, "'" + key.name + "' cannot be \"" +
                                          node.string + "\"");
  std::string number = StringRef(node.string).take_back(2).str();
  std::string dtype = number == "16" && StringRef(node.string).starts_with("b")
                          ? "bf16"
                          : "fp" + number;
  if (StringRef(key.name).ends_with("_dtype") &&
      llvm::is_contained(choices, StringRef(dtype)))
    report.note("did you mean \"" + dtype + "\"?");
  else if (auto near = nearest(node.string, choices))
    report.note("did you mean \"" + *near + "\"?");
  else
    report.note("it can be " + quotedList(choices));
}

static void validateEntries(const Node &table, const std::string &section,
                            StringRef name, Diagnostics &diags) {
  for (const Entry &entry : table.entries) {
    std::string child = (name + "." + entry.key).str();
    if (entry.value->isTable())
      validateTable(*entry.value, section, child, diags);
    else
      diags.error(entry.value->loc, "'" + entry.key + "' in [" + name +
                                        "] must be a table, not " +
                                        entry.value->kindName());
  }
}

static void validateParams(const Node &table, const std::string &section,
                           StringRef name, Diagnostics &diags) {
  for (const Entry &entry : table.entries) {
    const Node &value = *entry.value;
    if (isShape(value))
      continue;
    if (!value.isTable()) {
      diags.error(value.loc, "the shape of parameter '" + entry.key +
                                 "' must be " + describeType(KeyType::Shape) +
                                 ", not " + value.kindName());
      continue;
    }
    // `net.0.weight = [...]` without quotes is a table of tables for TOML.
    bool dotted = !value.entries.empty() && !value.get("shape") &&
                  llvm::all_of(value.entries, [](const Entry &e) {
                    return e.value->isTable() || e.value->isArray();
                  });
    if (dotted && !value.get("init"))
      diags.error(entry.keyLoc, "parameter '" + entry.key + "' has no shape")
          .note("a name with dots needs quotes: \"" + entry.key + "." +
                value.entries.front().key + "\"");
    else
      validateTable(value, section, (name + "." + entry.key).str(), diags);
  }
}

static void validateValue(const Entry &entry, const KeyInfo &key,
                          StringRef name, Diagnostics &diags) {
  const Node &value = *entry.value;
  if (key.type == KeyType::StringTable && value.isTable()) {
    for (const Entry &item : value.entries) {
      if (item.value->isString())
        continue;
      auto report =
          diags.error(item.value->loc, "'" + item.key + "' in '" + key.name +
                                           "' must be a string, not " +
                                           item.value->kindName());
      if (item.value->isTable())
        report.note("a name with dots needs quotes; for example: " +
                    key.example);
    }
    return;
  }
  if (!hasType(value, key.type)) {
    auto report = diags.error(value.loc, "'" + key.name + "' must be " +
                                             describeType(key.type) + ", not " +
                                             value.kindName());
    if (!key.example.empty())
      report.note("for example: " + key.example);
    return;
  }
  std::string nested = (key.section + "." + key.name).str();
  std::string child = (name + "." + key.name).str();
  switch (key.type) {
  case KeyType::Choice:
    return checkChoice(value, key, diags);
  case KeyType::Section:
    return validateTable(value, nested, child, diags);
  case KeyType::Tables:
    for (const auto &item : value.items)
      validateTable(*item, nested, child, diags);
    return;
  case KeyType::SectionTable:
    return validateEntries(value, nested + ".*", child, diags);
  case KeyType::ParamTable:
    return validateParams(value, nested + ".*", child, diags);
  default:
    return checkRange(value, key, name, diags);
  }
}

void ff::frontend::validateTable(const Node &table, StringRef section,
                                 StringRef name, Diagnostics &diags) {
  for (const Entry &entry : table.entries) {
    if (const KeyInfo *key = findKey(section, entry.key))
      validateValue(entry, *key, name, diags);
    else
      reportUnknown(entry, section, name, diags);
  }
  for (const KeyInfo &key : getKeys()) {
    if (key.section != section || !key.isRequired() || table.get(key.name))
      continue;
    auto report = diags.error(table.loc, "[" + name + "] lacks the key '" +
                                             key.name + "'");
    report.note("for example: " + key.example);
  }
}

static void validateSection(const Entry &entry, bool isSpec,
                            Diagnostics &diags) {
  const Node &value = *entry.value;
  if (!value.isTable()) {
    reportUnknown(entry, "", "", diags);
    return;
  }
  if (findSection((entry.key + ".*"))) {
    for (const Entry &named : value.entries)
      if (!named.value->isTable())
        diags
            .error(named.keyLoc, "[" + entry.key + "] holds tables, and '" +
                                     named.key + "' is " +
                                     named.value->kindName())
            .note("write [" + entry.key + ".NAME] with a name of your choice");
      else
        validateTable(*named.value, entry.key + ".*",
                      entry.key + "." + named.key, diags);
    return;
  }
  if (!isSpec) { // [pipeline] of an imported file
    for (const Entry &key : value.entries)
      if (key.key != "imports")
        diags.error(key.keyLoc, "an imported file cannot set '" + key.key + "'")
            .note("[pipeline] of an imported file holds 'imports' alone");
    return;
  }
  validateTable(value, entry.key, entry.key, diags);
}

void ff::frontend::validateRoot(const Node &root, bool isSpec,
                                Diagnostics &diags) {
  std::vector<StringRef> known = topLevelNames();
  for (const Entry &entry : root.entries) {
    if (!llvm::is_contained(known, entry.key)) {
      if (!entry.value->isTable()) {
        reportUnknown(entry, "", "", diags);
        continue;
      }
      auto report =
          diags.error(entry.keyLoc, "unknown section [" + entry.key + "]");
      if (auto near = nearest(entry.key, known))
        report.note("did you mean [" + *near + "]?");
      else
        report.note("the sections are " + quotedList(known));
      continue;
    }
    if (!isSpec && entry.key != "module" && entry.key != "pipeline") {
      diags
          .error(entry.keyLoc,
                 "an imported file cannot hold [" + entry.key + "]")
          .note("it holds modules, and 'imports' in [pipeline]");
      continue;
    }
    validateSection(entry, isSpec, diags);
  }
  if (!isSpec)
    return;
  for (const SectionInfo &section : getSections()) {
    StringRef name = section.name.split('.').first;
    const Node *table = root.get(name);
    if (!section.required ||
        (table &&
         (!StringRef(section.name).contains('.') || !table->entries.empty())))
      continue;
    diags.error(root.loc, "missing section " + readable(section.name))
        .note(section.doc);
  }
}
