//===- Programs.cpp - Programs become functions -----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;
using Diagnostics = ff::frontend::Diagnostics;

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void Importer::parsePrograms() {
  const Node *table = spec.sectionNode("program");
  if (!table)
    return;
  for (const Entry &entry : table->entries) {
    if (!entry.value->isTable())
      continue;
    auto program = std::make_unique<Program>();
    program->name = entry.key;
    program->loc = entry.keyLoc;
    program->number = programs.size();
    program->parsed = true;
    const Node *inputs = entry.value->get("inputs");
    if (inputs && inputs->isArray()) {
      for (const auto &item : inputs->items) {
        InputDecl input;
        bool parsed = item->isString() && parseInput(*item, diags, input);
        if (parsed && !input.isTensor) {
          diags
              .error(input.loc,
                     "input '" + input.name + "' of a program needs dims")
              .note("for example: \"" + input.name + ": [B, C, H, W]\"");
          parsed = false;
        }
        if (parsed && input.isOptional) {
          diags.error(input.loc, "input '" + input.name +
                                     "' of a program cannot be optional");
          parsed = false;
        }
        program->parsed &= parsed;
        if (parsed)
          program->inputs.push_back(std::move(input));
      }
    }
    const Node *forward = entry.value->get("forward");
    bool parsed = forward && forward->isString() &&
                  parseForward(*forward, diags, program->body);
    program->forwardLoc = forward ? forward->loc : entry.keyLoc;
    program->parsed &= parsed;
    if (const Node *bundle = spec.sectionNode("bundle"))
      if (const Entry *component = bundle->find(entry.key)) {
        diags
            .error(entry.keyLoc,
                   "'" + entry.key + "' names a program and a component")
            .note(component->keyLoc, "the component is declared here");
        program->parsed = false;
      }
    programs.push_back(std::move(program));
  }
}

Importer::Program *Importer::findProgram(StringRef name) {
  auto it = llvm::find_if(programs, [&](auto &p) { return p->name == name; });
  return it == programs.end() ? nullptr : it->get();
}

