//===- DeviceAttention.h - Attention as kernels of a GPU --------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels are functions of the device library. What is made here is a
// gpu.func that calls one of them with an AttentionSizes of the program, into
// which LLVM inlines it.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_DEVICEATTENTION_H
#define FF_CODEGEN_DEVICE_DEVICEATTENTION_H

#include "codegen/device/DeviceKernel.h"
#include "codegen/device/library/AttentionSizes.h"

namespace ff {

class DeviceAttention {
public:
  DeviceAttention(mlir::Operation *op, double scale, bool causal);

  /// Whether the library has kernels for it; says so where not.
  mlir::LogicalResult verify() const;

  /// Equal for kernels that are equal.
  std::string key(AttentionKernel kernel) const;
  DeviceLaunch launch(AttentionKernel kernel) const;
  /// The body of `function`, whose arguments are those of the library's
  /// function, but for the sizes.
  void emit(AttentionKernel kernel, mlir::gpu::GPUFuncOp function) const;

  llvm::ArrayRef<StridedView> operands() const { return views; }
  /// [B, H, Sq]: what one kernel of the gradient hands to the other.
  mlir::Type statisticsType() const;

private:
  int bytes() const;
  int64_t warps(AttentionKernel kernel) const;
  int64_t blocks(AttentionKernel kernel, int64_t warps) const;
  AttentionSizes sizesFor(AttentionKernel kernel) const;
  std::string libraryFunction(AttentionKernel kernel) const;

  mlir::Operation *op;
  mlir::Type element;
  int64_t batch;
  AttentionSizes sizes = {};
  llvm::SmallVector<StridedView> views;
};

} // namespace ff

#endif // FF_CODEGEN_DEVICE_DEVICEATTENTION_H
