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
#include "runtime/train/LoadPlan.h"

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

template <typename T> constexpr DType wideOf = sizeof(T) == 8 ? FF_F64 : FF_F32;

/// Converts the blocks of a tensor behind each other.
template <typename T>
static std::vector<T> readBlocks(BlockReader &reader,
                                 const std::vector<size_t> &blocks, DType from,
                                 int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  size_t at = 0;
  for (size_t block : blocks) {
    size_t n = reader.ownBytes(block) / dtypeSize(from);
    convertElements(from, reader.open(block), wideOf<T>, values.data() + at,
                    static_cast<int64_t>(n));
    reader.release(block);
    at += n;
  }
  return values;
}

template <typename T>
void widenBlock(BlockReader &reader, size_t block, DType from, int64_t count,
                std::vector<T> &values) {
  values.resize(static_cast<size_t>(count));
  const char *bytes = reader.open(block);
  parallelFor(count, 1 << 15, [&](int64_t begin, int64_t end) {
    convertElements(from, bytes + static_cast<size_t>(begin) * dtypeSize(from),
                    wideOf<T>, values.data() + begin, end - begin);
  });
  reader.release(block);
}

template <typename T>
Patches<T>::Patches(const LoadPart &part, BlockReader &reader)
    : part(part), reader(reader) {
  for (const LoadFactors &own : part.factors) {
    Factors read;
    read.down = readBlocks<T>(reader, own.down, own.downDtype,
                              own.rows.empty() ? 0 : own.rank * own.columns);
    read.up =
        readBlocks<T>(reader, own.up, own.upDtype, own.rows.size() * own.rank);
    factors.push_back(std::move(read));
  }
}

template <typename T> void Patches<T>::add(const LoadChunk &chunk, T *values) {
  size_t nextFactors = 0, nextDifference = 0;
  for (const ParamPatch *patch : part.patches) {
    bool isProduct = !patch->down.empty();
    size_t index = isProduct ? nextFactors++ : 0;
    Interval range =
        chunk.elements.within({patch->first, patch->first + patch->count});
    if (range.empty())
      continue;
    T *to = values + (range.begin - chunk.elements.begin);
    int64_t at = range.begin - patch->first, n = range.size();
    T scale = static_cast<T>(patch->scale);
    if (!isProduct) {
      const LoadDifference &read = chunk.differences[nextDifference++];
      widenBlock(reader, read.block, read.dtype, n, difference);
      for (int64_t i = 0; i < n; ++i)
        to[i] += scale * difference[static_cast<size_t>(i)];
      continue;
    }
    const LoadFactors &own = part.factors[index];
    addProduct(factors[index].down, factors[index].up, own.rank, own.columns,
               scale, at - own.rows.begin * own.columns, n, to, to);
  }
}

template class Patches<float>;
template class Patches<double>;
template void widenBlock(BlockReader &, size_t, DType, int64_t,
                         std::vector<float> &);
template void widenBlock(BlockReader &, size_t, DType, int64_t,
                         std::vector<double> &);

} // namespace ff::rt
