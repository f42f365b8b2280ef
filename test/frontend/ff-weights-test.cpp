//===- ff-weights-test.cpp - Matches weight files with names ----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what a component expects from TOML, and prints what its weight files
// supply:
//
//   weights = "model.safetensors"        # relative to the current folder
//   on_missing = { "head.*" = "init" }
//   on_unexpected = { "ema.*" = "ignore" }
//   [params]
//   "a.weight" = { shape = [2, 3], aliases = ["b"], optional = true }
//
//===----------------------------------------------------------------------===//

#include "frontend/Weights.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

namespace cl = llvm::cl;
using namespace ff::frontend;

static cl::opt<std::string> input(cl::Positional, cl::Required,
                                  cl::desc("expected.toml"));
static cl::opt<std::string> weights("weights", cl::desc("Instead of its own"));
static cl::opt<bool> quiet("quiet", cl::desc("Print diagnostics alone"));
static cl::opt<bool> timing("time", cl::desc("Print milliseconds"));

static ExpectedTensor expectedOf(const Entry &entry) {
  ExpectedTensor tensor;
  tensor.name = entry.key;
  tensor.loc = entry.keyLoc;
  if (const Node *shape = entry.value->get("shape"))
    for (const auto &dim : shape->items)
      tensor.shape.push_back(dim->integer);
  if (const Node *aliases = entry.value->get("aliases"))
    for (const auto &alias : aliases->items)
      tensor.aliases.push_back(alias->string);
  const Node *optional = entry.value->get("optional");
  tensor.optional = optional && optional->boolean;
  return tensor;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "ff-weights-test\n");
  auto buffer = llvm::MemoryBuffer::getFile(input);
  if (!buffer) {
    llvm::errs() << buffer.getError().message() << "\n";
    return 2;
  }
  Diagnostics diags(llvm::errs());
  std::unique_ptr<Node> root =
      parseToml(diags.addFile(std::move(*buffer)), diags);
  if (!root)
    return 2;
  std::vector<ExpectedTensor> expected;
  if (const Node *params = root->get("params"))
    for (const Entry &entry : params->entries)
      expected.push_back(expectedOf(entry));
  const Node *path = root->get("weights");
  SMLoc loc = path ? path->loc : root->loc;
  std::string file = weights.empty() && path ? path->string : weights;

  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  auto print = [&](llvm::StringRef what) {
    std::chrono::duration<double, std::milli> time = Clock::now() - start;
    if (timing)
      llvm::outs() << what << ": " << llvm::format("%.2f ms\n", time.count());
    start = Clock::now();
  };
  WeightFiles files;
  if (!readWeightFiles(file, loc, files, diags))
    return 1;
  print("read");
  std::vector<int> match;
  if (!matchWeights(files, expected, root->get("on_missing"),
                    root->get("on_unexpected"), "net", loc, diags, match))
    return 1;
  print("match");
  for (auto [want, index] : llvm::zip_equal(expected, match)) {
    if (quiet)
      break;
    if (index < 0) {
      llvm::outs() << want.name << " <- initialiser\n";
      continue;
    }
    const WeightFiles::Tensor &tensor = files.tensors[index];
    llvm::outs() << want.name << " <- " << tensor.key << " " << tensor.dtype
                 << " of " << files.files[tensor.file] << " at " << tensor.begin
                 << ".." << tensor.end << "\n";
  }
  return 0;
}
