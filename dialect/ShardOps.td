//===- ShardOps.td - When parameters are gathered and gradients reduced -*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_SHARD_OPS_TD
#define FF_DIALECT_SHARD_OPS_TD

include "dialect/Attrs.td"
include "dialect/TensorOps.td"

def FF_GatherOp : FF_Op<"gather", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "gathers the parameters of a unit over the shard axis";
  let description = [{
    One collective for each group, in one launch. `ff-schedule-collectives`
    splits it into `ff.gather_start` and `ff.gather_wait`.

    Example:
    ```mlir
    %u = ff.gather @"dit.blocks.0" : !ff.gathered
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit);
  let results = (outs FF_GatheredType:$result);
  let assemblyFormat = "$unit attr-dict `:` type($result)";
}

def FF_GatherStartOp : FF_Op<"gather_start", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "starts a gather into a slot";
  let description = [{
    `slot` numbers the gather buffer; `ff-plan-memory` sets it.

    Example:
    ```mlir
    %p = ff.gather_start @"dit.blocks.0" {slot = 1 : i32} : !ff.pending
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, OptionalAttr<I32Attr>:$slot);
  let results = (outs FF_PendingType:$result);
  let assemblyFormat = "$unit attr-dict `:` type($result)";
}

def FF_GatherWaitOp : FF_Op<"gather_wait"> {
  let summary = "waits for a gather";
  let description = [{
    Example:
    ```mlir
    %u = ff.gather_wait %p : !ff.gathered
    ```
  }];
  let arguments = (ins FF_PendingType:$pending);
  let results = (outs FF_GatheredType:$result);
  let assemblyFormat = "$pending attr-dict `:` type($result)";
}

def FF_ViewOp : FF_TensorOp<"view"> {
  let summary = "a parameter inside its gathered unit; no copy";
  let description = [{
    Valid until the unit is released.

    Example:
    ```mlir
    %w = ff.view %u["blocks.0.norm.weight"] : tensor<128xf32>
    ```
  }];
  let arguments = (ins FF_GatheredType:$unit, StrAttr:$param);
  let results = (outs FF_Tensor:$result);
  let assemblyFormat = "$unit `[` $param `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The symbol of the unit whose gather this views.
    ::mlir::FlatSymbolRefAttr getUnitSymbol();
  }];
}

def FF_ReleaseOp : FF_Op<"release"> {
  let summary = "ends the use of a gathered unit";
  let description = [{
    Example:
    ```mlir
    ff.release %u
    ```
  }];
  let arguments = (ins FF_GatheredType:$unit);
  let assemblyFormat = "$unit attr-dict";
}

def FF_GradientOp : FF_Op<"gradient", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "states the gradient of a parameter in this micro-batch";
  let description = [{
    Each trainable parameter has exactly one in a program that trains, and no
    other parameter has any (V2). Its dtype is the reduction dtype of the
    parameter (V6). `ff-insert-reductions` collects those of a unit
    in an `ff.reduce_gradients`.

    Example:
    ```mlir
    ff.gradient @dit::@"final.weight", %g : tensor<4x128xf32>
    ```
  }];
  let arguments = (ins SymbolRefAttr:$param, FF_FloatTensor:$grad);
  let assemblyFormat = "$param `,` $grad attr-dict `:` type($grad)";
}

def FF_ReduceGradientsOp : FF_Op<"reduce_gradients", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "sums the gradients of a unit over the ranks";
  let description = [{
    Reduce-scatter over `shard`, then all-reduce over `replicate`, added to the
    rank's gradient slices (V3). The gradients lie in the unit's gradient buffer,
    at the offsets of the parameters. It is started here; the slot is free again
    after the `ff.reduce_wait` of the same unit.

    Example:
    ```mlir
    ff.reduce_gradients @"dit.blocks.0"(%g) ["blocks.0.norm.weight"] {slot = 0 : i32} : tensor<128xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, Variadic<FF_FloatTensor>:$grads,
                       StrArrayAttr:$params, OptionalAttr<I32Attr>:$slot);
  let assemblyFormat = [{
    $unit `(` $grads `)` $params attr-dict `:` type($grads)
  }];
}

def FF_ReduceWaitOp : FF_Op<"reduce_wait", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "waits for the reduction of a unit's gradients";
  let description = [{
    Example:
    ```mlir
    ff.reduce_wait @"dit.blocks.0"
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit);
  let assemblyFormat = "$unit attr-dict";
}

#endif // FF_DIALECT_SHARD_OPS_TD
