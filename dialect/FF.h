//===- FF.h - The ff dialect --------------------------------------------*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one header of the dialect: all generated pieces, in order.
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_FF_H
#define FF_DIALECT_FF_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/Dialect.h.inc"
#include "dialect/Enums.h.inc"

#include "dialect/Interfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Attrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Types.h.inc"

#define GET_OP_CLASSES
#include "dialect/Ops.h.inc"

namespace ff {

/// Names of the attributes that carry a pipeline on builtin operations.
/// On the module: the policies of the spec, a dictionary (see frontend/).
inline constexpr llvm::StringLiteral kSpecAttr = "ff.spec";
/// On a func.func: the name of the program that it is.
inline constexpr llvm::StringLiteral kProgramAttr = "ff.program";
/// On a func.func: it is the body of a block module, kept as a call.
inline constexpr llvm::StringLiteral kBlockAttr = "ff.block";
/// On a func.func: it is the forward of a whole component, which a program that
/// is not differentiated calls. It gathers its parameters itself.
inline constexpr llvm::StringLiteral kForwardAttr = "ff.forward";
/// On a program's argument: the name of the input.
inline constexpr llvm::StringLiteral kInputAttr = "ff.input";
/// On a program's result: the name of the output.
inline constexpr llvm::StringLiteral kOutputAttr = "ff.output";
/// On a block's argument: the name of the parameter, relative to the block.
inline constexpr llvm::StringLiteral kParamAttr = "ff.param";

/// On a call of a block: its backward computes it again.
inline constexpr llvm::StringLiteral kRecomputeAttr = "ff.recompute";

/// Whether collectives may stand in `func`: it is a program, or the forward of
/// a component, which only programs call.
inline bool holdsCollectives(mlir::Operation *func) {
  return func->hasAttr(kProgramAttr) || func->hasAttr(kForwardAttr);
}
/// Whether `func` is a program or what programs call, and not a kernel.
inline bool isTensorFunction(mlir::Operation *func) {
  return holdsCollectives(func) || func->hasAttr(kBlockAttr);
}

/// bf16 and f16: types of storage, computed on in f32.
bool isNarrowFloat(mlir::Type element);
/// The type in which numbers of type `element` are computed on and summed: f32
/// for bf16 and f16, and unchanged for other types.
mlir::Type numberTypeOf(mlir::Type element);

/// Makes the arith and math operations differentiable (external models).
void registerUpstreamGradients(mlir::DialectRegistry &registry);

/// A splat constant of `type`.
mlir::Value createSplat(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Type type, double value);

} // namespace ff

#endif // FF_DIALECT_FF_H
