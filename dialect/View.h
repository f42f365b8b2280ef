//===- View.h - Strided views of tensors ---------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain of view operations (broadcast, transpose, slice, reshape) over a
// value that lies in memory row-major is an offset and a stride for each dim.
// Kernels, matmuls and attention read such views in place, so that views cost
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_VIEW_H
#define FF_DIALECT_VIEW_H

#include "dialect/FF.h"

#include <optional>

namespace ff {

/// Element (i0, ..., in) of the viewed tensor is element
/// offset + Σ strides[d] · i_d of `root`, which is row-major in memory.
struct StridedView {
  mlir::Value root;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides; ///< in elements; 0 where it repeats

  /// Whether the elements are exactly those of the root, in its order.
  bool isContiguous(llvm::ArrayRef<int64_t> shape) const;
};

/// Row-major strides of `shape`.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Whether `op` is one of the view operations.
bool isViewOp(mlir::Operation *op);

/// The strides of `newShape` over the elements of a view with `shape` and
/// `strides`, or none where a copy is needed.
std::optional<llvm::SmallVector<int64_t>>
reshapeStrides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
               llvm::ArrayRef<int64_t> newShape);

/// Follows view operations from `value` towards its definition, as far as
/// strides can express them. The root is a value that is no view operation, or
/// a reshape that needs a copy.
StridedView resolveView(mlir::Value value);

} // namespace ff

#endif // FF_DIALECT_VIEW_H
