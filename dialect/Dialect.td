//===- Dialect.td - The ff dialect -*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_DIALECT_TD
#define FF_DIALECT_DIALECT_TD

include "mlir/IR/OpBase.td"

def FF_Dialect : Dialect {
  let name = "ff";
  let cppNamespace = "::ff";
  let summary = "Sharded training pipelines: components, programs, tensors";
  let description = [{
    The `ff` dialect holds a training pipeline from the spec to the static
    schedule of one step. It has three groups of operations:

    - *pipeline* operations say what is trained: components with their
      parameters, shard units with their flat groups;
    - *tensor* operations say what is computed. All shapes are static. Where an
      elementwise operation of `arith` or `math` exists it is used on tensors as
      it is; this dialect adds what those lack (reductions, views, matmul,
      attention, randomness) and their gradients;
    - *shard* operations say when parameters are gathered and gradients reduced.

    A program is a `func.func` with the attribute `ff.program`; the functions it
    calls are bodies of blocks, one for each distinct module configuration, with
    the attribute `ff.block`. Function arguments carry `ff.input = "name"` (of a
    program) and `ff.param = "relative name"` (of a block).
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

class FF_Op<string mnemonic, list<Trait> traits = []>
    : Op<FF_Dialect, mnemonic, traits>;

#endif // FF_DIALECT_DIALECT_TD
