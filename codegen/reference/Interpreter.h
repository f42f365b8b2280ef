//===- Interpreter.h - Reference interpreter of ff tensor IR ----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates functions of tensor operations in f64, one operation at a time, in
// the plainest way: what the generated kernels and the gradients are held
// against. Results of bf16 and f16 are rounded, integers wrap around; f32 is
// not rounded to.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_REFERENCE_INTERPRETER_H
#define FF_CODEGEN_REFERENCE_INTERPRETER_H

#include "dialect/FF.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <optional>
#include <vector>

namespace ff {

/// A tensor on the host, row-major; integers are held as doubles too, signed
/// ones but for i1.
struct HostTensor {
  mlir::RankedTensorType type;
  std::vector<double> data;

  int64_t size() const { return static_cast<int64_t>(data.size()); }
};

/// A tensor of `type` with all elements `value`.
HostTensor filledTensor(mlir::RankedTensorType type, double value);

/// `value` as a result of type `element` is: bf16 and f16 rounded to nearest
/// even, integers of less than 64 bits wrapped around, others as they are.
double roundTo(mlir::Type element, double value);
/// The bits of `value` as an element of memory, and back.
uint64_t toBits(mlir::Type element, double value);
double fromBits(mlir::Type element, uint64_t bits);

struct InterpreterOptions {
  /// Called for every operation before the interpreter's own rule, with the
  /// values of the operands that are tensors. Supplies what only the caller
  /// knows (ff.param, ff.random, ff.loss_seed, ff.view, ff.launch) and observes
  /// the rest (ff.gradient). Returns none to leave the operation to the
  /// interpreter.
  std::function<std::optional<mlir::FailureOr<std::vector<HostTensor>>>(
      mlir::Operation *, llvm::ArrayRef<HostTensor>)>
      hook;
};

/// Evaluates `function` on `args` and returns what it returns. Calls are
/// followed within the module. Fails with a diagnostic at an operation that has
/// no rule.
mlir::FailureOr<std::vector<HostTensor>>
interpret(mlir::func::FuncOp function, llvm::ArrayRef<HostTensor> args,
          const InterpreterOptions &options = {});

} // namespace ff

#endif // FF_CODEGEN_REFERENCE_INTERPRETER_H
