//===- Ops.cpp - Operations of the ff dialect ---------------------------*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/FF.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ff;

#define GET_OP_CLASSES
#include "dialect/Ops.cpp.inc"

Value ff::createSplat(OpBuilder &builder, Location loc, Type type,
                      double value) {
  auto tensor = cast<RankedTensorType>(type);
  Attribute element =
      isa<FloatType>(tensor.getElementType())
          ? Attribute(builder.getFloatAttr(tensor.getElementType(), value))
          : Attribute(builder.getIntegerAttr(tensor.getElementType(),
                                             static_cast<int64_t>(value)));
  return builder.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(tensor, element));
}

bool ff::isNarrowFloat(Type element) {
  return element.isBF16() || element.isF16();
}

Type ff::numberTypeOf(Type element) {
  return isNarrowFloat(element) ? Type(Float32Type::get(element.getContext()))
                                : element;
}

void MatmulOp::build(OpBuilder &builder, OperationState &state, Type result,
                     Value lhs, Value rhs, bool transposeLhs,
                     bool transposeRhs) {
  auto unit = [&](bool set) {
    return set ? builder.getUnitAttr() : UnitAttr();
  };
  build(builder, state, result, lhs, rhs, /*bias=*/Value(), unit(transposeLhs),
        unit(transposeRhs), ActivationKindAttr());
}

FlatSymbolRefAttr ViewOp::getUnitSymbol() {
  Operation *def = getUnit().getDefiningOp();
  if (auto gather = dyn_cast_or_null<GatherOp>(def))
    return gather.getUnitAttr();
  if (auto wait = dyn_cast_or_null<GatherWaitOp>(def))
    if (auto start = wait.getPending().getDefiningOp<GatherStartOp>())
      return start.getUnitAttr();
  return {};
}
