//===- Requirements.h - How operands must lie in memory ---------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_KERNELS_REQUIREMENTS_H
#define FF_CODEGEN_KERNELS_REQUIREMENTS_H

#include "dialect/FF.h"

namespace ff {

/// What an operation outside of kernels asks of an operand.
enum class Requirement {
  None,       ///< read through any view
  Matrix,     ///< a view whose matrix dims do not repeat, one of them dense
  DenseRows,  ///< a view whose last dim has stride 1
  Contiguous, ///< row-major from the start of its buffer
};

Requirement requirementOf(mlir::OpOperand &operand);

/// Whether `root` lies in memory that its function does not own, so that a
/// result of the function must be copied from it.
inline bool liesElsewhere(mlir::Value root) {
  return llvm::isa<mlir::BlockArgument>(root) ||
         llvm::isa<ParamOp, LossSeedOp>(root.getDefiningOp());
}

/// Whether `operand` lies in memory as its operation needs it.
bool meetsRequirement(mlir::OpOperand &operand);

} // namespace ff

#endif // FF_CODEGEN_KERNELS_REQUIREMENTS_H
