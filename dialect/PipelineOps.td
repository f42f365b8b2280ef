//===- PipelineOps.td - What is trained, and how it is sharded -*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_PIPELINE_OPS_TD
#define FF_DIALECT_PIPELINE_OPS_TD

include "dialect/Attrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def FF_ComponentOp : FF_Op<"component", [
    Symbol, SymbolTable, NoTerminator, IsolatedFromAbove,
    RegionKindInterface, HasOnlyGraphRegion]> {
  let summary = "a component of the bundle, with its parameters";
  let description = [{
    A table of every parameter instance of one component. `module` and `config`
    say what it was elaborated from; `weights` is the file or folder that
    supplies the values (absent: the initialisers do).

    Example:
    ```mlir
    ff.component @dit attributes {module = "DiT", train = #ff.train<full>} {
      ff.parameter @"final.weight" : tensor<4x128xf32> init <normal, 0.0 : f64, 0.02 : f64>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       StrAttr:$module,
                       FF_TrainModeAttr:$train,
                       DefaultValuedAttr<BoolAttr, "true">:$reshard_after_forward,
                       OptionalAttr<StrAttr>:$weights,
                       OptionalAttr<DictionaryAttr>:$config);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def FF_ParameterOp : FF_Op<"parameter", [Symbol, HasParent<"ComponentOp">]> {
  let summary = "one parameter instance of a component";
  let description = [{
    `sym_name` is the name in checkpoints, relative to the component. `block`
    names the instance of a block module to which it belongs (`blocks.3`), or is
    absent. The type holds the logical shape and the storage dtype.

    Example:
    ```mlir
    ff.parameter @"blocks.0.norm.weight" : tensor<128xf32> init <constant, 1.0 : f64, 0.0 : f64> in "blocks.0"
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<AnyStaticShapeTensor>:$type,
                       FF_InitAttr:$init,
                       OptionalAttr<StrAttr>:$block,
                       DefaultValuedAttr<BoolAttr, "true">:$decay);
  let assemblyFormat = [{
    $sym_name `:` $type `init` $init (`in` $block^)? attr-dict
  }];
}

def FF_UnitOp : FF_Op<"unit", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a shard unit: what one launch gathers";
  let description = [{
    The parameters of a unit are gathered before its use and released after.
    The `root` unit of a component holds what is in no block; it is gathered once
    for a whole step.

    **Constraints:**
    - (C1) `component` names an `ff.component`; every parameter of every group
      is one of its parameters;
    - (C2) the dtype of each parameter is the dtype of its group (V1);
    - (C3) no parameter stands in two groups.

    Example:
    ```mlir
    ff.unit @"dit.blocks.0" of @dit groups [#ff.group<f32, trainable = true,
      reduce = f32, numel = 16, params = ["norm.weight"], offsets = [0]>]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       FlatSymbolRefAttr:$component,
                       TypedArrayAttrBase<FF_GroupAttr, "groups">:$groups,
                       UnitAttr:$root);
  let assemblyFormat = "$sym_name `of` $component `groups` $groups attr-dict";
}

#endif // FF_DIALECT_PIPELINE_OPS_TD
