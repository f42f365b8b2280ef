//===- Bundle.cpp - The components of the bundle ----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

//===----------------------------------------------------------------------===//
// Config
//===----------------------------------------------------------------------===//

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
  if (!array)
    return Val::error();
  Val list = Val::of(Val::Kind::List);
  for (const llvm::json::Value &item : *array)
    list.items.push_back(valueOfJson(item));
  return list;
}

bool Importer::readJsonConfig(const Node &path, ConfigArgs &args) {
  std::string file = spec.resolvePath(path.string);
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
  for (const auto &[key, value] : *object) {
    StringRef name = elaborator->save(StringRef(key));
    if (name.starts_with("_") || value.getAsNull())
      continue;
    // llvm::json keeps no places: find the key in the text.
    size_t at = text.find(("\"" + name + "\"").str());
    SMLoc loc =
        SMLoc::getFromPointer(text.data() + (at == StringRef::npos ? 0 : at));
    args[name] = {valueOfJson(value), loc};
    if (!args[name].value.isError())
      continue;
    diags.error(loc, "a config value cannot be an object");
    return false;
  }
  return true;
}

bool Importer::readConfig(const Node &config, ConfigArgs &args, SMLoc loc) {
  if (config.isString())
    return readJsonConfig(config, args);
  for (const Entry &entry : config.entries)
    args[entry.key] = {valueOf(*entry.value, diags), entry.keyLoc};
  return true;
}

static Attribute configAttr(Builder &b, const Val &value) {
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

//===----------------------------------------------------------------------===//
// Components
//===----------------------------------------------------------------------===//

void Importer::addComponents() {
  builder.setInsertionPointToEnd(module->getBody());
  const Node *bundle = spec.sectionNode("bundle");
  if (!bundle)
    return;
  for (const Entry &entry : bundle->entries)
    if (entry.value->isTable())
      addComponent(entry);
}

void Importer::addComponent(const Entry &entry) {
  const Node &table = *entry.value;
  auto get = [&](StringRef key) { return spec.get(table, "bundle.*", key); };
  // Uses of a broken component stay silent.
  elaborator->components[entry.key] = Val::error();
  const Node *name = get("module"), *train = get("train");
  if (!name || !name->isString())
    return;
  if (train->string == "lora")
    diags.error(train->loc, "train = \"lora\" is not supported yet")
        .note("this version trains \"full\" or \"frozen\" components");
  std::string weights;
  if (const Node *node = get("weights"); node && node->isString()) {
    weights = spec.resolvePath(node->string);
    if (!llvm::sys::fs::exists(weights))
      diags.error(node->loc, "there are no weights at '" + weights + "'");
  } else if (train->string == "frozen") {
    diags
        .warning(entry.keyLoc,
                 "component '" + entry.key + "' is frozen and has no weights")
        .note("it keeps the values of its initialisers");
  }
  ConfigArgs args;
  const ModuleDecl *decl = modules.getDecl(name->string, name->loc);
  if (!decl || !readConfig(*get("config"), args, table.loc))
    return;
  ModuleType *type = modules.getType(*decl, std::move(args), name->loc);
  if (!type)
    return;

  SmallVector<NamedAttribute> config;
  for (auto &[key, value] : type->config)
    config.push_back(
        builder.getNamedAttr(key, configAttr(builder, value.value)));
  const Node *reshard = spec.get("sharding", "reshard_after_forward");
  auto component = builder.create<ComponentOp>(
      diags.location(context, entry.keyLoc), entry.key, decl->name,
      train->string == "frozen" ? TrainMode::Frozen : TrainMode::Full,
      reshard->boolean,
      weights.empty() ? StringAttr() : builder.getStringAttr(weights),
      builder.getDictionaryAttr(config));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&component.getBody());
  std::vector<ParamPath> params;
  collectParams(*type, "", "", params);
  for (const ParamPath &path : params)
    builder.create<ParameterOp>(
        diags.location(context, path.param->loc),
        builder.getStringAttr(path.name),
        TypeAttr::get(RankedTensorType::get(path.param->shape, elementType)),
        path.param->init,
        path.block.empty() ? StringAttr() : builder.getStringAttr(path.block),
        builder.getBoolAttr(path.param->decay));
  Val value = Val::of(Val::Kind::Module);
  value.instance = {type, "", builder.getStringAttr(entry.key)};
  elaborator->components[entry.key] = value;
}

void Importer::checkComponents(const std::set<std::string> &inTraining) {
  const Node *bundle = spec.sectionNode("bundle");
  bool anyTrainable = false;
  for (const Entry &entry : bundle->entries) {
    auto component = module->lookupSymbol<ComponentOp>(entry.key);
    if (!component)
      return;
    bool full = component.getTrain() == TrainMode::Full;
    anyTrainable |= full && !component.getBody().front().empty();
    if (full && !inTraining.count(entry.key))
      diags
          .error(entry.keyLoc,
                 "component '" + entry.key + "' is trained, but the program '" +
                     stringOf("train", "program") + "' does not use it")
          .note("call it there, or set train = \"frozen\"");
    else if (!elaborator->usedComponents.count(entry.key))
      diags.warning(entry.keyLoc,
                    "component '" + entry.key + "' is not used by any program");
  }
  if (!anyTrainable)
    diags.error(bundle->loc, "nothing is trained: no component of the bundle "
                             "has train = \"full\" and parameters");
}
