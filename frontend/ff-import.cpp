//===- ff-import.cpp - Prints the imported module of a spec -----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::desc("spec.toml"));
static cl::opt<bool> resolved("print-resolved",
                              cl::desc("Print every value in force"));
static cl::opt<bool> schema("print-schema", cl::desc("Print the JSON Schema"));
static cl::opt<bool> reference("print-reference",
                               cl::desc("Print the language reference"));
static cl::opt<bool> locations("locations", cl::desc("Print locations"));
static cl::opt<bool> quiet("check", cl::desc("Print errors alone"));
static cl::list<std::string> library("library",
                                     cl::desc("Folders for imports"));
static cl::list<std::string> overrides("set", cl::desc("KEY=VALUE"));

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "ff-import\n");
  ff::ImportOptions options;
  options.libraryPaths.assign(library.begin(), library.end());
  for (llvm::StringRef text : overrides) {
    auto [key, value] = text.split('=');
    options.overrides.push_back({key.str(), value.str()});
  }
  if (schema)
    ff::printSchema(llvm::outs());
  if (reference)
    ff::printLanguageReference(llvm::outs());
  if (resolved)
    return !ff::printResolved(input, options, llvm::outs(), llvm::errs());
  if (schema || reference)
    return 0;
  mlir::MLIRContext context;
  auto module = ff::importSpec(context, input, options, llvm::errs());
  if (!module)
    return 1;
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo();
  if (!quiet)
    module->print(llvm::outs(), flags);
  return 0;
}
