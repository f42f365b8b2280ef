//===- Buffers.h - The buffers of a function and their lifetimes *- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_BUFFERS_H
#define FF_DIALECT_BUFFERS_H

#include "dialect/FF.h"
#include "dialect/View.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ff {

/// Where planning leaves its results. See ff-plan-memory.
inline constexpr llvm::StringLiteral kOffsetsAttr = "ff.offsets";
inline constexpr llvm::StringLiteral kFrameAttr = "ff.frame";
inline constexpr llvm::StringLiteral kFrameBytesAttr = "ff.frame_bytes";
inline constexpr llvm::StringLiteral kGatherSlotsAttr = "ff.gather_slots";
inline constexpr llvm::StringLiteral kGradSlotsAttr = "ff.grad_slots";

/// Bytes of an element in memory; a bool takes one.
int64_t getElementBytes(mlir::Type element);

/// Bytes of a row-major tensor.
int64_t getBytes(mlir::Type tensor);

/// What lies in the frame of a function: the result `result` of `op`, or (-1)
/// the frame of the callee of `op`. Live in [begin, end], positions in the
/// body.
struct Buffer {
  mlir::Operation *op;
  int result;
  int64_t bytes;
  unsigned begin, end;
};

/// What occupies a slot, live in [begin, end].
struct SlotUse {
  mlir::Operation *op; ///< ff.gather_start or ff.reduce_gradients
  mlir::FlatSymbolRefAttr unit;
  unsigned begin, end;
};

/// The buffers of a function whose kernels are launches.
class BufferAnalysis {
public:
  explicit BufferAnalysis(mlir::func::FuncOp func);

  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<SlotUse> gathers, grads;
  /// For a value that is written where a result of the function lies: which.
  llvm::DenseMap<mlir::Value, unsigned> resultOf;
  /// For a value that is written where a gradient lies: the reduction and the
  /// position among its operands.
  llvm::DenseMap<mlir::Value, std::pair<ReduceGradientsOp, unsigned>> gradOf;

private:
  unsigned lastUse(mlir::Value value) const;
  void collectSlots(mlir::Block &body);

  llvm::DenseMap<mlir::Operation *, unsigned> position;
};

} // namespace ff

#endif // FF_DIALECT_BUFFERS_H
