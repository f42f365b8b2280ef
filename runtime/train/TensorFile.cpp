//===- TensorFile.cpp - Writes tensors, each rank its own bytes -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/TensorFile.h"
#include "runtime/core/Error.h"
#include "runtime/train/Safetensors.h"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace ff::rt {

TensorFilePlan::TensorFilePlan(std::vector<TensorType> tensors)
    : types(std::move(tensors)) {
  size_t end = 0;
  for (const TensorType &tensor : types) {
    size_t bytes = tensor.bytes();
    header += fmt::format(
        "{}{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets"
        "\":[{},{}]}}",
        header.empty() ? "{" : ",", nlohmann::json(tensor.name).dump(),
        fileDtypeName(tensor.dtype), shapeText(tensor.shape), end, end + bytes);
    offsets.push_back(end);
    end += bytes;
  }
  header += header.empty() ? "{}" : "}";
  // Data is aligned for readers that map the file.
  header.resize((header.size() + 8 + 63) / 64 * 64 - 8, ' ');
  for (size_t &offset : offsets)
    offset += 8 + header.size();
  total = 8 + header.size() + end;
}

void TensorFilePlan::create(const std::string &path) const {
  DurableFile file(path, true);
  file.resize(total);
  uint64_t length = header.size();
  std::string start(reinterpret_cast<const char *>(&length), sizeof length);
  start += header;
  file.write(start.data(), start.size(), 0);
}

void TensorFilePlan::verify(const std::string &path) const {
  SafetensorsFile file(path);
  if (file.tensors().size() != types.size())
    fail("{} has {} tensors, expected {}", path, file.tensors().size(),
         types.size());
  for (const TensorType &type : types) {
    const FileTensor &tensor = file.tensor(type.name);
    if (tensor.shape != type.shape || tensor.dtype != fileDtypeName(type.dtype))
      fail("'{}' in {} has {} {}, expected {} {}", type.name, path,
           tensor.dtype, shapeText(tensor.shape), fileDtypeName(type.dtype),
           shapeText(type.shape));
  }
}

std::pair<Region, DType> stateRegion(const Metadata &metadata,
                                     const Layout &layout, size_t group,
                                     StateKind kind) {
  const GroupLayout &place = layout.groups[group];
  switch (kind) {
  case StateKind::Master:
    return {place.master, metadata.groups[group].masterDtype};
  case StateKind::ExpAvg:
    return {place.expAvg, place.stateDtype};
  case StateKind::ExpAvgSq:
    return {place.expAvgSq, place.stateDtype};
  case StateKind::Ema:
    return {place.ema, place.stateDtype};
  case StateKind::Gradient:
    return {place.grad, place.gradDtype};
  }
  failInternal("state kind {}", static_cast<int>(kind));
}

ParameterFile parameterFile(const Metadata &metadata, const Layout &layout,
                            const std::string &path, StateKind kind,
                            int component) {
  std::vector<std::pair<size_t, size_t>> params;
  std::vector<TensorType> tensors;
  for (size_t g = 0; g < metadata.groups.size(); ++g) {
    const Group &group = metadata.groups[g];
    if (component < 0 ? !group.trainable : group.component != component)
      continue;
    DType dtype = stateRegion(metadata, layout, g, kind).second;
    for (size_t p = 0; p < group.params.size(); ++p) {
      const Param &param = group.params[p];
      tensors.push_back(
          {component < 0 ? metadata.fullName(group, param) : param.name, dtype,
           param.shape});
      params.emplace_back(g, p);
    }
  }
  return {path, kind, std::move(params), TensorFilePlan(std::move(tensors))};
}

namespace {
/// Calls `body(tensor, piece)` for each piece whose parameter is in the file.
template <typename Body>
void eachPiece(const ParameterFile &file, const std::vector<OwnedPiece> &pieces,
               Body &&body) {
  std::map<std::pair<size_t, size_t>, size_t> tensorOf;
  for (size_t i = 0; i < file.params.size(); ++i)
    tensorOf[file.params[i]] = i;
  for (const OwnedPiece &piece : pieces) {
    auto it = tensorOf.find({piece.group, piece.param});
    if (it != tensorOf.end())
      body(it->second, piece);
  }
}
} // namespace

void writePieces(const ParameterFile &file, const std::string &path,
                 const Metadata &metadata, const Layout &layout,
                 const Arena &arena, const std::vector<OwnedPiece> &pieces) {
  DurableFile out(path, false);
  eachPiece(file, pieces, [&](size_t tensor, const OwnedPiece &piece) {
    auto [region, dtype] =
        stateRegion(metadata, layout, piece.group, file.kind);
    size_t size = dtypeSize(dtype);
    out.write(arena.at<char>(region) +
                  static_cast<size_t>(piece.sliceBegin) * size,
              static_cast<size_t>(piece.count) * size,
              file.plan.offset(tensor) +
                  static_cast<size_t>(piece.paramBegin) * size);
  });
  out.sync();
}

void readPieces(const ParameterFile &file, const std::string &path,
                StateKind target, const Metadata &metadata,
                const Layout &layout, const Arena &arena,
                const std::vector<OwnedPiece> &pieces) {
  SafetensorsFile in(path);
  const std::vector<TensorType> &types = file.plan.tensors();
  std::map<std::string, const TensorType *> expected;
  for (const TensorType &type : types)
    expected[type.name] = &type;
  for (const auto &entry : in.tensors()) {
    auto it = expected.find(entry.first);
    if (it == expected.end())
      fail("{} holds '{}', which the spec does not train; fix: the spec that "
           "made the checkpoint, or --resume none",
           path, entry.first);
    if (entry.second.shape != it->second->shape)
      fail("'{}' in {} has the shape {}, the spec needs {}", entry.first, path,
           shapeText(entry.second.shape), shapeText(it->second->shape));
  }
  for (const TensorType &type : types)
    if (!in.tensors().count(type.name))
      fail("{} lacks '{}', which the spec trains; fix: the spec that made the "
           "checkpoint, or --resume none",
           path, type.name);
  eachPiece(file, pieces, [&](size_t index, const OwnedPiece &piece) {
    const FileTensor &tensor = in.tensor(types[index].name);
    auto [region, dtype] = stateRegion(metadata, layout, piece.group, target);
    const char *from = in.data(tensor) + static_cast<size_t>(piece.paramBegin) *
                                             fileDtypeSize(tensor.dtype);
    char *to = arena.at<char>(region) +
               static_cast<size_t>(piece.sliceBegin) * dtypeSize(dtype);
    if (!convertFromFile(tensor.dtype, from, dtype, to, piece.count, false))
      fail("'{}' in {} has dtype {}", types[index].name, path, tensor.dtype);
    in.forget(tensor);
  });
}

} // namespace ff::rt
