//===- Rules.h - Rules of the reference interpreter -------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules by family. Each evaluates one operation, or returns none where the
// operation is not of its family.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_REFERENCE_RULES_H
#define FF_CODEGEN_REFERENCE_RULES_H

#include "codegen/reference/Interpreter.h"

namespace ff {
using HostTensors = std::vector<HostTensor>;

/// Elementwise operations of arith, math and ff.
std::optional<HostTensor> evaluateElementwise(mlir::Operation *op,
                                              llvm::ArrayRef<HostTensor> in);

/// Views, data movement, reductions and norms.
std::optional<HostTensors> evaluateStructural(mlir::Operation *op,
                                              llvm::ArrayRef<HostTensor> in);

/// Matmul and attention.
std::optional<HostTensors> evaluateContraction(mlir::Operation *op,
                                               llvm::ArrayRef<HostTensor> in);

/// The activation `kind` and its derivative.
double activate(ActivationKind kind, double x);
double activateDerivative(ActivationKind kind, double x);

/// The tensor of `type` whose element (i0, ..., in) is element
/// offset + Σ strides[d] · i_d of `in`.
HostTensor gatherView(const HostTensor &in, mlir::RankedTensorType type,
                      llvm::ArrayRef<int64_t> strides, int64_t offset = 0);

} // namespace ff

#endif // FF_CODEGEN_REFERENCE_RULES_H
