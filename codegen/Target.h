//===- Target.h - What a program is compiled for ----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_TARGET_H
#define FF_CODEGEN_TARGET_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace ff {

/// On the module, a dictionary of `kind` and `chip`: what it is compiled for.
/// Absent: the host's cores.
inline constexpr llvm::StringLiteral kTargetAttr = "ff.target";

struct Target {
  /// The GPU's architecture, or "": the host's cores.
  std::string chip;

  bool isCuda() const { return !chip.empty(); }
  bool operator==(const Target &other) const { return chip == other.chip; }
};

/// The chips that there is code for. A newer one runs the PTX.
bool isKnownChip(llvm::StringRef chip);
/// "sm_80, sm_90, sm_90a"
std::string knownChips();

/// The target of "cpu", "cuda" or "cuda:sm_80"; `error` says why there is none.
std::optional<Target> parseTarget(llvm::StringRef text, std::string &error);

void setTarget(mlir::ModuleOp module, const Target &target);
Target getTarget(mlir::ModuleOp module);

} // namespace ff

#endif // FF_CODEGEN_TARGET_H
