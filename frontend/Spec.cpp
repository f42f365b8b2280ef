//===- Spec.cpp - A spec with its imports -----------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Spec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace ff;
using namespace ff::frontend;
using llvm::SmallString;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

std::string ff::getLibraryPath() {
  static int anchor = 0;
  std::string exe = fs::getMainExecutable(nullptr, &anchor);
  SmallString<256> installed(path::parent_path(exe));
  path::append(installed, "..", "share", "ff", "library");
  path::remove_dots(installed, /*remove_dot_dot=*/true);
  if (fs::is_directory(installed))
    return installed.str().str();
  return FF_SOURCE_LIBRARY_DIR;
}

/// What makes two paths the same file.
static std::string identityOf(StringRef file) {
  SmallString<256> real;
  return fs::real_path(file, real) ? file.str() : real.str().str();
}

//===----------------------------------------------------------------------===//
// Files and imports
//===----------------------------------------------------------------------===//

bool Spec::load(StringRef path, const ImportOptions &options) {
  libraryPaths = options.libraryPaths;
  if (libraryPaths.empty())
    libraryPaths.push_back(getLibraryPath());
  loadDefaults();
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/true);
  if (!buffer) {
    diags.error(SMLoc(),
                "cannot read '" + path + "': " + buffer.getError().message());
    return false;
  }
  files.reserve(64);
  std::string identity = identityOf(path);
  reading.push_back({identity, SMLoc()});
  loaded.push_back(identity);
  StringRef text = diags.addFile(std::move(*buffer));
  std::unique_ptr<Node> root = parseToml(text, diags);
  if (!root)
    return false;
  root->loc = SMLoc::getFromPointer(text.data());
  files.push_back({path.str(), std::move(root)});
  llvm::StringMap<std::string> seen;
  for (auto &[key, value] : options.overrides) {
    if (!seen.try_emplace(key, value).second && seen[key] != value)
      diags.error(SMLoc(), "'" + key + "' is set to both '" + seen[key] +
                               "' and '" + value + "' on the command line");
    else
      applyOverride(key, value);
  }
  validateFile(files.front(), /*isSpec=*/true);
  deriveDefaults();
  collectModules(files.front());
  if (const Node *imports = get("pipeline", "imports"))
    for (const auto &import : imports->items)
      if (import->isString() && !loadImport(*import, path))
        return false;
  return true;
}

/// Where the file that is imported lies, or nothing after an error.
std::optional<std::string> Spec::findImport(const Node &import,
                                            StringRef importer) {
  std::vector<std::string> folders{path::parent_path(importer).str()};
  folders.insert(folders.end(), libraryPaths.begin(), libraryPaths.end());
  for (const std::string &folder : folders) {
    SmallString<256> file(folder);
    path::append(file, import.string);
    if (!path::has_extension(file))
      file += ".toml";
    if (fs::exists(file) && !fs::is_directory(file))
      return file.str().str();
  }
  for (std::string &folder : folders)
    if (folder.empty())
      folder = ".";
  diags.error(import.loc, "cannot find '" + import.string + "' to import")
      .note("looked in " + quotedList(folders));
  return std::nullopt;
}

bool Spec::loadImport(const Node &import, StringRef importer) {
  std::optional<std::string> found = findImport(import, importer);
  if (!found)
    return false;
  StringRef name = import.string, file = *found;
  std::string identity = identityOf(file);
  auto cycle =
      llvm::find_if(reading, [&](auto &r) { return r.first == identity; });
  if (cycle != reading.end()) {
    auto report = diags.error(import.loc, "cyclic import of '" + name + "'");
    for (auto it = cycle; it != reading.end(); ++it)
      if (it->second.isValid())
        report.note(it->second, "which is imported here");
    return false;
  }
  if (llvm::is_contained(loaded, identity))
    return true;
  loaded.push_back(identity);
  reading.push_back({identity, import.loc});
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer) {
    diags.error(import.loc,
                "cannot read '" + file + "': " + buffer.getError().message());
    return false;
  }
  StringRef text = diags.addFile(std::move(*buffer));
  std::unique_ptr<Node> root = parseToml(text, diags);
  if (!root)
    return false;
  root->loc = SMLoc::getFromPointer(text.data());
  files.push_back({file.str(), std::move(root)});
  const Node &table = *files.back().root;
  std::string here = files.back().path;
  validateFile(files.back(), /*isSpec=*/false);
  collectModules(files.back());
  const Node *pipeline = table.get("pipeline");
  const Node *imports = pipeline ? pipeline->get("imports") : nullptr;
  bool ok = true;
  if (imports)
    for (const auto &next : imports->items)
      ok = ok && (!next->isString() || loadImport(*next, here));
  reading.pop_back();
  return ok;
}

void Spec::collectModules(const File &file) {
  const Node *table = file.root->get("module");
  if (!table || !table->isTable())
    return;
  for (const Entry &entry : table->entries) {
    if (!entry.value->isTable())
      continue;
    auto [it, added] = moduleIndex.try_emplace(entry.key, modules.size());
    if (!added) {
      diags.error(entry.keyLoc, "module '" + entry.key + "' is defined twice")
          .note(modules[it->second].loc, "the other definition is here");
      continue;
    }
    modules.push_back({entry.key, entry.keyLoc, entry.value.get()});
  }
}

