//===- Modules.h - Modules, and what they are for a config ------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_MODULES_H
#define FF_FRONTEND_MODULES_H

#include "dialect/FF.h"
#include "frontend/Ast.h"
#include "frontend/Spec.h"
#include "frontend/Value.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace ff::frontend {

/// A [module.NAME], parsed once.
struct ModuleDecl {
  struct ConfigDecl {
    std::string name;
    SMLoc loc;
    const Node *fallback = nullptr;
    ExprPtr from; ///< what it is computed from where it is not given
    const Node *oneOf = nullptr; ///< the values that the module knows, or null
  };

  std::string name;
  SMLoc loc;
  SMLoc forwardLoc;
  const Node *table = nullptr;
  std::vector<ConfigDecl> config;
  std::vector<InputDecl> inputs;
  std::vector<Stmt> body;
  bool unit = false;
  bool broken = false; ///< it has errors, which were reported

  const ConfigDecl *findConfig(StringRef name) const;
  /// A key of [module.NAME.published]; null where it is absent.
  const Node *published(StringRef key) const;
  /// Whether it reads members of an object of config files, as OBJECT.MEMBER.
  bool readsMembersOf(StringRef object) const;
};

struct ConfigValue {
  Val value;
  SMLoc loc;
  bool isPublished = false; ///< it stands in a config file
  bool used = false;
};

struct Param {
  std::string name;
  SMLoc loc;
  llvm::SmallVector<int64_t, 4> shape;
  llvm::SmallVector<StringRef, 4> dims;
  InitAttr init;
  bool decay = true;
  /// Another name of this parameter of the same module.
  std::string tie;
  SMLoc tieLoc;
  /// Part of the model that no policy changes: a table, an index, what a
  /// checkpoint holds and nothing uses.
  bool buffer = false;
  std::string dtype; ///< of a buffer where no file says it; empty: fp32
  bool used = false;
};

struct Submodule {
  std::string name;
  SMLoc loc;
  /// Of each element; of one that is no list, and of an empty list, one.
  llvm::SmallVector<ModuleType *, 1> types;
  bool isList = false;
  int64_t count = 1;
  bool used = false;
};

/// A module with a config: everything but its place is known.
struct ModuleType {
  const ModuleDecl *decl = nullptr;
  unsigned number = 0;
  llvm::MapVector<StringRef, ConfigValue> config;
  std::vector<Param> params;
  std::vector<Submodule> modules;
  /// Of parameters and submodules, at all depths.
  uint64_t size = 0;
  bool called = false;
  bool broken = false;

  Param *findParam(StringRef name);
  Submodule *findModule(StringRef name);
};

using ConfigArgs = llvm::MapVector<StringRef, ConfigValue>;

class ModuleTable {
public:
  ModuleTable(mlir::MLIRContext *context, const Spec &spec, Diagnostics &diags)
      : context(context), spec(spec), diags(diags) {}

  /// Null after an error, which is reported at `loc`.
  const ModuleDecl *getDecl(StringRef name, SMLoc loc);
  /// The module with these config values; `loc` is where they are given. Null
  /// after an error.
  ModuleType *getType(const ModuleDecl &decl, ConfigArgs args, SMLoc loc);

  /// Reports parameters, submodules and config values that nothing uses.
  void checkUses();

private:
  bool parseDecl(ModuleDecl &decl);
  bool parseConfigDecl(ModuleDecl &decl);
  bool completeConfig(const ModuleDecl &decl, ConfigArgs &args, SMLoc loc);
  bool checkOneOf(const ModuleDecl &decl, const ModuleDecl::ConfigDecl &config,
                  const Val &value, SMLoc loc);
  bool checkPublished(const ModuleDecl &decl,
                      const ModuleDecl::ConfigDecl &config,
                      const ConfigValue &given, const ConfigArgs &args);
  bool checkField(const ModuleDecl &decl, StringRef name, ConfigValue &value);
  /// The value of a config value that is not given; nothing after an error.
  std::optional<Val> computeConfig(const ModuleDecl &decl,
                                   const ModuleDecl::ConfigDecl &config,
                                   const ConfigArgs &args, ConfigArgs &complete,
                                   SMLoc loc);
  bool addParams(ModuleType &type);
  bool addParam(ModuleType &type, const Entry &entry);
  bool addModules(ModuleType &type);
  bool addModule(ModuleType &type, const Entry &entry);
  /// Whether the condition of the table holds; nothing after an error.
  std::optional<bool> holds(ModuleType &type, const Node &table,
                            StringRef key = "when");
  /// `index`: of the element of a list that the value is for.
  Val evaluate(ModuleType &type, const Node &node,
               std::optional<int64_t> index = std::nullopt);
  /// The type of one element of a submodule. Null after an error.
  ModuleType *elementType(ModuleType &type, const Node &sub,
                          const ModuleDecl &decl, std::optional<int64_t> index);

  mlir::MLIRContext *context;
  const Spec &spec;
  Diagnostics &diags;
  llvm::StringMap<std::unique_ptr<ModuleDecl>> decls;
  llvm::StringMap<ModuleType *> types;
  std::vector<std::unique_ptr<ModuleType>> owned;
  /// Expressions in params and modules, parsed once for each module.
  llvm::DenseMap<const Node *, ExprPtr> expressions;
  std::vector<std::pair<const ModuleDecl *, SMLoc>> elaborating;
};

/// A config value as given in TOML: no expressions. Error after an error.
Val valueOf(const Node &node, Diagnostics &diags);

/// Parses an `init`; `node` may be null. Null after an error. Initializer.cpp.
InitAttr getInitializer(mlir::MLIRContext *context, const Node *node,
                        StringRef name, llvm::ArrayRef<int64_t> shape,
                        Diagnostics &diags);

} // namespace ff::frontend

#endif // FF_FRONTEND_MODULES_H
