//===- MatmulType.cpp - What a matmul is, for any library -----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/MatmulType.h"

#include <algorithm>

namespace ff::rt {

namespace {

void eraseBatchDim(MatmulType &type, size_t dim) {
  type.batch.erase(type.batch.begin() + dim);
  for (auto *strides : {&type.aStrides, &type.bStrides, &type.cStrides})
    strides->erase(strides->begin() + dim);
}

/// Merges batch dim `dim` into the one after it.
bool mergeBatchDim(MatmulType &type, size_t dim) {
  int64_t inner = type.batch[dim + 1];
  for (auto *strides : {&type.aStrides, &type.bStrides, &type.cStrides})
    if ((*strides)[dim] != (*strides)[dim + 1] * inner)
      return false;
  type.batch[dim + 1] *= type.batch[dim];
  eraseBatchDim(type, dim);
  return true;
}

/// Turns the innermost batch dim into rows of a and c where b has none of it.
bool foldIntoRows(MatmulType &type) {
  size_t last = type.batch.size() - 1;
  int64_t aRow = type.aStrides[last + 1], cRow = type.cStrides[last + 1];
  if (type.m == 1) { // the stride of one row means nothing
    aRow = type.aStrides[last];
    cRow = type.cStrides[last];
  }
  if (type.bStrides[last] != 0 || type.aStrides[last] != type.m * aRow ||
      type.cStrides[last] != type.m * cRow)
    return false;
  type.m *= type.batch[last];
  type.aStrides[last + 1] = aRow;
  type.cStrides[last + 1] = cRow;
  eraseBatchDim(type, last);
  return true;
}

} // namespace

FoldedMatmul foldMatmul(MatmulType type) {
  for (size_t i = type.batch.size(); i-- > 0;)
    if (type.batch[i] == 1)
      eraseBatchDim(type, i);
  for (size_t i = type.batch.size(); i-- > 1;)
    mergeBatchDim(type, i - 1);
  while (!type.batch.empty() && foldIntoRows(type))
    ;
  FoldedMatmul folded{std::move(type), false};
  MatmulType &t = folded.type;
  size_t row = t.batch.size(), column = row + 1;
  // c = a·b in column-major order is c' = b'·a' in row-major order.
  if (t.cStrides[column] != 1 && t.n != 1 && t.cStrides[row] == 1 && !t.bias) {
    folded.swapped = true;
    std::swap(t.m, t.n);
    std::swap(t.aStrides, t.bStrides);
    for (auto *strides : {&t.aStrides, &t.bStrides, &t.cStrides})
      std::swap((*strides)[row], (*strides)[column]);
  }
  return folded;
}

double matmulFlops(const MatmulType &type) {
  double flops = 2.0 * static_cast<double>(type.m) *
                 static_cast<double>(type.n) * static_cast<double>(type.k);
  for (int64_t dim : type.batch)
    flops *= static_cast<double>(dim);
  return flops;
}

} // namespace ff::rt
