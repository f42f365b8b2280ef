//===- Memory.cpp - No buffer is overwritten while it is read (V14) ------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Buffers.h"
#include "dialect/View.h"
#include "passes/Passes.h"
#include "passes/verify/ModuleIndex.h"

#include <map>

namespace ff {
#define GEN_PASS_DEF_VERIFYMEMORY
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

/// Offsets of buffers are multiples of a cache line.
static constexpr int64_t kAlignment = 64;

namespace {

/// Bytes of the frame that one value has.
struct Range {
  Value value; ///< null: the frame of a callee
  int64_t begin, end;

  bool meets(const Range &other) const {
    return begin < other.end && other.begin < end;
  }
};

/// Runs through a function as it will be run and notes what each byte of its
/// frame holds. No lifetimes are computed: a buffer was given away too early
/// where something reads it that has been overwritten. So this shares nothing
/// with the planner but the attributes in which it writes the plan.
class Simulation {
public:
  Simulation(func::FuncOp func, const ModuleIndex &index)
      : func(func), index(index) {}

  LogicalResult run();

private:
  LogicalResult step(Operation *op);
  LogicalResult place(Operation *op, SmallVectorImpl<Range> &written);
  LogicalResult placeFrame(func::CallOp call, SmallVectorImpl<Range> &written);
  LogicalResult read(Operation *op, SmallVectorImpl<Range> &ranges);
  LogicalResult verifyRange(Operation *op, const Range &range);
  void write(Operation *op, const Range &range);

  LogicalResult stepSlots(Operation *op);
  LogicalResult stepCall(func::CallOp call);
  LogicalResult take(llvm::DenseMap<int64_t, Operation *> &slots,
                     Operation *use, FlatSymbolRefAttr unit, StringRef table);