void Spec::validateFile(const File &file, bool isSpec) {
  validateRoot(*file.root, isSpec, diags);
}

void Spec::applyOverride(StringRef key, StringRef value) {
  std::unique_ptr<Node> node = parseAssignment(key, value, diags);
  if (!node)
    return;
  Node *table = files.front().root.get();
  llvm::SmallVector<StringRef> parts;
  key.split(parts, '.');
  for (StringRef part : llvm::ArrayRef(parts).drop_back()) {
    Entry *entry = table->find(part);
    if (!entry) {
      auto created = std::make_unique<Node>();
      created->kind = Node::Kind::Table;
      created->loc = node->loc;
      table->entries.push_back({part.str(), node->loc, std::move(created)});
      entry = &table->entries.back();
    }
    if (!entry->value->isTable()) {
      diags.error(node->loc, "'" + key + "' is not a key of the spec: '" +
                                 part + "' is " + entry->value->kindName());
      return;
    }
    table = entry->value.get();
  }
  SMLoc loc = diags.startOfFile(node->loc);
  if (Entry *entry = table->find(parts.back())) {
    entry->value = std::move(node);
    entry->keyLoc = loc;
  } else {
    table->entries.push_back({parts.back().str(), loc, std::move(node)});
  }
}

std::string Spec::resolvePath(StringRef file) const {
  if (path::is_absolute(file))
    return file.str();
  SmallString<256> result(path::parent_path(path()));
  path::append(result, file);
  path::remove_dots(result, /*remove_dot_dot=*/true);
  return result.empty() ? "." : result.str().str();
}

const ModuleSource *Spec::findModule(StringRef name) const {
  auto it = moduleIndex.find(name);
  return it == moduleIndex.end() ? nullptr : &modules[it->second];
}

//===----------------------------------------------------------------------===//
// Values in force
//===----------------------------------------------------------------------===//

void Spec::loadDefaults() {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const KeyInfo &key : getKeys())
    if (key.hasDefault())
      os << "\"" << key.section << "." << key.name << "\" = " << key.fallback
         << "\n";
  StringRef buffer =
      diags.addFile(llvm::MemoryBuffer::getMemBufferCopy(text, "<default>"));
  defaults = parseToml(buffer, diags);
  for (const Entry &entry : defaults->entries)
    origins[entry.value.get()] = "default";
}

void Spec::derive(StringRef section, StringRef key, const Node *from,
                  StringRef origin) {
  std::string name = (section + "." + key).str();
  if (!from)
    return;
  auto copy = std::make_unique<Node>();
  copy->kind = from->kind;
  copy->loc = from->loc;
  copy->string = from->string;
  copy->integer = from->integer;
  copy->number = from->number;
  origins[copy.get()] = ("default: " + origin).str();
  if (Entry *entry = defaults->find(name)) {
    origins.erase(entry->value.get());
    entry->value = std::move(copy);
  } else {
    defaults->entries.push_back({name, copy->loc, std::move(copy)});
  }
}

void Spec::deriveDefaults() {
  const Node *compute = get("precision", "compute_dtype");
  if (compute && compute->string == "fp64")
    for (StringRef key : {"trainable_parameters_dtype", "reduce_dtype"})
      derive("precision", key, compute, "compute_dtype");
  derive("train", "micro_batch", get("train", "global_batch"), "global_batch");
  derive("sample", "micro_batch", get("train", "micro_batch"),
         "micro_batch of [train]");
  Node weights;
  weights.kind = Node::Kind::String;
  weights.loc = root().loc;
  weights.string = get("train", "ema_decay") ? "ema" : "model";
  derive("sample", "weights", &weights, "ema_decay of [train]");
  const Node *betas = get("optimizer", "betas");
  if (!betas || betas->items.size() != 2)
    return;
  derive("optimizer", "beta1", betas->items[0].get(), "betas");
  derive("optimizer", "beta2", betas->items[1].get(), "betas");
}

std::string Spec::originOf(const Node &node) const {
  auto it = origins.find(&node);
  return it == origins.end() ? diags.describe(node.loc) : it->second;
}

const Node *Spec::sectionNode(StringRef section) const {
  const Node *node = &root();
  while (node && !section.empty()) {
    auto [head, tail] = section.split('.');
    node = node->get(head);
    section = tail;
  }
  return node && node->isTable() ? node : nullptr;
}

const Node *Spec::get(const Node &table, StringRef section,
                      StringRef key) const {
  if (const Node *value = table.get(key))
    return value;
  return defaults->get((section + "." + key).str());
}

const Node *Spec::get(StringRef section, StringRef key) const {
  if (const Node *table = sectionNode(section))
    return get(*table, section, key);
  return defaults->get((section + "." + key).str());
}

SMLoc Spec::locOf(StringRef section, StringRef key) const {
  const Node *table = sectionNode(section);
  if (!table) // a sub-section or the file
    return section.contains('.') ? locOf(section.rsplit('.').first)
                                 : root().loc;
  if (const Entry *entry = table->find(key))
    return entry->keyLoc;
  return table->loc;
}
