//===- View.cpp - Strided views of tensors -------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/View.h"

using namespace mlir;
using namespace ff;

SmallVector<int64_t> ff::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

bool ff::isViewOp(Operation *op) {
  return isa_and_nonnull<BroadcastOp, TransposeOp, SliceOp, ReshapeOp>(op);
}

bool StridedView::isContiguous(ArrayRef<int64_t> shape) const {
  if (offset != 0)
    return false;
  int64_t numel = 1;
  SmallVector<int64_t> want = rowMajorStrides(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    numel *= shape[d];
    if (shape[d] != 1 && strides[d] != want[d])
      return false;
  }
  return numel == cast<RankedTensorType>(root.getType()).getNumElements();
}

std::optional<SmallVector<int64_t>>
ff::reshapeStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                   ArrayRef<int64_t> newShape) {
  // Walk both shapes from the back and match runs of dims of equal product. The
  // old dims of a run must lie evenly in memory, as one longer dim would.
  SmallVector<int64_t> result(newShape.size(), 0);
  int64_t i = static_cast<int64_t>(shape.size()) - 1;
  int64_t j = static_cast<int64_t>(newShape.size()) - 1;
  while (i >= 0 || j >= 0) {
    while (i >= 0 && shape[i] == 1)
      --i;
    while (j >= 0 && newShape[j] == 1)
      --j;
    if (i < 0 || j < 0)
      break;
    int64_t stride = strides[i], oldSize = shape[i], newSize = 1;
    int64_t newBegin = j;
    int64_t next = stride * shape[i];
    --i;
    newSize = newShape[newBegin];
    result[newBegin] = stride;
    while (oldSize != newSize) {
      if (oldSize < newSize) {
        if (i < 0)
          return std::nullopt;
        if (shape[i] != 1) {
          if (strides[i] != next)
            return std::nullopt;
          oldSize *= shape[i];
          next = strides[i] * shape[i];
        }
        --i;
      } else {
        --newBegin;
        if (newBegin < 0)
          return std::nullopt;
        result[newBegin] = result[newBegin + 1] * newShape[newBegin + 1];
        newSize *= newShape[newBegin];
      }
    }
    j = newBegin - 1;
  }
  return result;
}

StridedView ff::resolveView(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  ArrayRef<int64_t> shape = type.getShape();
  StridedView view;
  Operation *op = value.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
    StridedView in = resolveView(broadcast.getInput());
    view.strides.assign(shape.size(), 0);
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      view.strides[dim] = in.strides[i];
    view.root = in.root;
    view.offset = in.offset;
    return view;
  }
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op)) {
    StridedView in = resolveView(transpose.getInput());
    for (int64_t p : transpose.getPermutation())
      view.strides.push_back(in.strides[p]);
    view.root = in.root;
    view.offset = in.offset;
    return view;
  }
  if (auto slice = dyn_cast_or_null<SliceOp>(op)) {
    view = resolveView(slice.getInput());
    view.offset +=
        static_cast<int64_t>(slice.getStart()) * view.strides[slice.getDim()];
    return view;
  }
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op)) {
    StridedView in = resolveView(reshape.getInput());
    auto inType = cast<RankedTensorType>(reshape.getInput().getType());
    if (auto strides = reshapeStrides(inType.getShape(), in.strides, shape)) {
      view.root = in.root;
      view.offset = in.offset;
      view.strides = *strides;
      return view;
    }
  }
  view.root = value;
  view.strides = rowMajorStrides(shape);
  return view;
}
