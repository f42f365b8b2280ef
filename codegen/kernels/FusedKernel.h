//===- FusedKernel.h - Loops of an ff.fused ---------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel has outer dims, over which its iterations run in parallel, scalar
// loops, and lanes: the dim that is walked in vectors. How the dims of an
// ff.fused fall on these is the difference between its kinds (rows, columns,
// concatenations); how a value of the body is computed at one place is common.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_KERNELS_FUSEDKERNEL_H
#define FF_CODEGEN_KERNELS_FUSEDKERNEL_H

#include "codegen/kernels/KernelBuilder.h"
#include "dialect/View.h"

#include "llvm/ADT/SetVector.h"

namespace ff {

/// How a block argument, an iota or a result is reached from loop indices.
struct Access {
  mlir::Type element;
  int64_t buffer = -1; ///< -1: an iota, whose value is the index itself
  llvm::SmallVector<int64_t> strides; ///< over the dims of the domain

  llvm::SmallVector<int64_t> outer; ///< over the outer dims
  llvm::SmallVector<int64_t> loops; ///< over the scalar loops
  llvm::SmallVector<int64_t> lanes; ///< over the dims of the lanes
  mlir::Value base;                 ///< pointer or index at an iteration
};

/// A place in the loops.
struct Position {
  llvm::SmallVector<mlir::Value> loops;
  mlir::Value lane; ///< index of the first lane
  mlir::Value mask; ///< null where all lanes count
};

/// How often and in which pieces a kernel runs.
struct LaunchShape {
  int64_t iterations = 1;
  int64_t grain = 1;
};

class FusedKernel {
public:
  FusedKernel(FusedOp op, int64_t vectorBytes);

  /// All that the code depends on, as text: kernels of equal keys are equal.
  std::string key();
  LaunchShape launchShape() const { return shape; }
  /// What the kernel reads; the results of the ff.fused follow in its buffers.
  llvm::ArrayRef<StridedView> views() const { return inputRoots; }
  void emit(KernelBuilder &builder);

private:
  // Where the dims go.
  void addAccess(mlir::Value value, mlir::Type type, int64_t buffer,
                 llvm::ArrayRef<int64_t> strides);
  void planRows();
  void planElementwise();
  void planColumns();
  void planConcat();
  llvm::SmallVector<int64_t> collapse(llvm::ArrayRef<int64_t> dims,
                                      llvm::SmallVector<int64_t> Access::*to);
  void setGrain(int64_t elementsPerIteration);

  // Values of the body at a position.
  bool isInvariant(mlir::Value value);
  mlir::Value scalarOf(mlir::Value value);
  mlir::Value vectorAt(mlir::Value value, const Position &at);
  /// The same as what reductions add up.
  mlir::Value numberAt(mlir::Value value, const Position &at);
  mlir::Value computeAt(mlir::Value value, const Position &at);
  mlir::Value readAt(const Access &access, const Position &at);
  mlir::Value indexVector(const Access &access, const Position &at);
  mlir::Value addressAt(const Access &access, const Position &at);
  void storeAt(mlir::Value value, Access &access, const Position &at);
  mlir::Value emitOp(mlir::Operation *op, mlir::ValueRange operands,
                     int64_t lanes);
  void openBuffers();
  void openIteration(mlir::ValueRange outerIndices);

  // Rows and elementwise.
  struct Pass {
    llvm::SmallVector<ReduceOp> reductions;
    llvm::SmallVector<size_t> results;      ///< numbers of the outputs
    llvm::SmallVector<mlir::Value> stashes; ///< go to scratch memory
    int64_t chains = 1; ///< independent sums of each reduction
  };
  void emitRows();
  void emitLinear();
  void emitPass(Pass &pass);
  void emitPassAt(Pass &pass, const Position &at,
                  llvm::SmallVectorImpl<mlir::Value> &partial, size_t chain);
  llvm::SmallVector<mlir::Value>
  emitPassLoops(Pass &pass, llvm::SmallVectorImpl<mlir::Value> &loops,
                mlir::ValueRange partial);
  llvm::SmallVector<mlir::Value> emitPassLanes(Pass &pass, Position at,
                                               mlir::ValueRange partial);
  std::vector<Pass> planPasses();
  bool isRowOutput(size_t i);
  int64_t stageOf(mlir::Value value);
  void prepareScalars(mlir::Value value);
  void visitNeeded(mlir::Value value, int64_t pass);
  /// Bodies are graphs with shared values: a walk meets each value once.
  llvm::DenseSet<mlir::Value> prepared;
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> visited;
  void planStashes(llvm::MutableArrayRef<Pass> passes);
  void keepResults(Pass &pass);

  // Columns.
  void emitColumns();
  llvm::SmallVector<mlir::Value>
  emitColumnLoops(llvm::ArrayRef<Position> blocks,
                  llvm::SmallVectorImpl<mlir::Value> &loops,
                  llvm::ArrayRef<ReduceOp> reductions,
                  mlir::ValueRange partial);

  // Concatenations.
  void emitConcat();
  void emitPiece(mlir::Value piece, int64_t start, mlir::ValueRange outer);

  FusedOp op;
  int64_t vectorBytes;
  mlir::Block &body;
  YieldOp yield;
  KernelBuilder *k = nullptr;
  LaunchShape shape;

  llvm::SmallVector<StridedView> inputRoots;
  llvm::SmallVector<int64_t> domain;
  llvm::SmallVector<int64_t> outerSizes, loopSizes, laneSizes;
  int64_t lanes = 1;         ///< elements in a vector
  int64_t columnVectors = 1; ///< vectors in a block of columns
  bool isLinear = false;     ///< iterations are elements

  llvm::DenseMap<mlir::Value, Access> inputs;
  std::vector<Access> outputs;

  llvm::DenseMap<mlir::Value, bool> invariant;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars; ///< of this iteration
  llvm::DenseMap<mlir::Value, mlir::Value> current; ///< of this position
  llvm::DenseMap<mlir::Value, int64_t> stages;
  /// Values that an earlier pass over the row has left in memory.
  llvm::DenseMap<mlir::Value, Access> kept;
  llvm::DenseMap<mlir::Value, int64_t> neededAt;
  llvm::SetVector<mlir::Value> stashed;
  llvm::DenseMap<mlir::Value, Access> stashAccess;
};

/// The root of `view` from its first element on. The offset is the launch's and
/// not the kernel's, so that views of other places share kernels.
mlir::Value startOf(mlir::OpBuilder &builder, mlir::Location loc,
                    const StridedView &view);

/// The element type of the result of `op`.
mlir::Type elementOf(mlir::Operation *op);

/// Drops dims of size 1 and joins neighbours that each of `strides` walks as
/// one dim.
void collapseDims(llvm::SmallVectorImpl<int64_t> &sizes,
                  llvm::MutableArrayRef<llvm::SmallVector<int64_t>> strides);

} // namespace ff

#endif // FF_CODEGEN_KERNELS_FUSEDKERNEL_H
