//===- KernelBuilder.h - What kernels are made of ---------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalars and vectors, loops over i64, loads and stores through pointers. A
// kernel is a func.func (buffers: !llvm.ptr, begin: i64, end: i64).
//
// bf16 and f16 are in registers as their bits, i16, and are computed on in f32:
// vectors of bf16 are no type of x86 without AVX512-BF16, where LLVM takes them
// apart and calls a function for each element.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_KERNELS_KERNELBUILDER_H
#define FF_CODEGEN_KERNELS_KERNELBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace ff {

class KernelBuilder {
public:
  /// Starts the body of `kernel`.
  KernelBuilder(mlir::func::FuncOp kernel, int64_t vectorBytes);
  /// Builds scalars at the end of `entry`, the first block of a kernel of a
  /// GPU.
  KernelBuilder(mlir::Block *entry, mlir::Location loc);

  mlir::OpBuilder b;
  mlir::Location loc;
  int64_t vectorBytes;
  mlir::Value begin, end; ///< the iterations to compute

  /// Elements of `type` in a vector register.
  int64_t lanesOf(mlir::Type type) const;

  mlir::Value index(int64_t value);
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  /// x · y + z in one rounding where the target has it.
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value exp(mlir::Value x);
  mlir::Value select(mlir::Value mask, mlir::Value x, mlir::Value y);
  mlir::Value addIndex(mlir::Value x, mlir::Value y);
  mlir::Value mulIndex(mlir::Value x, int64_t factor);
  mlir::Value minIndex(mlir::Value x, mlir::Value y);

  /// The number of type `element` that is in a register: f32 for bf16 and f16,
  /// and unchanged for other types.
  mlir::Value widen(mlir::Value value, mlir::Type element);
  /// The other way round: rounds to nearest even, NaN stays NaN.
  mlir::Value narrow(mlir::Value number, mlir::Type element);

  /// Vectors of `lanes` elements; of one lane they are scalars.
  mlir::Value splat(mlir::Value scalar, int64_t lanes);
  mlir::Value reduceAdd(mlir::Value vector);
  mlir::Value reduceMax(mlir::Value vector);
  /// The numbers x, x + 1, ... as i64.
  mlir::Value counting(mlir::Value x, int64_t lanes);
  /// The first `count` of `lanes` lanes.
  mlir::Value firstLanes(int64_t count, int64_t lanes);
  mlir::Value firstLanes(mlir::Value count, int64_t lanes);

  /// Pointer number `i` of the buffers.
  mlir::Value buffer(int64_t i);
  mlir::Value advance(mlir::Value pointer, mlir::Type element,
                      mlir::Value offset);
  /// Scratch memory for `count` elements, for the whole kernel.
  mlir::Value scratch(mlir::Type element, int64_t count);

  /// `mask` is null where all lanes are wanted; lanes outside are 0.
  mlir::Value load(mlir::Value pointer, mlir::Type element, int64_t lanes,
                   mlir::Value mask = {});
  /// Lane i comes from pointer + offsets[i] elements.
  mlir::Value gather(mlir::Value pointer, mlir::Type element,
                     mlir::Value offsets, mlir::Value mask = {});
  void store(mlir::Value value, mlir::Value pointer, mlir::Value mask = {});

  /// for i = from; i < to; i += step. The body gets i and the carried values
  /// and returns the next ones.
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> loop(mlir::Value from, mlir::Value to,
                                      int64_t step, mlir::ValueRange carried,
                                      Body body);
  /// The same without carried values.
  void loop(mlir::Value from, mlir::Value to, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);

  /// The indices of `linear` in row-major `sizes`.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear,
                                             llvm::ArrayRef<int64_t> sizes);
  void finish();

private:
  mlir::Block *entry;
  mlir::Value buffers;
  /// Whether the target rounds to bf16 as IEEE 754 does; see Elementwise.cpp.
  bool roundsToBF16 = false;
  llvm::DenseMap<int64_t, mlir::Value> indices;
};

/// `lanes` elements in a register: the scalar itself for one lane.
mlir::Type vectorOf(mlir::Type element, int64_t lanes);

/// Emits the elementwise operation `op` of tensors on values in registers.
mlir::Value emitElementwise(KernelBuilder &k, mlir::Operation *op,
                            mlir::ValueRange operands, int64_t lanes);

/// Emits the math operation `op` on f32 scalars or vectors as a polynomial, or
/// returns null where none is needed or known.
mlir::Value expandMath(KernelBuilder &k, mlir::Operation *op,
                       mlir::ValueRange operands);

} // namespace ff

#endif // FF_CODEGEN_KERNELS_KERNELBUILDER_H
