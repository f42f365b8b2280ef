//===- Metadata.cpp - Metadata of a compiled spec ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// runtime/abi/metadata.md says what stands in it and why.
//
//===----------------------------------------------------------------------===//

#include "codegen/Target.h"
#include "codegen/host/Program.h"
#include "dialect/Buffers.h"
#include "dialect/Flops.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace ff;
namespace json = llvm::json;

namespace {
struct Dtype {
  int code; ///< ff_dtype of ff_rt.h
  StringRef name;
};
} // namespace

static Dtype getDtype(Type type) {
  if (type.isF32())
    return {0, "f32"};
  if (type.isF64())
    return {1, "f64"};
  if (type.isBF16())
    return {2, "bf16"};
  if (type.isF16())
    return {3, "f16"};
  if (type.isInteger(64))
    return {4, "i64"};
  if (type.isInteger(32))
    return {5, "i32"};
  if (type.isInteger(8))
    return {6, "i8"};
  if (type.isInteger(1))
    return {7, "bool"};
  return {-1, ""};
}

int ff::getDtypeCode(Type type) { return getDtype(type).code; }
StringRef ff::getDtypeName(Type type) { return getDtype(type).name; }

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The JSON value of an attribute of the spec.
static json::Value toJson(Attribute attr) {
  return llvm::TypeSwitch<Attribute, json::Value>(attr)
      .Case([](BoolAttr value) { return json::Value(value.getValue()); })
      .Case([](IntegerAttr value) { return json::Value(value.getInt()); })
      .Case(
          [](FloatAttr value) { return json::Value(value.getValueAsDouble()); })
      .Case([](StringAttr value) { return json::Value(value.getValue()); })
      .Case([](ArrayAttr values) {
        json::Array array;
        for (Attribute value : values)
          array.push_back(toJson(value));
        return json::Value(std::move(array));
      })
      .Case([](DenseI64ArrayAttr values) {
        json::Array array;
        for (int64_t value : values.asArrayRef())
          array.push_back(value);
        return json::Value(std::move(array));
      })
      .Case([](DictionaryAttr dict) {
        json::Object object;
        for (NamedAttribute entry : dict)
          object[entry.getName().getValue()] = toJson(entry.getValue());
        return json::Value(std::move(object));
      })
      .Default([](Attribute) { return json::Value(nullptr); });
}

static json::Array shapeOf(RankedTensorType type) {
  json::Array shape;
  for (int64_t size : type.getShape())
    shape.push_back(size);
  return shape;
}

