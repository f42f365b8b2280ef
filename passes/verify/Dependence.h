//===- Dependence.h - Which results depend on which operands -------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_PASSES_VERIFY_DEPENDENCE_H
#define FF_PASSES_VERIFY_DEPENDENCE_H

#include "passes/verify/ModuleIndex.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

namespace ff {

/// Dependence between values, through calls and fused loops: each function and
/// each body is read once, however often it is called.
class Dependence {
public:
  explicit Dependence(const ModuleIndex &index) : index(index) {}

  /// Everything in the straight line of `func` that depends on `sources`.
  llvm::DenseSet<mlir::Value> dependents(mlir::func::FuncOp func,
                                         llvm::ArrayRef<mlir::Value> sources);
  /// Everything in the straight line of `func` that `value` depends on.
  llvm::DenseSet<mlir::Value> dependencies(mlir::func::FuncOp func,
                                           mlir::Value value);

private:
  /// For each result, the arguments (operands) that it depends on.
  using Summary = llvm::SmallVector<llvm::BitVector>;

  /// Whether result `result` of `op` depends on operand `operand`.
  const Summary *getSummary(mlir::Operation *op);
  Summary summarize(mlir::Block &body);

  const ModuleIndex &index;
  llvm::DenseMap<mlir::Operation *, Summary> summaries;
};

} // namespace ff

#endif // FF_PASSES_VERIFY_DEPENDENCE_H
