//===- Clusters.h - Groups of operations that become one loop ---*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_KERNELS_CLUSTERS_H
#define FF_CODEGEN_KERNELS_CLUSTERS_H

#include "dialect/FF.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace ff {

/// Operations over one iteration space; see ff.fused.
struct Cluster {
  llvm::SmallVector<int64_t> domain;
  int64_t reduced = 0;                ///< trailing dims, 0 while not known
  llvm::SmallVector<int64_t> columns; ///< reduced leading dims, or empty
  llvm::SmallVector<mlir::Operation *> ops;

  bool isFull(mlir::Value value) const;
  bool isRow(mlir::Value value) const;
};

/// The clusters of a block. A cluster becomes one operation, so no value may
/// leave it and come back.
class ClusterGraph {
public:
  explicit ClusterGraph(mlir::Block &block);

  /// Column reductions, each with the elementwise operations that only it uses.
  void formColumns();
  /// All other operations, grouped along their uses.
  void formRows();
  /// Clusters over one space that read the same values.
  void mergeSiblings();
  /// Moves widening conversions to the clusters that use them.
  void sinkConversions();
  /// Replaces each cluster by an ff.fused.
  void emit();

private:
  Cluster *of(mlir::Operation *op) const { return clusterOf.lookup(op); }
  Cluster *create(llvm::ArrayRef<int64_t> domain);
  void add(Cluster *cluster, mlir::Operation *op);
  void merge(Cluster *into, Cluster *from);

  /// The operation in `cluster` that makes `value`, directly or spread over the
  /// rows, or null.
  mlir::Operation *internalDef(const Cluster &cluster, mlir::Value value) const;
  /// Whether `op` fits into `cluster`'s space.
  bool fits(const Cluster &cluster, mlir::Operation *op) const;
  bool canJoin(Cluster *cluster, mlir::Operation *op) const;
  bool canMerge(Cluster *a, Cluster *b) const;
  /// Whether `value` depends on `target` by way of something outside it.
  bool dependsOn(mlir::Value value, Cluster *target,
                 llvm::DenseSet<mlir::Operation *> &visited) const;
  bool inputsDependOn(Cluster *cluster, Cluster *target) const;
  void absorbProducers(Cluster *cluster);
  /// Whether two operations lie in one stretch between calls. A kernel of
  /// operations around the call of a layer would keep what it reads alive
  /// across the layer, and a sum over layers would keep a value for each of
  /// them.
  bool inOneStretch(mlir::Operation *a, mlir::Operation *b) const {
    return stretchOf.lookup(a) == stretchOf.lookup(b);
  }
  bool shareInput(Cluster *a, Cluster *b) const;
  void emitCluster(Cluster &cluster);

  mlir::Block &block;
  std::vector<std::unique_ptr<Cluster>> clusters;
  llvm::DenseMap<mlir::Operation *, Cluster *> clusterOf;
  llvm::DenseMap<mlir::Operation *, unsigned> stretchOf;
};

} // namespace ff

#endif // FF_CODEGEN_KERNELS_CLUSTERS_H
