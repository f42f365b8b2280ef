//===- Calls.cpp - Calls of modules: inline, or a function for each block -*-
// C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Elaborator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using ff::frontend::Diagnostics;

/// How many callers an error shows.
static constexpr size_t kShownFrames = 4;

Diagnostics::Report Elaborator::error(SMLoc loc, const Twine &message) {
  Diagnostics::Report report = diags.error(loc, message);
  for (const Frame &frame : llvm::ArrayRef(frames).take_back(kShownFrames))
    if (!frame.callee.empty())
      report.note(frame.loc, "in this call of '" + frame.callee + "'");
  return report;
}

Value Elaborator::param(const Instance &instance, const Param &param,
                        SMLoc loc) {
  std::string name = instance.prefix + param.name;
  std::string key = name;
  if (instance.component)
    key = (instance.component.getValue() + "::" + name).str();
  Value &value = function->params[key];
  if (value)
    return value;
  assert(instance.component && "parameters of a block are its arguments");
  auto ref = SymbolRefAttr::get(instance.component,
                                FlatSymbolRefAttr::get(context, name));
  value = builder().create<ParamOp>(
      location(loc), RankedTensorType::get(param.shape, elementType), ref);
  return value;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static bool checkDtype(Elaborator &e, const InputDecl &input, const Val &value,
                       SMLoc loc, const Twine &what) {
  Type type = value.type().getElementType();
  std::string wanted =
      input.dtype.empty() ? dtypeName(e.elementType) : input.dtype;
  if (dtypeName(type) == wanted)
    return true;
  e.error(loc,
          what + " must be of dtype " + wanted + ", not " + dtypeName(type))
      .note(input.loc, "it is declared here")
      .note("convert it with cast(x, \"" + wanted + "\")");
  return false;
}

bool Elaborator::bindTensor(const InputDecl &input, const Val &value, SMLoc loc,
                            Scope &scope, const Twine &what) {
  if (!checkDtype(*this, input, value, loc, what))
    return false;
  bool leading =
      !input.dims.empty() && input.dims.front()->kind == Expr::Kind::Ellipsis;
  llvm::ArrayRef<ExprPtr> dims = llvm::ArrayRef(input.dims);
  if (leading)
    dims = dims.drop_front();
  int64_t count = dims.size(), skip = value.rank() - count;
  if (leading ? skip < 0 : skip != 0) {
    error(loc, what + " must have rank " + Twine(count) +
                   (leading ? " or more" : "") + ", not " +
                   Twine(value.rank()) + ": it is " + describeTensor(value))
        .note(input.loc, "it is declared here");
    return false;
  }
  Evaluator evaluator(diags, nullptr, scope);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t size = value.shape()[skip + i];
    bool isNew = dim->kind == Expr::Kind::Name &&
                 !scope.variables.count(dim->text) &&
                 !(scope.type && scope.type->config.count(dim->text));
    if (isNew) {
      scope.variables[dim->text] = Val::of(size);
      continue;
    }
    Val wanted = evaluator.evaluate(*dim);
    if (wanted.isError())
      return false;
    if (wanted.isInteger() && wanted.integer == size)
      continue;
    std::string expected = wanted.isInteger()
                               ? describeDim(dim->text, wanted.integer)
                               : describeKind(wanted).str();
    error(loc, what + " has shape " + describeTensor(value) + ", but dim " +
                   Twine(skip + i) + " must be " + expected + ", not " +
                   Twine(size))
        .note(dim->loc, "it is declared here");
    return false;
  }
  return true;
}

