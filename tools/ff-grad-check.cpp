//===- ff-grad-check.cpp - Gradients against finite differences ----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each function of an .mlir file, the gradient that ff-differentiate makes
// of Σ weight · result, for random weights, is compared with central finite
// differences, everything evaluated in double by the reference interpreter.
// Floating-point arguments are differentiated; integer arguments are inputs.
//
//   func.func @f(%x: tensor<4xf64> {test.range = [0.5, 2.0]}) -> tensor<4xf64>
//
// test.range bounds the random values of an argument (default [-1, 1]; integers
// are drawn from [low, high)). A function marked test.inline is differentiated
// in place, others through a call, as a block is.
//
//===----------------------------------------------------------------------===//

#include "codegen/reference/Interpreter.h"
#include "dialect/FF.h"
#include "passes/Passes.h"
#include "tools/Register.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"

#include <map>
#include <random>

using namespace mlir;
using namespace ff;

static llvm::cl::OptionCategory category("ff-grad-check options");
static llvm::cl::opt<std::string> input(llvm::cl::Positional,
                                        llvm::cl::Required,
                                        llvm::cl::desc("<file.mlir>"),
                                        llvm::cl::cat(category));
static llvm::cl::opt<double>
    tolerance("tolerance", llvm::cl::init(1e-7),
              llvm::cl::desc("Largest |difference| / (1 + |gradient|)"),
              llvm::cl::cat(category));
static llvm::cl::opt<double> stepSize("step", llvm::cl::init(1e-5),
                                      llvm::cl::desc("Finite-difference step"),
                                      llvm::cl::cat(category));
static llvm::cl::opt<bool> dumpModule("dump", llvm::cl::desc("Print the IR"),
                                      llvm::cl::cat(category));

namespace {

/// A program around one function: its arguments as parameters of a component
/// and inputs, its results weighted and summed to a loss.
struct Program {
  OwningOpRef<ModuleOp> module;
  std::map<std::string, HostTensor> params;
  std::vector<HostTensor> inputs; ///< integer arguments, then weights
};

} // namespace

static HostTensor randomTensor(RankedTensorType type, ArrayAttr range,
                               std::mt19937 &engine) {
  double low = -1, high = 1;
  if (range) {
    low = cast<FloatAttr>(range[0]).getValueAsDouble();
    high = cast<FloatAttr>(range[1]).getValueAsDouble();
  }
  HostTensor tensor = filledTensor(type, 0);
  std::uniform_real_distribution<double> draw(low, high);
  bool integer = !isa<FloatType>(type.getElementType());
  for (double &value : tensor.data)
    value = integer ? std::floor(draw(engine)) : draw(engine);
  return tensor;
}

/// Σ weight · value over everything.
static Value weightedSum(OpBuilder &b, Location loc, Value value,
                         Value weight) {
  auto type = cast<RankedTensorType>(value.getType());
  Value product = b.create<arith::MulFOp>(loc, value, weight);
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  if (all.empty())
    return product;
  return b.create<ReduceOp>(loc,
                            RankedTensorType::get({}, type.getElementType()),
                            ReduceKind::Sum, product, all);
}

