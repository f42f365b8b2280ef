//===- SpecTarget.cpp - Specs that are broken -------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"
#include "test/fuzz/Fuzz.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

using namespace ff::fuzz;
using llvm::StringRef;

static constexpr StringRef words[] = {"[module.Net]",
                                      "[program.train]",
                                      "[bundle.net]",
                                      "module",
                                      "config",
                                      "weights",
                                      "train",
                                      "params",
                                      "modules",
                                      "count",
                                      "when",
                                      "unit",
                                      "init",
                                      "shape",
                                      "inputs",
                                      "forward",
                                      "= {}",
                                      "= []",
                                      "= \"\"",
                                      "= 0",
                                      "\"net\"",
                                      "\"frozen\"",
                                      "\"lora\"",
                                      "\"bf16\"",
                                      "\"*\"",
                                      "return",
                                      "if",
                                      "for",
                                      "in",
                                      "range(",
                                      "param(",
                                      "reshape(",
                                      "randn(",
                                      "mean(",
                                      "None",
                                      "-1",
                                      "**",
                                      "//",
                                      "%",
                                      "@",
                                      "[:]",
                                      "[..., None]",
                                      "x",
                                      "x[0]",
                                      "(x)",
                                      "x.shape",
                                      "lambda",
                                      "while",
                                      "and",
                                      "not",
                                      "else",
                                      "'''",
                                      "\"\"\"",
                                      "# ",
                                      "\\u00e9",
                                      "\xc3\xa9"};

namespace {
class SpecTarget : public Target {
public:
  explicit SpecTarget(StringRef folder)
      : specs(readFolder(folder, ".toml")),
        others(readFolder(folder, ".json")) {
    for (auto &file : readFolder(folder, ".safetensors"))
      others.push_back(file);
  }
  size_t seeds() const override { return specs.size(); }

  Files make(uint64_t seed, uint64_t index) const override {
    Files files = others;
    if (index < specs.size()) {
      files.push_back({"spec.toml", specs[index].second});
      return files;
    }
    Random random(seed * 0x51ED2701 + index);
    std::string text = random.pick(specs).second;
    mutate(text, random, words);
    files.push_back({"spec.toml", text});
    return files;
  }

  Verdict run(StringRef folder, const Files &files,
              std::string &fault) override {
    // A context keeps every attribute that it has seen.
    if (runs++ % 64 == 0)
      context = std::make_unique<mlir::MLIRContext>(
          mlir::MLIRContext::Threading::DISABLED);
    std::string text;
    llvm::raw_string_ostream os(text);
    auto module =
        ff::importSpec(*context, (folder + "/spec.toml").str(), {}, os);
    if (module) {
      if (mlir::failed(mlir::verify(*module)))
        fault = "it was imported, but the module is invalid";
      if (StringRef(text).contains(": error: "))
        fault = "it was imported with errors: " + text;
      return Verdict::Valid;
    }
    if (!hasPlacedError(text) || StringRef(text).contains("internal error"))
      fault = "it was refused without an error at a place: " + text;
    return Verdict::Refused;
  }

private:
  Files specs, others;
  std::unique_ptr<mlir::MLIRContext> context;
  size_t runs = 0;
};
} // namespace

std::unique_ptr<Target> ff::fuzz::makeSpecTarget(StringRef seeds) {
  return std::make_unique<SpecTarget>(seeds);
}
