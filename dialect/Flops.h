//===- Flops.h - Floating-point operations of a function -------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_FLOPS_H
#define FF_DIALECT_FLOPS_H

#include "dialect/FF.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ff {

/// On an ff.launch: the floating-point operations of the attention that it was.
inline constexpr llvm::StringLiteral kFlopsAttr = "ff.flops";

/// Floating-point operations of one operation: 2 M N K of a matmul, its
/// products of an attention or of the gradient of one, and 0 of all else.
double countFlops(mlir::Operation *op);

/// Counts functions, with those that they call. Each is walked once.
class FlopCounter {
public:
  explicit FlopCounter(mlir::ModuleOp module) : symbols(module) {}

  double count(mlir::func::FuncOp func);

private:
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Operation *, double> counts;
};

} // namespace ff

#endif // FF_DIALECT_FLOPS_H
