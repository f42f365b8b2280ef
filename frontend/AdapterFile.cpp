//===- AdapterFile.cpp - Adapters as others write them --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/AdapterFile.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace ff::frontend;
using Tensor = WeightFiles::Tensor;

std::vector<std::string> LayerAdapter::keys() const {
  std::vector<std::string> keys;
  for (Tensor tensor : {down, up, alpha, diff, diffBias, setWeight})
    if (tensor)
      keys.push_back(tensor->key);
  return keys;
}

/// The path of a key that ends in `part`.weight or in `part`.NAME.weight.
static std::optional<StringRef> pathBefore(StringRef key, StringRef part) {
  if (!key.consume_back(".weight"))
    return std::nullopt;
  size_t at = key.rfind(part);
  if (at == StringRef::npos || at == 0)
    return std::nullopt;
  StringRef name = key.drop_front(at + part.size());
  if (!name.empty() &&
      (!name.consume_front(".") || name.empty() || name.contains('.')))
    return std::nullopt;
  return key.take_front(at);
}

void ff::frontend::sortAdapterTensors(AdapterFile &file) {
  using Place = const Tensor *LayerAdapter::*;
  static const std::pair<StringRef, Place> parts[] = {
      {".lora_A", &LayerAdapter::down},    {".lora_B", &LayerAdapter::up},
      {".lora_down", &LayerAdapter::down}, {".lora_up", &LayerAdapter::up},
      {".lora.down", &LayerAdapter::down}, {".lora.up", &LayerAdapter::up}};
  static const std::pair<StringRef, Place> ends[] = {
      {".alpha", &LayerAdapter::alpha},
      {".diff", &LayerAdapter::diff},
      {".diff_b", &LayerAdapter::diffBias},
      {".set_weight", &LayerAdapter::setWeight}};
  for (const Tensor &tensor : file.files.tensors) {
    StringRef key = tensor.key;
    auto take = [&](StringRef path, Place place) {
      const Tensor *&slot = file.layers[path.str()].*place;
      if (slot)
        return false;
      slot = &tensor;
      return true;
    };
    bool known = llvm::any_of(parts, [&](const auto &part) {
      std::optional<StringRef> path = pathBefore(key, part.first);
      return path && take(*path, part.second);
    });
    known = known || llvm::any_of(ends, [&](const auto &end) {
              return key.ends_with(end.first) && key != end.first &&
                     take(key.drop_back(end.first.size()), end.second);
            });
    if (!known)
      file.unknown.push_back(tensor.key);
  }
}

std::vector<std::string> ff::frontend::strippedPaths(StringRef path,
                                                     StringRef component) {
  std::string own = component.str() + ".";
  const StringRef wrappers[] = {"base_model.model.",
                                "model.diffusion_model.",
                                "diffusion_model.",
                                "transformer.",
                                "unet.",
                                "model.",
                                "module.",
                                own};
  std::vector<std::string> paths{path.str()};
  for (size_t i = 0; i < paths.size(); ++i)
    for (StringRef wrapper : wrappers) {
      StringRef rest = paths[i];
      if (rest.consume_front(wrapper) && !rest.empty() &&
          !llvm::is_contained(paths, rest))
        paths.push_back(rest.str());
    }
  return paths;
}

StringRef ff::frontend::kohyaPath(StringRef path) {
  for (StringRef prefix : {"lora_unet_", "lora_transformer_", "lycoris_"})
    if (path.consume_front(prefix))
      return path;
  return "";
}

std::optional<double> ff::frontend::readScalar(const WeightFiles &files,
                                               const Tensor &tensor) {
  using llvm::support::endian::read64le;
  const std::string &path = files.files[tensor.file];
  uint64_t size = tensor.end - tensor.begin;
  if (!size || !llvm::all_of(tensor.shape, [](int64_t n) { return n == 1; }))
    return std::nullopt;
  auto start = llvm::MemoryBuffer::getFileSlice(path, 8, 0);
  if (!start || (*start)->getBufferSize() < 8 || size > 8)
    return std::nullopt;
  uint64_t offset = 8 + read64le((*start)->getBufferStart()) + tensor.begin;
  auto data = llvm::MemoryBuffer::getFileSlice(path, size, offset);
  if (!data || (*data)->getBufferSize() < size)
    return std::nullopt;
  llvm::APInt bits(size * 8, 0);
  for (uint64_t i = 0; i < size; ++i)
    bits |= llvm::APInt(size * 8,
                        static_cast<uint8_t>((*data)->getBufferStart()[i]))
            << (8 * i);
  auto number = [&](const llvm::fltSemantics &semantics) {
    llvm::APFloat value(semantics, bits);
    bool inexact;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &inexact);
    return value.convertToDouble();
  };
  if (tensor.dtype == "f32")
    return number(llvm::APFloat::IEEEsingle());
  if (tensor.dtype == "f64")
    return number(llvm::APFloat::IEEEdouble());
  if (tensor.dtype == "bf16")
    return number(llvm::APFloat::BFloat());
  if (tensor.dtype == "f16")
    return number(llvm::APFloat::IEEEhalf());
  if (tensor.dtype == "i64" || tensor.dtype == "i32")
    return static_cast<double>(bits.getSExtValue());
  return std::nullopt;
}
