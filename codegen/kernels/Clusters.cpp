//===- Clusters.cpp - Groups of operations that become one loop -*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/Clusters.h"
#include "codegen/kernels/FormKernels.h"
#include "dialect/View.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ff;

/// Larger kernels run out of registers and take long to compile.
static constexpr size_t kMaxOps = 96;
/// Operations that only share operands gain little from one loop.
static constexpr size_t kMaxSiblingOps = 32;

bool Cluster::isFull(Value value) const {
  return tensorType(value).getShape() == ArrayRef<int64_t>(domain);
}

bool Cluster::isRow(Value value) const {
  return reduced > 0 && tensorType(value).getShape() ==
                            ArrayRef<int64_t>(domain).drop_back(reduced);
}

static bool isColumnReduction(ReduceOp op) {
  return !op.getDims().empty() &&
         op.getDims().back() != tensorType(op.getInput()).getRank() - 1;
}

/// Whether a cluster computes `op`.
static bool isFusable(Operation *op) {
  return isElementwise(op) || isa<ReduceOp>(op);
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

ClusterGraph::ClusterGraph(Block &block) : block(block) {
  unsigned stretch = 0;
  for (Operation &op : block) {
    stretch += isa<func::CallOp>(op);
    stretchOf[&op] = stretch;
  }
}

Cluster *ClusterGraph::create(ArrayRef<int64_t> domain) {
  clusters.push_back(std::make_unique<Cluster>());
  clusters.back()->domain.assign(domain.begin(), domain.end());
  return clusters.back().get();
}

void ClusterGraph::add(Cluster *cluster, Operation *op) {
  cluster->ops.push_back(op);
  clusterOf[op] = cluster;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    if (cluster->columns.empty())
      cluster->reduced = static_cast<int64_t>(reduce.getDims().size());
}

void ClusterGraph::merge(Cluster *into, Cluster *from) {
  into->reduced = std::max(into->reduced, from->reduced);
  for (Operation *op : from->ops) {
    into->ops.push_back(op);
    clusterOf[op] = into;
  }
  from->ops.clear();
}

Operation *ClusterGraph::internalDef(const Cluster &cluster,
                                     Value value) const {
  Operation *def = value.getDefiningOp();
  if (def && of(def) == &cluster)
    return def;
  auto broadcast = dyn_cast_or_null<BroadcastOp>(def);
  if (!broadcast || !isRowBroadcast(broadcast) || !cluster.isFull(value))
    return nullptr;
  Operation *row = broadcast.getInput().getDefiningOp();
  bool inside = row && of(row) == &cluster && cluster.isRow(row->getResult(0));
  return inside ? row : nullptr;
}

bool ClusterGraph::dependsOn(Value value, Cluster *target,
                             llvm::DenseSet<Operation *> &visited) const {
  SmallVector<Operation *> stack;
  auto push = [&](Value operand) {
    if (Operation *def = operand.getDefiningOp())
      if (def->getBlock() == &block && visited.insert(def).second)
        stack.push_back(def);
  };
  push(value);
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val();
    Cluster *cluster = of(op);
    if (cluster == target)
      return true;
    if (!cluster) {
      for (Value operand : op->getOperands())
        push(operand);
      continue;
    }
    // A cluster runs as a whole: each of its results needs all its operands.
    for (Operation *member : cluster->ops)
      for (Value operand : member->getOperands())
        push(operand);
  }
  return false;
}

bool ClusterGraph::inputsDependOn(Cluster *cluster, Cluster *target) const {
  llvm::DenseSet<Operation *> visited;
  for (Operation *op : cluster->ops)
    for (Value operand : op->getOperands())
      if (!internalDef(*cluster, operand) && !internalDef(*target, operand) &&
          dependsOn(operand, target, visited))
        return true;
  return false;
}

bool ClusterGraph::fits(const Cluster &cluster, Operation *op) const {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return cluster.isFull(reduce.getInput()) &&
           (cluster.reduced == 0 ||
            cluster.reduced == static_cast<int64_t>(reduce.getDims().size()));
  return cluster.isFull(op->getResult(0)) || cluster.isRow(op->getResult(0));
}

