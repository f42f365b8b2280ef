//===- Calls.cpp - Calls of modules: inline, or a function for each block -*-
// C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Elaborator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

ComponentInfo *Elaborator::infoOf(const Instance &instance,
                                  std::string &prefix) {
  if (instance.component) {
    prefix = instance.prefix;
    return infos.lookup(instance.component.getValue());
  }
  prefix = function->prefix + instance.prefix;
  return function->component;
}

Value Elaborator::paramValue(const Instance &instance,
                             const ComponentParam &param, SMLoc loc) {
  std::string key = param.name;
  if (instance.component)
    key = (instance.component.getValue() + "::" + param.name).str();
  else
    key = key.substr(function->prefix.size());
  Value &value = function->params[key];
  if (value)
    return value;
  assert(instance.component && "parameters of a block are its arguments");
  auto ref = SymbolRefAttr::get(instance.component,
                                FlatSymbolRefAttr::get(context, param.name));
  value = builder().create<ParamOp>(
      location(loc), RankedTensorType::get(param.decl->shape, param.gather),
      ref);
  return value;
}

Val Elaborator::param(const Instance &instance, const Param &param, SMLoc loc) {
  std::string prefix;
  ComponentInfo *info = infoOf(instance, prefix);
  ComponentParam *own = info ? info->find(prefix + param.name) : nullptr;
  if (!own)
    return Val::error(); // reported with the component
  Val value = Val::ofTensor(paramValue(instance, *own, loc), param.dims);
  value.param = own->name;
  value.instance = instance;
  auto adapter = info->adapters.find(own->name);
  if (adapter != info->adapters.end() && !base)
    ++adapter->second.mentions;
  return decoded(std::move(value), *info, *own, loc);
}

Val Elaborator::addAdapter(Val result, const Val &input, const Val &weight,
                           SMLoc loc) {
  if (base || weight.param.empty() || result.isError())
    return result;
  std::string prefix;
  ComponentInfo *info = infoOf(weight.instance, prefix);
  auto it = info->adapters.find(weight.param);
  if (it == info->adapters.end())
    return result;
  Adapter &adapter = it->second;
  adapter.used |= dropsOut; // in the program that trains
  ++adapter.linears;
  if (function->isBlock)
    function->adapted.push_back(weight.param.substr(function->prefix.size()));
  Val x = input;
  if (adapter.dropout > 0 && dropsOut) {
    if (x.shape().front() != function->batch) {
      error(loc, "the dropout of an adapter needs an input with dim 0 = B=" +
                     Twine(function->batch) + ", not " + describeTensor(x))
          .note(adapter.loc,
                "this target asks for the adapter of '" + weight.param + "'")
          .note("each sample has random values of its own; keep the batch dim, "
                "or set dropout = 0.0");
      return Val::error();
    }
    // Zeroed with probability p, the rest scaled by 1 / (1 - p).
    Val u = random(Distribution::Uniform, x.shape(), x.dims, floatType(), loc);
    if (u.isError())
      return u;
    Value keep = builder().create<arith::CmpFOp>(
        location(loc), arith::CmpFPredicate::OGE, u.tensor,
        splat(u.type(), adapter.dropout, loc));
    Val scaled =
        binary(Operator::Mul, x, Val::of(1 / (1 - adapter.dropout)), loc);
    x = Val::ofTensor(
        builder().create<arith::SelectOp>(location(loc), keep, scaled.tensor,
                                          splat(scaled.type(), 0, loc)),
        x.dims);
  }
  auto get = [&](StringRef name) {
    return Val::ofTensor(paramValue(weight.instance, *info->find(name), loc));
  };
  Val delta = linear(linear(x, get(adapter.a), nullptr, loc), get(adapter.b),
                     nullptr, loc);
  delta = widened(delta, loc);
  if (adapter.scale() != 1)
    delta = binary(Operator::Mul, delta, Val::of(adapter.scale()), loc);
  return binary(Operator::Add, result, delta, loc);
}

