//===- RowKernel.cpp - Rows and elementwise loops ---------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is walked several times: a reduction must be whole before what depends
// on it begins. Pass p computes the reductions of stage p and the results of
// stage p, a stage being the number of reductions one after the other before.
// Later passes read what earlier ones have stored, in the results or in scratch
// memory; the row is in the first cache.
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/FusedKernel.h"
#include "dialect/View.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace ff;

/// Scratch rows of at most as many elements lie on the stack.
static constexpr int64_t kMaxScratch = 8192;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

bool FusedKernel::isRowOutput(size_t i) {
  return op.getReduced() > 0 && tensorType(yield.getValues()[i]).getRank() <
                                    static_cast<int64_t>(domain.size());
}

int64_t FusedKernel::stageOf(Value value) {
  if (auto found = stages.find(value); found != stages.end())
    return found->second;
  int64_t stage = 0;
  if (Operation *def = value.getDefiningOp()) {
    for (Value operand : def->getOperands())
      stage = std::max(stage, stageOf(operand));
    stage += isa<ReduceOp>(def);
  }
  return stages[value] = stage;
}

/// Worth keeping rather than computing once more.
static bool isExpensive(Operation *op) {
  return isa<math::ExpOp, math::TanhOp, math::SinOp, math::CosOp, math::ErfOp,
             math::LogOp, math::PowFOp, math::SqrtOp, math::RsqrtOp,
             arith::DivFOp>(op);
}

void FusedKernel::visitNeeded(Value value, int64_t pass) {
  if (isInvariant(value) || inputs.contains(value) ||
      !visited.insert({value, pass}).second)
    return;
  auto result = llvm::find(yield.getValues(), value);
  if (result != yield.getValues().end() && stageOf(value) < pass)
    return;
  Operation *def = value.getDefiningOp();
  if (isExpensive(def)) {
    auto [first, isNew] = neededAt.try_emplace(value, pass);
    if (!isNew) {
      if (first->second < pass)
        stashed.insert(value);
      return;
    }
  }
  for (Value operand : def->getOperands())
    visitNeeded(operand, pass);
}

void FusedKernel::planStashes(MutableArrayRef<Pass> passes) {
  int64_t row = product(loopSizes) * llvm::alignTo(laneSizes[0], lanes);
  if (row > kMaxScratch)
    return;
  for (auto [p, pass] : llvm::enumerate(passes)) {
    for (ReduceOp reduce : pass.reductions)
      visitNeeded(reduce.getInput(), p);
    for (size_t i : pass.results)
      visitNeeded(yield.getValues()[i], p);
  }
  for (Value value : stashed)
    passes[neededAt[value]].stashes.push_back(value);
}

std::vector<FusedKernel::Pass> FusedKernel::planPasses() {
  std::vector<Pass> passes;
  auto at = [&](int64_t stage) -> Pass & {
    if (stage >= static_cast<int64_t>(passes.size()))
      passes.resize(stage + 1);
    return passes[stage];
  };
  for (ReduceOp reduce : body.getOps<ReduceOp>())
    at(stageOf(reduce.getInput())).reductions.push_back(reduce);
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (!isRowOutput(i))
      at(stageOf(value)).results.push_back(i);
  if (passes.size() > 1)
    planStashes(passes);
  int64_t vectors = laneSizes[0] / lanes;
  for (Pass &pass : passes)
    if (!pass.reductions.empty())
      for (int64_t chains : {4, 3, 2})
        if (pass.chains == 1 && vectors > 0 && vectors % chains == 0)
          pass.chains = chains;
  return passes;
}

//===----------------------------------------------------------------------===//
// One pass over a row
//===----------------------------------------------------------------------===//

static double identityOf(ReduceKind kind) {
  return kind == ReduceKind::Max ? -std::numeric_limits<double>::infinity()
                                 : 0.0;
}

static Value combine(KernelBuilder &k, ReduceKind kind, Value sum, Value next) {
  return kind == ReduceKind::Max ? k.max(sum, next) : k.add(sum, next);
}

void FusedKernel::emitPassAt(Pass &pass, const Position &at,
                             SmallVectorImpl<Value> &partial, size_t chain) {
  current.clear();
  for (auto [r, reduce] : llvm::enumerate(pass.reductions)) {
    Value next = numberAt(reduce.getInput(), at);
    if (at.mask)
      next =
          k->select(at.mask, next,
                    k->constant(next.getType(), identityOf(reduce.getKind())));
    Value &sum = partial[chain * pass.reductions.size() + r];
    sum = combine(*k, reduce.getKind(), sum, next);
  }
  for (size_t i : pass.results)
    storeAt(vectorAt(yield.getValues()[i], at), outputs[i], at);
  for (Value value : pass.stashes)
    storeAt(vectorAt(value, at), stashAccess[value], at);
}