  func::FuncOp func;
  const ModuleIndex &index;
  int64_t frame = 0;
  llvm::DenseMap<Value, Range> places;
  llvm::DenseSet<Value> elsewhere; ///< written where results, gradients lie
  llvm::DenseMap<Value, Operation *> overwritten; ///< by what
  std::map<int64_t, Range> bytes;                 ///< by begin, disjoint
  llvm::DenseMap<Value, ReduceGradientsOp> reductionOf;
  llvm::DenseMap<int64_t, Operation *> gatherSlots, gradSlots;
};

} // namespace

static std::string textOf(const Range &range) {
  return ("[" + Twine(range.begin) + ", " + Twine(range.end) + ")").str();
}

/// Values that lie somewhere else by their nature.
static bool hasOwnPlace(Operation *op) {
  return isViewOp(op) || isa<ViewOp, LossSeedOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

LogicalResult Simulation::verifyRange(Operation *op, const Range &range) {
  if (range.begin < 0 || range.end > frame)
    return op->emitOpError() << "has a buffer " << textOf(range)
                             << " outside the frame of " << frame << " bytes";
  if (range.begin % kAlignment != 0)
    return op->emitOpError()
           << "has a buffer " << textOf(range) << " that is not aligned to "
           << kAlignment << " bytes";
  return success();
}

/// What `op` reads, which must still be there.
LogicalResult Simulation::read(Operation *op, SmallVectorImpl<Range> &ranges) {
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    Value root = resolveView(operand).root;
    auto it = places.find(root);
    if (it == places.end())
      continue;
    ranges.push_back(it->second);
    Operation *by = overwritten.lookup(root);
    if (!by)
      continue;
    InFlightDiagnostic diag = op->emitOpError()
                              << "reads a buffer " << textOf(it->second)
                              << " that has been overwritten";
    diag.attachNote(root.getLoc()) << "what it should hold";
    diag.attachNote(by->getLoc()) << "what overwrote it";
    return diag;
  }
  return success();
}

LogicalResult Simulation::place(Operation *op,
                                SmallVectorImpl<Range> &written) {
  auto offsets = op->getAttrOfType<DenseI64ArrayAttr>(kOffsetsAttr);
  for (OpResult result : op->getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    unsigned number = result.getResultNumber();
    int64_t offset =
        offsets && number < unsigned(offsets.size()) ? offsets[number] : -1;
    if (elsewhere.contains(result)) {
      if (offset >= 0)
        return op->emitOpError() << "has an offset for result " << number
                                 << ", which lies outside the frame";
      continue;
    }
    if (offset < 0)
      return op->emitOpError() << "has a result without a place";
    Range range{result, offset, offset + getBytes(result.getType())};
    if (failed(verifyRange(op, range)))
      return failure();
    if (range.begin < range.end)
      written.push_back(range);
    places[result] = range;
  }
  if (auto call = dyn_cast<func::CallOp>(op))
    return placeFrame(call, written);
  return success();
}

LogicalResult Simulation::placeFrame(func::CallOp call,
                                     SmallVectorImpl<Range> &written) {
  func::FuncOp callee = index.getFunction(call);
  auto bytes = callee ? callee->getAttrOfType<IntegerAttr>(kFrameBytesAttr)
                      : IntegerAttr();
  if (!bytes)
    return call.emitOpError()
           << "calls '" << call.getCallee() << "', which has no planned frame";
  auto offset = call->getAttrOfType<IntegerAttr>(kFrameAttr);
  if (!offset)
    return call.emitOpError()
           << "has no place for the frame of '" << call.getCallee() << "'";
  Range range{Value(), offset.getInt(), offset.getInt() + bytes.getInt()};
  if (failed(verifyRange(call, range)))
    return failure();
  if (range.begin < range.end)
    written.push_back(range);
  return success();
}

void Simulation::write(Operation *op, const Range &range) {
  auto it = bytes.lower_bound(range.begin);
  if (it != bytes.begin() && std::prev(it)->second.end > range.begin)
    --it;
  while (it != bytes.end() && it->second.begin < range.end) {
    if (it->second.value)
      overwritten[it->second.value] = op;
    it = bytes.erase(it);
  }
  bytes[range.begin] = range;
}

LogicalResult Simulation::step(Operation *op) {
  SmallVector<Range> reads, writes;
  if (hasOwnPlace(op))
    return success();
  if (failed(read(op, reads)) || failed(place(op, writes)))
    return failure();
  for (auto [i, range] : llvm::enumerate(writes)) {
    for (const Range &other : reads)
      if (range.meets(other))
        return op->emitOpError()
               << "has a buffer " << textOf(range) << " that overlaps "
               << textOf(other) << ", which it reads";
    for (const Range &other : ArrayRef(writes).drop_front(i + 1))
      if (range.meets(other))
        return op->emitOpError() << "has buffers " << textOf(range) << " and "
                                 << textOf(other) << " that overlap";
  }
  for (const Range &range : writes)
    write(op, range);
  return success();
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// `use` needs its slot, which holds nothing else; the function's table says
/// which units may lie in it.
LogicalResult Simulation::take(llvm::DenseMap<int64_t, Operation *> &slots,
                               Operation *use, FlatSymbolRefAttr unit,
                               StringRef table) {
  auto slot = use->getAttrOfType<IntegerAttr>("slot");
  if (!slot)
    return use->emitOpError("has no slot");
  Operation *&holder = slots[slot.getInt()];
  if (holder && holder != use) {
    InFlightDiagnostic diag = use->emitOpError()
                              << "uses slot " << slot.getInt()
                              << " while it holds " << holder->getAttr("unit");
    diag.attachNote(holder->getLoc()) << "the other use of the slot";
    return diag;
  }
  holder = use;
  auto all = func->getAttrOfType<ArrayAttr>(table);
  auto units = all && slot.getInt() >= 0 && slot.getInt() < int64_t(all.size())
                   ? dyn_cast<ArrayAttr>(all[slot.getInt()])
                   : ArrayAttr();
  if (!units || !llvm::is_contained(units, Attribute(unit)))
    return use->emitOpError()
           << "uses slot " << slot.getInt() << " for " << unit << ", which '"
           << table << "' does not list there";
  return success();
}

static void free(llvm::DenseMap<int64_t, Operation *> &slots, Operation *use) {
  if (auto slot = use->getAttrOfType<IntegerAttr>("slot"))
    slots.erase(slot.getInt());
}

LogicalResult Simulation::stepSlots(Operation *op) {
  // A gradient is computed where it is reduced from: the slot is taken by the
  // first of them.
  for (Value result : op->getResults())
    if (ReduceGradientsOp reduce = reductionOf.lookup(result))
      if (failed(take(gradSlots, reduce, reduce.getUnitAttr(), kGradSlotsAttr)))
        return failure();
  if (auto start = dyn_cast<GatherStartOp>(op))
    return take(gatherSlots, start, start.getUnitAttr(), kGatherSlotsAttr);
  if (auto reduce = dyn_cast<ReduceGradientsOp>(op))
    return take(gradSlots, reduce, reduce.getUnitAttr(), kGradSlotsAttr);
  if (auto release = dyn_cast<ReleaseOp>(op)) {
    if (auto wait = release.getUnit().getDefiningOp<GatherWaitOp>())
      if (auto start = wait.getPending().getDefiningOp<GatherStartOp>())
        free(gatherSlots, start);
  } else if (auto wait = dyn_cast<ReduceWaitOp>(op)) {
    for (auto &[slot, holder] : llvm::make_early_inc_range(gradSlots))
      if (holder && isa<ReduceGradientsOp>(holder) &&
          cast<ReduceGradientsOp>(holder).getUnitAttr() == wait.getUnitAttr()) {
        gradSlots.erase(slot);
        break;
      }
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    return stepCall(call);
  }
  return success();
}

/// The slots in which a callee gathers are free, and the caller's table lists
/// what lies in them: the runtime takes their sizes from it.
LogicalResult Simulation::stepCall(func::CallOp call) {
  func::FuncOp callee = index.getFunction(call);
  auto slots =
      callee ? callee->getAttrOfType<ArrayAttr>(kGatherSlotsAttr) : ArrayAttr();
  if (!slots || slots.empty())
    return success();
  auto own = func->getAttrOfType<ArrayAttr>(kGatherSlotsAttr);
  for (auto [slot, units] : llvm::enumerate(slots.getAsRange<ArrayAttr>())) {
    if (Operation *holder = gatherSlots.lookup(slot)) {
      InFlightDiagnostic diag = call.emitOpError() << "gathers into slot "
                                                   << slot << " while it holds "
                                                   << holder->getAttr("unit");
      diag.attachNote(holder->getLoc()) << "the other use of the slot";
      return diag;
    }
    auto listed =
        own && slot < own.size() ? dyn_cast<ArrayAttr>(own[slot]) : ArrayAttr();
    for (Attribute unit : units)
      if (!listed || !llvm::is_contained(listed, unit))
        return call.emitOpError()
               << "gathers " << unit << " into slot " << slot << ", which '"
               << kGatherSlotsAttr << "' does not list there";
  }
  return success();
}

LogicalResult Simulation::run() {
  auto total = func->getAttrOfType<IntegerAttr>(kFrameBytesAttr);
  if (!total)
    return func.emitError("has no planned frame");
  frame = total.getInt();
  Block &body = func.getBody().front();
  for (Value value : body.getTerminator()->getOperands())
    elsewhere.insert(resolveView(value).root);
  for (auto reduce : body.getOps<ReduceGradientsOp>())
    for (Value value : reduce.getGrads()) {
      Value root = resolveView(value).root;
      elsewhere.insert(root);
      auto [it, fresh] = reductionOf.try_emplace(root, reduce);
      if (fresh)
        continue;
      InFlightDiagnostic diag =
          reduce.emitOpError("reduces a value that lies in another place of "
                             "the gradient buffers too");
      diag.attachNote(it->second.getLoc()) << "reduced here";
      return diag;
    }
  for (Operation &op : body)
    if (failed(step(&op)) || failed(stepSlots(&op)))
      return failure();
  return success();
}

namespace {
struct VerifyMemoryPass : ff::impl::VerifyMemoryBase<VerifyMemoryPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const ModuleIndex &index = getAnalysis<ModuleIndex>();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (isTensorFunction(func) && !func.isDeclaration() &&
          failed(Simulation(func, index).run()))
        return signalPassFailure();
  }
};
} // namespace