bool ClusterGraph::canJoin(Cluster *cluster, Operation *op) const {
  if (cluster->ops.size() >= kMaxOps || !fits(*cluster, op) ||
      !inOneStretch(cluster->ops.front(), op))
    return false;
  llvm::DenseSet<Operation *> visited;
  return llvm::none_of(op->getOperands(), [&](Value operand) {
    return !internalDef(*cluster, operand) &&
           dependsOn(operand, cluster, visited);
  });
}

bool ClusterGraph::canMerge(Cluster *a, Cluster *b) const {
  if (a->domain != b->domain || a->columns != b->columns ||
      a->ops.size() + b->ops.size() > kMaxOps ||
      !inOneStretch(a->ops.front(), b->ops.front()))
    return false;
  if (a->reduced && b->reduced && a->reduced != b->reduced)
    return false;
  return !inputsDependOn(a, b) && !inputsDependOn(b, a);
}

//===----------------------------------------------------------------------===//
// Growing clusters
//===----------------------------------------------------------------------===//

void ClusterGraph::absorbProducers(Cluster *cluster) {
  for (size_t i = 0; i < cluster->ops.size(); ++i)
    for (Value operand : cluster->ops[i]->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!isElementwise(def) || of(def) || !cluster->isFull(operand) ||
          cluster->ops.size() >= kMaxOps)
        continue;
      bool onlyHere = llvm::all_of(def->getUsers(), [&](Operation *user) {
        return of(user) == cluster;
      });
      if (onlyHere)
        add(cluster, def);
    }
}

void ClusterGraph::formColumns() {
  for (ReduceOp op : block.getOps<ReduceOp>()) {
    if (!isColumnReduction(op))
      continue;
    Cluster *cluster = create(tensorType(op.getInput()).getShape());
    cluster->columns.assign(op.getDims().begin(), op.getDims().end());
    add(cluster, op);
    absorbProducers(cluster);
  }
}

void ClusterGraph::formRows() {
  for (Operation &op : block) {
    if (!isFusable(&op) || of(&op))
      continue;
    SmallVector<Cluster *> makers;
    for (Value operand : op.getOperands()) {
      Operation *def = operand.getDefiningOp();
      // A value of the rows is seen through its broadcast.
      if (auto broadcast = dyn_cast_or_null<BroadcastOp>(def))
        def = broadcast.getInput().getDefiningOp();
      Cluster *cluster = def ? of(def) : nullptr;
      if (cluster && cluster->columns.empty() &&
          !llvm::is_contained(makers, cluster))
        makers.push_back(cluster);
    }
    // A value of the rows belongs to the loop over their elements, which can go
    // on with it. In a loop over the rows it would come between: the elements
    // would be written, and read by a third loop.
    auto first = llvm::max_element(makers, [](Cluster *a, Cluster *b) {
      return a->domain.size() < b->domain.size();
    });
    if (first != makers.end())
      std::rotate(makers.begin(), first, first + 1);
    Cluster *home = nullptr;
    for (Cluster *cluster : makers) {
      if (!home && canJoin(cluster, &op)) {
        add(cluster, &op);
        home = cluster;
      } else if (home && canMerge(home, cluster)) {
        merge(home, cluster);
      }
    }
    if (!home) {
      auto reduce = dyn_cast<ReduceOp>(&op);
      Value space = op.getResult(0);
      if (reduce)
        space = reduce.getInput();
      add(create(tensorType(space).getShape()), &op);
    }
  }
}

bool ClusterGraph::shareInput(Cluster *a, Cluster *b) const {
  llvm::DenseSet<Value> inputs;
  for (Operation *op : a->ops)
    for (Value operand : op->getOperands())
      if (!internalDef(*a, operand) && a->isFull(operand))
        inputs.insert(operand);
  for (Operation *op : b->ops)
    for (Value operand : op->getOperands())
      if (inputs.contains(operand) && !isLeaf(operand.getDefiningOp()))
        return true;
  return false;
}

void ClusterGraph::mergeSiblings() {
  for (size_t i = 0; i < clusters.size(); ++i)
    for (size_t j = i + 1; j < clusters.size(); ++j) {
      Cluster *a = clusters[i].get(), *b = clusters[j].get();
      if (!a->ops.empty() && !b->ops.empty() && a->domain == b->domain &&
          a->columns == b->columns &&
          inOneStretch(a->ops.front(), b->ops.front()) &&
          a->ops.size() + b->ops.size() <= kMaxSiblingOps && shareInput(a, b) &&
          canMerge(a, b))
        merge(a, b);
    }
}