bool Elaborator::bindInput(const InputDecl &input, const Arg &arg,
                           StringRef callee, Scope &scope) {
  std::string what =
      ("argument '" + input.name + "' of '" + callee + "'").str();
  Val value = arg.value;
  if (input.isTensor) {
    if (!value.isTensor()) {
      error(arg.loc, what + " must be a tensor, not " + describeKind(value))
          .note(input.loc, "it is declared here")
          .note(value.isNumber()
                    ? "full([B], value) makes a tensor of a number"
                    : "a tensor is an input, a parameter or a result");
      return false;
    }
    if (!bindTensor(input, value, arg.loc, scope, what))
      return false;
    // The callee knows the dims by its own names.
    bool leading =
        !input.dims.empty() && input.dims.front()->kind == Expr::Kind::Ellipsis;
    if (!leading) {
      value.dims.clear();
      for (const ExprPtr &dim : input.dims)
        value.dims.push_back(
            dim->kind == Expr::Kind::Name ? StringRef(dim->text) : StringRef());
    }
  } else if (value.isTensor()) {
    error(arg.loc, what + " must be known at compile time, not a tensor")
        .note(input.loc,
              "declare it as \"" + input.name + ": [dims]\" for a tensor");
    return false;
  }
  scope.variables[input.name] = std::move(value);
  return true;
}

