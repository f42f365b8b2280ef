//===- Attention.h - Attention kernels --------------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lanes of a vector are queries. The queries of a tile (one vector of them)
// are transposed once; then each key and value is read as scalars that multiply
// vectors of queries, and maxima, exponentials and sums are taken lane by lane:
// nothing is reduced across lanes and keys are never transposed. A few keys at
// a time share the loads of the query tile and hide the latency of the sums.
//
// bf16 and f16 are computed on in f32: tiles, statistics and sums are. Blocks
// of keys and values are converted once for a tile, whole vectors at a time.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_KERNELS_ATTENTION_H
#define FF_CODEGEN_KERNELS_ATTENTION_H

#include "codegen/kernels/FusedKernel.h"
#include "codegen/kernels/KernelBuilder.h"
#include "dialect/View.h"

namespace ff {

/// The vectors of one batch and head: row s lies at pointer + s · row.
struct Rows {
  mlir::Value pointer;
  int64_t row = 0;
  mlir::Type element;
};

/// Sizes of an attention and how its operands are reached.
class AttentionShape {
public:
  AttentionShape(mlir::Operation *op, double scale, bool causal,
                 int64_t vectorBytes);

  std::string key() const;
  LaunchShape forwardLaunch() const;
  LaunchShape backwardLaunch() const;
  int64_t tiles() const;
  /// Whether numbers in memory are not those that are computed on.
  bool isNarrow() const { return element != number; }
  /// Types of the results of the launch that are scratch memory: where the
  /// gradients of keys and values are summed.
  llvm::SmallVector<mlir::Type> scratchTypes() const;

  int64_t batch, queries, keys, heads, dim;
  double scale;
  bool causal;
  mlir::Type element; ///< of queries, keys and values
  mlir::Type number;  ///< of all that is computed
  int64_t lanes;
  llvm::SmallVector<StridedView> views; ///< of the operands
  /// Which operand says what keys count, if one does: the last.
  std::optional<int64_t> mask;
  mlir::Operation *op;
};

/// Emits the steps of attention for the tile that begins at query `first`.
class AttentionTile {
public:
  AttentionTile(KernelBuilder &k, const AttentionShape &shape)
      : k(k), s(shape) {}

  /// Keys that are worked on at a time.
  static constexpr int64_t kKeys = 8;

  Rows operandRows(int64_t operand, mlir::Value batch, mlir::Value head);
  Rows resultRows(int64_t result, mlir::Value batch, mlir::Value head);
  /// Where the sums of gradient `result` of keys or values grow: in its own
  /// memory, if that is of numbers.
  Rows sumRows(int64_t result, mlir::Value batch, mlir::Value head);
  /// A [B, H, Sq] tensor at a batch and head.
  mlir::Value statistics(int64_t buffer, const StridedView *view,
                         mlir::Value batch, mlir::Value head);

  /// Scratch memory for a transposed tile [D][lanes].
  mlir::Value tileScratch();
  /// Scratch memory for a block of rows as numbers; null where it is not
  /// needed.
  mlir::Value blockScratch();
  /// The rows from `key` on as numbers, in place or in `scratch`.
  Rows block(Rows rows, mlir::Value key, int64_t count, mlir::Value scratch);
  void clear(mlir::Value tile);
  /// tile[d][lane] = factor · rows[first + lane][d]; queries behind the last
  /// repeat it.
  void transposeIn(Rows from, mlir::Value tile, double factor);
  /// rows[first + lane][d] = factor[lane] · tile[d][lane]
  void transposeOut(mlir::Value tile, mlir::Value factor, Rows to);

  /// Σ_d tile[d] · block[j][d] for `count` rows j.
  llvm::SmallVector<mlir::Value> products(mlir::Value tile, Rows block,
                                          int64_t count);
  /// tile[d] = decay · tile[d] + Σ_j weights[j] · block[j][d]; no decay where
  /// it is null.
  void accumulate(mlir::Value tile, mlir::Value decay,
                  llvm::ArrayRef<mlir::Value> weights, Rows block);
  /// to[key + j][d] += Σ_lane weights[j][lane] · from[first + lane][d], the
  /// weights in memory.
  void accumulateRows(Rows to, mlir::Value key, int64_t count,
                      mlir::Value weights, Rows from);

  /// to[s] = from[s] for all keys s, rounded.
  void copyRows(Rows from, Rows to);
  /// rows[s] = 0 for all keys s.
  void clearRows(Rows rows);

  /// Calls `body` for blocks of keys, with how many they are and what is
  /// carried from one to the next.
  llvm::SmallVector<mlir::Value> forEachKeyBlock(
      mlir::ValueRange carried,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, int64_t,
                                                        mlir::ValueRange)>
          body);

  /// Lanes whose query may see key `key` + `j`; null for all.
  mlir::Value visible(mlir::Value key, int64_t j);
  /// Lanes that are queries; null for all.
  mlir::Value valid();

  mlir::Type vectorType() const { return vectorOf(s.number, s.lanes); }

  mlir::Value first; ///< the first query of the tile
  mlir::Value batch; ///< that of the tile

private:
  Rows rows(int64_t buffer, mlir::Type element, llvm::ArrayRef<int64_t> strides,
            mlir::Value batch, mlir::Value head);
  mlir::Value loadRow(Rows rows, mlir::Value row, mlir::Value column,
                      mlir::Value mask);
  llvm::SmallVector<mlir::Value> transpose(llvm::SmallVector<mlir::Value> rows);
  mlir::Value at(Rows rows, mlir::Value row, mlir::Value column);
  mlir::Value queryRow(int64_t lane);
  mlir::Value columnMask(mlir::Value column);
  void forEachColumnBlock(llvm::function_ref<void(mlir::Value)> body);

  KernelBuilder &k;
  const AttentionShape &s;
};

void emitAttention(KernelBuilder &k, const AttentionShape &shape);
void emitAttentionBackward(KernelBuilder &k, const AttentionShape &shape);

} // namespace ff

#endif // FF_CODEGEN_KERNELS_ATTENTION_H
