//===- Residuals.h - What a forward saves for its backward ------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_PASSES_RESIDUALS_H
#define FF_PASSES_RESIDUALS_H

#include "dialect/FF.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace ff {

/// Decides what the forward of a block saves for its backward.
class Residuals {
public:
  Residuals(mlir::func::FuncOp block, mlir::Block &forward)
      : block(block), forward(forward) {}

  /// Whether the backward can have `value` without saving it.
  bool isAvailable(mlir::Value value);
  /// Notes that `user`, in the backward, needs `value`.
  void need(mlir::Value value, mlir::Operation *user);
  /// What to save, in program order. To be called once, after all needs.
  llvm::SmallVector<mlir::Value> getSaved();

private:
  /// Whether `value` is a parameter in another dtype: conversions of parameters
  /// are cheap, and to keep them would keep a second copy of the parameters.
  bool isOfParameters(mlir::Value value);

  bool isForward(mlir::Value value) {
    mlir::Operation *def = value.getDefiningOp();
    return def && def->getBlock() == &forward;
  }

  mlir::func::FuncOp block;
  mlir::Block &forward;
  llvm::SetVector<mlir::Value> saved;
  llvm::DenseMap<mlir::Value, bool> ofParameters;
  llvm::SmallVector<mlir::Value> cheapNeeds;
  llvm::DenseMap<mlir::Value, bool> available; ///< given `saved`
};

} // namespace ff

#endif // FF_PASSES_RESIDUALS_H