bool Elaborator::bindInputs(const ModuleDecl &decl, llvm::ArrayRef<Arg> args,
                            StringRef callee, SMLoc loc, Scope &scope) {
  std::vector<const Arg *> bound(decl.inputs.size());
  std::vector<std::string> names;
  for (const InputDecl &input : decl.inputs)
    names.push_back(input.name);
  size_t position = 0;
  for (const Arg &arg : args) {
    size_t index = position;
    if (arg.name.empty())
      ++position;
    else
      index = llvm::find(names, arg.name) - names.begin();
    if (index >= names.size()) {
      auto report = error(
          arg.loc, arg.name.empty()
                       ? "'" + callee + "' takes " + Twine(names.size()) +
                             " arguments, not " + Twine(args.size())
                       : "'" + callee + "' has no input '" + arg.name + "'");
      if (auto near = nearest(arg.name, names))
        report.note("did you mean '" + *near + "'?");
      report.note(decl.loc, names.empty()
                                ? "it has no inputs"
                                : "its inputs are " + quotedList(names));
      return false;
    }
    if (bound[index]) {
      error(arg.loc, "input '" + names[index] + "' is given twice");
      return false;
    }
    bound[index] = &arg;
  }
  for (auto [input, arg] : llvm::zip_equal(decl.inputs, bound)) {
    if (!arg) {
      error(loc, "'" + callee + "' needs the input '" + input.name + "'")
          .note(input.loc, "it is declared here");
      return false;
    }
  }
  // In the order of the declaration, in which named dims are bound.
  bool ok = true;
  for (auto [input, arg] : llvm::zip_equal(decl.inputs, bound))
    ok = ok && bindInput(input, *arg, callee, scope);
  return ok;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

Val Elaborator::callModule(const Instance &instance, llvm::ArrayRef<Arg> args,
                           StringRef callee, SMLoc loc) {
  ModuleType &type = *instance.type;
  type.called = true;
  if (type.broken)
    return Val::error();
  Scope scope;
  scope.type = &type;
  scope.instance = instance;
  if (!bindInputs(*type.decl, args, callee, loc, scope))
    return Val::error();
  frames.push_back({callee.str(), loc});
  auto leave = llvm::make_scope_exit([&] { frames.pop_back(); });
  // The outermost block is the unit; what is nested in it is inlined.
  if ((instance.isBlock && !function->isBlock) || isComponentCall(instance))
    return callBlock(instance, scope, loc);
  return runForward(scope, loc);
}

Val Elaborator::runForward(Scope &scope, SMLoc loc) {
  Evaluator evaluator(diags, this, scope);
  std::optional<Val> result = evaluator.run(scope.type->decl->body);
  if (!result || result->isNone()) {
    error(scope.type->decl->forwardLoc, "the forward of module '" +
                                            scope.type->decl->name +
                                            "' returns nothing")
        .note("end it with 'return' and a value");
    return Val::error();
  }
  return *result;
}

/// All tensors of a result, in order.
static void collectTensors(const Val &value, SmallVectorImpl<Value> &tensors) {
  if (value.isTensor())
    tensors.push_back(value.tensor);
  for (const Val &item : value.items)
    collectTensors(item, tensors);
}

static void replaceTensors(Val &value, ResultRange &results, size_t &next) {
  if (value.isTensor())
    value.tensor = results[next++];
  for (Val &item : value.items)
    replaceTensors(item, results, next);
}

Val Elaborator::callBlock(const Instance &instance, Scope &scope, SMLoc loc) {
  BlockFunction *block = getBlock(instance, scope, loc);
  if (block->result.isError())
    return Val::error();
  if (!block->func)
    return runForward(scope, loc);
  SmallVector<Value> operands;
  for (const InputDecl &input : scope.type->decl->inputs)
    if (input.isTensor)
      operands.push_back(scope.variables[input.name].tensor);
  for (const ParamPath &path : block->params) {
    Instance at = instance;
    StringRef prefix = StringRef(path.name).drop_back(path.param->name.size());
    at.prefix += prefix.str();
    operands.push_back(param(at, *path.param, loc));
  }
  auto call =
      builder().create<func::CallOp>(location(loc), block->func, operands);
  Val result = block->result;
  size_t next = 0;
  ResultRange results = call.getResults();
  replaceTensors(result, results, next);
  return result;
}

BlockFunction *Elaborator::getBlock(const Instance &instance, Scope &scope,
                                    SMLoc loc) {
  ModuleType &type = *instance.type;
  std::string key = std::to_string(type.number);
  if (isComponentCall(instance))
    key += ("@" + instance.component.getValue()).str();
  llvm::raw_string_ostream os(key);
  for (const InputDecl &input : type.decl->inputs) {
    os << "|";
    printKey(scope.variables[input.name], os);
  }
  auto [it, added] = blocks.try_emplace(key);
  if (added)
    buildBlock(it->second, instance, scope, loc);
  return &it->second;
}

void Elaborator::buildBlock(BlockFunction &block, const Instance &instance,
                            Scope scope, SMLoc loc) {
  ModuleType &type = *instance.type;
  bool isComponent = isComponentCall(instance);
  // Parameters of a component are named by their symbols, not passed.
  if (!isComponent)
    collectParams(type, "", /*block=*/".", block.params);
  SmallVector<Type> types;
  for (const InputDecl &input : type.decl->inputs)
    if (input.isTensor)
      types.push_back(scope.variables[input.name].tensor.getType());
  for (const ParamPath &path : block.params)
    types.push_back(RankedTensorType::get(path.param->shape, elementType));
  FunctionState state(context);
  std::string name =
      type.decl->name + "_" + std::to_string(blockCounts[type.decl->name]++);
  OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
  state.func = atEnd.create<func::FuncOp>(
      location(type.decl->loc), name, FunctionType::get(context, types, {}));
  state.func.setPrivate();
  state.func->setAttr(isComponent ? kForwardAttr : kBlockAttr,
                      StringAttr::get(context, type.decl->name));
  Block *body = state.func.addEntryBlock();
  state.builder.setInsertionPointToEnd(body);
  state.isBlock = !isComponent;
  state.batch = function->batch;
  unsigned index = 0;
  for (const InputDecl &input : type.decl->inputs)
    if (input.isTensor)
      scope.variables[input.name].tensor = body->getArgument(index++);
  for (const ParamPath &path : block.params) {
    state.func.setArgAttr(index, kParamAttr,
                          StringAttr::get(context, path.name));
    state.params[path.name] = body->getArgument(index++);
  }
  if (!isComponent)
    scope.instance = {&type, "", StringAttr()};
  FunctionState *outer = std::exchange(function, &state);
  block.result = runForward(scope, loc);
  SmallVector<Value> results;
  collectTensors(block.result, results);
  builder().create<func::ReturnOp>(location(type.decl->forwardLoc), results);
  state.func.setFunctionType(
      FunctionType::get(context, types, TypeRange(ValueRange(results))));
  function = outer;
  if (state.nextSite == 0) {
    block.func = state.func;
    return;
  }
  // Every call would draw the same values.
  state.func.erase();
}
