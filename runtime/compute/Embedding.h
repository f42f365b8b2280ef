//===- Embedding.h - Rows of a table by number ----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMPUTE_EMBEDDING_H
#define FF_RUNTIME_COMPUTE_EMBEDDING_H

#include "runtime/core/Dtype.h"

namespace ff::rt {

/// The first of n ids that is outside [0, rows), or -1.
int64_t firstBadId(const int64_t *ids, int64_t n, int64_t rows);

/// out[i, :] = table[ids[i], :]
void embeddingLookup(DType dtype, const void *table, const int64_t *ids,
                     void *out, int64_t n, int64_t width);

/// grad[r, :] = sum of dout[i, :] over the i with ids[i] == r, in the order of
/// i. `dtype` is that of dout; grad is of its wideDtype().
void embeddingGrad(DType dtype, const void *dout, const int64_t *ids,
                   void *grad, int64_t n, int64_t rows, int64_t width);

} // namespace ff::rt

#endif // FF_RUNTIME_COMPUTE_EMBEDDING_H
