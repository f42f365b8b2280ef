//===- Precision.cpp - The dtypes of each parameter -------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where dtypes are decided (V13):
//
//   storage  trainable: trainable_parameters_dtype; frozen:
//            frozen_parameters_dtype, else the dtype of the file, tensor by
//            tensor, else compute_dtype; `keep` comes before both; a buffer has
//            the dtype of its file, whatever the policy
//   compute  `keep`, else compute_dtype of the component
//   gather   the narrower of storage and compute
//   master   of a trainable parameter in bf16 or fp16: fp32, unless
//            master = "none"; else storage
//   reduce   reduce_dtype
//
// Weights of fp8 and int8 (Quantized.cpp) keep their bytes, whatever the
// policy.
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"
#include "frontend/Pattern.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

const Node *Importer::componentNode(const ComponentInfo &info,
                                    StringRef section, StringRef key) const {
  if (const Node *own = info.table->get(section))
    if (const Node *value = own->get(key))
      return value;
  return spec.get(section, key);
}

Type Importer::componentDtype(const ComponentInfo &info, StringRef key) const {
  const Node *node = componentNode(info, "precision", key);
  return node && node->isString() ? dtypeOfKey(context, node->string) : Type();
}

static unsigned bitsOf(Type type) { return type.getIntOrFloatBitWidth(); }

/// The narrower of two dtypes; `compute` where neither holds the other.
static Type narrower(Type storage, Type compute) {
  return bitsOf(storage) < bitsOf(compute) ? storage : compute;
}

static StringRef keyNameOf(Type type) {
  return type.isF32()    ? "fp32"
         : type.isF64()  ? "fp64"
         : type.isBF16() ? "bf16"
         : type.isF16()  ? "fp16"
                         : "int";
}

//===----------------------------------------------------------------------===//
// keep
//===----------------------------------------------------------------------===//

/// Gives the parameters that each pattern of a `keep` table names its dtype;
/// the first pattern that matches counts.
bool Importer::applyKeep(ComponentInfo &info, const Node *keep,
                         std::vector<Type> &dtypes, bool mustMatch) {
  if (!keep || !keep->isTable())
    return true;
  bool ok = true;
  std::vector<std::string> names;
  for (const Entry &entry : keep->entries) {
    Type dtype = dtypeOfKey(context, entry.value->string);
    if (!dtype) {
      diags
          .error(entry.value->loc,
                 "'keep' cannot be \"" + entry.value->string + "\"")
          .note("it can be \"fp32\", \"fp64\", \"bf16\" or \"fp16\"");
      ok = false;
      continue;
    }
    bool any = false;
    for (auto [param, own] : llvm::zip_equal(info.params, dtypes)) {
      // A buffer keeps its dtype, whatever is asked for.
      if (param.isBuffer() ||
          !matchesParts(entry.key, info.name + "." + param.name))
        continue;
      any = true;
      if (!own)
        own = dtype;
    }
    if (any || !mustMatch) {
      if (any)
        usedPatterns.insert(&entry);
      continue;
    }
    if (names.empty())
      for (const ComponentParam &param : info.params)
        if (!param.isBuffer())
          names.push_back(param.name);
    reportDeadPattern(entry.key, entry.keyLoc,
                      "parameter of '" + info.name + "'", names);
    ok = false;
  }
  return ok;
}

/// A pattern of [precision] concerns all components: it must match in one.
void Importer::checkKeepPatterns() {
  const Node *keep = spec.get("precision", "keep");
  if (!keep)
    return;
  std::vector<std::string> names;
  for (auto &info : components)
    for (const ComponentParam &param : info->params)
      if (!param.isBuffer())
        names.push_back(info->name + "." + param.name);
  for (const Entry &entry : keep->entries)
    if (!usedPatterns.contains(&entry))
      reportDeadPattern(entry.key, entry.keyLoc, "parameter of the bundle",
                        names);
}

void Importer::reportDeadPattern(StringRef pattern, SMLoc loc,
                                 const Twine &what,
                                 ArrayRef<std::string> names) {
  auto report =
      diags.error(loc, "pattern '" + pattern + "' matches no " + what);
  std::vector<std::string> near = nearestNames(pattern, names, 3);
  if (near.empty())
    report.note("there is none at all");
  else
    report.note("the nearest names are " + quotedList(near));
}

//===----------------------------------------------------------------------===//
// The decision
//===----------------------------------------------------------------------===//

bool Importer::resolveComponentDtypes(ComponentInfo &info) {
  info.compute = componentDtype(info, "compute_dtype");
  if (!info.compute)
    return false; // reported by the validation
  Type output = componentDtype(info, "output_dtype");
  info.output = output ? output : elementType;
  if (info.compute.isF64() && !elementType.isF64()) {
    diags
        .error(componentNode(info, "precision", "compute_dtype")->loc,
               "component '" + info.name +
                   "' computes in fp64, and the programs in fp32")
        .note(spec.locOf("precision", "compute_dtype"),
              "set compute_dtype = \"fp64\" in [precision] for all of them");
    return false;
  }
  return true;
}

