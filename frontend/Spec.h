//===- Spec.h - A spec with its imports, validated --------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_SPEC_H
#define FF_FRONTEND_SPEC_H

#include "frontend/Frontend.h"
#include "frontend/KeyTable.h"
#include "frontend/Toml.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace ff::frontend {

/// A [module.NAME], from the spec or from what it imports.
struct ModuleSource {
  std::string name;
  SMLoc loc;
  const Node *table;
};

/// The files of a spec. Every key is known and has the right type.
class Spec {
public:
  explicit Spec(Diagnostics &diags) : diags(diags) {}

  /// Reads the spec and all imports, applies the overrides and validates.
  /// False where the spec cannot be used; errors in single keys are only
  /// reported, so that others are found in the same run.
  bool load(StringRef path, const ImportOptions &options);

  bool has(StringRef section) const { return sectionNode(section); }
  /// The table of a section, or null. "sample.image" is one, too.
  const Node *sectionNode(StringRef section) const;
  /// The value in force: from the spec, else the default; null if neither.
  const Node *get(StringRef section, StringRef key) const;
  /// The same for one table of a section such as "bundle.*".
  const Node *get(const Node &table, StringRef section, StringRef key) const;
  bool isDefault(const Node &node) const { return origins.count(&node); }
  /// Where a value comes from, for print-resolved.
  std::string originOf(const Node &node) const;

  /// Where to report about a key: the key, else its section, else the file.
  SMLoc locOf(StringRef section, StringRef key = "") const;

  const Node &root() const { return *files.front().root; }
  StringRef path() const { return files.front().path; }
  /// A path of the spec, relative to the current folder.
  std::string resolvePath(StringRef path) const;

  const ModuleSource *findModule(StringRef name) const;
  /// In the order of the files.
  const std::vector<ModuleSource> &getModules() const { return modules; }

private:
  struct File {
    std::string path;
    std::unique_ptr<Node> root;
  };

  bool loadFile(StringRef path, StringRef identity);
  std::optional<std::string> findImport(const Node &import, StringRef importer);
  bool loadImport(const Node &import, StringRef importer);
  void applyOverride(StringRef key, StringRef value);
  void loadDefaults();
  /// Adds the defaults that follow other keys.
  void deriveDefaults();
  void derive(StringRef section, StringRef key, const Node *from,
              StringRef origin);
  void collectModules(const File &file);
  void validateFile(const File &file, bool isSpec);

  Diagnostics &diags;
  std::vector<std::string> libraryPaths;
  std::vector<File> files; ///< the spec first
  /// Files being read, to find cycles: identity and the import that led there.
  std::vector<std::pair<std::string, SMLoc>> reading;
  std::vector<std::string> loaded;
  std::vector<ModuleSource> modules;
  llvm::StringMap<size_t> moduleIndex;
  std::unique_ptr<Node> defaults; ///< keys are "section.key"
  /// What each default is: "default", or the key that it follows.
  llvm::DenseMap<const Node *, std::string> origins;
};

/// Reports each unknown, misplaced, renamed or mistyped key of `table`, which
/// is called `name` and follows `section` of the key table. Validate.cpp.
void validateTable(const Node &table, StringRef section, StringRef name,
                   Diagnostics &diags);
void validateRoot(const Node &root, bool isSpec, Diagnostics &diags);

} // namespace ff::frontend

#endif // FF_FRONTEND_SPEC_H
