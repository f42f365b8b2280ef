//===- Interfaces.td - Operation interfaces -*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_INTERFACES_TD
#define FF_DIALECT_INTERFACES_TD

include "mlir/IR/OpBase.td"

def FF_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::ff";
  let description = [{
    Reverse-mode differentiation of one operation. Operations of `ff` implement
    it in `dialect/Gradients.cpp`; those of `arith` and `math` through external
    models in `dialect/UpstreamGradients.cpp`. Each implementation is held
    against finite differences by `ff-grad-check`.
  }];
  let methods = [
    InterfaceMethod<
      /*desc=*/[{
        Emits the vector-Jacobian product at the insertion point of `builder`.
        `resultGrads[i]` is the gradient of result i, with its type, or null
        where it is zero; at least one is not null. `wanted[j]` says whether the
        gradient of operand j is asked for; the method sets `operandGrads[j]`,
        with the type of operand j, or leaves it null where it is zero.
      }],
      /*retTy=*/"void",
      /*methodName=*/"buildBackward",
      /*args=*/(ins "::mlir::OpBuilder &":$builder,
                    "::llvm::ArrayRef<::mlir::Value>":$resultGrads,
                    "::llvm::ArrayRef<bool>":$wanted,
                    "::llvm::MutableArrayRef<::mlir::Value>":$operandGrads)>,
  ];
}

#endif // FF_DIALECT_INTERFACES_TD
