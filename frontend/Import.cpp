//===- Import.cpp - From a TOML spec to a module of ff ----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;
using Diagnostics = ff::frontend::Diagnostics;

Importer::Importer(MLIRContext *context, const Spec &spec, Diagnostics &diags)
    : context(context), spec(spec), diags(diags), modules(context, spec, diags),
      builder(context) {}

std::string Importer::stringOf(StringRef section, StringRef key) const {
  const Node *node = spec.get(section, key);
  return node && node->isString() ? node->string : "";
}

std::optional<int64_t> Importer::integerOf(StringRef section,
                                           StringRef key) const {
  const Node *node = spec.get(section, key);
  if (!node || !node->isInteger())
    return std::nullopt;
  return node->integer;
}

/// Programs compute in fp32, or in fp64 where [precision] says so; components
/// in dtypes of their own.
void Importer::resolveDtype() {
  elementType = stringOf("precision", "compute_dtype") == "fp64"
                    ? Type(builder.getF64Type())
                    : Type(builder.getF32Type());
}

std::optional<int64_t> ff::frontend::parseBytes(StringRef text) {
  static constexpr std::pair<StringLiteral, double> units[] = {
      {"KiB", 1024.0},
      {"MiB", 1048576.0},
      {"GiB", 1073741824.0},
      {"TiB", 1099511627776.0},
      {"KB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
      {"B", 1.0}};
  text = text.trim();
  double factor = 1;
  for (auto &[unit, bytes] : units)
    if (text.consume_back(unit)) {
      factor = bytes;
      break;
    }
  double number = 0;
  if (text.trim().getAsDouble(number) || !(number >= 0) ||
      number * factor > 9e18)
    return std::nullopt;
  return static_cast<int64_t>(number * factor);
}

int64_t Importer::bytesOf(StringRef section, StringRef key) const {
  const Node *node = spec.get(section, key);
  if (!node)
    return 0;
  if (node->isInteger())
    return node->integer;
  return parseBytes(node->string).value_or(0);
}

/// global_batch = micro_batch × a whole number (V11).
bool Importer::resolveBatches() {
  globalBatch = integerOf("train", "global_batch").value_or(0);
  microBatch = integerOf("train", "micro_batch").value_or(0);
  sampleBatch = integerOf("sample", "micro_batch").value_or(0);
  for (int64_t batch : {globalBatch, microBatch, sampleBatch})
    if (batch < 1 || batch > std::numeric_limits<int32_t>::max())
      return false; // reported by the validation
  if (globalBatch % microBatch == 0)
    return true;
  // Divisors come in pairs.
  int64_t below = 1, above = std::numeric_limits<int64_t>::max();
  for (int64_t i = 1; i * i <= globalBatch; ++i)
    for (int64_t divisor : {i, globalBatch / i}) {
      if (globalBatch % i != 0)
        continue;
      if (divisor < microBatch)
        below = std::max(below, divisor);
      else
        above = std::min(above, divisor);
    }
  diags
      .error(spec.get("train", "micro_batch")->loc,
             "micro_batch = " + Twine(microBatch) +
                 " does not divide global_batch = " + Twine(globalBatch))
      .note(spec.locOf("train", "global_batch"),
            "global_batch = micro_batch × number of micro-batches")
      .note("the nearest values that do are " + Twine(below) +
            (above <= globalBatch ? " and " + Twine(above) : Twine("")));
  return false;
}

OwningOpRef<ModuleOp> Importer::run() {
  resolveDtype();
  bool ok = resolveBatches();
  module = ModuleOp::create(diags.location(context, spec.root().loc));
  elaborator = std::make_unique<Elaborator>(*module, diags, elementType);
  parsePrograms();
  addComponents();
  readData();
  // The train program first: it binds the named dims of the others.
  Program *train = requireProgram("train", "to train by");
  std::set<std::string> inTraining;
  if (ok && train) {
    elaborator->dropsOut = true;
    // Of an error one bucket is enough.
    unsigned errors = diags.getNumErrors();
    for (size_t i = 0, e = std::max<size_t>(data.buckets.size(), 1);
         i < e && diags.getNumErrors() == errors; ++i) {
      buildProgram(*train, i);
      checkLoss(*train);
    }
    bucket = 0;
    elaborator->dropsOut = false;
    inTraining = elaborator->usedComponents;
    for (auto &program : programs)
      if (program.get() != train)
        buildProgram(*program);
    if (train->built &&
        llvm::all_of(programs, [](auto &p) { return p->built; })) {
      checkComponents(inTraining);
      modules.checkUses();
    }
  }
  DictionaryAttr policies = buildPolicies();
  if (diags.getNumErrors())
    return nullptr;
  (*module)->setAttr(kSpecAttr, policies);
  NamedAttrList places;
  if (const Node *mesh = spec.sectionNode("mesh"))
    for (const Entry &entry : mesh->entries)
      places.set(entry.key,
                 LocationAttr(diags.location(context, entry.keyLoc)));
  if (!places.empty())
    (*module)->setAttr(kPlacesAttr, places.getDictionary(context));
  return std::move(module);
}

OwningOpRef<ModuleOp> ff::importSpec(MLIRContext &context, StringRef path,
                                     const ImportOptions &options,
                                     raw_ostream &os) {
  context.loadDialect<FFDialect, func::FuncDialect, arith::ArithDialect,
                      math::MathDialect>();
  Diagnostics diags(os);
  Spec spec(diags);
  if (!spec.load(path, options))
    return nullptr;
  OwningOpRef<ModuleOp> module = Importer(&context, spec, diags).run();
  if (!module)
    return nullptr;
  // What the frontend emits is valid; an error here is one of the compiler.
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    os << diagnostic.getLocation() << ": internal error: " << diagnostic
       << "\n";
    return success();
  });
  if (failed(verify(*module)))
    return nullptr;
  return module;
}
