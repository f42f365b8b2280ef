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

/// Bytes of the largest buffer of a group; no limit where the spec has none.
inline int64_t getMaxBuffer(mlir::ModuleOp module) {
  auto bytes = llvm::dyn_cast_or_null<mlir::IntegerAttr>(
      getSpecValue(module, "sharding.max_buffer"));
  return bytes && bytes.getInt() > 0 ? bytes.getInt()
                                     : std::numeric_limits<int64_t>::max();
}

} // namespace ff

#endif // FF_PASSES_SPEC_H
