//===- FormKernels.h - Steps of ff-form-kernels -----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps, in the order in which FormKernels.cpp runs them, and what they
// share. See the documentation of the pass.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_KERNELS_FORMKERNELS_H
#define FF_CODEGEN_KERNELS_FORMKERNELS_H

#include "dialect/FF.h"

namespace ff {

/// Whether `op` is elementwise on tensors: an operation of arith or math.
bool isElementwise(mlir::Operation *op);

/// Whether `op` is a constant or an iota: cheaper to make again than to read.
bool isLeaf(mlir::Operation *op);

/// Whether `op` converts elements to a type of more bits.
bool isWidening(mlir::Operation *op);

mlir::RankedTensorType tensorType(mlir::Value value);

/// Whether `shape` is the front of the longer shape `of`.
bool isFrontOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> of);

/// Whether `broadcast` repeats along new last dims only, as a value of the rows
/// is spread over the rows.
bool isRowBroadcast(BroadcastOp broadcast);

/// Adds concatenations that are zero where the other is not without adding:
/// concat(a, 0) + concat(0, b) = concat(a, b). Gradients of slices are such.
void mergePaddedSums(mlir::Block &block);

/// Folds elementwise operations on constants, and views of splats.
void foldConstants(mlir::Block &block);

/// Makes kernels that differ in their constants alone equal.
void shareConstants(mlir::Block &block);

/// Gives each user of what is computed from parameters alone one of its own.
void splitParameterChains(mlir::Block &block);
/// Gives each user of a widening conversion one of its own.
void splitConversions(mlir::Block &block);

/// When a reduction is done in two steps. The numbers are fixed, so that no
/// result depends on the threads or the chip.
struct Splits {
  /// Below as many independent pieces of work a reduction is split.
  int64_t enoughPieces;
  /// Chunks of rows; of the first of the dims that columns are summed over.
  int64_t rowChunks, columnChunks;
  /// Elements that a chunk of columns has at least.
  int64_t leastPerChunk;
};
/// For some tens of threads.
inline constexpr Splits kHostSplits{8, 64, 16, 4};
/// For a chip of some hundred processors. Sums over columns are split along the
/// first dim as it is: their first step shares a kernel with sums for each
/// sample. What that leaves, the kernels split themselves.
inline constexpr Splits kDeviceSplits{264, 64, 256, 16};

/// Leaves only reductions over trailing dims and over leading ones.
void splitReductions(mlir::Block &block, const Splits &splits);

/// Moves views up over elementwise operations that only they use.
void hoistViews(mlir::Block &block);

/// Groups elementwise operations and reductions into ff.fused.
void formClusters(mlir::Block &block);

/// Inserts copies where operands must lie in memory in a certain way.
void materializeOperands(mlir::Block &block);

/// An ff.fused at the builder's position that copies `value` to memory.
mlir::Value createCopy(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value);

/// Erases pure operations whose results nothing uses.
void eraseUnused(mlir::Block &block);

} // namespace ff

#endif // FF_CODEGEN_KERNELS_FORMKERNELS_H
