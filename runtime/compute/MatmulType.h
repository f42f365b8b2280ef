//===- MatmulType.h - What a matmul is, for any library -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMPUTE_MATMULTYPE_H
#define FF_RUNTIME_COMPUTE_MATMULTYPE_H

#include "runtime/core/Metadata.h"

namespace ff::rt {

/// The same matmul with as few batch dims as its strides allow: adjacent dims
/// are merged, and a batch that only a and c have becomes rows. `swapped` says
/// that a and b change places, because c is column major.
struct FoldedMatmul {
  MatmulType type;
  bool swapped = false;
};
FoldedMatmul foldMatmul(MatmulType type);

/// Floating-point operations of one call.
double matmulFlops(const MatmulType &type);

} // namespace ff::rt

#endif // FF_RUNTIME_COMPUTE_MATMULTYPE_H
