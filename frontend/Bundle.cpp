//===- Bundle.cpp - The components of the bundle ----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"
#include "frontend/KeyMap.h"
#include "frontend/Pattern.h"
#include "frontend/Weights.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

//===----------------------------------------------------------------------===//
// What a component consists of
//===----------------------------------------------------------------------===//

/// All parameters of `type`, depth first in the order of declaration.
static void collectParams(const ModuleType &type, StringRef prefix,
                          StringRef block, ComponentInfo &info) {
  for (const Param &param : type.params) {
    std::string name = (prefix + param.name).str();
    if (!param.tie.empty()) {
      info.tied[name] = (prefix + param.tie).str();
      continue;
    }
    ComponentParam own;
    own.name = std::move(name);
    own.decl = &param;
    own.block = block.str();
    info.add(std::move(own));
  }
  for (const Submodule &sub : type.modules) {
    for (int64_t i = 0; i < sub.count; ++i) {
      std::string name = (prefix + sub.name).str();
      if (sub.isList)
        name += "." + std::to_string(i);
      // The outermost block is the unit.
      bool isBlock =
          block.empty() && (sub.isList || sub.types.front()->decl->unit);
      collectParams(*sub.types[i], name + ".",
                    isBlock ? StringRef(name) : block, info);
    }
  }
}

/// A module may name its parameters as those of a submodule are named.
static bool checkNames(const ComponentInfo &info, Diagnostics &diags) {
  bool ok = true;
  for (const ComponentParam &param : info.params) {
    const ComponentParam &last = info.params[info.index.at(param.name)];
    if (&last != &param) {
      diags
          .error(param.decl->loc, "'" + param.name +
                                      "' is the name of two parameters of "
                                      "component '" +
                                      info.name + "'")
          .note(last.decl->loc, "the other one is declared here");
      ok = false;
    } else if (param.name.empty() || param.name == "__metadata__") {
      diags.error(param.decl->loc,
                  "no tensor of a file can have the name '" + param.name + "'");
      ok = false;
    }
  }
  return ok;
}

/// Ties of the declarations: each names a parameter of the same module.
static bool checkTies(const ModuleType &type, ComponentInfo &info,
                      StringRef prefix, Diagnostics &diags) {
  bool ok = true;
  for (const Param &param : type.params) {
    if (param.tie.empty())
      continue;
    auto it = info.index.find((prefix + param.tie).str());
    const ComponentParam *owner =
        it == info.index.end() ? nullptr : &info.params[it->second];
    if (!owner) {
      std::vector<std::string> names;
      for (const ComponentParam &candidate : info.params)
        if (StringRef(candidate.name).starts_with(prefix))
          names.push_back(candidate.name.substr(prefix.size()));
      auto report =
          diags.error(param.tieLoc, "'" + param.name + "' is tied to '" +
                                        param.tie + "', which module '" +
                                        type.decl->name + "' does not have");
      if (auto near = nearest(param.tie, names))
        report.note("did you mean '" + *near + "'?");
      ok = false;
    } else if (owner->decl->shape != param.shape) {
      diags
          .error(param.tieLoc, "'" + param.name + "' is tied to '" + param.tie +
                                   "' and has another shape")
          .note(owner->decl->loc, "the other one is declared here");
      ok = false;
    }
  }
  for (const Submodule &sub : type.modules)
    for (int64_t i = 0; i < sub.count; ++i) {
      std::string name = (prefix + sub.name).str();
      if (sub.isList)
        name += "." + std::to_string(i);
      ok = ok && checkTies(*sub.types[i], info, name + ".", diags);
    }
  return ok;
}

void Importer::addComponents() {
  builder.setInsertionPointToEnd(module->getBody());
  const Node *bundle = spec.sectionNode("bundle");
  if (!bundle)
    return;
  std::vector<ComponentInfo *> complete;
  for (const Entry &entry : bundle->entries) {
    // Uses of a broken component stay silent.
    elaborator->components[entry.key] = Val::error();
    if (!entry.value->isTable())
      continue;
    components.push_back(std::make_unique<ComponentInfo>());
    if (readComponent(entry, *components.back()))
      complete.push_back(components.back().get());
  }
  if (complete.size() != bundle->entries.size())
    return;
  checkKeepPatterns();
  if (!resolveUnits(complete))
    return;
  bool ok = true;
  for (ComponentInfo *info : complete)
    ok &= applyMixedDtype(*info);
  if (!ok)
    return;
  warnAboutUnits(complete);
  for (ComponentInfo *info : complete) {
    resolveRecompute(*info);
    addSaveTable(*info);
    emitComponent(*info);
  }
  checkRecomputePatterns();
}

