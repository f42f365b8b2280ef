//===- MetadataChecks.cpp - Consistency of metadata -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What compiler and runtime must agree on, checked at start: a disagreement
// that shows up as a wrong weight or a missing tensor costs a whole run.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/Metadata.h"

#include <algorithm>
#include <set>

namespace ff::rt {

namespace {

void checkGroupTypes(const Group &group, size_t index) {
  bool floats = isFloat(group.dtype) && isFloat(group.masterDtype);
  DType storage;
  bool known = parseFileDtype(group.storageDtype, storage);
  if (group.trainable &&
      (!floats || !isFloat(group.reduceDtype) || !known || !isFloat(storage)))
    failInternal("metadata: group {} is trainable and has a dtype that is not "
                 "a float",
                 index);
  if (!floats && group.dtype != group.masterDtype)
    failInternal(
        "metadata: group {} has dtype {} and master_dtype {}; integers "
        "are not converted",
        index, dtypeName(group.dtype), dtypeName(group.masterDtype));
  // Bytes hold the types that the runtime does not know.
  bool bytes = group.masterDtype == FF_I8 && (!known || storage == FF_I8);
  if (!bytes &&
      (!known || (floats ? !isFloat(storage) : storage != group.masterDtype)))
    failInternal("metadata: group {} has master_dtype {} and storage_dtype {}",
                 index, dtypeName(group.masterDtype), group.storageDtype);
}

void checkParam(const Metadata &metadata, const Group &group,
                const Param &param) {
  const Component &component = metadata.components[group.component];
  std::string name = metadata.fullName(group, param);
  if (param.source) {
    int64_t elements = 0;
    for (const SourcePiece &piece : param.source->pieces) {
      elements += piece.count;
      if (piece.file < 0 || size_t(piece.file) >= component.files.size() ||
          piece.first < 0 || piece.count < 0)
        failInternal("metadata: a piece of '{}' is [{}, {} more) of file {}",
                     name, piece.first, piece.count, piece.file);
    }
    if (elements != param.numel())
      failInternal("metadata: '{}' has {} elements, its pieces {}", name,
                   param.numel(), elements);
    if (param.source->file < 0 ||
        size_t(param.source->file) >= component.files.size())
      failInternal("metadata: '{}' comes from file {} of {}", name,
                   param.source->file, component.files.size());
    DType dtype;
    bool known = parseFileDtype(param.source->dtype, dtype);
    bool fits = isFloat(group.masterDtype)
                    ? known && isFloat(dtype)
                    : param.source->dtype == param.savedDtype;
    if (!fits)
      failInternal("metadata: '{}' has source dtype {}, master_dtype {} and "
                   "storage_dtype {}",
                   name, param.source->dtype, dtypeName(group.masterDtype),
                   group.storageDtype);
    for (const ParamPatch &patch : param.patches)
      if (patch.file < 0 || size_t(patch.file) >= component.files.size() ||
          patch.count < 0 || patch.first >= param.numel() ||
          patch.first + patch.count <= 0 || patch.shape.empty() ||
          !isFloat(group.masterDtype))
        failInternal("metadata: '{}' has a patch of the elements [{}, {} more) "
                     "from file {}",
                     name, patch.first, patch.count, patch.file);
  } else if (!param.init) {
    failInternal("metadata: '{}' has neither a source nor an initialiser",
                 name);
  }
  // The bytes of a type that the runtime does not know have no value.
  DType saved;
  if (!param.source && !parseFileDtype(param.savedDtype, saved) &&
      (param.init->kind != Initializer::Kind::Constant || param.init->first))
    failInternal("metadata: '{}' of dtype {} has an initialiser other than 0",
                 name, param.savedDtype);
  if (param.save && (!component.save || param.save->file < 0 ||
                     size_t(param.save->file) >= component.save->files.size()))
    failInternal("metadata: '{}' is saved in file {} of {}", name,
                 param.save->file,
                 component.save ? component.save->files.size() : 0);
  if (group.trainable && !param.save)
    failInternal("metadata: '{}' is trained but not saved", name);
}

void checkGroup(const Metadata &metadata, size_t index) {
  const Group &group = metadata.groups[index];
  if (group.unit < 0 || size_t(group.unit) >= metadata.units.size() ||
      group.component < 0 ||
      size_t(group.component) >= metadata.components.size())
    failInternal("metadata: group {} names unit {} and component {}", index,
                 group.unit, group.component);
  checkGroupTypes(group, index);
  int64_t end = 0;
  for (const Param &param : group.params) {
    if (param.offset % 16 || param.offset < end ||
        param.offset + param.span > group.numel)
      failInternal("metadata: parameter '{}' lies at [{}, {}) of group {} with "
                   "{} elements, after {}",
                   param.name, param.offset, param.offset + param.span, index,
                   group.numel, end);
    end = param.offset + param.span;
    checkParam(metadata, group, param);
  }
}

void checkMerge(const Metadata &metadata, const Group &group,
                const Param &param) {
  auto a = metadata.findParam(group.component, param.merge->a);
  auto b = metadata.findParam(group.component, param.merge->b);
  std::string name = metadata.fullName(group, param);
  if (!a || !b)
    failInternal("metadata: '{}' is merged with '{}' and '{}', of which one "
                 "does not exist",
                 name, param.merge->a, param.merge->b);
  const Param &down = metadata.groups[a->first].params[a->second];
  const Param &up = metadata.groups[b->first].params[b->second];
  int64_t rank = down.shape.empty() ? 0 : down.shape[0];
  int64_t rows = param.shape.empty() ? 0 : param.shape[0];
  if (!rank || !rows || down.numel() / rank * rows != param.numel() ||
      up.numel() != rows * rank || up.shape.empty() || up.shape[0] != rows ||
      !isFloat(group.masterDtype))
    failInternal(
        "metadata: '{}' with {} elements is merged with '{}' of {} and "
        "'{}' of {}",
        name, param.numel(), down.name, down.numel(), up.name, up.numel());
  const std::optional<LoraPolicy> &lora =
      metadata.components[group.component].lora;
  bool known = lora && rank == lora->rank;
  if (lora)
    for (const auto &entry : lora->rankPattern)
      known |= rank == entry.second;
  if (!known)
    failInternal(
        "metadata: '{}' has the rank {}, which is not one of component "
        "'{}'",
        down.name, rank, metadata.components[group.component].name);
}

/// Every name once in each file, and no file without a tensor.
void checkSaved(const Metadata &metadata, size_t index) {
  const Component &component = metadata.components[index];
  if (component.trained && !component.save)
    failInternal("metadata: component '{}' is trained, but nothing of it is "
                 "saved",
                 component.name);
  if (!component.save)
    return;
  if (component.save->adapter && !component.lora)
    failInternal("metadata: component '{}' is saved as an adapter, but has no "
                 "lora",
                 component.name);
  std::vector<std::set<std::string>> names(component.save->files.size());
  for (const Group &group : metadata.groups)
    if (group.component == static_cast<int>(index))
      for (const Param &param : group.params)
        if (param.save &&
            !names[param.save->file].insert(param.save->name).second)
          failInternal("metadata: '{}' is saved twice in {} of component '{}'",
                       param.save->name,
                       component.save->files[param.save->file], component.name);
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i].empty())
      failInternal("metadata: {} of component '{}' would have no tensor",
                   component.save->files[i], component.name);
  if (names.empty())
    failInternal("metadata: component '{}' is saved to no file",
                 component.name);
}

