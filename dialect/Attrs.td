//===- Attrs.td - Attributes and types -*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_ATTRS_TD
#define FF_DIALECT_ATTRS_TD

include "dialect/Enums.td"
include "mlir/IR/AttrTypeBase.td"

class FF_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<FF_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def FF_InitAttr : FF_Attr<"Init", "init"> {
  let summary = "initial value of a parameter that no weight file supplies";
  let description = [{
    - `normal`: mean `first`, standard deviation `second`;
    - `uniform`: in [`first`, `second`);
    - `constant`: `first`; `second` is 0.

    Values come from the counter-based generator of `runtime/abi/metadata.md`,
    so they do not depend on the number of ranks.

    Example:
    ```mlir
    #ff.init<normal, 0.000000e+00 : f64, 2.000000e-02 : f64>
    ```
  }];
  let parameters = (ins EnumParameter<FF_InitKind>:$kind,
                        "::mlir::FloatAttr":$first,
                        "::mlir::FloatAttr":$second);
  let assemblyFormat = "`<` $kind `,` $first `,` $second `>`";
}

def FF_GroupAttr : FF_Attr<"Group", "group"> {
  let summary = "a flat group: the parameters of a unit that share one buffer";
  let description = [{
    A group is one contiguous buffer of `numel` elements, in which the
    parameters lie at fixed offsets. Each rank owns an equal slice of it; one
    collective gathers it.

    **Constraints:**
    - (C1) all parameters have one storage dtype, `dtype`, one value of
      `trainable` and one reduction dtype, `reduceDtype` (V1), and one dtype each
      to gather in (`gather`) and to update in (`master`); where those two are
      absent they are the storage dtype;
    - (C2) `offsets` ascend, are multiples of 16 elements and leave room for
      each parameter; `numel` is at least the end of the last;
    - (C3) as many offsets as parameters, and at least one.

    Example:
    ```mlir
    #ff.group<f32, trainable = true, reduce = f32, gather = bf16, numel = 2064,
              params = ["w", "b"], offsets = [0, 2048]>
    ```
  }];
  let parameters = (ins "::mlir::Type":$dtype, "bool":$trainable,
                        "::mlir::Type":$reduceDtype,
                        OptionalParameter<"::mlir::Type">:$gather,
                        OptionalParameter<"::mlir::Type">:$master,
                        "int64_t":$numel,
                        ArrayRefParameter<"::mlir::StringAttr">:$params,
                        ArrayRefParameter<"int64_t">:$offsets);
  let assemblyFormat = [{
    `<` $dtype `,` `trainable` `=` $trainable `,` `reduce` `=` $reduceDtype `,`
    (`gather` `=` $gather^ `,`)? (`master` `=` $master^ `,`)? `numel` `=` $numel `,` `params` `=` `[` $params `]` `,`
    `offsets` `=` `[` $offsets `]` `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The dtype of the gathered buffer.
    ::mlir::Type getGatherDtype() const {
      return getGather() ? getGather() : getDtype();
    }
    /// The dtype of a rank's slice, in which the optimizer updates.
    ::mlir::Type getMasterDtype() const {
      return getMaster() ? getMaster() : getDtype();
    }
  }];
}

def FF_PieceAttr : FF_Attr<"Piece", "piece"> {
  let summary = "a part of a tensor of a weight file";
  let description = [{
    The `count` elements from `first` on, row-major, of the tensor of `shape` in
    file number `file` of the component.

    Example:
    ```mlir
    #ff.piece<0, "blocks.0.qkv.weight", [192, 64], 4096, 4096>
    ```
  }];
  let parameters = (ins "int64_t":$file, "::mlir::StringAttr":$tensor,
                        ArrayRefParameter<"int64_t">:$shape, "int64_t":$first,
                        "int64_t":$count);
  let assemblyFormat = [{
    `<` $file `,` $tensor `,` `[` $shape `]` `,` $first `,` $count `>`
  }];
}

def FF_SourceAttr : FF_Attr<"Source", "source"> {
  let summary = "the tensor of a weight file that supplies a parameter";
  let description = [{
    `file` is an index into the `files` of the component; `dtype` is that of the
    file, by its name in safetensors in lower case. Where a key map joins or
    splits tensors, the parameter is its `pieces` behind each other, in the order
    of its elements; `file` and `tensor` are those of the first then.

    Example:
    ```mlir
    #ff.source<0, "module.blocks.0.norm.weight", "bf16">
    #ff.source<0, "q.bias", "f32", [#ff.piece<0, "q.bias", [64], 0, 64>, #ff.piece<0, "k.bias", [64], 0, 64>]>
    ```
  }];
  let parameters = (ins "int64_t":$file, "::mlir::StringAttr":$tensor,
                        "::mlir::StringAttr":$dtype,
                        OptionalParameter<"::mlir::ArrayAttr">:$pieces);
  let assemblyFormat = "`<` $file `,` $tensor `,` $dtype (`,` $pieces^)? `>`";
  let builders = [AttrBuilder<(ins "int64_t":$file,
      "::mlir::StringAttr":$tensor, "::mlir::StringAttr":$dtype), [{
    return $_get($_ctxt, file, tensor, dtype, ::mlir::ArrayAttr());
  }]>];
}

def FF_PatchAttr : FF_Attr<"Patch", "patch"> {
  let summary = "an adapter of a weight file that is folded into a parameter";
  let description = [{
    Added to the `count` elements of the parameter from `first` on, as far as it
    has them (of a tensor that is split, each parameter has a part), when it is
    loaded, in f32 or wider: `scale` times the tensor of `shape`, or, where `down`
    names a second tensor A [r, columns] of the same file, `scale` · B A with the
    tensor as B [rows, r].

    Example:
    ```mlir
    #ff.patch<1, "to_q.lora_B.weight", [64, 8], "to_q.lora_A.weight", 5.000000e-01 : f64, 0, 4096>
    #ff.patch<1, "to_q.diff_b", [64], "", 1.000000e+00 : f64, 0, 64>
    ```
  }];
  let parameters = (ins "int64_t":$file, "::mlir::StringAttr":$tensor,
                        ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::StringAttr":$down, "::mlir::FloatAttr":$scale,
                        "int64_t":$first, "int64_t":$count);
  let assemblyFormat = [{
    `<` $file `,` $tensor `,` `[` $shape `]` `,` $down `,` $scale `,` $first `,`
    $count `>`
  }];
}

def FF_SaveAttr : FF_Attr<"Save", "save"> {
  let summary = "the tensor of a saved model that holds a parameter";
  let description = [{
    `file` is an index into the saved files of the component, `name` the key in
    it.

    Example:
    ```mlir
    #ff.save<0, "base_model.model.to_q.lora_A.weight">
    ```
  }];
  let parameters = (ins "int64_t":$file, "::mlir::StringAttr":$name);
  let assemblyFormat = "`<` $file `,` $name `>`";
}

def FF_MergeAttr : FF_Attr<"Merge", "merge"> {
  let summary = "the adapter of a base weight";
  let description = [{
    The weight that the component acts with is W + `scale` · B A, where `a` names
    the parameter A [r, in] and `b` the parameter B [out, r].

    Example:
    ```mlir
    #ff.merge<"to_q.lora_A.weight", "to_q.lora_B.weight", 2.000000e+00 : f64>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$a, "::mlir::StringAttr":$b,
                        "::mlir::FloatAttr":$scale);
  let assemblyFormat = "`<` $a `,` $b `,` $scale `>`";
}

class FF_Type<string name, string typeMnemonic>
    : TypeDef<FF_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def FF_GatheredType : FF_Type<"Gathered", "gathered"> {
  let summary = "the gathered parameters of a unit, until they are released";
}

def FF_PendingType : FF_Type<"Pending", "pending"> {
  let summary = "a collective that has been started and not been waited for";
}

#endif // FF_DIALECT_ATTRS_TD
