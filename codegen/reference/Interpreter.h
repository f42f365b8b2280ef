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
// against. Element types say how many values there are, not how they round.
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

/// A tensor on the host, row-major; integers are held as doubles too.
struct HostTensor {
  mlir::RankedTensorType type;
  std::vector<double> data;

  int64_t size() const { return static_cast<int64_t>(data.size()); }
};

/// A tensor of `type` with all elements `value`.
HostTensor filledTensor(mlir::RankedTensorType type, double value);

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