bool Importer::resolvePrecision(ComponentInfo &info) {
  Type trainable = componentDtype(info, "trainable_parameters_dtype");
  Type frozen = componentDtype(info, "frozen_parameters_dtype");
  Type reduce = componentDtype(info, "reduce_dtype");
  if (!trainable || !reduce)
    return false;
  std::vector<Type> kept(info.params.size());
  const Node *own = info.table->get("precision");
  bool ok = applyKeep(info, own ? own->get("keep") : nullptr, kept,
                      /*mustMatch=*/true);
  ok &= applyKeep(info, spec.get("precision", "keep"), kept,
                  /*mustMatch=*/false);
  const Node *master = componentNode(info, "precision", "master");
  bool hasMaster = !master || master->string != "none";
  Type f32 = builder.getF32Type();
  for (auto [param, keep] : llvm::zip_equal(info.params, kept)) {
    Type file =
        param.fileDtype.empty() ? Type() : dtypeOf(context, param.fileDtype);
    if (param.isBuffer()) {
      Type declared = param.decl->dtype.empty()
                          ? elementType
                          : dtypeOfKey(context, param.decl->dtype);
      param.storage = file ? file : declared ? declared : f32;
      param.compute = param.gather = param.master = param.storage;
      param.reduce = param.storage;
      continue;
    }
    param.compute = keep ? keep : info.compute;
    if (file && !isa<FloatType>(file)) { // see Quantized.cpp
      param.storage = param.reduce = file;
      setDerivedDtypes(param, hasMaster);
      continue;
    }
    if (param.trainable)
      param.storage = keep ? keep : trainable;
    else
      param.storage = keep     ? keep
                      : frozen ? frozen
                      : file   ? file
                               : info.compute;
    param.reduce = bitsOf(param.storage) == 64 ? param.storage : reduce;
    setDerivedDtypes(param, hasMaster);
  }
  if (ok)
    warnAboutPrecision(info, hasMaster);
  return ok;
}

/// What follows from storage and compute dtype.
void Importer::setDerivedDtypes(ComponentParam &param, bool hasMaster) {
  param.master = param.storage;
  if (!isa<FloatType>(param.storage)) {
    param.gather = param.storage;
    return;
  }
  param.gather = narrower(param.storage, param.compute);
  if (param.trainable && hasMaster && isNarrowFloat(param.storage))
    param.master = builder.getF32Type();
}

//===----------------------------------------------------------------------===//
// Warnings, with the numbers of the spec
//===----------------------------------------------------------------------===//

static std::string bytesText(double bytes) {
  if (bytes >= double(1 << 30))
    return llvm::formatv("{0:f2} GiB", bytes / double(1 << 30)).str();
  if (bytes >= double(1 << 20))
    return llvm::formatv("{0:f1} MiB", bytes / double(1 << 20)).str();
  return llvm::formatv("{0} bytes", static_cast<int64_t>(bytes)).str();
}

void Importer::warnAboutNarrowing(const ComponentInfo &info) {
  size_t count = 0;
  double saved = 0;
  const ComponentParam *first = nullptr;
  for (const ComponentParam &param : info.params) {
    Type file =
        param.fileDtype.empty() ? Type() : dtypeOf(context, param.fileDtype);
    bool narrows = file && !param.trainable && isa<FloatType>(file) &&
                   isa<FloatType>(param.storage) && file != param.storage &&
                   bitsOf(param.storage) <= bitsOf(file);
    if (!narrows)
      continue;
    ++count;
    saved += double(param.numel()) * (bitsOf(file) - bitsOf(param.storage)) / 8;
    first = first ? first : &param;
  }
  if (!first)
    return;
  const Node *node =
      componentNode(info, "precision", "frozen_parameters_dtype");
  diags
      .warning(node ? node->loc : info.loc,
               Twine(count) + " frozen tensors of '" + info.name +
                   "' are stored in a dtype that does not hold what is in "
                   "their files, the first is '" +
                   first->name + "': " + first->fileDtype + " becomes " +
                   dtypeName(first->storage))
      .note("it saves " + bytesText(saved) +
            " over all ranks; without 'frozen_parameters_dtype' every frozen "
            "tensor keeps the dtype of its file");
}

