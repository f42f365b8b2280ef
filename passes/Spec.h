//===- Spec.h - The policies of the spec, as passes read them --*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_PASSES_SPEC_H
#define FF_PASSES_SPEC_H

#include "dialect/FF.h"
#include <limits>

namespace ff {

/// On an ff.random of a program that trains: it draws the values of another one
/// again, so that they need not be kept; its site is that of the other one.
inline constexpr llvm::StringLiteral kDrawnAgainAttr = "ff.drawn_again";

/// The value at a dotted path ("train.program") of the spec that the module
/// carries, or null.
inline mlir::Attribute getSpecValue(mlir::ModuleOp module,
                                    llvm::StringRef path) {
  mlir::Attribute value = module->getAttr(kSpecAttr);
  while (!path.empty()) {
    auto dict = llvm::dyn_cast_or_null<mlir::DictionaryAttr>(value);
    if (!dict)
      return {};
    llvm::StringRef key;
    std::tie(key, path) = path.split('.');
    value = dict.get(key);
  }
  return value;
}

/// The program that trains, or "".
inline std::string getTrainProgram(mlir::ModuleOp module) {
  auto name = llvm::dyn_cast_or_null<mlir::StringAttr>(
      getSpecValue(module, "train.program"));
  return name ? name.str() : "";
}

/// The programs that train: one for each bucket of shapes, which are those of
/// train.buckets, or the one above.
inline std::vector<std::string> getTrainPrograms(mlir::ModuleOp module) {
  std::vector<std::string> names;
  auto buckets = llvm::dyn_cast_or_null<mlir::ArrayAttr>(
      getSpecValue(module, "train.buckets"));
  if (buckets)
    for (auto bucket : buckets.getAsRange<mlir::DictionaryAttr>())
      if (auto name = bucket.getAs<mlir::StringAttr>("program"))
        names.push_back(name.str());
  std::string name = getTrainProgram(module);
  if (names.empty() && !name.empty())
    names.push_back(name);
  return names;
}

/// Samples of a micro-batch of a program that trains, or none where the spec
/// does not say.
inline std::optional<int64_t> getMicroBatch(mlir::ModuleOp module,
                                            llvm::StringRef program) {
  auto buckets = llvm::dyn_cast_or_null<mlir::ArrayAttr>(
      getSpecValue(module, "train.buckets"));
  auto batch = llvm::dyn_cast_or_null<mlir::IntegerAttr>(
      getSpecValue(module, "train.micro_batch"));
  if (buckets)
    for (auto bucket : buckets.getAsRange<mlir::DictionaryAttr>())
      if (auto name = bucket.getAs<mlir::StringAttr>("program");
          name && name == program)
        batch = bucket.getAs<mlir::IntegerAttr>("micro_batch");
  return batch ? std::optional(batch.getInt()) : std::nullopt;
}

/// Bytes of the largest buffer of a group; no limit where the spec has none.
inline int64_t getMaxBuffer(mlir::ModuleOp module) {
  auto bytes = llvm::dyn_cast_or_null<mlir::IntegerAttr>(
      getSpecValue(module, "sharding.max_buffer"));
  return bytes && bytes.getInt() > 0 ? bytes.getInt()
                                     : std::numeric_limits<int64_t>::max();
}

} // namespace ff

#endif // FF_PASSES_SPEC_H
