//===- Frontend.h - From a TOML spec to a module of ff ----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of the frontend.
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_FRONTEND_H
#define FF_FRONTEND_FRONTEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <utility>
#include <vector>

namespace ff {

/// On the module: where the keys of [mesh] stand, for errors that a later stage
/// finds. A dictionary of locations.
inline constexpr llvm::StringLiteral kPlacesAttr = "ff.places";

struct ImportOptions {
  /// Folders in which imports are looked for after the folder of the spec.
  /// Empty: the library that ships with ff.
  std::vector<std::string> libraryPaths;
  /// Values that replace those of the spec: ("train.steps", "10").
  std::vector<std::pair<std::string, std::string>> overrides;
};

/// Reads the spec at `path` and imports it. Diagnostics go to `os`, in clang's
/// format. Null after an error.
mlir::OwningOpRef<mlir::ModuleOp> importSpec(mlir::MLIRContext &context,
                                             llvm::StringRef path,
                                             const ImportOptions &options,
                                             llvm::raw_ostream &os);

/// Prints every value in force and where it comes from: the place in a file,
/// the command line, or the default. False after an error, which goes to `os`.
bool printResolved(llvm::StringRef path, const ImportOptions &options,
                   llvm::raw_ostream &out, llvm::raw_ostream &os);

/// Prints a JSON Schema of the language, for editors.
void printSchema(llvm::raw_ostream &out);

/// Prints the reference of all keys and builtin operations, in Markdown.
void printLanguageReference(llvm::raw_ostream &out);

/// The folder of the library that ships with ff.
std::string getLibraryPath();

} // namespace ff

#endif // FF_FRONTEND_FRONTEND_H