/// Everything that [bundle.NAME] says. False after an error.
bool Importer::readComponent(const Entry &entry, ComponentInfo &info) {
  const Node &table = *entry.value;
  auto get = [&](StringRef key) { return spec.get(table, "bundle.*", key); };
  info.name = entry.key;
  info.loc = entry.keyLoc;
  info.table = &table;
  const Node *name = get("module"), *train = get("train");
  if (!name || !name->isString() || !train || !train->isString())
    return false;
  std::optional<TrainMode> mode = symbolizeTrainMode(train->string);
  if (!mode)
    return false; // reported by the validation
  info.train = *mode;
  info.trainLoc = train->loc;
  ConfigArgs args;
  const ModuleDecl *decl = modules.getDecl(name->string, name->loc);
  if (!decl || !readConfig(*get("config"), *decl, args, info))
    return false;
  info.type = modules.getType(*decl, std::move(args), name->loc);
  if (!info.type)
    return false;
  collectParams(*info.type, "", "", info);
  // Nothing is trained of it, and nothing saved.
  if (info.params.empty() && info.train == TrainMode::Full)
    info.train = TrainMode::Frozen;
  for (ComponentParam &param : info.params)
    param.trainable = info.train == TrainMode::Full && !param.isBuffer();
  const Node *reshard =
      componentNode(info, "sharding", "reshard_after_forward");
  info.reshardAfterForward = !reshard || reshard->boolean;
  const Node *strategy = componentNode(info, "sharding", "strategy");
  info.sharded = !strategy || strategy->string != "replicate";
  const Node *mixed = componentNode(info, "sharding", "mixed_dtype");
  info.mixedDtype = mixed ? mixed->string : "split";
  info.mixedLoc = mixed && !spec.isDefault(*mixed) ? mixed->loc : info.loc;
  return checkNames(info, diags) && checkTies(*info.type, info, "", diags) &&
         addAdapters(info) && resolveComponentDtypes(info) &&
         readWeights(info) && resolvePrecision(info);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

SourceAttr Importer::sourceOf(const WeightFiles::Tensor &tensor) {
  auto text = [&](StringRef value) { return builder.getStringAttr(value); };
  if (tensor.pieces.empty())
    return SourceAttr::get(context, tensor.file, text(tensor.key),
                           text(tensor.dtype));
  SmallVector<Attribute> pieces;
  for (const WeightFiles::Tensor::Piece &piece : tensor.pieces)
    pieces.push_back(PieceAttr::get(context, piece.file, text(piece.key),
                                    piece.shape, piece.first, piece.count));
  const WeightFiles::Tensor::Piece &first = tensor.pieces.front();
  // A tensor under another name is not in pieces.
  bool isWhole = pieces.size() == 1 && first.shape == tensor.shape;
  return SourceAttr::get(context, first.file, text(first.key),
                         text(tensor.dtype),
                         isWhole ? ArrayAttr() : builder.getArrayAttr(pieces));
}

bool Importer::readWeights(ComponentInfo &info) {
  const Node *weights = info.table->get("weights");
  const Node *stated = info.table->get("file_dtype");
  if (stated && stated->isString())
    if (Type dtype = dtypeOfKey(context, stated->string))
      for (ComponentParam &param : info.params)
        if (!param.isAdapter && !param.isBuffer())
          param.fileDtype = dtypeName(dtype);
  if (!weights || !weights->isString()) {
    for (StringRef key : {"keys", "adapters"})
      if (const Node *node = info.table->get(key)) {
        diags
            .error(node->loc, "component '" + info.name + "' has '" + key +
                                  "' and no 'weights'")
            .note("they are of the files of weights");
        return false;
      }
    if (info.train != TrainMode::Full && !info.params.empty())
      diags
          .warning(info.loc,
                   "component '" + info.name + "' is " +
                       (info.train == TrainMode::LoRA ? "adapted" : "frozen") +
                       " and has no weights")
          .note("it keeps the values of its initialisers");
    return true;
  }
  std::string path = spec.resolvePath(weights->string);
  if (stated && !llvm::sys::fs::exists(path)) {
    info.files.push_back(path);
    diags.warning(weights->loc, "there are no weights at '" + path + "' yet")
        .note(stated->loc, "the plan takes this dtype for them; the trainer "
                           "needs the files when it is compiled");
    // A trainer of this spec looks for them: it must not start from the
    // initialisers.
    for (ComponentParam &param : info.params)
      if (!param.fileDtype.empty())
        param.source =
            SourceAttr::get(context, 0, builder.getStringAttr(param.name),
                            builder.getStringAttr(param.fileDtype));
    return true;
  }
  WeightFiles files;
  if (!readWeightFiles(path, weights->loc, files, diags))
    return false;
  if (!addSetWeights(info, files))
    return false;
  if (const Node *rules = info.table->get("keys"))
    if (!applyKeyMap(
            files, *rules, info.name,
            [&](StringRef name) -> std::optional<ArrayRef<int64_t>> {
              if (const ComponentParam *param = info.find(name))
                return ArrayRef<int64_t>(param->decl->shape);
              return std::nullopt;
            },
            diags))
      return false;
  if (!addScales(info, files, weights->loc))
    return false;
  std::vector<ExpectedTensor> expected;
  llvm::StringMap<std::vector<std::string>> aliases;
  for (auto &alias : info.tied)
    aliases[alias.second].push_back(alias.first().str());
  for (const ComponentParam &param : info.params) {
    ExpectedTensor tensor;
    tensor.name = param.name;
    tensor.shape.assign(param.decl->shape.begin(), param.decl->shape.end());
    tensor.optional = param.isAdapter;
    tensor.loc = param.decl->loc;
    auto it = aliases.find(param.name);
    if (it != aliases.end()) {
      tensor.aliases = it->second;
      llvm::sort(tensor.aliases);
    }
    expected.push_back(std::move(tensor));
  }
  std::vector<StringRef> spare;
  if (const Node *tensors = info.type->decl->published("tensors"))
    for (const auto &pattern : tensors->items)
      spare.push_back(pattern->string);
  std::vector<int> match;
  if (!matchWeights(files, expected, info.table->get("on_missing"),
                    info.table->get("on_unexpected"), info.name, weights->loc,
                    diags, match, spare))
    return false;
  info.files = files.files;
  for (auto [param, index] : llvm::zip_equal(info.params, match)) {
    if (index < 0) {
      param.fileDtype.clear();
      continue;
    }
    const WeightFiles::Tensor &tensor = files.tensors[index];
    param.fileDtype = tensor.dtype;
    param.source = sourceOf(tensor);
  }
  return foldAdapters(info) && checkFileDtypes(info, weights->loc);
}

/// The storage of a parameter can hold what the file has.
bool Importer::checkFileDtypes(const ComponentInfo &info, SMLoc loc) {
  for (const ComponentParam &param : info.params) {
    if (param.fileDtype.empty())
      continue;
    Type dtype = dtypeOf(context, param.fileDtype);
    const Node *lora = info.table->get("lora");
    const Node *merge = lora ? lora->get("merge") : nullptr;
    if (dtype && dtype.isInteger(8) && merge && merge->boolean &&
        info.adapters.count(param.name)) {
      diags
          .error(merge->loc, "adapters cannot be merged into '" + param.name +
                                 "', which is " + param.fileDtype +
                                 " in its file")
          .note("the sum needs a float: leave 'merge' out, or convert the "
                "file");
      return false;
    }
    bool stands = dtype && (isa<FloatType>(dtype) || param.isBuffer() ||
                            dtype.isInteger(8));
    if (stands)
      continue;
    diags
        .error(loc, "tensor '" + param.name + "' of '" + info.name + "' is " +
                        param.fileDtype + " in its file")
        .note("parameters can be f32, f64, bf16 and f16, and frozen ones fp8 "
              "or int8 with a scale: convert the file");
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

void Importer::emitComponent(ComponentInfo &info) {
  Builder &b = builder;
  SmallVector<NamedAttribute> config;
  for (auto &[key, value] : info.type->config)
    config.push_back(b.getNamedAttr(key, configAttr(b, value.value)));
  // Saved as it is: other libraries want what the module ignores, and floats
  // that are no integers.
  if (!info.configText.empty())
    config.push_back(
        b.getNamedAttr("config.json", b.getStringAttr(info.configText)));
  auto strings = [&](ArrayRef<std::string> list) {
    SmallVector<StringRef> refs(list.begin(), list.end());
    return b.getStrArrayAttr(refs);
  };
  DictionaryAttr save;
  if (!info.saveFiles.empty())
    save = b.getDictionaryAttr(
        {b.getNamedAttr("kind", b.getStringAttr(info.train == TrainMode::LoRA
                                                    ? "adapter"
                                                    : "full")),
         b.getNamedAttr("files", strings(info.saveFiles))});
  auto component = builder.create<ComponentOp>(
      diags.location(context, info.loc), b.getStringAttr(info.name),
      b.getStringAttr(info.type->decl->name),
      TrainModeAttr::get(context, info.train),
      b.getBoolAttr(info.reshardAfterForward), b.getBoolAttr(info.sharded),
      info.files.empty() ? ArrayAttr() : strings(info.files),
      b.getDictionaryAttr(config), loraAttr(info), save, ownPrecision(info));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&component.getBody());
  for (const ComponentParam &param : info.params)
    emitParameter(info, param);
  elaborator->infos[info.name] = &info;
  Val value = Val::of(Val::Kind::Module);
  value.instance = {info.type, "", b.getStringAttr(info.name)};
  elaborator->components[info.name] = value;
}

/// The dtypes that the component's own tables say, for ff-verify-precision.
DictionaryAttr Importer::ownPrecision(const ComponentInfo &info) const {
  NamedAttrList attrs;
  if (const Node *own = info.table->get("precision"))
    if (own->isTable())
      for (const Entry &entry : own->entries)
        attrs.set(entry.key, attributeOf(*entry.value));
  if (const Node *own = info.table->get("sharding"))
    if (const Node *mixed = own->get("mixed_dtype"))
      attrs.set("mixed_dtype", attributeOf(*mixed));
  return attrs.empty() ? DictionaryAttr() : attrs.getDictionary(context);
}

void Importer::emitParameter(const ComponentInfo &info,
                             const ComponentParam &param) {
  Builder &b = builder;
  auto unlessStorage = [&](Type type) {
    return type == param.storage ? TypeAttr() : TypeAttr::get(type);
  };
  Type usual = param.storage.isF64() ? param.storage : Type(b.getF32Type());
  bool byMode = param.trainable == (info.train == TrainMode::Full);
  MergeAttr merge;
  auto adapter = info.adapters.find(param.name);
  // The bytes of a weight of fp8 or int8 cannot hold the sum.
  if (adapter != info.adapters.end() && isa<FloatType>(param.storage))
    merge = MergeAttr::get(context, b.getStringAttr(adapter->second.a),
                           b.getStringAttr(adapter->second.b),
                           b.getF64FloatAttr(adapter->second.scale()));
  builder.create<ParameterOp>(
      diags.location(context, param.decl->loc), b.getStringAttr(param.name),
      TypeAttr::get(RankedTensorType::get(param.decl->shape, param.storage)),
      param.decl->init,
      param.unit.empty() ? StringAttr() : b.getStringAttr(param.unit),
      b.getBoolAttr(param.decl->decay),
      byMode ? BoolAttr() : b.getBoolAttr(param.trainable),
      unlessStorage(param.gather), unlessStorage(param.master),
      !param.trainable || param.reduce == usual ? TypeAttr()
                                                : TypeAttr::get(param.reduce),
      param.isBuffer() ? b.getUnitAttr() : UnitAttr(), param.source,
      param.saveName.empty() ? SaveAttr()
                             : SaveAttr::get(context, param.saveFile,
                                             b.getStringAttr(param.saveName)),
      merge,
      param.patches.empty() ? ArrayAttr() : b.getArrayAttr(param.patches));
}

//===----------------------------------------------------------------------===//
// Checks after the programs
//===----------------------------------------------------------------------===//

void Importer::checkComponents(const std::set<std::string> &inTraining) {
  const Node *bundle = spec.sectionNode("bundle");
  bool anyTrainable = false;
  for (auto &info : components) {
    if (!elaborator->infos.count(info->name))
      return;
    bool trains = llvm::any_of(info->params, [](const ComponentParam &param) {
      return param.trainable;
    });
    anyTrainable |= trains;
    if (trains && !inTraining.count(info->name)) {
      reportUnreached(*info);
    } else if (!elaborator->usedComponents.count(info->name)) {
      diags.warning(info->loc, "component '" + info->name +
                                   "' is not used by any program");
    }
    if (inTraining.count(info->name))
      checkAdapters(*info);
  }
  if (!anyTrainable)
    diags.error(bundle->loc, "nothing is trained: no component of the bundle "
                             "has train = \"full\" or \"lora\" and "
                             "parameters");
}

/// A component that is trained and not used: where a branch that is never taken
/// would have used it, that line is the one to mend.
void Importer::reportUnreached(const ComponentInfo &info) {
  std::string program = stringOf("train", "program");
  for (const DeadBranch &branch : elaborator->deadBranches) {
    if (!llvm::is_contained(branch.components, info.name))
      continue;
    diags
        .error(branch.loc, branch.why + ", so component '" + info.name +
                               "', which is trained, never runs")
        .note(info.loc, "it is trained here; set train = \"frozen\", or "
                        "change the condition");
    return;
  }
  diags
      .error(info.loc, "component '" + info.name +
                           "' is trained, but the program '" + program +
                           "' does not use it")
      .note("call it there, or set train = \"frozen\"");
}