Importer::Program *Importer::requireProgram(StringRef section, StringRef why) {
  std::string name = stringOf(section, "program");
  if (name.empty())
    return nullptr;
  if (Program *program = findProgram(name))
    return program;
  if (programs.empty()) // the validation asks for the section
    return nullptr;
  const Node *node = spec.get(section, "program");
  SMLoc loc = spec.isDefault(*node) ? spec.locOf(section) : node->loc;
  auto report = diags.error(loc, "there is no program '" + name + "' " + why);
  std::vector<std::string> names;
  for (auto &program : programs)
    names.push_back(program->name);
  if (auto near = nearest(name, names))
    report.note("did you mean '" + *near + "'?");
  else
    report.note("declare it in [program." + name + "]");
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The dtype that an input declares, else `fallback`. Null after an error.
static Type inputDtype(Builder &b, const InputDecl &input, Type fallback,
                       Diagnostics &diags) {
  if (input.dtype.empty())
    return fallback;
  if (input.dtype == "float")
    return fallback;
  StringRef known[] = {"f32", "f64", "bf16", "f16", "i64", "float"};
  if (llvm::is_contained(known, StringRef(input.dtype)))
    return dtypeOf(b.getContext(), input.dtype);
  auto report =
      diags.error(input.dtypeLoc, "unknown dtype '" + input.dtype + "'");
  if (auto near = nearest(input.dtype, known))
    report.note("did you mean '" + *near + "'?");
  else
    report.note("it can be " + quotedList(llvm::ArrayRef(known)));
  return {};
}

/// The type of an input that the data supplies.
std::optional<RankedTensorType> Importer::dataInputType(const InputDecl &input,
                                                        int64_t batch) {
  Type element = inputDtype(builder, input, elementType, diags);
  // What is missing was reported with the data.
  if (!element || bucket >= data.buckets.size())
    return std::nullopt;
  auto sizes = data.buckets[bucket].shapes.find(input.name);
  if (sizes == data.buckets[bucket].shapes.end())
    return std::nullopt;
  SmallVector<int64_t> shape{batch};
  llvm::append_range(shape, sizes->second);
  if (isTooLarge(shape)) {
    diags.error(input.loc,
                "input '" + input.name + "' has more than 2^40 elements");
    return std::nullopt;
  }
  if (data.isMask(input.name))
    return RankedTensorType::get(shape, element);
  auto field = data.fields.find(input.name);
  if (field == data.fields.end())
    return std::nullopt;
  const TensorInfo &info = field->second;
  StringRef supported[] = {"f32", "f64", "bf16", "f16", "i64"};
  Type given = llvm::is_contained(supported, StringRef(info.dtype))
                   ? dtypeOf(context, info.dtype)
                   : Type();
  // Floats become the compute dtype where the declaration leaves it open.
  if (input.dtype.empty() && given && isa<FloatType>(given))
    element = given;
  if (element != given) {
    std::string dtype = dtypeName(element);
    diags
        .error(input.loc, "input '" + input.name + "' is " + dtype +
                              ", but tensor '" + info.name +
                              "' of the data is " + info.dtype)
        .note(given
                  ? "declare it as \"" + input.name + ": [...] " + info.dtype +
                        "\" and convert it with cast(" + input.name + ")"
                  : "convert the file; inputs can be f32, f64, bf16, f16 and "
                    "i64");
    return std::nullopt;
  }
  return RankedTensorType::get(shape, element);
}

std::optional<RankedTensorType>
Importer::inputType(Program &program, const InputDecl &input, Scope &scope) {
  if (input.dims.empty() || input.dims.front()->kind != Expr::Kind::Name ||
      input.dims.front()->text != "B") {
    diags.error(input.loc, "dim 0 of input '" + input.name + "' must be B")
        .note("B is the number of samples of a micro-batch");
    return std::nullopt;
  }
  int64_t batch = scope.variables["B"].integer;
  if (program.name == stringOf("train", "program"))
    return dataInputType(input, batch);
  Type element = inputDtype(builder, input, elementType, diags);
  if (!element)
    return std::nullopt;
  SmallVector<int64_t> shape{batch};
  Evaluator evaluator(diags, nullptr, scope);
  for (const ExprPtr &dim : llvm::drop_begin(input.dims)) {
    bool unbound =
        dim->kind == Expr::Kind::Name && !scope.variables.count(dim->text);
    if (unbound) {
      diags.error(dim->loc, "dim '" + dim->text + "' is not known")
          .note("the inputs of the program '" + stringOf("train", "program") +
                "' do not bind it" +
                (data.buckets.size() > 1 ? ", or differ in it" : "") +
                "; write a number");
      return std::nullopt;
    }
    Val size = evaluator.evaluate(*dim);
    if (size.isError())
      return std::nullopt;
    if (!size.isInteger() || size.integer < 1) {
      diags.error(dim->loc, "a dim must be a positive integer");
      return std::nullopt;
    }
    shape.push_back(size.integer);
  }
  if (isTooLarge(shape)) {
    diags.error(input.loc,
                "input '" + input.name + "' has more than 2^40 elements");
    return std::nullopt;
  }
  return RankedTensorType::get(shape, element);
}

bool Importer::bindProgramInputs(Program &program, Scope &scope) {
  SmallVector<Type> types;
  bool ok = true;
  for (const InputDecl &input : program.inputs) {
    std::optional<RankedTensorType> type = inputType(program, input, scope);
    ok &= type.has_value();
    types.push_back(type ? *type : RankedTensorType::get({}, elementType));
  }
  if (!ok)
    return false;
  program.func.setFunctionType(FunctionType::get(context, types, {}));
  Block *body = program.func.addEntryBlock();
  elaborator->builder().setInsertionPointToEnd(body);
  for (auto [i, input] : llvm::enumerate(program.inputs)) {
    program.func.setArgAttr(i, kInputAttr, builder.getStringAttr(input.name));
    Val value = Val::ofTensor(body->getArgument(i));
    if (static_cast<size_t>(value.rank()) == input.dims.size())
      for (const ExprPtr &dim : input.dims)
        value.dims.push_back(
            dim->kind == Expr::Kind::Name ? StringRef(dim->text) : StringRef());
    if (input.dtype.empty())
      value = elaborator->convert(value, elementType, input.loc);
    ok &= elaborator->bindTensor(input, value, input.loc, scope,
                                 "input '" + input.name + "'");
    if (scope.variables.count(input.name)) {
      diags.error(input.loc, "'" + input.name + "' names an input and a dim");
      ok = false;
    }
    scope.variables[input.name] = std::move(value);
  }
  return ok;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Keeps the dims that all buckets bind to the same.
void Importer::bindDims(const Scope &scope) {
  for (auto &variable : scope.variables)
    if (bucket == 0 && variable.second.isInteger())
      dims[variable.first()] = variable.second;
  SmallVector<StringRef> differ;
  for (auto &dim : dims) {
    auto it = scope.variables.find(dim.first());
    if (it == scope.variables.end() || !it->second.isInteger() ||
        it->second.integer != dim.second.integer)
      differ.push_back(dim.first());
  }
  for (StringRef name : differ)
    dims.erase(name);
}

void Importer::buildProgram(Program &program, size_t bucketNumber) {
  if (!program.parsed)
    return;
  bucket = bucketNumber;
  program.built = false;
  bool isTrain = program.name == stringOf("train", "program");
  bool isSample = program.name == stringOf("sample", "program");
  FunctionState state(context);
  state.batch = isSample ? sampleBatch : microBatch;
  if (isTrain && bucket < data.buckets.size())
    state.batch = data.buckets[bucket].microBatch;
  state.nextSite = program.number << 24;
  state.callsComponents = !isTrain;
  OpBuilder atEnd = OpBuilder::atBlockEnd(module->getBody());
  program.func = atEnd.create<func::FuncOp>(
      diags.location(context, program.loc), bucketName(program.name, bucket),
      FunctionType::get(context, {}, {}));
  program.func->setAttr(kProgramAttr, program.func.getSymNameAttr());
  state.func = program.func;
  Scope scope;
  if (!isTrain)
    for (auto &dim : dims)
      scope.variables[dim.first()] = dim.second;
  scope.variables["B"] = Val::of(state.batch);
  elaborator->function = &state;
  auto leave = llvm::make_scope_exit([&] { elaborator->function = nullptr; });
  if (!bindProgramInputs(program, scope))
    return;
  if (isTrain)
    bindDims(scope);
  Evaluator evaluator(diags, elaborator.get(), scope);
  unsigned errors = diags.getNumErrors();
  std::optional<Val> result = evaluator.run(program.body);
  if (!result || result->isNone())
    diags
        .error(program.forwardLoc,
               "the forward of program '" + program.name + "' returns nothing")
        .note("end it with 'return' and a value");
  bool ok = result && !result->isError() && diags.getNumErrors() == errors;
  if (ok)
    finishProgram(program, *result, evaluator.getReturned());
}

/// The program of a bucket. No key of TOML without quotes has a dot.
std::string ff::frontend::bucketName(StringRef program, size_t bucket) {
  return bucket ? (program + "." + Twine(bucket)).str() : program.str();
}

/// The name of an output: that of the variable that is returned.
static std::string outputName(const Expr *expr, StringRef fallback) {
  bool named = expr && expr->kind == Expr::Kind::Name &&
               !StringRef(expr->text).contains('.');
  return named ? expr->text : fallback.str();
}

void Importer::finishProgram(Program &program, const Val &result,
                             const Expr *returned) {
  bool isTrain = program.name == stringOf("train", "program");
  program.returnLoc = returned->loc;
  std::vector<std::pair<std::string, Val>> outputs;
  if (result.kind == Val::Kind::Record) {
    for (const Val &item : result.items)
      outputs.push_back({item.text, item});
  } else if (result.isList()) {
    for (auto [i, item] : llvm::enumerate(result.items)) {
      bool known = returned->operands.size() == result.items.size();
      outputs.push_back(
          {outputName(known ? returned->operands[i].get() : nullptr,
                      "result" + std::to_string(i)),
           item});
    }
  } else {
    outputs.push_back(
        {outputName(returned, isTrain ? "loss" : "result"), result});
  }
  SmallVector<Value> values;
  std::set<std::string> names;
  for (auto &[name, value] : outputs) {
    if (!value.isTensor()) {
      diags.error(returned->loc, "output '" + name +
                                     "' must be a tensor, not " +
                                     describeKind(value));
      return;
    }
    if (!names.insert(name).second) {
      diags.error(returned->loc, "two outputs are called '" + name + "'")
          .note("name them: return {a = x, b = y}");
      return;
    }
    values.push_back(value.tensor);
  }
  elaborator->builder().create<func::ReturnOp>(
      diags.location(context, returned->loc), values);
  program.func.setFunctionType(FunctionType::get(
      context, program.func.getArgumentTypes(), TypeRange(ValueRange(values))));
  for (auto [i, output] : llvm::enumerate(outputs))
    program.func.setResultAttr(i, kOutputAttr,
                               builder.getStringAttr(output.first));
  for (auto [input, argument] :
       llvm::zip_equal(program.inputs, program.func.getArguments()))
    if (argument.use_empty() && bucket == 0)
      diags.warning(input.loc, "input '" + input.name + "' of the program '" +
                                   program.name + "' is not used");
  program.built = true;
}

void Importer::checkLoss(Program &program) {
  if (!program.built)
    return;
  auto results = program.func.getResultTypes();
  auto isScalar = [&](Type result) {
    auto type = cast<RankedTensorType>(result);
    return type.getRank() == 0 && type.getElementType() == elementType;
  };
  auto nameOf = [&](unsigned i) {
    return cast<StringAttr>(program.func.getResultAttr(i, kOutputAttr))
        .getValue();
  };
  bool isMean = results.size() == 1;
  bool isSum =
      results.size() == 2 && nameOf(0) == "sum" && nameOf(1) == "count";
  if ((isMean || isSum) && llvm::all_of(results, isScalar))
    return;
  std::string got = std::to_string(results.size()) + " values";
  if (isMean || isSum) {
    Operation *end = program.func.getBody().front().getTerminator();
    got = describeTensor(Val::ofTensor(end->getOperand(0)));
    if (isSum)
      got += " and " + describeTensor(Val::ofTensor(end->getOperand(1)));
  }
  auto report = diags.error(program.returnLoc,
                            "the program '" + program.name +
                                "' must return one scalar, the loss; it "
                                "returns " +
                                got);
  std::string dtype = dtypeName(elementType);
  bool scalars = llvm::all_of(results, [](Type type) {
    return cast<RankedTensorType>(type).getRank() == 0;
  });
  if ((isMean || isSum) && scalars)
    report.note("the loss is " + dtype + ": cast(x, \"" + dtype +
                "\") converts a value");
  else
    report.note("mean(x) reduces a tensor to a scalar; {sum = s, count = n} "
                "returns two, for a mean over what counts in the whole step, "
                "whatever the micro-batches hold of it");
  program.built = false;
}
