//===- Patch.cpp - Adapters that are folded into weights ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Patch.h"
#include "runtime/compute/LowRank.h"
#include "runtime/core/Error.h"
#include "runtime/train/TensorFile.h"

namespace ff::rt {

static const FileTensor *findTensor(const SafetensorsFile &file,
                                    const std::string &name) {
  auto it = file.tensors().find(name);
  return it == file.tensors().end() ? nullptr : &it->second;
}

void checkPatch(const ParamPatch &patch, const Files &files,
                const std::string &spec, const std::string &owner) {
  const SafetensorsFile &file = *files[static_cast<size_t>(patch.file)];
  const FileTensor *tensor = findTensor(file, patch.tensor);
  auto isFloats = [](const FileTensor *t) {
    DType dtype;
    return t && parseFileDtype(t->dtype, dtype) && isFloat(dtype);
  };
  bool fits = isFloats(tensor) && tensor->shape == patch.shape;
  if (fits && !patch.down.empty()) {
    // A is [r, columns] for B [rows, r].
    const FileTensor *down = findTensor(file, patch.down);
    int64_t rows = patch.shape.at(0), rank = rows ? tensor->numel() / rows : 0;
    fits = isFloats(down) && rank > 0 && !down->shape.empty() &&
           down->shape[0] == rank && down->numel() * rows == patch.count * rank;
  }
  if (!fits)
    fail("the adapter '{}' in {}, of '{}', was {} when {} was compiled, the "
         "file now has {}; fix: compile the spec again, or put the file back",
         patch.tensor, file.path(), owner, shapeText(patch.shape), spec,
         tensor ? shapeText(tensor->shape) : "no such tensor");
}

template <typename T>
static std::vector<T> readWhole(const SafetensorsFile &file,
                                const std::string &name) {
  const FileTensor &tensor = file.tensor(name);
  std::vector<T> values(static_cast<size_t>(tensor.numel()));
  std::vector<char> staging;
  readElements(file, tensor, 0, tensor.numel(),
               sizeof(T) == 8 ? FF_F64 : FF_F32, values.data(), staging);
  return values;
}

template <typename T>
Patches<T>::Patches(const Param &param, const Files &files) {
  for (const ParamPatch &patch : param.patches) {
    const SafetensorsFile &file = *files[static_cast<size_t>(patch.file)];
    Loaded own{&patch, readWhole<T>(file, patch.tensor), {}, 1};
    if (!patch.down.empty()) {
      own.down = readWhole<T>(file, patch.down);
      int64_t rank = static_cast<int64_t>(own.tensor.size()) / patch.shape[0];
      own.columns = static_cast<int64_t>(own.down.size()) / rank;
    }
    loaded.push_back(std::move(own));
  }
}

template <typename T>
void Patches<T>::add(int64_t first, int64_t count, T *values) const {
  for (const Loaded &own : loaded) {
    const ParamPatch &patch = *own.patch;
    int64_t begin = std::max(first, patch.first);
    int64_t end = std::min(first + count, patch.first + patch.count);
    if (begin >= end)
      continue;
    T *to = values + (begin - first);
    int64_t at = begin - patch.first, n = end - begin;
    T scale = static_cast<T>(patch.scale);
    if (patch.down.empty()) {
      for (int64_t i = 0; i < n; ++i)
        to[i] += scale * own.tensor[static_cast<size_t>(at + i)];
      continue;
    }
    int64_t rank = static_cast<int64_t>(own.down.size()) / own.columns;
    std::vector<T> sum(static_cast<size_t>(n));
    addProduct(own.down, own.tensor, rank, own.columns, scale, at, n, to,
               sum.data());
    std::copy(sum.begin(), sum.end(), to);
  }
}

template class Patches<float>;
template class Patches<double>;

} // namespace ff::rt