void Importer::warnAboutPrecision(const ComponentInfo &info, bool hasMaster) {
  warnAboutNarrowing(info);
  const ComponentParam *narrow = nullptr;
  bool trains = false, trainsFp16 = false;
  for (const ComponentParam &param : info.params) {
    if (!param.trainable)
      continue;
    trains = true;
    trainsFp16 |= param.compute.isF16();
    if (isNarrowFloat(param.storage) && !narrow)
      narrow = &param;
  }
  const Node *master = componentNode(info, "precision", "master");
  if (narrow && !hasMaster) {
    if (narrow->storage.isF16()) {
      diags
          .error(master->loc, "trainable fp16 parameters need an fp32 master: "
                              "'" +
                                  info.name + "." + narrow->name +
                                  "' is fp16 and master = \"none\"")
          .note("leave 'master' at \"auto\", or train in \"bf16\"");
    } else {
      const Node *lr = spec.get("optimizer", "lr");
      diags
          .warning(
              master->loc,
              "without an fp32 master small updates round to nothing: lr " +
                  llvm::formatv("{0:e1}", lr ? lr->number : 0).str() +
                  " per step, and the spacing of bf16 at 0.3 is 2.0e-03")
          .note("leave 'master' at \"auto\"; it costs 2 bytes more for each "
                "trained parameter");
    }
  }
  if (!trains)
    return;
  const Node *reduce = componentNode(info, "precision", "reduce_dtype");
  Type reduceType = componentDtype(info, "reduce_dtype");
  int64_t parts = microBatch ? globalBatch / microBatch : 1;
  if (isNarrowFloat(reduceType) && parts >= 8)
    diags
        .warning(reduce->loc, "gradients of " + Twine(parts) +
                                  " micro-batches are added up in " +
                                  keyNameOf(reduceType))
        .note("each addition rounds to " +
              Twine(reduceType.isBF16() ? "8" : "11") +
              " bits; reduce_dtype = \"fp32\" keeps them");
  if (trainsFp16)
    diags
        .warning(componentNode(info, "precision", "compute_dtype")->loc,
                 "gradients in fp16 vanish below 6.0e-08, and there is no loss "
                 "scaling")
        .note("compute_dtype = \"bf16\" has the range of fp32");
}

//===----------------------------------------------------------------------===//
// Units with several dtypes
//===----------------------------------------------------------------------===//

namespace {
struct UnitDtypes {
  llvm::MapVector<Type, std::vector<ComponentParam *>> byDtype;
  Type widest;
};
} // namespace

bool Importer::applyMixedDtype(ComponentInfo &info) {
  if (info.mixedDtype == "split")
    return true;
  llvm::MapVector<StringRef, UnitDtypes> units;
  for (ComponentParam &param : info.params) {
    if (!isa<FloatType>(param.storage) || param.isBuffer())
      continue;
    UnitDtypes &unit = units[param.unit];
    unit.byDtype[param.storage].push_back(&param);
    if (!unit.widest || bitsOf(param.storage) > bitsOf(unit.widest))
      unit.widest = param.storage;
  }
  if (info.mixedDtype == "error")
    return rejectMixed(info, units);
  const Node *master = componentNode(info, "precision", "master");
  bool hasMaster = !master || master->string != "none";
  size_t count = 0;
  double bytes = 0;
  for (auto &[name, unit] : units)
    for (auto &[dtype, params] : unit.byDtype)
      for (ComponentParam *param : params) {
        // bf16 and fp16 together take fp32.
        Type wide = unit.byDtype.size() > 1 && isNarrowFloat(unit.widest)
                        ? Type(builder.getF32Type())
                        : unit.widest;
        if (dtype == wide)
          continue;
        ++count;
        bytes += double(param->numel()) * (bitsOf(wide) - bitsOf(dtype)) / 8;
        param->storage = wide;
        setDerivedDtypes(*param, hasMaster);
      }
  if (count)
    diags
        .warning(info.mixedLoc, "mixed_dtype = \"promote\" widens " +
                                    Twine(count) + " tensors of '" + info.name +
                                    "', which costs " + bytesText(bytes) +
                                    " over all ranks")
        .note("\"split\" keeps each in its own dtype, with one gather as now");
  return true;
}

template <typename Units>
bool Importer::rejectMixed(const ComponentInfo &info, const Units &units) {
  size_t count = 0;
  for (auto &[name, unit] : units) {
    if (unit.byDtype.size() < 2 || ++count > 1)
      continue;
    std::string text;
    for (auto &[dtype, params] : unit.byDtype) {
      if (!text.empty())
        text += " and ";
      text += (keyNameOf(dtype) + " (" + Twine(params.size()) +
               " tensors, first '" + params.front()->name + "')")
                  .str();
    }
    std::string full =
        info.name + "." + (name.empty() ? std::string("root") : name.str());
    diags
        .error(info.mixedLoc,
               "unit '" + full + "' mixes storage dtypes " + text)
        .note(
            "\"split\" makes a group of each dtype, \"promote\" stores all in "
            "the widest; or set one dtype in [precision]");
  }
  if (count > 1)
    diags.error(info.mixedLoc, Twine(count - 1) + " more units of '" +
                                   info.name + "' mix storage dtypes");
  return count == 0;
}