/// The buckets of the train program differ in shapes alone.
void checkBuckets(const Metadata &metadata) {
  const std::vector<BucketPolicy> &buckets = metadata.train->buckets;
  const Program &first = metadata.program(buckets.front().program);
  for (const BucketPolicy &bucket : buckets) {
    const Program &program = metadata.program(bucket.program);
    auto same = [](const TensorType &a, const TensorType &b) {
      return a.name == b.name && a.dtype == b.dtype;
    };
    if (!std::equal(first.inputs.begin(), first.inputs.end(),
                    program.inputs.begin(), program.inputs.end(), same) ||
        !std::equal(first.outputs.begin(), first.outputs.end(),
                    program.outputs.begin(), program.outputs.end(), same))
      failInternal("metadata: the programs '{}' and '{}' of two buckets differ "
                   "in more than shapes",
                   first.name, program.name);
  }
}

void checkPrograms(const Metadata &metadata) {
  if (metadata.train && metadata.train->buckets.size() > 1)
    checkBuckets(metadata);
  for (const Program &program : metadata.programs) {
    for (const auto *slots : {&program.gatherSlots, &program.gradSlots})
      for (const auto &slot : *slots)
        for (int unit : slot)
          if (unit < 0 || size_t(unit) >= metadata.units.size())
            failInternal("metadata: a slot of program '{}' names unit {}",
                         program.name, unit);
    for (const Program::Collective &collective : program.collectives)
      if (collective.unit < 0 ||
          size_t(collective.unit) >= metadata.units.size())
        failInternal("metadata: a collective of program '{}' names unit {}",
                     program.name, collective.unit);
  }
  for (size_t i = 0; i < metadata.matmuls.size(); ++i) {
    const MatmulType &matmul = metadata.matmuls[i];
    size_t rank = matmul.batch.size() + 2;
    if (matmul.aStrides.size() != rank || matmul.bStrides.size() != rank ||
        matmul.cStrides.size() != rank)
      failInternal("metadata: matmul {} does not have {} strides", i, rank);
  }
}

} // namespace

void checkMetadata(const Metadata &metadata) {
  for (size_t i = 0; i < metadata.groups.size(); ++i)
    checkGroup(metadata, i);
  for (const Group &group : metadata.groups)
    for (const Param &param : group.params)
      if (param.merge)
        checkMerge(metadata, group, param);
  for (size_t i = 0; i < metadata.components.size(); ++i)
    checkSaved(metadata, i);
  for (size_t i = 0; i < metadata.units.size(); ++i)
    for (int group : metadata.units[i].groups)
      if (group < 0 || size_t(group) >= metadata.groups.size() ||
          metadata.groups[group].unit != int(i))
        failInternal("metadata: unit {} names group {}", i, group);
  checkPrograms(metadata);
}

} // namespace ff::rt
