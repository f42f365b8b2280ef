//===- PlanMemory.cpp - Gives every buffer an offset ---------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Buffers.h"
#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace ff {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

/// Offsets of buffers are multiples of a cache line.
static constexpr int64_t kAlignment = 64;

namespace {
struct Placed {
  const Buffer *buffer;
  int64_t offset;
};
} // namespace

/// Largest first, each at the lowest offset at which it meets no buffer that
/// lives at the same time (Pisarchyk and Lee, "Efficient memory management for
/// deep neural net inference", 2020, greedy by size).
static SmallVector<Placed> place(ArrayRef<Buffer> buffers, int64_t &total) {
  SmallVector<const Buffer *> order;
  for (const Buffer &buffer : buffers)
    order.push_back(&buffer);
  llvm::sort(order, [](const Buffer *a, const Buffer *b) {
    return std::make_pair(-a->bytes, a) < std::make_pair(-b->bytes, b);
  });
  SmallVector<Placed> placed; // in order of offset
  total = 0;
  for (const Buffer *buffer : order) {
    int64_t size = llvm::alignTo(buffer->bytes, kAlignment), offset = 0;
    for (const Placed &other : placed) {
      if (other.buffer->end < buffer->begin ||
          buffer->end < other.buffer->begin)
        continue;
      if (offset + size <= other.offset)
        break;
      offset = std::max<int64_t>(
          offset,
          other.offset + llvm::alignTo(other.buffer->bytes, kAlignment));
    }
    auto at = llvm::upper_bound(placed, offset, [](int64_t o, const Placed &p) {
      return o < p.offset;
    });
    placed.insert(at, {buffer, offset});
    total = std::max(total, offset + size);
  }
  return placed;
}

static void planFrame(func::FuncOp func, const BufferAnalysis &analysis) {
  OpBuilder builder(func.getContext());
  int64_t total = 0;
  llvm::MapVector<Operation *, SmallVector<int64_t>> offsets;
  for (const Placed &placed : place(analysis.buffers, total)) {
    Operation *op = placed.buffer->op;
    if (placed.buffer->result < 0) {
      op->setAttr(kFrameAttr, builder.getI64IntegerAttr(placed.offset));
      continue;
    }
    auto &all = offsets[op];
    all.resize(op->getNumResults(), -1);
    all[placed.buffer->result] = placed.offset;
  }
  for (auto &[op, all] : offsets)
    op->setAttr(kOffsetsAttr, builder.getDenseI64ArrayAttr(all));
  func->setAttr(kFrameBytesAttr, builder.getI64IntegerAttr(total));
}

/// Each use gets the lowest slot that is free; returns the units of each slot.
/// Slots that callees use come first; their units are in `units`.
static ArrayAttr assignSlots(MutableArrayRef<SlotUse> uses,
                             SmallVector<llvm::SetVector<Attribute>> units,
                             OpBuilder &builder) {
  llvm::sort(uses, [](const SlotUse &a, const SlotUse &b) {
    return a.begin < b.begin;
  });
  SmallVector<unsigned> busyUntil(units.size(),
                                  std::numeric_limits<unsigned>::max());
  for (SlotUse &use : uses) {
    unsigned slot = 0;
    while (slot < busyUntil.size() && busyUntil[slot] >= use.begin)
      ++slot;
    if (slot == busyUntil.size()) {
      busyUntil.push_back(0);
      units.emplace_back();
    }
    busyUntil[slot] = use.end;
    units[slot].insert(use.unit);
    use.op->setAttr("slot", builder.getI32IntegerAttr(slot));
  }
  SmallVector<Attribute> result;
  for (auto &slot : units)
    result.push_back(builder.getArrayAttr(slot.getArrayRef()));
  return builder.getArrayAttr(result);
}

namespace {
class PlanMemoryPass : public ff::impl::PlanMemoryBase<PlanMemoryPass> {
public:
  void runOnOperation() override {
    symbols.emplace(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (isTensorFunction(func))
        plan(func);
  }

private:
  /// Callees first: their frames lie in the frame of the caller.
  void plan(func::FuncOp func) {
    if (func->hasAttr(kFrameBytesAttr))
      return;
    for (auto call : func.getBody().getOps<func::CallOp>())
      if (auto callee = symbols->lookup<func::FuncOp>(call.getCallee()))
        plan(callee);
    BufferAnalysis analysis(func);
    planFrame(func, analysis);
    OpBuilder builder(func.getContext());
    func->setAttr(kGatherSlotsAttr,
                  assignSlots(analysis.gathers, slotsOfCallees(func), builder));
    func->setAttr(kGradSlotsAttr, assignSlots(analysis.grads, {}, builder));
  }

  /// The units that each slot holds in the functions that `func` calls. A call
  /// is a point in the caller's order, so all callees share these slots.
  SmallVector<llvm::SetVector<Attribute>> slotsOfCallees(func::FuncOp func) {
    SmallVector<llvm::SetVector<Attribute>> units;
    for (auto call : func.getBody().getOps<func::CallOp>()) {
      Operation *callee = symbols->lookup(call.getCallee());
      auto slots = callee ? callee->getAttrOfType<ArrayAttr>(kGatherSlotsAttr)
                          : ArrayAttr();
      if (!slots)
        continue;
      units.resize(std::max(units.size(), slots.size()));
      for (auto [slot, members] :
           llvm::zip(units, slots.getAsRange<ArrayAttr>()))
        slot.insert(members.begin(), members.end());
    }
    return units;
  }

  std::optional<SymbolTable> symbols;
};
} // namespace
