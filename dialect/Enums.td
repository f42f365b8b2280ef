//===- Enums.td - Enumerations -*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_ENUMS_TD
#define FF_DIALECT_ENUMS_TD

include "dialect/Dialect.td"
include "mlir/IR/EnumAttr.td"

class FF_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::ff";
}

def FF_ActivationKind : FF_Enum<"ActivationKind", "activation function", [
  I32EnumAttrCase<"GeluTanh", 0, "gelu_tanh">,
  I32EnumAttrCase<"Gelu", 1, "gelu">,
  I32EnumAttrCase<"Silu", 2, "silu">,
  I32EnumAttrCase<"Relu", 3, "relu">,
  I32EnumAttrCase<"Sigmoid", 4, "sigmoid">,
  I32EnumAttrCase<"Tanh", 5, "tanh">
]>;
def FF_ActivationKindAttr
    : EnumAttr<FF_Dialect, FF_ActivationKind, "activation_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def FF_ReduceKind : FF_Enum<"ReduceKind", "reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">
]>;
def FF_ReduceKindAttr : EnumAttr<FF_Dialect, FF_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

// The values are those of ff_distribution in runtime/abi/ff_rt.h.
def FF_Distribution : FF_Enum<"Distribution", "distribution of random values", [
  I32EnumAttrCase<"Uniform", 0, "uniform">,
  I32EnumAttrCase<"Normal", 1, "normal">
]>;
def FF_DistributionAttr
    : EnumAttr<FF_Dialect, FF_Distribution, "distribution"> {
  let assemblyFormat = "`<` $value `>`";
}

def FF_TrainMode : FF_Enum<"TrainMode", "what is trained of a component", [
  I32EnumAttrCase<"Full", 0, "full">,
  I32EnumAttrCase<"Frozen", 1, "frozen">,
  I32EnumAttrCase<"LoRA", 2, "lora">
]>;
def FF_TrainModeAttr : EnumAttr<FF_Dialect, FF_TrainMode, "train"> {
  let assemblyFormat = "`<` $value `>`";
}

def FF_InitKind : FF_Enum<"InitKind", "initialiser", [
  I32EnumAttrCase<"Normal", 0, "normal">,
  I32EnumAttrCase<"Uniform", 1, "uniform">,
  I32EnumAttrCase<"Constant", 2, "constant">
]>;

#endif // FF_DIALECT_ENUMS_TD
