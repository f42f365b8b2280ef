//===- Adapters.cpp - Low-rank adapters of a component ----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// train = "lora": each linear weight W [out, in] whose path a target names gets
// A [rank, in] and B [out, rank], and the layer computes W x + alpha/rank · B A
// x (Hu et al., LoRA, 2021). Names and initial values are those of PEFT.
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"
#include "frontend/Pattern.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

/// As in PEFT: a target is the whole path of a layer, or its last parts.
static bool isTarget(StringRef pattern, StringRef path) {
  for (StringRef rest = path; !rest.empty(); rest = rest.split('.').second)
    if (matchesPattern(pattern, rest))
      return true;
  return false;
}

/// The path of a layer whose weight can have an adapter; empty: none.
static StringRef layerOf(const ComponentParam &param) {
  StringRef name = param.name;
  if (param.isBuffer() || param.decl->shape.size() != 2 ||
      !name.consume_back(".weight"))
    return "";
  return name;
}

/// The number of the first pattern of a table that matches, else `fallback`.
static const Node *valueFor(const Node *table, StringRef path,
                            llvm::DenseSet<const Entry *> &used) {
  if (!table)
    return nullptr;
  for (const Entry &entry : table->entries)
    if (isTarget(entry.key, path)) {
      used.insert(&entry);
      return entry.value.get();
    }
  return nullptr;
}

/// The values of `ranks` or `alphas`, which single layers have.
static bool checkLayerValues(const Node *table, StringRef key, bool integers,
                             Diagnostics &diags) {
  bool ok = true;
  if (!table || !table->isTable())
    return true; // reported by the validation
  for (const Entry &entry : table->entries) {
    const Node &value = *entry.value;
    bool right = integers ? value.isInteger() && value.integer > 0
                          : value.isNumber() && value.number > 0;
    if (right)
      continue;
    diags
        .error(value.loc, "'" + key + "' must be positive " +
                              (integers ? "integers" : "numbers") + " by layer")
        .note("for example: " + key + " = { \"" + entry.key + "\" = 8 }");
    ok = false;
  }
  return ok;
}

/// The last parts of the paths, as many as the pattern has: what a target names
/// best.
static std::vector<std::string> lastParts(StringRef pattern,
                                          ArrayRef<std::string> paths) {
  std::vector<std::string> parts;
  for (StringRef path : paths) {
    StringRef rest = path;
    while (rest.count('.') > pattern.count('.'))
      rest = rest.split('.').second;
    if (!llvm::is_contained(parts, rest))
      parts.push_back(rest.str());
  }
  return parts;
}

bool Importer::addAdapters(ComponentInfo &info) {
  const Node *lora = info.table->get("lora");
  if (info.train != TrainMode::LoRA) {
    if (!lora)
      return true;
    diags
        .error(lora->loc, "'lora' is given, and component '" + info.name +
                              "' has train = \"" +
                              stringifyTrainMode(info.train) + "\"")
        .note(info.trainLoc, "set train = \"lora\" for adapters");
    return false;
  }
  if (!lora) {
    diags
        .error(info.trainLoc, "component '" + info.name +
                                  "' has train = \"lora\" and no 'lora'")
        .note("for example: lora = { rank = 16, targets = [\"to_q\", "
              "\"to_v\"] }");
    return false;
  }
  const Node *targets = lora->get("targets");
  const Node *rank = lora->get("rank");
  if (!targets || !rank || !rank->isInteger() || rank->integer < 1)
    return false; // reported by the validation
  const Node *alpha = lora->get("alpha"), *ranks = lora->get("ranks"),
             *alphas = lora->get("alphas"), *dropout = lora->get("dropout"),
             *init = lora->get("init");
  bool gaussian = init && init->string == "gaussian";
  if (!checkLayerValues(ranks, "ranks", /*integers=*/true, diags) ||
      !checkLayerValues(alphas, "alphas", /*integers=*/false, diags))
    return false;

  std::vector<std::string> layers, adapted;
  for (const ComponentParam &param : info.params)
    if (StringRef path = layerOf(param); !path.empty())
      layers.push_back(path.str());
  bool ok = true;
  llvm::DenseSet<const Node *> alive;
  llvm::DenseSet<const Entry *> used;
  std::vector<ComponentParam> old;
  old.swap(info.params);
  info.index.clear();
  for (ComponentParam &param : old) {
    ComponentParam base = param;
    info.add(std::move(param));
    StringRef path = layerOf(base);
    const Node *hit = nullptr;
    for (const auto &target : targets->items)
      if (target->isString() && !path.empty() &&
          isTarget(target->string, path)) {
        alive.insert(target.get());
        hit = hit ? hit : target.get();
      }
    if (!hit)
      continue;
    adapted.push_back(path.str());
    Adapter adapter;
    const Node *own = valueFor(ranks, path, used);
    adapter.rank = own ? own->integer : rank->integer;
    const Node *ownAlpha = valueFor(alphas, path, used);
    // A rank of its own without an alpha keeps alpha / rank: the updates of all
    // layers have one scale.
    double common = alpha ? alpha->number : static_cast<double>(rank->integer);
    adapter.alpha = ownAlpha ? ownAlpha->number : common;
    adapter.dropout = dropout ? dropout->number : 0;
    adapter.loc = hit->loc;
    int64_t out = base.decl->shape[0], in = base.decl->shape[1];
    if (adapter.rank < 1 || adapter.rank > std::min(in, out)) {
      diags
          .error(own ? own->loc : rank->loc,
                 "rank " + Twine(adapter.rank) + " of the adapter of '" + path +
                     "' is not between 1 and the smaller dim of its weight [" +
                     Twine(out) + ", " + Twine(in) + "]")
          .note(hit->loc, "this target asks for the adapter");
      ok = false;
      continue;
    }
    // PEFT: kaiming_uniform(a = √5), or normal with deviation 1 / rank.
    double bound = gaussian ? 1.0 / static_cast<double>(adapter.rank)
                            : 1.0 / std::sqrt(static_cast<double>(in));
    auto number = [&](double x) { return builder.getF64FloatAttr(x); };
    auto add = [&](StringRef suffix, std::vector<int64_t> shape,
                   InitAttr initial) {
      auto decl = std::make_unique<Param>();
      decl->name = (path + suffix).str();
      decl->loc = hit->loc;
      decl->shape.assign(shape.begin(), shape.end());
      decl->dims.assign(shape.size(), "");
      decl->init = initial;
      decl->decay = true;
      decl->used = true;
      ComponentParam adapterParam;
      adapterParam.name = decl->name;
      adapterParam.decl = decl.get();
      adapterParam.block = base.block;
      adapterParam.isAdapter = true;
      adapterParam.trainable = true;
      info.ownDecls.push_back(std::move(decl));
      return info.add(std::move(adapterParam)).name;
    };
    adapter.a = add(".lora_A.weight", {adapter.rank, in},
                    gaussian ? InitAttr::get(context, InitKind::Normal,
                                             number(0), number(bound))
                             : InitAttr::get(context, InitKind::Uniform,
                                             number(-bound), number(bound)));
    adapter.b =
        add(".lora_B.weight", {out, adapter.rank},
            InitAttr::get(context, InitKind::Constant, number(0), number(0)));
    info.adapters[base.name] = adapter;
  }
  for (const auto &target : targets->items) {
    if (!target->isString() || alive.contains(target.get()))
      continue;
    reportDeadPattern(target->string, target->loc,
                      "layer with a weight of rank 2 of component '" +
                          info.name + "'",
                      lastParts(target->string, layers));
    ok = false;
  }
  if (targets->items.empty()) {
    diags.error(targets->loc, "'targets' names no layer")
        .note("targets = [\"*\"] adapts every linear layer; a component "
              "without adapters is train = \"frozen\"");
    ok = false;
  }
  if (!ok)
    return false;
  for (const Node *table : {ranks, alphas})
    if (table)
      for (const Entry &entry : table->entries)
        if (!used.contains(&entry)) {
          ok = false;
          bool shadowed = llvm::any_of(adapted, [&](const std::string &layer) {
            return isTarget(entry.key, layer);
          });
          if (shadowed) {
            diags
                .error(entry.keyLoc, "pattern '" + entry.key +
                                         "' comes after patterns that match "
                                         "all of its layers")
                .note("the first that matches counts: put the narrower one "
                      "first");
            continue;
          }
          reportDeadPattern(entry.key, entry.keyLoc,
                            "layer that the targets name",
                            lastParts(entry.key, adapted));
        }
  return ok;
}

