//===- Buffers.cpp - The buffers of a function and their lifetimes -------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Buffers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ff;

int64_t ff::getElementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t ff::getBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * getElementBytes(tensor.getElementType());
}

/// Values that lie somewhere else by their nature.
static bool hasOwnPlace(Operation *op) {
  return isViewOp(op) || isa<ViewOp, LossSeedOp, arith::ConstantOp>(op);
}

unsigned BufferAnalysis::lastUse(Value value) const {
  unsigned last = position.lookup(value.getDefiningOp());
  for (Operation *user : value.getUsers())
    last = std::max(last, isViewOp(user) ? lastUse(user->getResult(0))
                                         : position.lookup(user));
  return last;
}

void BufferAnalysis::collectSlots(Block &body) {
  for (auto start : body.getOps<GatherStartOp>()) {
    unsigned end = position.lookup(body.getTerminator());
    for (Operation *wait : start->getUsers())
      for (Operation *user : wait->getUsers())
        if (isa<ReleaseOp>(user))
          end = position.lookup(user);
    gathers.push_back(
        {start, start.getUnitAttr(), position.lookup(start), end});
  }
  for (auto reduce : body.getOps<ReduceGradientsOp>()) {
    unsigned begin = position.lookup(reduce);
    unsigned end = position.lookup(body.getTerminator());
    for (Value grad : reduce.getGrads())
      begin = std::min(begin,
                       position.lookup(resolveView(grad).root.getDefiningOp()));
    for (Operation *op = reduce->getNextNode(); op; op = op->getNextNode())
      if (auto wait = dyn_cast<ReduceWaitOp>(op))
        if (wait.getUnitAttr() == reduce.getUnitAttr()) {
          end = position.lookup(op);
          break;
        }
    grads.push_back({reduce, reduce.getUnitAttr(), begin, end});
  }
}

BufferAnalysis::BufferAnalysis(func::FuncOp func) {
  Block &body = func.getBody().front();
  for (auto [index, op] : llvm::enumerate(body))
    position[&op] = index;
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    resultOf[resolveView(value).root] = index;
  for (auto reduce : body.getOps<ReduceGradientsOp>())
    for (auto [index, value] : llvm::enumerate(reduce.getGrads()))
      gradOf[resolveView(value).root] = {reduce, index};
  collectSlots(body);

  SymbolTable symbols(func->getParentOfType<ModuleOp>());
  for (Operation &op : body) {
    if (hasOwnPlace(&op))
      continue;
    unsigned at = position.lookup(&op);
    for (OpResult result : op.getResults()) {
      if (!isa<RankedTensorType>(result.getType()) ||
          resultOf.contains(result) || gradOf.contains(result))
        continue;
      buffers.push_back({&op, static_cast<int>(result.getResultNumber()),
                         getBytes(result.getType()), at, lastUse(result)});
    }
    if (auto call = dyn_cast<func::CallOp>(op))
      if (auto callee = symbols.lookup(call.getCallee()))
        if (auto bytes = callee->getAttrOfType<IntegerAttr>(kFrameBytesAttr))
          buffers.push_back({&op, -1, bytes.getInt(), at, at});
  }
}
