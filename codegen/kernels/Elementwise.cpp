//===- Elementwise.cpp - One operation on values in registers ---*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic on bf16 and f16 is done in f32 and rounded once. Rounding to bf16
// is integer arithmetic, on machines with an instruction for it too: that
// instruction takes subnormal numbers for zero, and results would depend on the
// machine. The instruction of GPUs has no such flaw.
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/KernelBuilder.h"
#include "dialect/FF.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ff;

static int64_t lanesOfValue(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.getNumElements() : 1;
}

/// `type` in the shape of registers, also where they hold it as bits.
static Type literalType(Type type, int64_t lanes) {
  return lanes == 1 ? type : Type(VectorType::get({lanes}, type));
}

Value KernelBuilder::widen(Value value, Type element) {
  if (!isNarrowFloat(element))
    return value;
  int64_t lanes = lanesOfValue(value);
  Type number = vectorOf(b.getF32Type(), lanes);
  if (element.isF16()) {
    Value half =
        b.create<arith::BitcastOp>(loc, literalType(element, lanes), value);
    return b.create<arith::ExtFOp>(loc, number, half);
  }
  Type bits = vectorOf(b.getI32Type(), lanes);
  Value wide = b.create<arith::ExtUIOp>(loc, bits, value);
  wide = b.create<arith::ShLIOp>(loc, wide, constant(bits, 16));
  return b.create<arith::BitcastOp>(loc, number, wide);
}

Value KernelBuilder::narrow(Value number, Type element) {
  if (!isNarrowFloat(element))
    return number;
  int64_t lanes = lanesOfValue(number);
  Type result = vectorOf(element, lanes);
  if (element.isF16() || roundsToBF16) {
    Value half =
        b.create<arith::TruncFOp>(loc, literalType(element, lanes), number);
    return b.create<arith::BitcastOp>(loc, result, half);
  }
  Type type = vectorOf(b.getI32Type(), lanes);
  Value bits = b.create<arith::BitcastOp>(loc, type, number);
  Value high = b.create<arith::ShRUIOp>(loc, bits, constant(type, 16));
  // Half a step, less one where the even neighbour is below.
  Value odd = b.create<arith::AndIOp>(loc, high, constant(type, 1));
  Value half = b.create<arith::AddIOp>(loc, odd, constant(type, 0x7fff));
  Value rounded = b.create<arith::ShRUIOp>(
      loc, b.create<arith::AddIOp>(loc, bits, half), constant(type, 16));
  // The upper half of a NaN may be an infinity: a bit is set.
  Value quiet = b.create<arith::OrIOp>(loc, high, constant(type, 0x40));
  Value isNaN =
      b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, number, number);
  return b.create<arith::TruncIOp>(loc, result, select(isNaN, quiet, rounded));
}

static Value createAs(KernelBuilder &k, Operation *op, ValueRange operands,
                      Type type) {
  OperationState state(k.loc, op->getName(), operands, {type}, op->getAttrs());
  return k.b.create(state)->getResult(0);
}

Value ff::emitElementwise(KernelBuilder &k, Operation *op, ValueRange operands,
                          int64_t lanes) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  // These move bits.
  if (isa<arith::BitcastOp>(op) &&
      operands[0].getType() == vectorOf(element, lanes))
    return operands[0];
  if (isa<arith::SelectOp, arith::BitcastOp>(op))
    return createAs(k, op, operands, vectorOf(element, lanes));

  SmallVector<Value> numbers;
  for (auto [operand, value] : llvm::zip_equal(op->getOperands(), operands))
    numbers.push_back(k.widen(value, getElementTypeOrSelf(operand.getType())));
  Type number = vectorOf(numberTypeOf(element), lanes);
  if (isa<arith::ExtFOp, arith::TruncFOp>(op) && numbers[0].getType() == number)
    return k.narrow(numbers[0], element);
  if (Value expanded = expandMath(k, op, numbers))
    return k.narrow(expanded, element);
  return k.narrow(createAs(k, op, numbers, number), element);
}