static json::Object initToJson(InitAttr init) {
  double first = init.getFirst().getValueAsDouble();
  double second = init.getSecond().getValueAsDouble();
  switch (init.getKind()) {
  case InitKind::Normal:
    return json::Object{{"kind", "normal"}, {"mean", first}, {"std", second}};
  case InitKind::Uniform:
    return json::Object{{"kind", "uniform"}, {"low", first}, {"high", second}};
  case InitKind::Constant:
    return json::Object{{"kind", "constant"}, {"value", first}};
  }
  llvm_unreachable("every initialiser is listed");
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static json::Object componentToJson(ComponentOp component) {
  json::Object object{
      {"name", component.getSymName()},
      {"module", component.getModule()},
      {"train", stringifyTrainMode(component.getTrain())},
      {"files", json::Array()},
      {"config", json::Object()},
      {"lora", nullptr},
      {"save", nullptr},
      {"reshard_after_forward", component.getReshardAfterForward()}};
  for (auto [name, attr] :
       {std::pair("files", Attribute(component.getFilesAttr())),
        std::pair("config", Attribute(component.getConfigAttr())),
        std::pair("lora", Attribute(component.getLoraAttr())),
        std::pair("save", Attribute(component.getSaveAttr()))})
    if (attr)
      object[name] = toJson(attr);
  return object;
}

static json::Object sourceToJson(SourceAttr source) {
  json::Object object{{"file", source.getFile()},
                      {"tensor", source.getTensor().getValue()},
                      {"dtype", source.getDtype().getValue()},
                      {"pieces", nullptr}};
  if (!source.getPieces())
    return object;
  json::Array pieces;
  for (auto piece : source.getPieces().getAsRange<PieceAttr>())
    pieces.push_back(json::Object{{"file", piece.getFile()},
                                  {"tensor", piece.getTensor().getValue()},
                                  {"shape", json::Array(piece.getShape())},
                                  {"first", piece.getFirst()},
                                  {"count", piece.getCount()}});
  object["pieces"] = std::move(pieces);
  return object;
}

static json::Object paramToJson(ParameterOp param, int64_t offset) {
  json::Object object{{"name", param.getSymName()},
                      {"shape", shapeOf(param.getTensorType())},
                      {"offset", offset},
                      {"decay", param.getDecay()},
                      {"init", initToJson(param.getInit())},
                      {"source", nullptr},
                      {"save", nullptr},
                      {"merge", nullptr},
                      {"patches", nullptr}};
  if (auto source = param.getSourceAttr())
    object["source"] = sourceToJson(source);
  if (auto patches = param.getPatchesAttr()) {
    json::Array array;
    for (auto patch : patches.getAsRange<PatchAttr>())
      array.push_back(
          json::Object{{"file", patch.getFile()},
                       {"tensor", patch.getTensor().getValue()},
                       {"shape", json::Array(patch.getShape())},
                       {"down", patch.getDown().getValue()},
                       {"scale", patch.getScale().getValueAsDouble()},
                       {"first", patch.getFirst()},
                       {"count", patch.getCount()}});
    object["patches"] = std::move(array);
  }
  if (auto save = param.getSaveAttr())
    object["save"] = json::Object{{"file", save.getFile()},
                                  {"name", save.getName().getValue()}};
  if (auto merge = param.getMergeAttr())
    object["merge"] =
        json::Object{{"a", merge.getA().getValue()},
                     {"b", merge.getB().getValue()},
                     {"scale", merge.getScale().getValueAsDouble()}};
  return object;
}

static json::Object groupToJson(GroupAttr group, int64_t unit,
                                int64_t componentNumber, ComponentOp component,
                                const SymbolTable &parameters) {
  json::Array params;
  for (auto [name, offset] :
       llvm::zip_equal(group.getParams(), group.getOffsets()))
    params.push_back(
        paramToJson(parameters.lookup<ParameterOp>(name.getValue()), offset));
  return json::Object{{"unit", unit},
                      {"component", componentNumber},
                      {"trainable", group.getTrainable()},
                      {"sharded", component.getSharded()},
                      {"storage_dtype", getDtypeName(group.getDtype())},
                      {"dtype", getDtypeName(group.getGatherDtype())},
                      {"master_dtype", getDtypeName(group.getMasterDtype())},
                      {"reduce_dtype", getDtypeName(group.getReduceDtype())},
                      {"numel", group.getNumel()},
                      {"params", std::move(params)}};
}

static json::Array
slotsToJson(Attribute slots, const llvm::DenseMap<Attribute, int64_t> &units) {
  json::Array result;
  if (auto all = dyn_cast_or_null<ArrayAttr>(slots))
    for (auto slot : all.getAsRange<ArrayAttr>()) {
      json::Array members;
      for (auto unit : slot.getAsRange<FlatSymbolRefAttr>())
        members.push_back(units.lookup(unit.getAttr()));
      result.push_back(std::move(members));
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {
/// What is the same for all programs of a module.
struct ProgramContext {
  explicit ProgramContext(ModuleOp module) : symbols(module), flops(module) {}

  SymbolTable symbols;
  FlopCounter flops;
  llvm::DenseMap<Attribute, int64_t> units; ///< numbers by symbol
};
} // namespace

/// The collectives of one run, in order; those of a component's forward stand
/// where it is called.
static void addCollectives(func::FuncOp func, const ProgramContext &context,
                           json::Array &collectives) {
  auto add = [&](StringRef kind, FlatSymbolRefAttr unit) {
    collectives.push_back(json::Object{
        {"kind", kind}, {"unit", context.units.lookup(unit.getAttr())}});
  };
  for (Operation &op : func.getBody().front())
    llvm::TypeSwitch<Operation *>(&op)
        .Case<GatherOp, GatherStartOp>(
            [&](auto gather) { add("gather", gather.getUnitAttr()); })
        .Case([&](ReduceGradientsOp reduce) {
          add("reduce", reduce.getUnitAttr());
        })
        .Case([&](func::CallOp call) {
          auto callee = context.symbols.lookup<func::FuncOp>(call.getCallee());
          if (callee && !callee.isExternal() && holdsCollectives(callee))
            addCollectives(callee, context, collectives);
        });
}

/// The units of the blocks whose forward the backward computes again, in order.
static json::Array recomputedUnits(func::FuncOp func,
                                   const ProgramContext &context) {
  // The first call has no mark, the one of the backward has it; what is not
  // differentiated has it on the only call.
  llvm::SmallDenseSet<Attribute> called;
  std::map<int64_t, StringRef> names; // by number
  for (auto call : func.getBody().getOps<func::CallOp>())
    for (Value operand : call.getOperands()) {
      auto view = resolveView(operand).root.getDefiningOp<ViewOp>();
      if (!view)
        continue;
      StringAttr unit = view.getUnitSymbol().getAttr();
      if (!call->hasAttr(kRecomputeAttr))
        called.insert(unit);
      else if (called.contains(unit))
        names[context.units.lookup(unit)] = unit.getValue();
    }
  json::Array result;
  for (auto &[number, name] : names)
    result.push_back(name);
  return result;
}

static json::Object valueToJson(StringRef name, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return json::Object{{"name", name},
                      {"dtype", getDtypeName(tensor.getElementType())},
                      {"shape", shapeOf(tensor)}};
}

static json::Object programToJson(func::FuncOp func, ProgramContext &context) {
  json::Array inputs, outputs;
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    inputs.push_back(
        valueToJson(func.getArgAttrOfType<StringAttr>(i, kInputAttr).getValue(),
                    func.getArgumentTypes()[i]));
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    auto name = func.getResultAttrOfType<StringAttr>(i, kOutputAttr);
    outputs.push_back(valueToJson(name ? name.getValue() : StringRef("output"),
                                  func.getResultTypes()[i]));
  }
  auto bytes = func->getAttrOfType<IntegerAttr>(kFrameBytesAttr);
  json::Array collectives;
  addCollectives(func, context, collectives);
  return json::Object{
      {"name", func.getName()},
      {"inputs", std::move(inputs)},
      {"outputs", std::move(outputs)},
      {"arena_bytes", bytes ? bytes.getInt() : 0},
      {"gather_slots",
       slotsToJson(func->getAttr(kGatherSlotsAttr), context.units)},
      {"grad_slots", slotsToJson(func->getAttr(kGradSlotsAttr), context.units)},
      {"flops", context.flops.count(func)},
      {"collectives", std::move(collectives)},
      {"recompute", recomputedUnits(func, context)}};
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

static json::Object targetToJson(ModuleOp module, const Target &target) {
  auto spec = module->getAttrOfType<DictionaryAttr>(kSpecAttr);
  auto precision = spec ? spec.getAs<DictionaryAttr>("precision") : nullptr;
  auto tf32 = precision ? precision.getAs<BoolAttr>("tf32") : nullptr;
  return json::Object{{"kind", "cuda"},
                      {"chip", target.chip},
                      {"tf32", tf32 && tf32.getValue()}};
}

json::Value ff::buildMetadata(ModuleOp module) {
  json::Object root;
  if (auto spec = module->getAttrOfType<DictionaryAttr>(kSpecAttr))
    for (NamedAttribute entry : spec)
      if (entry.getName() != "sharding" && entry.getName() != "precision")
        root[entry.getName().getValue()] = toJson(entry.getValue());
  root["version"] = 2;
  if (Target target = getTarget(module); target.isCuda())
    root["target"] = targetToJson(module, target);
  // Compiled into the shapes of the program.
  if (json::Object *sample = root.getObject("sample"))
    sample->erase("micro_batch");

  json::Array components, groups, units, programs;
  ProgramContext context(module);
  // With the table of parameters of each, made once.
  llvm::DenseMap<Attribute, int64_t> componentNumbers;
  std::vector<SymbolTable> tables;
  for (auto component : module.getOps<ComponentOp>()) {
    componentNumbers[component.getSymNameAttr()] = components.size();
    components.push_back(componentToJson(component));
    tables.emplace_back(component);
  }
  for (auto unit : module.getOps<UnitOp>()) {
    int64_t number = units.size();
    context.units[unit.getSymNameAttr()] = number;
    int64_t component =
        componentNumbers.lookup(unit.getComponentAttr().getAttr());
    const SymbolTable &table = tables[component];
    json::Array members;
    for (auto group : unit.getGroups().getAsRange<GroupAttr>()) {
      members.push_back(static_cast<int64_t>(groups.size()));
      groups.push_back(groupToJson(group, number, component,
                                   cast<ComponentOp>(table.getOp()), table));
    }
    units.push_back(json::Object{{"name", unit.getSymName()},
                                 {"component", component},
                                 {"groups", std::move(members)}});
  }
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(kProgramAttr))
      programs.push_back(programToJson(func, context));
  root["components"] = std::move(components);
  root["groups"] = std::move(groups);
  root["units"] = std::move(units);
  root["programs"] = std::move(programs);
  return root;
}

void ff::addTables(json::Value &metadata, HostModule &host) {
  json::Object &root = *metadata.getAsObject();
  root["matmuls"] = json::Array(std::move(host.matmuls));
  if (root.get("target"))
    root["kernels"] = json::Array(std::move(host.kernels));
}

std::string ff::buildPlanMetadata(ModuleOp module) {
  json::Value metadata = buildMetadata(module);
  // Numbers everything as the lowering does.
  HostModule host(module);
  for (auto func : module.getOps<func::FuncOp>())
    if (isTensorFunction(func)) {
      func.walk([&](MatmulOp op) { host.getMatmul(describeMatmul(op)); });
      func.walk([&](LaunchDeviceOp op) { host.getKernel(describeKernel(op)); });
    }
  addTables(metadata, host);
  return llvm::formatv("{0}", metadata).str();
}