/// Only the order of clusters matters to what depends on what, and it stays:
/// who uses the result of a conversion came after what the conversion reads.
void ClusterGraph::sinkConversions() {
  for (auto &cluster : clusters)
    for (Operation *op : SmallVector<Operation *>(cluster->ops)) {
      if (!isWidening(op))
        continue;
      llvm::SmallDenseMap<Cluster *, Operation *> copies;
      for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
        Cluster *user = of(use.getOwner());
        if (!user || user == cluster.get())
          continue;
        Operation *&copy = copies[user];
        if (!copy) {
          OpBuilder builder(op);
          copy = builder.clone(*op);
          add(user, copy);
        }
        use.set(copy->getResult(0));
      }
      if (!op->use_empty())
        continue;
      llvm::erase(cluster->ops, op);
      clusterOf.erase(op);
      op->erase();
    }
}

//===----------------------------------------------------------------------===//
// ff.fused
//===----------------------------------------------------------------------===//

void ClusterGraph::emitCluster(Cluster &cluster) {
  llvm::sort(cluster.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::SetVector<Value> inputs, outputs;
  for (Operation *op : cluster.ops) {
    for (Value operand : op->getOperands())
      if (!internalDef(cluster, operand) && !isLeaf(operand.getDefiningOp()))
        inputs.insert(operand);
    for (OpOperand &use : op->getUses()) {
      Operation *user = use.getOwner();
      if (of(user) == &cluster)
        continue;
      // The broadcast of a value of the rows is made again inside.
      bool inside = isa<BroadcastOp>(user) &&
                    internalDef(cluster, user->getResult(0)) &&
                    llvm::all_of(user->getUsers(), [&](Operation *reader) {
                      return of(reader) == &cluster;
                    });
      if (!inside)
        outputs.insert(op->getResult(0));
    }
  }

  Operation *last = cluster.ops.back();
  OpBuilder builder(last);
  SmallVector<Location> locs;
  for (Operation *op : cluster.ops)
    locs.push_back(op->getLoc());
  auto fused = builder.create<FusedOp>(
      builder.getFusedLoc(locs), TypeRange(ValueRange(outputs.getArrayRef())),
      inputs.getArrayRef(), cluster.domain, cluster.reduced,
      cluster.columns.empty() ? DenseI64ArrayAttr()
                              : builder.getDenseI64ArrayAttr(cluster.columns));
  Block &body = fused.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&body);
  // Users of one value came with a conversion of it each.
  llvm::DenseMap<std::pair<Value, Type>, Value> conversions;
  for (Operation *op : cluster.ops) {
    if (isWidening(op) && mapping.contains(op->getOperand(0))) {
      Value &known = conversions[{mapping.lookup(op->getOperand(0)),
                                  op->getResult(0).getType()}];
      if (known && known.getDefiningOp()->getName() == op->getName()) {
        mapping.map(op->getResult(0), known);
        continue;
      }
      known = builder.clone(*op, mapping)->getResult(0);
      continue;
    }
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand)) // a leaf, or the broadcast of a row
        builder.clone(*operand.getDefiningOp(), mapping);
    builder.clone(*op, mapping);
  }
  SmallVector<Value> yields;
  for (Value output : outputs)
    yields.push_back(mapping.lookup(output));
  builder.create<YieldOp>(fused.getLoc(), yields);
  for (auto [i, result] : llvm::enumerate(fused.getOutputs()))
    Value(outputs[i]).replaceUsesWithIf(result, [&](OpOperand &use) {
      return of(use.getOwner()) != &cluster;
    });
}

void ClusterGraph::emit() {
  for (auto &cluster : clusters)
    if (!cluster->ops.empty())
      emitCluster(*cluster);
  // Users stand behind their operands: backwards, all are without uses.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (of(&op) || (isViewOp(&op) && op.use_empty()))
      op.erase();
}

void ff::formClusters(Block &block) {
  ClusterGraph graph(block);
  graph.formColumns();
  graph.formRows();
  graph.mergeSiblings();
  graph.sinkConversions();
  graph.emit();
}
