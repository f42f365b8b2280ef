//===- Interpreter.cpp - Reference interpreter of ff tensor IR --*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/reference/Interpreter.h"
#include "codegen/reference/Rules.h"

using namespace mlir;
using namespace ff;

HostTensor ff::filledTensor(RankedTensorType type, double value) {
  return {type, std::vector<double>(type.getNumElements(), value)};
}

namespace {
class Interpreter {
public:
  explicit Interpreter(const InterpreterOptions &options) : options(options) {}

  FailureOr<HostTensors> runFunction(func::FuncOp function,
                                     ArrayRef<HostTensor> args);

private:
  FailureOr<HostTensors> runBlock(Block &block, ArrayRef<HostTensor> args);
  FailureOr<HostTensors> runOp(Operation *op, ArrayRef<HostTensor> in);
  /// The result of a rule, or none.
  std::optional<HostTensors> runRule(Operation *op, ArrayRef<HostTensor> in);

  const InterpreterOptions &options;
};
} // namespace

FailureOr<HostTensors> Interpreter::runFunction(func::FuncOp function,
                                                ArrayRef<HostTensor> args) {
  if (function.isExternal())
    return function.emitError("cannot interpret a function without a body");
  if (args.size() != function.getNumArguments())
    return function.emitError() << "takes " << function.getNumArguments()
                                << " arguments, got " << args.size();
  for (auto [arg, type] : llvm::zip_equal(args, function.getArgumentTypes()))
    if (arg.type != type)
      return function.emitError()
             << "takes an argument " << type << ", got " << arg.type;
  return runBlock(function.front(), args);
}

FailureOr<HostTensors> Interpreter::runBlock(Block &block,
                                             ArrayRef<HostTensor> args) {
  llvm::DenseMap<Value, HostTensor> values;
  for (auto [arg, value] : llvm::zip_equal(block.getArguments(), args))
    values[arg] = value;
  for (Operation &op : block) {
    HostTensors in;
    for (Value operand : op.getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        in.push_back(values.at(operand));
    if (op.hasTrait<OpTrait::ReturnLike>())
      return in;
    FailureOr<HostTensors> out = runOp(&op, in);
    if (failed(out))
      return failure();
    // Results that are no tensors (gathered units) have no value here.
    size_t next = 0;
    for (Value result : op.getResults())
      if (isa<RankedTensorType>(result.getType())) {
        if (next == out->size())
          return op.emitError("was given too few results");
        values[result] = std::move((*out)[next++]);
      }
  }
  return HostTensors();
}

std::optional<HostTensors> Interpreter::runRule(Operation *op,
                                                ArrayRef<HostTensor> in) {
  if (auto out = evaluateElementwise(op, in))
    return HostTensors{std::move(*out)};
  if (auto out = evaluateStructural(op, in))
    return out;
  return evaluateContraction(op, in);
}

FailureOr<HostTensors> Interpreter::runOp(Operation *op,
                                          ArrayRef<HostTensor> in) {
  if (options.hook)
    if (auto out = options.hook(op, in))
      return *out;
  if (auto out = runRule(op, in)) {
    for (HostTensor &tensor : *out)
      for (double &value : tensor.data)
        value = roundTo(tensor.type.getElementType(), value);
    return std::move(*out);
  }
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        op, call.getCalleeAttr());
    if (!callee)
      return op->emitError("calls an unknown function");
    return runFunction(callee, in);
  }
  if (auto fused = dyn_cast<FusedOp>(op))
    return runBlock(fused.getBody().front(), in);
  if (isa<LossSeedOp>(op))
    return HostTensors{
        filledTensor(cast<RankedTensorType>(op->getResult(0).getType()), 1.0)};
  if (isa<GradientOp, ReduceGradientsOp, ReduceWaitOp, ReleaseOp, GatherOp,
          GatherStartOp, GatherWaitOp>(op))
    return HostTensors();
  return op->emitError("has no rule in the interpreter");
}

FailureOr<std::vector<HostTensor>>
ff::interpret(func::FuncOp function, ArrayRef<HostTensor> args,
              const InterpreterOptions &options) {
  return Interpreter(options).runFunction(function, args);
}
