//===- VerifyPlan.cpp - No two live buffers overlap ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Buffers.h"
#include "passes/Passes.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYPLAN
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

static std::optional<int64_t> getOffset(const Buffer &buffer) {
  if (buffer.result < 0) {
    auto frame = buffer.op->getAttrOfType<IntegerAttr>(kFrameAttr);
    return frame ? std::optional(frame.getInt()) : std::nullopt;
  }
  auto all = buffer.op->getAttrOfType<DenseI64ArrayAttr>(kOffsetsAttr);
  if (!all || buffer.result >= all.size() || all[buffer.result] < 0)
    return std::nullopt;
  return all[buffer.result];
}

static LogicalResult verifyFrame(func::FuncOp func,
                                 const BufferAnalysis &analysis) {
  auto frame = func->getAttrOfType<IntegerAttr>(kFrameBytesAttr);
  if (!frame)
    return func.emitError("has no planned frame");
  struct Range {
    const Buffer *buffer;
    int64_t begin, end;
  };
  SmallVector<Range> ranges;
  for (const Buffer &buffer : analysis.buffers) {
    std::optional<int64_t> offset = getOffset(buffer);
    if (!offset)
      return buffer.op->emitOpError("has a result without a place");
    if (*offset + buffer.bytes > frame.getInt())
      return buffer.op->emitOpError()
             << "has a buffer [" << *offset << ", " << *offset + buffer.bytes
             << ") outside the frame of " << frame.getInt() << " bytes";
    ranges.push_back({&buffer, *offset, *offset + buffer.bytes});
  }
  llvm::sort(ranges,
             [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (size_t i = 0; i < ranges.size(); ++i)
    for (size_t j = i + 1; j < ranges.size() && ranges[j].begin < ranges[i].end;
         ++j) {
      const Buffer &a = *ranges[i].buffer, &b = *ranges[j].buffer;
      if (a.bytes == 0 || b.bytes == 0 || a.end < b.begin || b.end < a.begin)
        continue;
      InFlightDiagnostic diag =
          a.op->emitOpError()
          << "has a buffer [" << ranges[i].begin << ", " << ranges[i].end
          << ") that overlaps another, live at the same time";
      diag.attachNote(b.op->getLoc())
          << "the other, [" << ranges[j].begin << ", " << ranges[j].end << ")";
      return diag;
    }
  return success();
}

static LogicalResult verifySlots(ArrayRef<SlotUse> uses) {
  for (const SlotUse &a : uses) {
    auto slot = a.op->getAttrOfType<IntegerAttr>("slot");
    if (!slot)
      return a.op->emitOpError("has no slot");
    for (const SlotUse &b : uses)
      if (&a != &b && slot == b.op->getAttr("slot") && a.begin <= b.end &&
          b.begin <= a.end) {
        InFlightDiagnostic diag = a.op->emitOpError()
                                  << "uses slot " << slot.getInt()
                                  << " while it holds " << b.unit;
        diag.attachNote(b.op->getLoc()) << "the other use of the slot";
        return diag;
      }
  }
  return success();
}

namespace {
struct VerifyPlanPass : ff::impl::VerifyPlanBase<VerifyPlanPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!isTensorFunction(func))
        continue;
      BufferAnalysis analysis(func);
      if (failed(verifyFrame(func, analysis)) ||
          failed(verifySlots(analysis.gathers)) ||
          failed(verifySlots(analysis.grads)))
        return signalPassFailure();
    }
  }
};
} // namespace
