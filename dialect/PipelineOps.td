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
    Symbol, SymbolTable, SingleBlock, NoTerminator, IsolatedFromAbove,
    RegionKindInterface, HasOnlyGraphRegion]> {
  let summary = "a component of the bundle, with its parameters";
  let description = [{
    A table of every parameter instance of one component. `module` and `config`
    say what it was elaborated from; `files` are the safetensors files that supply
    the values (absent: the initialisers do). `sharded = false` replicates the
    parameters on every rank. `lora` holds the settings of the adapters, in the
    words of PEFT's `adapter_config.json`; `save` says which files a checkpoint
    has of it: `kind` ("full" or "adapter") and `files`. `precision` holds what
    the component has of its own instead of the `precision` and `mixed_dtype` of
    `ff.spec`.

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
                       DefaultValuedAttr<BoolAttr, "true">:$sharded,
                       OptionalAttr<StrArrayAttr>:$files,
                       OptionalAttr<DictionaryAttr>:$config,
                       OptionalAttr<DictionaryAttr>:$lora,
                       OptionalAttr<DictionaryAttr>:$save,
                       OptionalAttr<DictionaryAttr>:$precision);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def FF_ParameterOp : FF_Op<"parameter", [Symbol, HasParent<"ComponentOp">]> {
  let summary = "one parameter instance of a component";
  let description = [{
    `sym_name` is the name in checkpoints, relative to the component. `block`
    names the shard unit to which it belongs (`blocks.3`), or is absent: the root
    unit. The type holds the logical shape and the storage dtype: that of the
    files, and of what is saved. The other dtypes are attributes where they
    differ from it:

    - `gather`: of the gathered buffer, that is of `ff.param`;
    - `master`: of the slice that the optimizer updates;
    - `reduce`: of the gradient and its reduction (default: f32, f64 for f64).

    `trainable` defaults to whether the component is trained in full. `source` is
    where the value comes from, `save` where a checkpoint's model has it, `merge`
    names the adapter of a base weight, `patches` are adapters of files that are
    folded in when it is loaded. A `buffer` is part of the model and of its
    files, but no policy changes its dtype and nothing trains it.

    Example:
    ```mlir
    ff.parameter @"blocks.0.norm.weight" : tensor<128xf32> init <constant, 1.0 : f64, 0.0 : f64> in "blocks.0" {gather = bf16}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<AnyStaticShapeTensor>:$type,
                       FF_InitAttr:$init,
                       OptionalAttr<StrAttr>:$block,
                       DefaultValuedAttr<BoolAttr, "true">:$decay,
                       OptionalAttr<BoolAttr>:$trainable,
                       OptionalAttr<TypeAttr>:$gather,
                       OptionalAttr<TypeAttr>:$master,
                       OptionalAttr<TypeAttr>:$reduce,
                       UnitAttr:$buffer,
                       OptionalAttr<FF_SourceAttr>:$source,
                       OptionalAttr<FF_SaveAttr>:$save,
                       OptionalAttr<FF_MergeAttr>:$merge,
                       OptionalAttr<TypedArrayAttrBase<FF_PatchAttr,
                                    "adapters to fold in">>:$patches);
  let assemblyFormat = [{
    $sym_name `:` $type `init` $init (`in` $block^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
    /// Whether the optimizer updates it.
    bool isTrainable();
    /// Dtype of the files and of what is saved.
    ::mlir::Type getStorageDtype() { return getTensorType().getElementType(); }
    /// Dtype of the gathered buffer.
    ::mlir::Type getGatherDtype() {
      return getGather().value_or(getStorageDtype());
    }
    /// Dtype of a rank's slice.
    ::mlir::Type getMasterDtype() {
      return getMaster().value_or(getStorageDtype());
    }
    /// Dtype of the gradient and of its reduction.
    ::mlir::Type getReduceDtype();
    /// The type of the gathered value.
    ::mlir::RankedTensorType getGatheredType() {
      return getTensorType().clone(getGatherDtype());
    }
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
    - (C2) each parameter has the dtypes (storage, gather, master, reduce) of its
      group and is trainable exactly where the group is (V1, V2);
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
