//===- Config.cpp - The config of a component -------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"
#include "frontend/JsonReader.h"
#include "frontend/Safetensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

static Val valueOfJson(const llvm::json::Value &json) {
  if (auto value = json.getAsBoolean())
    return Val::of(*value);
  if (auto value = json.getAsInteger())
    return Val::of(*value);
  if (auto value = json.getAsNumber())
    return Val::of(*value);
  if (auto value = json.getAsString())
    return Val::ofString(*value);
  const llvm::json::Array *array = json.getAsArray();
  if (!array) // an error where a module wants it
    return Val::none();
  Val list = Val::of(Val::Kind::List);
  for (const llvm::json::Value &item : *array)
    list.items.push_back(valueOfJson(item));
  return list;
}

/// Whether the file is one of the module, as far as it says what it is of.
static bool isOfClass(const llvm::json::Object &object, const ModuleDecl &decl,
                      SMLoc loc, Diagnostics &diags) {
  const Node *wanted = decl.published("class");
  if (!wanted || !wanted->isArray())
    return true;
  std::vector<std::string> found, known;
  if (auto name = object.getString("_class_name"))
    found.push_back(name->str());
  if (const llvm::json::Array *names = object.getArray("architectures"))
    for (const llvm::json::Value &name : *names)
      if (auto text = name.getAsString())
        found.push_back(text->str());
  for (const auto &name : wanted->items)
    known.push_back(name->string);
  if (found.empty() || llvm::any_of(found, [&](const std::string &name) {
        return llvm::is_contained(known, name);
      }))
    return true;
  diags
      .error(loc, "the config file is of class " + quotedList(found) +
                      ", and module '" + decl.name + "' is " +
                      quotedList(known))
      .note(wanted->loc, "it is declared here");
  return false;
}

bool Importer::readJsonConfig(const Node &path, const ModuleDecl &decl,
                              ConfigArgs &args, ComponentInfo &info) {
  std::string file = spec.resolvePath(path.string);
  // A device or a pipe may never end.
  std::string wrong = whyNotRegular(file);
  if (!wrong.empty()) {
    diags.error(path.loc, "cannot read '" + file + "': " + wrong);
    return false;
  }
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer) {
    diags.error(path.loc,
                "cannot read '" + file + "': " + buffer.getError().message());
    return false;
  }
  StringRef text = diags.addFile(std::move(*buffer));
  if (isNestedTooDeeply(text)) {
    diags.error(path.loc, "'" + file + "' is nested too deeply");
    return false;
  }
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json) {
    diags.error(path.loc,
                "'" + file + "': " + llvm::toString(json.takeError()));
    return false;
  }
  const llvm::json::Object *object = json->getAsObject();
  if (!object) {
    diags.error(path.loc, "'" + file + "' is not a JSON object");
    return false;
  }
  if (!isOfClass(*object, decl, path.loc, diags))
    return false;
  // llvm::json keeps no places: find the key in the text.
  auto add = [&](StringRef name, StringRef key, const llvm::json::Value &value,
                 size_t from) {
    size_t at = text.find(("\"" + key + "\"").str(), from);
    SMLoc loc =
        SMLoc::getFromPointer(text.data() + (at == StringRef::npos ? 0 : at));
    if (!value.getAsNull())
      args[name] = {valueOfJson(value), loc, /*isPublished=*/true};
  };
  for (const auto &[key, value] : *object) {
    StringRef name = elaborator->save(StringRef(key));
    bool isClass = name == "architectures" && decl.published("class");
    if (name.starts_with("_") || isClass || value.getAsNull())
      continue;
    const llvm::json::Object *members = value.getAsObject();
    if (!members || !decl.readsMembersOf(name)) {
      add(name, name, value, 0);
      continue;
    }
    size_t at = text.find(("\"" + name + "\"").str());
    for (const auto &[member, value] : *members)
      add(elaborator->save((name + "." + StringRef(member)).str()), member,
          value, at);
  }
  info.configText = text.rtrim().str();
  info.isOfTransformers = object->getArray("architectures") != nullptr;
  return true;
}

static llvm::json::Value toJson(const Node &node) {
  if (node.isString())
    return node.string;
  if (node.isBoolean())
    return node.boolean;
  if (node.isInteger())
    return node.integer;
  if (node.isNumber())
    return node.number;
  llvm::json::Array items;
  for (const auto &item : node.items)
    items.push_back(toJson(*item));
  if (!node.isTable())
    return items;
  llvm::json::Object object;
  for (const Entry &entry : node.entries)
    object[entry.key] = toJson(*entry.value);
  return object;
}

/// Where the value of a key of the outermost object of valid JSON stands, or
/// nothing.
static std::optional<std::pair<size_t, size_t>> placeOfValue(StringRef text,
                                                             StringRef key) {
  std::optional<std::pair<size_t, size_t>> place;
  JsonReader reader(text, "config");
  reader.object([&](StringRef name, size_t) {
    reader.peek(); // what is in front of the value
    size_t begin = reader.offset();
    bool ok = reader.skip();
    if (name == key)
      place = {begin, reader.offset()};
    return ok;
  });
  return place;
}

/// The config that is saved: the file's text, with what the spec says in the
/// place of it or at its end.
static std::string withOverrides(std::string text, const Node &config) {
  for (const Entry &entry : config.entries) {
    if (entry.key == "from")
      continue;
    std::string value = llvm::formatv("{0}", toJson(*entry.value)).str();
    if (auto place = placeOfValue(text, entry.key)) {
      text.replace(place->first, place->second - place->first, value);
      continue;
    }
    size_t end = StringRef(text).rtrim().size() - 1; // the last brace
    size_t last = StringRef(text).take_front(end).rtrim().size();
    bool isEmpty = text[last - 1] == '{';
    text.replace(
        last, end - last,
        (isEmpty ? "\n  " : ",\n  ") +
            llvm::formatv("{0}: {1}", llvm::json::Value(entry.key), value)
                .str() +
            "\n");
  }
  return text;
}

bool Importer::readConfig(const Node &config, const ModuleDecl &decl,
                          ConfigArgs &args, ComponentInfo &info) {
  if (config.isString())
    return readJsonConfig(config, decl, args, info);
  // `from` is a word of the language, and so the name of no config value.
  if (const Node *from = config.get("from")) {
    if (!from->isString()) {
      diags.error(from->loc, "'from' of a config must be the path of a JSON "
                             "file, not " +
                                 from->kindName());
      return false;
    }
    if (!readJsonConfig(*from, decl, args, info))
      return false;
    if (config.entries.size() > 1)
      info.configText = withOverrides(info.configText, config);
  }
  for (const Entry &entry : config.entries)
    if (entry.key != "from")
      args[entry.key] = {valueOf(*entry.value, diags), entry.keyLoc};
  return true;
}

Attribute ff::frontend::configAttr(Builder &b, const Val &value) {
  switch (value.kind) {
  case Val::Kind::Integer:
    return b.getI64IntegerAttr(value.integer);
  case Val::Kind::Float:
    return b.getF64FloatAttr(value.number);
  case Val::Kind::Boolean:
    return b.getBoolAttr(value.integer != 0);
  case Val::Kind::String:
    return b.getStringAttr(value.text);
  default: {
    SmallVector<Attribute> items;
    for (const Val &item : value.items)
      items.push_back(configAttr(b, item));
    return b.getArrayAttr(items);
  }
  }
}