static Program buildProgram(func::FuncOp func, std::mt19937 &engine) {
  MLIRContext *context = func.getContext();
  Location loc = func.getLoc();
  OpBuilder b(context);
  Program result;
  result.module = ModuleOp::create(loc);
  b.setInsertionPointToEnd(result.module->getBody());
  auto component = b.create<ComponentOp>(
      loc, "p", "Test", TrainMode::Full, /*reshard_after_forward=*/true,
      /*sharded=*/true, /*files=*/ArrayAttr(), /*config=*/DictionaryAttr(),
      /*lora=*/DictionaryAttr(), /*save=*/DictionaryAttr(),
      /*precision=*/DictionaryAttr());
  component.getBody().emplaceBlock();
  auto block = cast<func::FuncOp>(b.clone(*func));
  block.setPrivate();
  block->setAttr(kBlockAttr, b.getStringAttr("Test"));

  SmallVector<Type> inputTypes;
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (!isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
      inputTypes.push_back(type);
  unsigned integers = inputTypes.size();
  llvm::append_range(inputTypes, func.getResultTypes());
  auto scalar = RankedTensorType::get({}, b.getF64Type());
  auto train = b.create<func::FuncOp>(loc, "train",
                                      b.getFunctionType(inputTypes, scalar));
  train->setAttr(kProgramAttr, b.getStringAttr("train"));
  Block *body = train.addEntryBlock();
  b.setInsertionPointToEnd(body);

  auto zero = b.getF64FloatAttr(0);
  SmallVector<Value> operands;
  unsigned nextInput = 0;
  for (auto [i, attr] : llvm::enumerate(func.getArgumentTypes())) {
    auto type = cast<RankedTensorType>(attr);
    auto range = func.getArgAttrOfType<ArrayAttr>(i, "test.range");
    if (!isa<FloatType>(type.getElementType())) {
      operands.push_back(body->getArgument(nextInput++));
      result.inputs.push_back(randomTensor(type, range, engine));
      continue;
    }
    std::string name = llvm::formatv("a{0}", i).str();
    OpBuilder inner(context);
    inner.setInsertionPointToEnd(&component.getBody().front());
    inner.create<ParameterOp>(
        loc, b.getStringAttr(name), TypeAttr::get(type),
        InitAttr::get(context, InitKind::Constant, zero, zero),
        /*block=*/StringAttr(), /*decay=*/b.getBoolAttr(true),
        /*trainable=*/BoolAttr(), /*gather=*/TypeAttr(), /*master=*/TypeAttr(),
        /*reduce=*/TypeAttr(), /*buffer=*/UnitAttr(), SourceAttr(), SaveAttr(),
        MergeAttr(), /*patches=*/ArrayAttr());
    operands.push_back(b.create<ParamOp>(
        loc, type,
        SymbolRefAttr::get(b.getStringAttr("p"),
                           {FlatSymbolRefAttr::get(context, name)})));
    result.params[name] = randomTensor(type, range, engine);
  }
  auto call = b.create<func::CallOp>(loc, block, operands);
  Value loss;
  for (auto [i, value] : llvm::enumerate(call.getResults())) {
    auto type = cast<RankedTensorType>(value.getType());
    result.inputs.push_back(randomTensor(type, ArrayAttr(), engine));
    Value term = weightedSum(b, loc, value, body->getArgument(integers + i));
    loss = loss ? b.create<arith::AddFOp>(loc, loss, term).getResult() : term;
  }
  b.create<func::ReturnOp>(loc, loss);
  if (func->hasAttr("test.inline")) {
    IRMapping mapping;
    mapping.map(block.getArguments(), operands);
    b.setInsertionPoint(call);
    Block &source = block.getBody().front();
    for (Operation &op : source.without_terminator())
      b.clone(op, mapping);
    for (auto [old, now] :
         llvm::zip(call.getResults(), source.getTerminator()->getOperands()))
      old.replaceAllUsesWith(mapping.lookup(now));
    call.erase();
    block.erase();
  }
  return result;
}

/// Runs the program on `params`; gradients go to `grads` where it has any.
static FailureOr<double>
evaluate(Program &program, const std::map<std::string, HostTensor> &params,
         std::map<std::string, HostTensor> *grads) {
  InterpreterOptions options;
  options.hook = [&](Operation *op, ArrayRef<HostTensor> operands)
      -> std::optional<FailureOr<std::vector<HostTensor>>> {
    if (auto param = dyn_cast<ParamOp>(op))
      return std::vector<HostTensor>{
          params.at(param.getParam().getLeafReference().str())};
    if (isa<LossSeedOp>(op))
      return std::vector<HostTensor>{
          filledTensor(cast<RankedTensorType>(op->getResult(0).getType()), 1)};
    if (auto gradient = dyn_cast<GradientOp>(op)) {
      if (grads)
        (*grads)[gradient.getParam().getLeafReference().str()] = operands[0];
      return std::vector<HostTensor>();
    }
    return std::nullopt;
  };
  auto train = program.module->lookupSymbol<func::FuncOp>("train");
  auto results = interpret(train, program.inputs, options);
  if (failed(results))
    return failure();
  return (*results)[0].data[0];
}

static LogicalResult checkFunction(func::FuncOp func) {
  std::mt19937 engine(1);
  Program program = buildProgram(func, engine);
  Program plain{program.module->clone(), program.params, program.inputs};
  PassManager pm(func.getContext());
  DifferentiateOptions options;
  options.program = "train";
  pm.addPass(createDifferentiate(options));
  pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  if (failed(pm.run(*program.module)))
    return failure();
  if (dumpModule)
    program.module->dump();

  std::map<std::string, HostTensor> grads;
  if (failed(evaluate(program, program.params, &grads)))
    return failure();
  double worst = 0;
  for (auto &[name, values] : program.params) {
    if (grads[name].size() != values.size())
      return func.emitError() << "no gradient of " << name;
    for (int64_t i = 0; i < values.size(); ++i) {
      auto shifted = program.params;
      shifted[name].data[i] = values.data[i] + stepSize;
      auto above = evaluate(plain, shifted, nullptr);
      shifted[name].data[i] = values.data[i] - stepSize;
      auto below = evaluate(plain, shifted, nullptr);
      if (failed(above) || failed(below))
        return failure();
      double want = (*above - *below) / (2 * stepSize);
      double have = grads[name].data[i];
      double error = std::abs(have - want) / (1 + std::abs(want));
      worst = std::max(worst, error);
      if (!(error <= tolerance))
        return func.emitError() << llvm::formatv("gradient of {0}[{1}] is {2}, "
                                                 "finite differences give {3}",
                                                 name, i, have, want)
                                       .str();
    }
  }
  llvm::outs() << llvm::formatv("{0}: ok, largest difference {1:e1}\n",
                                func.getName(), worst);
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Checks gradients against finite differences\n");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.allowUnregisteredDialects();
  auto module = parseSourceFile<ModuleOp>(input, &context);
  if (!module)
    return 1;
  unsigned failures = 0, checked = 0;
  for (auto func : module->getOps<func::FuncOp>()) {
    ++checked;
    failures += failed(checkFunction(func));
  }
  if (checked == 0) {
    llvm::errs() << "error: no function in " << input << "\n";
    return 1;
  }
  llvm::outs() << checked - failures << " of " << checked
               << " functions agree\n";
  return failures ? 1 : 0;
}