void Importer::checkAdapters(const ComponentInfo &info) {
  for (auto &[weight, adapter] : info.adapters) {
    if (adapter.used) {
      if (adapter.mentions > adapter.linears)
        diags
            .warning(adapter.loc,
                     "'" + weight + "' of component '" + info.name +
                         "' has an adapter, and is not used by linear alone")
            .note("its other uses, or those of what is tied to it, stay "
                  "without the adapter while training, and change when it is "
                  "merged");
      continue;
    }
    if (!adapter.mentions) {
      diags
          .error(adapter.loc, "the adapter of '" + weight + "' of component '" +
                                  info.name + "' is not used by the program '" +
                                  stringOf("train", "program") + "'")
          .note("the program does not call this layer, or calls '" + info.name +
                ".base' alone");
      return;
    }
    diags
        .error(adapter.loc, "target '" + weight + "' of component '" +
                                info.name + "' is not the weight of a linear")
        .note("its forward uses it in another way; name linear layers alone in "
              "'targets'");
    return;
  }
}

DictionaryAttr Importer::loraAttr(const ComponentInfo &info) {
  if (info.train != TrainMode::LoRA)
    return {};
  const Node *lora = info.table->get("lora");
  const Node *alpha = lora->get("alpha"), *merge = lora->get("merge"),
             *dropout = lora->get("dropout");
  int64_t rank = lora->get("rank")->integer;
  double scale = alpha ? alpha->number : static_cast<double>(rank);
  SmallVector<StringRef> layers;
  NamedAttrList ranks, alphas;
  for (auto &[weight, adapter] : info.adapters) {
    StringRef path = StringRef(weight).drop_back(strlen(".weight"));
    layers.push_back(path);
    if (adapter.rank != rank)
      ranks.set(path, builder.getI64IntegerAttr(adapter.rank));
    if (adapter.alpha != scale)
      alphas.set(path, builder.getF64FloatAttr(adapter.alpha));
  }
  const Node *weights = info.table->get("weights");
  NamedAttrList attrs;
  attrs.set("rank", builder.getI64IntegerAttr(rank));
  attrs.set("alpha", builder.getF64FloatAttr(scale));
  attrs.set("dropout", builder.getF64FloatAttr(dropout ? dropout->number : 0));
  attrs.set("merge", builder.getBoolAttr(merge && merge->boolean));
  attrs.set("target_modules", builder.getStrArrayAttr(layers));
  attrs.set("rank_pattern", ranks.getDictionary(context));
  attrs.set("alpha_pattern", alphas.getDictionary(context));
  attrs.set("base_model", builder.getStringAttr(weights && weights->isString()
                                                    ? weights->string
                                                    : ""));
  return attrs.getDictionary(context);
}
