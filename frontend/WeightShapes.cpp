//===- WeightShapes.cpp - Tensors that have the right name ------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/WeightMatcher.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace ff::frontend;
using llvm::ArrayRef;

std::string ff::frontend::shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os);
  return text + "]";
}

/// Reports from where a tied parameter is taken.
void Matcher::checkTies(const Attempt &best) {
  if (llvm::all_of(expected, [](auto &want) { return want.aliases.empty(); }))
    return;
  llvm::StringMap<int> tensors;
  for (auto [i, name] : llvm::enumerate(best.names))
    tensors.try_emplace(name, static_cast<int>(i));
  for (auto [i, want] : llvm::enumerate(expected)) {
    if (want.aliases.empty() || best.match[i] < 0)
      continue;
    const WeightFiles::Tensor &taken = files.tensors[best.match[i]];
    bool several = false;
    for (const std::string &alias : want.aliases) {
      auto it = tensors.find(alias);
      if (it == tensors.end() || it->second == best.match[i])
        continue;
      several = true;
      const WeightFiles::Tensor &other = files.tensors[it->second];
      if (other.dtype == taken.dtype && other.shape == taken.shape)
        continue;
      fail(loc, "tensors '" + taken.key + "' and '" + other.key +
                    "' are one parameter of component '" + component +
                    "', but are " + taken.dtype + " " + shapeText(taken.shape) +
                    " in '" + files.files[taken.file] + "' and " + other.dtype +
                    " " + shapeText(other.shape) + " in '" +
                    files.files[other.file] + "'")
          .note("remove one of them from the files");
    }
    if (several || best.names[best.match[i]] != want.name)
      Diagnostics::Report(diags, loc, /*silent=*/false)
          .note("the tied parameter '" + want.name + "' of component '" +
                component + "' is taken from '" + taken.key + "' of '" +
                files.files[taken.file] + "'");
  }
}

//===----------------------------------------------------------------------===//
// Shapes and dtypes
//===----------------------------------------------------------------------===//

void Matcher::reportFaults(unsigned file, const Faults &faults, StringRef what,
                           StringRef fix) {
  if (faults.empty())
    return;
  constexpr size_t limit = 3;
  std::string text = faults.front().second;
  for (const auto &fault :
       llvm::ArrayRef(faults).slice(1, std::min(faults.size(), limit) - 1))
    text += "; " + fault.second;
  if (faults.size() > limit)
    text += "; and " + std::to_string(faults.size() - limit) + " more";
  auto report =
      fail(loc, counted(faults.size(), "tensor") + " of '" + files.files[file] +
                    "' " + (faults.size() == 1 ? "has" : "have") + " " + what +
                    " '" + component + "': " + text);
  const ExpectedTensor &first = expected[faults.front().first];
  if (first.loc.isValid())
    report.note(first.loc, "'" + first.name + "' is declared here");
  report.note(fix);
}

void Matcher::checkShapes(const Attempt &best) {
  std::vector<Faults> faults(files.files.size());
  for (auto [i, want] : llvm::enumerate(expected)) {
    if (best.match[i] < 0)
      continue;
    const WeightFiles::Tensor &tensor = files.tensors[best.match[i]];
    ArrayRef<int64_t> has = tensor.shape, needs = want.shape;
    if (has == needs)
      continue;
    auto isOne = [](int64_t dim) { return dim == 1; };
    llvm::SmallVector<int64_t> a(has), b(needs);
    llvm::erase_if(a, isOne);
    llvm::erase_if(b, isOne);
    bool transposed = has.size() == 2 && needs.size() == 2 &&
                      has[0] == needs[1] && has[1] == needs[0];
    faults[tensor.file].push_back(
        {i, "'" + tensor.key + "' is " + shapeText(has) +
                ", the parameter is " + shapeText(needs) +
                (transposed ? " (transposed)"
                 : a == b   ? " (sizes of 1 differ)"
                            : "")});
  }
  for (auto [file, list] : llvm::enumerate(faults))
    reportFaults(static_cast<unsigned>(file), list,
                 "another shape than component",
                 "change the config of the component, or the file: "
                 "nothing is transposed or cut when it is loaded");
}

void Matcher::checkDtypes(const Attempt &best) {
  static constexpr StringRef supported[] = {
      "f64", "f32", "f16", "bf16", "f8_e4m3", "f8_e5m2", "i8",
      "i16", "i32", "i64", "u8",   "u16",     "u32"};
  std::vector<Faults> faults(files.files.size());
  for (auto [i, want] : llvm::enumerate(expected)) {
    if (best.match[i] < 0)
      continue;
    const WeightFiles::Tensor &tensor = files.tensors[best.match[i]];
    if (!llvm::is_contained(supported, tensor.dtype))
      faults[tensor.file].push_back(
          {i, "'" + tensor.key + "' is " + tensor.dtype});
  }
  for (auto [file, list] : llvm::enumerate(faults))
    reportFaults(static_cast<unsigned>(file), list,
                 "a dtype that cannot be loaded for component",
                 "convert the file to f32, bf16 or f16");
}