Val Elaborator::random(Distribution distribution, ArrayRef<int64_t> shape,
                       ArrayRef<StringRef> dims, Type element, SMLoc loc) {
  auto type = RankedTensorType::get(
      shape, isNarrowFloat(element) ? Type(builder().getF32Type()) : element);
  if (function->isBlock) {
    // The callers draw it, so that each call has values of its own.
    function->draws.push_back({type, distribution});
    Block &entry = function->func.getBody().front();
    Val value = Val::ofTensor(entry.addArgument(type, location(loc)), dims);
    return convert(value, element, loc);
  }
  if (function->func->hasAttr(kForwardAttr)) {
    error(loc, "randomness inside a component that is called outside of "
               "training is not supported yet")
        .note("all calls would get the same values; draw them in the program "
              "and pass them as an input");
    return Val::error();
  }
  Val value = Val::ofTensor(
      builder().create<RandomOp>(
          location(loc), type, DistributionAttr::get(context, distribution),
          builder().getI32IntegerAttr(
              static_cast<int32_t>(function->nextSite++))),
      dims);
  return convert(value, element, loc);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static bool checkDtype(Elaborator &e, const InputDecl &input, const Val &value,
                       SMLoc loc, const Twine &what) {
  Type type = value.type().getElementType();
  std::string wanted = input.dtype;
  if (wanted.empty())
    wanted = dtypeName(e.elementType);
  else if (wanted == "float")
    wanted = dtypeName(e.floatType());
  if (dtypeName(type) == wanted)
    return true;
  e.error(loc,
          what + " must be of dtype " + wanted + ", not " + dtypeName(type))
      .note(input.loc, "it is declared here")
      .note(wanted == "bool" ? "a comparison makes booleans: x != 0"
                             : "convert it with cast(x, \"" + wanted + "\")");
  return false;
}

Type Elaborator::declaredDtype(StringRef name) {
  if (name == "float")
    return floatType();
  Type type = dtypeOf(context, name);
  return type && isa<FloatType>(type) ? type : Type();
}

/// Where bf16 and f16 are involved, a float argument becomes what its input
/// declares: the compute dtype where it declares none. A declared dtype is
/// never narrower than what it is given, unless the program says so with a
/// cast.
static Val adaptDtype(Elaborator &e, const InputDecl &input, const Val &value,
                      SMLoc loc) {
  if (!value.isFloatTensor())
    return value;
  Type have = value.type().getElementType();
  Type want =
      input.dtype.empty() ? e.elementType : e.declaredDtype(input.dtype);
  if (!want || want == have || !(isNarrowFloat(want) || isNarrowFloat(have)))
    return value;
  bool widens = have.getIntOrFloatBitWidth() < want.getIntOrFloatBitWidth();
  return input.dtype.empty() || widens ? e.convert(value, want, loc) : value;
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
  if (input.isOptional && value.isNone()) {
    scope.variables[input.name] = value;
    return true;
  }
  if (input.isTensor) {
    if (!value.isTensor()) {
      error(arg.loc, what + " must be a tensor, not " + describeKind(value))
          .note(input.loc, "it is declared here")
          .note(value.isNumber()
                    ? "full([B], value) makes a tensor of a number"
                    : "a tensor is an input, a parameter or a result");
      return false;
    }
    value = adaptDtype(*this, input, value, arg.loc);
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
  scope.variables[input.name] = value.settled();
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
  const Arg none = {"", loc, Val::none()};
  for (auto [input, arg] : llvm::zip_equal(decl.inputs, bound)) {
    if (!arg && input.isOptional)
      arg = &none;
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
  // Inside a component its compute dtype is in force.
  bool isRoot = instance.component && instance.prefix.empty();
  ComponentInfo *info =
      isRoot ? infos.lookup(instance.component.getValue()) : nullptr;
  if (isRoot && !info)
    return Val::error();
  Type outerType = elementType;
  bool outerBase = base;
  if (info) {
    elementType = info->compute;
    base = instance.isBase;
  }
  auto restore = llvm::make_scope_exit([&] {
    elementType = outerType;
    base = outerBase;
  });
  Scope scope;
  scope.type = &type;
  scope.instance = instance;
  if (!bindInputs(*type.decl, args, callee, loc, scope))
    return Val::error();
  frames.push_back({callee.str(), loc});
  auto leave = llvm::make_scope_exit([&] { frames.pop_back(); });
  // The outermost block is the unit; what is nested in it is inlined.
  bool isCall =
      (instance.isBlock && !function->isBlock) || isComponentCall(instance);
  Val result =
      isCall ? callBlock(instance, scope, loc) : runForward(scope, loc);
  result = result.settled();
  if (info && !result.isError())
    convertFloats(result, info->output, loc);
  return result;
}

void Elaborator::convertFloats(Val &value, Type to, SMLoc loc) {
  if (value.isFloatTensor())
    value = convert(value, to, loc);
  for (Val &item : value.items)
    convertFloats(item, to, loc);
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
  value.param.clear(); // what a call returns is no parameter any more
  for (Val &item : value.items)
    replaceTensors(item, results, next);
}

/// What a function of the block at `prefix` depends on, of its parameters.
static void printParams(ComponentInfo &info, StringRef prefix, bool base,
                        bool dropsOut, llvm::raw_ostream &os) {
  os << "|" << info.compute;
  for (const ComponentParam &param : info.params) {
    StringRef name = param.name;
    if (!name.consume_front(prefix) || (base && param.isAdapter))
      continue;
    os << "|" << name << ":" << param.gather;
    // Of fp8 and int8: what the bytes stand for, and the shape of their scales,
    // which come from the file.
    if (!isa<FloatType>(param.gather) || param.isBuffer()) {
      os << "," << param.fileDtype << "," << param.scaleName.empty();
      for (int64_t size : param.decl->shape)
        os << "x" << size;
    }
    auto it = info.adapters.find(param.name);
    if (it != info.adapters.end() && !base)
      os << "+" << it->second.rank << "," << it->second.alpha << ","
         << (dropsOut ? it->second.dropout : 0);
  }
}

/// In a function an argument is a tensor: a weight that is passed as one would
/// lose its adapter.
bool Elaborator::checkWeightArguments(Scope &scope, SMLoc loc) {
  for (const InputDecl &input : scope.type->decl->inputs) {
    Val &value = scope.variables[input.name];
    if (value.param.empty())
      continue;
    std::string prefix;
    ComponentInfo *info = infoOf(value.instance, prefix);
    if (!base && info && info->adapters.count(value.param)) {
      error(loc, "'" + value.param +
                     "' has an adapter and is passed to a "
                     "block as an argument")
          .note(info->adapters.find(value.param)->second.loc,
                "this target asks for the adapter")
          .note("an adapter is applied where linear sees the parameter itself: "
                "call linear outside of the block, or leave the target out");
      return false;
    }
    value.param.clear();
  }
  return true;
}

Val Elaborator::callBlock(const Instance &instance, Scope &scope, SMLoc loc) {
  if (!checkWeightArguments(scope, loc))
    return Val::error();
  BlockFunction *block = getBlock(instance, scope, loc);
  if (block->result.isError())
    return Val::error();
  SmallVector<Value> operands;
  for (const InputDecl &input : scope.type->decl->inputs)
    if (const Val &value = scope.variables[input.name]; value.isTensor())
      operands.push_back(value.tensor);
  std::string prefix;
  ComponentInfo *info = infoOf(instance, prefix);
  for (const std::string &name : block->params)
    operands.push_back(paramValue(instance, *info->find(prefix + name), loc));
  for (const std::string &name : block->adapted)
    info->adapters.find(prefix + name)->second.used |= dropsOut;
  for (auto &[type, distribution] : block->draws) {
    auto tensor = cast<RankedTensorType>(type);
    Val value = random(distribution, tensor.getShape(), {},
                       tensor.getElementType(), loc);
    if (value.isError())
      return value;
    operands.push_back(value.tensor);
  }
  auto call =
      builder().create<func::CallOp>(location(loc), block->func, operands);
  if (!prefix.empty() &&
      info->recomputed.contains(StringRef(prefix).drop_back()))
    call->setAttr(kRecomputeAttr, builder().getUnitAttr());
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
  llvm::raw_string_ostream os(key);
  std::string prefix;
  ComponentInfo *info = infoOf(instance, prefix);
  if (isComponentCall(instance))
    os << "@" << instance.component.getValue() << (base ? ".base" : "");
  else
    printParams(*info, prefix, base, dropsOut, os);
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
  std::string prefix;
  ComponentInfo *info = infoOf(instance, prefix);
  SmallVector<Type> types;
  for (const InputDecl &input : type.decl->inputs)
    if (const Val &value = scope.variables[input.name]; value.isTensor())
      types.push_back(value.tensor.getType());
  // Parameters of a component are named by their symbols, not passed.
  if (!isComponent)
    for (const ComponentParam &param : info->params) {
      StringRef name = param.name;
      if (!name.consume_front(prefix) || (base && param.isAdapter))
        continue;
      block.params.push_back(name.str());
      types.push_back(RankedTensorType::get(param.decl->shape, param.gather));
    }
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
    if (Val &value = scope.variables[input.name]; value.isTensor())
      value.tensor = body->getArgument(index++);
  unsigned firstParam = index;
  for (const std::string &path : block.params)
    state.params[path] = body->getArgument(index++);
  if (!isComponent) {
    state.component = info;
    state.prefix = prefix;
    scope.instance = {&type, "", StringAttr(), false, instance.isBase};
  }
  FunctionState *outer = std::exchange(function, &state);
  block.result = runForward(scope, loc).settled();
  SmallVector<Value> results;
  collectTensors(block.result, results);
  builder().create<func::ReturnOp>(location(type.decl->forwardLoc), results);
  // Random values have become arguments.
  state.func.setFunctionType(FunctionType::get(
      context, body->getArgumentTypes(), TypeRange(ValueRange(results))));
  SmallVector<Attribute> attrs(body->getNumArguments(),
                               DictionaryAttr::get(context));
  state.func.setAllArgAttrs(attrs);
  for (auto [i, path] : llvm::enumerate(block.params))
    state.func.setArgAttr(firstParam + i, kParamAttr,
                          StringAttr::get(context, path));
  function = outer;
  block.func = state.func;
  block.draws = std::move(state.draws);
  block.adapted = std::move(state.adapted);
}
