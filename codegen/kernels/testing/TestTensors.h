//===- TestTensors.h - Arguments and results of kernel tests ----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes on a function of a test: test.tolerance (absolute and relative) of
// all results, by default a few steps of their type; test.range = [lo, hi] of
// the arguments; integers are in [0, hi] and wrap around.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_KERNELS_TESTING_TESTTENSORS_H
#define FF_CODEGEN_KERNELS_TESTING_TESTTENSORS_H

#include "codegen/reference/Interpreter.h"

namespace ff {

/// A tensor in its own element type, with a guard behind it.
struct Buffer {
  mlir::RankedTensorType type;
  std::vector<char> bytes;

  explicit Buffer(mlir::RankedTensorType type);
  size_t width() const;
  bool guardIsIntact() const;

  static constexpr size_t kGuard = 64;
  static constexpr char kFill = 0x7b;
};

Buffer toBuffer(const HostTensor &tensor);
HostTensor toTensor(Buffer &buffer);

/// Arguments for `function`, the same in each run.
std::vector<HostTensor> randomArguments(mlir::func::FuncOp function);

/// What a result of type `element` may differ by, relative to 1 + its size.
double toleranceOf(mlir::func::FuncOp function, mlir::Type element);

/// The largest difference, as a multiple of what `function` allows.
double compareTensors(mlir::func::FuncOp function, const HostTensor &want,
                      const HostTensor &got);

} // namespace ff

#endif // FF_CODEGEN_KERNELS_TESTING_TESTTENSORS_H