SmallVector<Value> FusedKernel::emitPassLanes(Pass &pass, Position at,
                                              ValueRange partial) {
  int64_t step = pass.chains * lanes;
  int64_t whole = laneSizes[0] / lanes * lanes;
  auto body = [&](Value x, ValueRange carried) {
    SmallVector<Value> next(carried);
    for (int64_t chain = 0; chain < pass.chains; ++chain) {
      at.lane = chain == 0 ? x : k->addIndex(x, k->index(chain * lanes));
      emitPassAt(pass, at, next, chain);
    }
    return next;
  };
  SmallVector<Value> sums(partial);
  if (whole > step)
    sums = k->loop(k->index(0), k->index(whole), step, partial, body);
  else if (whole == step)
    sums = body(k->index(0), partial);
  if (whole < laneSizes[0]) {
    at.lane = k->index(whole);
    at.mask = k->firstLanes(laneSizes[0] - whole, lanes);
    emitPassAt(pass, at, sums, 0);
  }
  return sums;
}

SmallVector<Value> FusedKernel::emitPassLoops(Pass &pass,
                                              SmallVectorImpl<Value> &loops,
                                              ValueRange partial) {
  if (loops.size() == loopSizes.size()) {
    Position at;
    at.loops.assign(loops.begin(), loops.end());
    return emitPassLanes(pass, at, partial);
  }
  return k->loop(k->index(0), k->index(loopSizes[loops.size()]), 1, partial,
                 [&](Value i, ValueRange carried) {
                   loops.push_back(i);
                   auto next = emitPassLoops(pass, loops, carried);
                   loops.pop_back();
                   return next;
                 });
}

void FusedKernel::keepResults(Pass &pass) {
  for (size_t i : pass.results)
    if (!inputs.contains(yield.getValues()[i]))
      kept[yield.getValues()[i]] = outputs[i];
  for (Value value : pass.stashes)
    kept[value] = stashAccess[value];
}

void FusedKernel::emitPass(Pass &pass) {
  for (ReduceOp reduce : pass.reductions)
    prepareScalars(reduce.getInput());
  for (size_t i : pass.results)
    prepareScalars(yield.getValues()[i]);
  for (Value value : pass.stashes) {
    SmallVector<int64_t> sizes = loopSizes;
    sizes.push_back(llvm::alignTo(laneSizes[0], lanes));
    Access &access = stashAccess[value];
    access.element = getElementTypeOrSelf(value.getType());
    access.buffer = 0;
    access.loops = rowMajorStrides(sizes);
    access.lanes.assign(1, access.loops.pop_back_val());
    access.base = k->scratch(access.element, product(sizes));
  }
  SmallVector<Value> partial, loops;
  for (int64_t chain = 0; chain < pass.chains; ++chain)
    for (ReduceOp reduce : pass.reductions)
      partial.push_back(
          k->constant(vectorOf(numberTypeOf(elementOf(reduce)), lanes),
                      identityOf(reduce.getKind())));
  partial = emitPassLoops(pass, loops, partial);
  for (auto [r, reduce] : llvm::enumerate(pass.reductions)) {
    Value sum = partial[r];
    for (int64_t chain = 1; chain < pass.chains; ++chain)
      sum = combine(*k, reduce.getKind(), sum,
                    partial[chain * pass.reductions.size() + r]);
    sum = reduce.getKind() == ReduceKind::Max ? k->reduceMax(sum)
                                              : k->reduceAdd(sum);
    scalars[reduce.getResult()] = k->narrow(sum, elementOf(reduce));
  }
  keepResults(pass);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void FusedKernel::emitRows() {
  openBuffers();
  std::vector<Pass> passes = planPasses();
  k->loop(k->begin, k->end, 1, [&](Value iteration) {
    openIteration(k->delinearize(iteration, outerSizes));
    for (Pass &pass : passes)
      emitPass(pass);
    for (auto [i, value] : llvm::enumerate(yield.getValues()))
      if (isRowOutput(i))
        k->store(scalarOf(value), outputs[i].base);
  });
}

/// Iterations are elements: whole vectors, then the rest of the piece.
void FusedKernel::emitLinear() {
  openBuffers();
  openIteration({});
  Pass pass;
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    pass.results.push_back(i);
    prepareScalars(value);
  }
  SmallVector<Value> none;
  Position at;
  Value count = k->b.create<arith::SubIOp>(k->loc, k->end, k->begin);
  Value rest = k->b.create<arith::RemUIOp>(k->loc, count, k->index(lanes));
  Value whole = k->b.create<arith::SubIOp>(k->loc, k->end, rest);
  k->loop(k->begin, whole, lanes, [&](Value x) {
    at.lane = x;
    emitPassAt(pass, at, none, 0);
  });
  k->loop(whole, k->end, lanes, [&](Value x) {
    at.lane = x;
    at.mask = k->firstLanes(rest, lanes);
    emitPassAt(pass, at, none, 0);
  });
}
