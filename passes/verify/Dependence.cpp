//===- Dependence.cpp - Which results depend on which operands -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/verify/Dependence.h"

using namespace mlir;
using namespace ff;

/// Null: every result depends on every operand.
const Dependence::Summary *Dependence::getSummary(Operation *op) {
  Block *body = nullptr;
  Operation *key = op;
  if (auto call = dyn_cast<func::CallOp>(op)) {
    func::FuncOp callee = index.getFunction(call);
    if (!callee || callee.isDeclaration() || !callee.getBody().hasOneBlock() ||
        callee.getNumArguments() != op->getNumOperands())
      return nullptr;
    key = callee;
    body = &callee.getBody().front();
  } else if (auto fused = dyn_cast<FusedOp>(op)) {
    body = &fused.getBody().front();
  } else {
    return nullptr;
  }
  if (auto it = summaries.find(key); it != summaries.end())
    return &it->second;
  Summary summary = summarize(*body);
  return &(summaries[key] = std::move(summary));
}

Dependence::Summary Dependence::summarize(Block &body) {
  unsigned count = body.getNumArguments();
  llvm::DenseMap<Value, llvm::BitVector> needs;
  for (BlockArgument arg : body.getArguments()) {
    llvm::BitVector bits(count);
    bits.set(arg.getArgNumber());
    needs[arg] = std::move(bits);
  }
  auto needsOf = [&](Value value) {
    auto it = needs.find(value);
    return it == needs.end() ? llvm::BitVector(count) : it->second;
  };
  for (Operation &op : body.without_terminator()) {
    const Summary *summary = getSummary(&op);
    for (OpResult result : op.getResults()) {
      llvm::BitVector bits(count);
      for (OpOperand &operand : op.getOpOperands())
        if (!summary || (*summary)[result.getResultNumber()].test(
                            operand.getOperandNumber()))
          bits |= needsOf(operand.get());
      needs[result] = std::move(bits);
    }
  }
  Summary result;
  for (Value value : body.getTerminator()->getOperands())
    result.push_back(needsOf(value));
  return result;
}

llvm::DenseSet<Value> Dependence::dependents(func::FuncOp func,
                                             ArrayRef<Value> sources) {
  llvm::DenseSet<Value> set(sources.begin(), sources.end());
  for (Operation &op : func.getBody().front()) {
    if (llvm::none_of(op.getOperands(),
                      [&](Value v) { return set.contains(v); }))
      continue;
    const Summary *summary = getSummary(&op);
    for (OpResult result : op.getResults())
      for (OpOperand &operand : op.getOpOperands())
        if (set.contains(operand.get()) &&
            (!summary || (*summary)[result.getResultNumber()].test(
                             operand.getOperandNumber())))
          set.insert(result);
  }
  return set;
}

llvm::DenseSet<Value> Dependence::dependencies(func::FuncOp func, Value value) {
  llvm::DenseSet<Value> set;
  set.insert(value);
  for (Operation &op : llvm::reverse(func.getBody().front())) {
    if (llvm::none_of(op.getResults(),
                      [&](Value v) { return set.contains(v); }))
      continue;
    const Summary *summary = getSummary(&op);
    for (OpResult result : op.getResults())
      if (set.contains(result))
        for (OpOperand &operand : op.getOpOperands())
          if (!summary || (*summary)[result.getResultNumber()].test(
                              operand.getOperandNumber()))
            set.insert(operand.get());
  }
  return set;
}
