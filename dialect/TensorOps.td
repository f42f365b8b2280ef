//===- TensorOps.td - What is computed -*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_TENSOR_OPS_TD
#define FF_DIALECT_TENSOR_OPS_TD

include "dialect/Attrs.td"
include "dialect/Interfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def FF_Tensor : StaticShapeTensorOf<[AnyFloat, AnySignlessInteger]>;
def FF_FloatTensor : StaticShapeTensorOf<[AnyFloat]>;
def FF_IdTensor : StaticShapeTensorOf<[I64]>;
def FF_BoolTensor : StaticShapeTensorOf<[I1]>;

class FF_TensorOp<string mnemonic, list<Trait> traits = []>
    : FF_Op<mnemonic, !listconcat([Pure], traits)>;

class FF_DifferentiableOp<string mnemonic, list<Trait> traits = []>
    : FF_TensorOp<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<FF_DifferentiableOpInterface>], traits)>;

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

def FF_ParamOp : FF_TensorOp<"param", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter";
  let description = [{
    The shape is that of the parameter, the dtype the one it is gathered in.

    Example:
    ```mlir
    %w = ff.param @dit::@"final.weight" : tensor<4x128xf32>
    ```
  }];
  let arguments = (ins SymbolRefAttr:$param);
  let results = (outs FF_Tensor:$result);
  let assemblyFormat = "$param attr-dict `:` type($result)";
}

def FF_IotaOp : FF_TensorOp<"iota"> {
  let summary = "the index along one dim, as numbers";
  let description = [{
    Element (i0, ..., in) is i_dim.

    Example:
    ```mlir
    %i = ff.iota dim 1 : tensor<4x16xf32>
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs FF_Tensor:$result);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def FF_RandomOp : FF_TensorOp<"random"> {
  let summary = "counter-based random values";
  let description = [{
    Dim 0 is the batch. A value is a function of (seed, global sample id of its
    row, `site`, element within the sample); see runtime/abi/metadata.md. Every
    use in a spec has a site of its own.

    Example:
    ```mlir
    %n = ff.random <normal> site 3 : tensor<128x1x8x8xf32>
    ```
  }];
  let arguments = (ins FF_DistributionAttr:$distribution, I32Attr:$site);
  let results = (outs FF_FloatTensor:$result);
  let assemblyFormat = "$distribution `site` $site attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def FF_LossSeedOp : FF_TensorOp<"loss_seed"> {
  let summary = "the gradient of the objective with respect to the loss";
  let description = [{
    One over the number of micro-batches of the global batch; zero on a rank
    without a micro-batch in this round (see runtime/abi/metadata.md).

    Example:
    ```mlir
    %g = ff.loss_seed : tensor<f32>
    ```
  }];
  let results = (outs FF_FloatTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Views: no element is computed
//===----------------------------------------------------------------------===//

def FF_BroadcastOp : FF_DifferentiableOp<"broadcast"> {
  let summary = "repeats a tensor along new dims";
  let description = [{
    Dim i of the operand becomes dim `dims[i]` of the result; the result repeats
    along the others.

    **Constraints:**
    - (C1) `dims` has one entry per operand dim, ascending, within the rank of
      the result;
    - (C2) size of operand dim i = size of result dim `dims[i]`;
    - (C3) equal element types.

    Example:
    ```mlir
    %y = ff.broadcast %b dims [2] : tensor<128xf32> to tensor<8x16x128xf32>
    ```
  }];
  let arguments = (ins FF_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs FF_Tensor:$result);
  let assemblyFormat = [{
    $input `dims` $dims attr-dict `:` type($input) `to` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def FF_ReshapeOp : FF_DifferentiableOp<"reshape"> {
  let summary = "the same elements in row-major order, another shape";
  let description = [{
    **Constraints:** (C1) as many elements; (C2) equal element types.

    Example:
    ```mlir
    %y = ff.reshape %x : tensor<8x16x128xf32> to tensor<128x128xf32>
    ```
  }];
  let arguments = (ins FF_Tensor:$input);
  let results = (outs FF_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def FF_TransposeOp : FF_DifferentiableOp<"transpose"> {
  let summary = "permutes dims";
  let description = [{
    Dim i of the result is dim `permutation[i]` of the operand.

    **Constraints:** (C1) `permutation` is one; (C2) the sizes agree.

    Example:
    ```mlir
    %y = ff.transpose %x [0, 2, 1] : tensor<8x16x4xf32> to tensor<8x4x16xf32>
    ```
  }];
  let arguments = (ins FF_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs FF_Tensor:$result);
  let assemblyFormat = [{
    $input $permutation attr-dict `:` type($input) `to` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def FF_SliceOp : FF_DifferentiableOp<"slice"> {
  let summary = "a contiguous range of one dim";
  let description = [{
    Result = operand[..., start : start + size of the result's dim, ...].

    **Constraints:** (C1) the range lies within the operand's dim; (C2) the other
    dims are equal.

    Example:
    ```mlir
    %q = ff.slice %qkv dim 2 at 0 : tensor<8x16x384xf32> to tensor<8x16x128xf32>
    ```
  }];
  let arguments = (ins FF_Tensor:$input, I64Attr:$dim, I64Attr:$start);
  let results = (outs FF_Tensor:$result);
  let assemblyFormat = [{
    $input `dim` $dim `at` $start attr-dict `:` type($input) `to` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

def FF_ConcatOp : FF_DifferentiableOp<"concat"> {
  let summary = "joins tensors along one dim";
  let description = [{
    **Constraints:** (C1) the dims other than `dim` are equal; (C2) the sizes of
    `dim` add up.

    Example:
    ```mlir
    %y = ff.concat %a, %b dim 1 : tensor<8x4xf32>, tensor<8x2xf32> to tensor<8x6xf32>
    ```
  }];
  let arguments = (ins Variadic<FF_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs FF_Tensor:$result);
  let assemblyFormat = [{
    $inputs `dim` $dim attr-dict `:` type($inputs) `to` type($result)
  }];
  let hasVerifier = 1;
}

def FF_EmbeddingOp : FF_DifferentiableOp<"embedding"> {
  let summary = "rows of a table";
  let description = [{
    result[i..., :] = table[ids[i...], :]. An id out of range is an error when
    it is met.

    Example:
    ```mlir
    %e = ff.embedding %table[%ids] : tensor<11x128xf32>, tensor<64xi64> to tensor<64x128xf32>
    ```
  }];
  let arguments = (ins FF_FloatTensor:$table, FF_IdTensor:$ids);
  let results = (outs FF_FloatTensor:$result);
  let assemblyFormat = [{
    $table `[` $ids `]` attr-dict `:` type($table) `,` type($ids) `to` type($result)
  }];
  let hasVerifier = 1;
}

def FF_EmbeddingBackwardOp : FF_TensorOp<"embedding_backward"> {
  let summary = "gradient of ff.embedding with respect to the table";
  let description = [{
    result[r, :] = sum of grad[i, :] over the i with ids[i] = r, in their order.
    Accumulates in f32 or wider.

    **Constraints:** (C1) the result has the element type of `grad`, or f32 where
    that is bf16 or f16: the sum is not rounded then.

    Example:
    ```mlir
    %dt = ff.embedding_backward %dy[%ids] : tensor<64x128xf32>, tensor<64xi64> to tensor<11x128xf32>
    ```
  }];
  let arguments = (ins FF_FloatTensor:$grad, FF_IdTensor:$ids);
  let results = (outs FF_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `[` $ids `]` attr-dict `:` type($grad) `,` type($ids) `to` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def FF_ActivationOp : FF_DifferentiableOp<"activation", [
    SameOperandsAndResultType]> {
  let summary = "an activation function, elementwise";
  let description = [{
    - `gelu_tanh`: x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³)));
    - `gelu`: x/2 · (1 + erf(x/√2));
    - `silu`: x / (1 + exp(-x)); `sigmoid`: 1 / (1 + exp(-x));
    - `relu`: max(x, 0); `tanh`.

    Example:
    ```mlir
    %y = ff.activation <silu> %x : tensor<8x128xf32>
    ```
  }];
  let arguments = (ins FF_ActivationKindAttr:$kind, FF_FloatTensor:$input);
  let results = (outs FF_FloatTensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input)";
}

def FF_ActivationBackwardOp : FF_TensorOp<"activation_backward", [
    SameOperandsAndResultType]> {
  let summary = "gradient of ff.activation: grad · f'(input)";
  let description = [{
    The derivative of `relu` at 0 is 0.

    Example:
    ```mlir
    %dx = ff.activation_backward <silu> %x, %dy : tensor<8x128xf32>
    ```
  }];
  let arguments = (ins FF_ActivationKindAttr:$kind, FF_FloatTensor:$input,
                       FF_FloatTensor:$grad);
  let results = (outs FF_FloatTensor:$result);
  let assemblyFormat = "$kind $input `,` $grad attr-dict `:` type($input)";
}

def FF_StopGradientOp : FF_TensorOp<"stop_gradient", [
    SameOperandsAndResultType]> {
  let summary = "the operand, as a constant of differentiation";
  let description = [{
    Example:
    ```mlir
    %y = ff.stop_gradient %x : tensor<8xf32>
    ```
  }];
  let arguments = (ins FF_Tensor:$input);
  let results = (outs FF_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

//===----------------------------------------------------------------------===//
// Reductions and normalisations
//===----------------------------------------------------------------------===//

def FF_ReduceOp : FF_DifferentiableOp<"reduce"> {
  let summary = "sum or maximum over dims";
  let description = [{
    The result has the operand's dims without `dims`. Accumulates in f32 or
    wider. The gradient of `max` goes in equal parts to the elements that equal
    the maximum.

    **Constraints:** (C1) `dims` ascend, are distinct and within the rank;
    (C2) the result's shape is the operand's without them.

    Example:
    ```mlir
    %s = ff.reduce <sum> %x dims [1, 2] : tensor<8x16x128xf32> to tensor<8xf32>
    ```
  }];
  let arguments = (ins FF_ReduceKindAttr:$kind, FF_FloatTensor:$input,
                       DenseI64ArrayAttr:$dims);
  let results = (outs FF_FloatTensor:$result);
  let assemblyFormat = [{
    $kind $input `dims` $dims attr-dict `:` type($input) `to` type($result)
  }];
  let hasVerifier = 1;
}

class FF_RowOp<string mnemonic, string text, dag extra = (ins)>
    : FF_DifferentiableOp<mnemonic, [SameOperandsAndResultType]> {
  let summary = text # " over the last dim";
  let arguments = !con((ins FF_FloatTensor:$input), extra);
  let results = (outs FF_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

class FF_RowBackwardOp<string mnemonic, string text, dag extra = (ins)>
    : FF_TensorOp<mnemonic, [SameOperandsAndResultType]> {
  let summary = "gradient of " # text;
  let arguments = !con((ins FF_FloatTensor:$input, FF_FloatTensor:$grad), extra);
  let results = (outs FF_FloatTensor:$result);
  let assemblyFormat = "$input `,` $grad attr-dict `:` type($input)";
}

def FF_LayerNormOp : FF_RowOp<"layer_norm", "(x - mean) / √(var + eps)",
                              (ins F64Attr:$eps)> {
  let description = [{
    The variance is the biased one. No affine part: that is a multiplication and
    an addition, which fuse with it.

    Example:
    ```mlir
    %y = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<8x16x128xf32>
    ```
  }];
}
def FF_LayerNormBackwardOp : FF_RowBackwardOp<"layer_norm_backward",
    "ff.layer_norm", (ins F64Attr:$eps)> {
  let description = [{
    With r = 1/√(var + eps), n = (x - mean) r: r (g - mean(g) - n mean(g n)).

    Example:
    ```mlir
    %dx = ff.layer_norm_backward %x, %dy {eps = 1.0e-6 : f64} : tensor<8x128xf32>
    ```
  }];
}

def FF_RmsNormOp : FF_RowOp<"rms_norm", "x / √(mean(x²) + eps)",
                            (ins F64Attr:$eps)> {
  let description = [{
    Example:
    ```mlir
    %y = ff.rms_norm %x {eps = 1.0e-6 : f64} : tensor<8x16x128xf32>
    ```
  }];
}
def FF_RmsNormBackwardOp : FF_RowBackwardOp<"rms_norm_backward", "ff.rms_norm",
                                            (ins F64Attr:$eps)> {
  let description = [{
    With r = 1/√(mean(x²) + eps), n = x r: r (g - n mean(g n)).

    Example:
    ```mlir
    %dx = ff.rms_norm_backward %x, %dy {eps = 1.0e-6 : f64} : tensor<8x128xf32>
    ```
  }];
}

def FF_SoftmaxOp : FF_RowOp<"softmax", "softmax"> {
  let description = [{
    Example:
    ```mlir
    %y = ff.softmax %x : tensor<8x10xf32>
    ```
  }];
}
def FF_SoftmaxBackwardOp : FF_RowBackwardOp<"softmax_backward", "ff.softmax"> {
  let description = [{
    `input` is the *result* y of the softmax: y (g - sum(g y)).

    Example:
    ```mlir
    %dx = ff.softmax_backward %y, %dy : tensor<8x10xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def FF_MatmulOp : FF_DifferentiableOp<"matmul"> {
  let summary = "matrix product, batched";
  let description = [{
    lhs [batch..., M, K] · rhs [batch..., K, N] → [batch..., M, N]; with
    `transpose_lhs` the lhs is [batch..., K, M], with `transpose_rhs` the rhs is
    [batch..., N, K]. An `bias` [N] is added to every row, then `activation` is
    applied. Accumulates in f32 or wider; the result is rounded once, behind
    bias and activation.

    **Constraints:** (C1) equal batch dims, or the rhs has none; (C2) the K of
    both agree; (C3) result and bias have the sizes above; (C4) lhs and rhs have
    one element type; the result has it too, or f32 where it is bf16 or f16: the
    sums are not rounded then; the bias has that of the result.

    Bias and activation are put in by `ff-fuse-epilogues`; an `ff.matmul` that is
    differentiated has neither.

    Example:
    ```mlir
    %y = ff.matmul %x, %w {transpose_rhs} : tensor<512x128xf32>, tensor<384x128xf32> to tensor<512x384xf32>
    %z = ff.matmul %x, %w bias %b : tensor<384xf32> {transpose_rhs} : tensor<512x128xf32>, tensor<384x128xf32> to tensor<512x384xf32>
    %g = ff.matmul %dy, %h {transpose_lhs} : tensor<512x384xbf16>, tensor<512x128xbf16> to tensor<384x128xf32>
    ```
  }];
  let arguments = (ins FF_FloatTensor:$lhs, FF_FloatTensor:$rhs,
                       Optional<FF_FloatTensor>:$bias,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
                       OptionalAttr<FF_ActivationKindAttr>:$activation);
  let results = (outs FF_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` $bias^ `:` type($bias))? attr-dict `:`
    type($lhs) `,` type($rhs) `to` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$lhs,
      "::mlir::Value":$rhs, CArg<"bool", "false">:$transposeLhs,
      CArg<"bool", "false">:$transposeRhs)>];
  let hasVerifier = 1;
}

def FF_AttentionOp : FF_DifferentiableOp<"attention"> {
  let summary = "scaled dot-product attention";
  let description = [{
    query [B, Sq, H, D], key and value [B, Sk, H, D] → result [B, Sq, H, D] =
    softmax(scale · query · keyᵀ) · value for each batch and head, and the
    logarithm of the softmax's denominator `lse` [B, H, Sq] (natural logarithm,
    of the scaled scores), which the gradient needs. With `causal`, query i sees
    the keys j ≤ i + Sk - Sq. With `mask` [B, Sk], it sees the keys j whose entry
    is true. A query that sees no key gets 0, and no gradient. Tiled with online
    softmax: memory is linear in Sq. The gradient with respect to `lse` is not
    defined. Scores, probabilities and sums are f32 or wider.

    **Constraints:** (C1) query, key, value and result have one element type;
    (C2) `lse` has it too, or f32 where it is bf16 or f16; (C3) the mask has the
    batch and the sequence of the keys.

    Example:
    ```mlir
    %o, %l = ff.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<8x16x4x32xf32>, tensor<8x16x4x32xf32>, tensor<8x16x4x32xf32>) -> (tensor<8x16x4x32xf32>, tensor<8x4x16xf32>)
    ```
  }];
  let arguments = (ins FF_FloatTensor:$query, FF_FloatTensor:$key,
                       FF_FloatTensor:$value, Optional<FF_BoolTensor>:$mask,
                       F64Attr:$scale, UnitAttr:$causal);
  let results = (outs FF_FloatTensor:$result, FF_FloatTensor:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def FF_AttentionBackwardOp : FF_TensorOp<"attention_backward"> {
  let summary = "gradients of ff.attention";
  let description = [{
    From the operands, results and the gradient of the result of an
    `ff.attention`: the gradients of query, key and value. Probabilities are
    computed again from `lse`, tile by tile. Gradients are summed in f32 or wider
    and rounded once.

    **Constraints:** (C1) result and `grad` have the type of the query, each
    gradient has that of its operand; (C2) that of `lse`, and (C3) that of the
    mask as in ff.attention.

    Example:
    ```mlir
    %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64} : (tensor<8x16x4x32xf32>, tensor<8x16x4x32xf32>, tensor<8x16x4x32xf32>, tensor<8x16x4x32xf32>, tensor<8x4x16xf32>, tensor<8x16x4x32xf32>) -> (tensor<8x16x4x32xf32>, tensor<8x16x4x32xf32>, tensor<8x16x4x32xf32>)
    ```
  }];
  let arguments = (ins FF_FloatTensor:$query, FF_FloatTensor:$key,
                       FF_FloatTensor:$value, FF_FloatTensor:$result,
                       FF_FloatTensor:$lse, FF_FloatTensor:$grad,
                       Optional<FF_BoolTensor>:$mask,
                       F64Attr:$scale, UnitAttr:$causal);
  let results = (outs FF_FloatTensor:$queryGrad, FF_FloatTensor:$keyGrad,
                      FF_FloatTensor:$valueGrad);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $result `,` $lse `,` $grad
    (`mask` $mask^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def FF_FusedOp : FF_TensorOp<"fused", [
    IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "operations that become one loop";
  let description = [{
    The body computes over one iteration space, `domain`: each value in it has
    the shape of the domain (a *full* value), or of the domain without its last
    `reduced` dims (a *row* value), or comes from views and constants. The last
    `reduced` dims are looped over inside, the others in parallel; a reduction
    of a full value over exactly those dims gives a row value.

    With `columns` the body reduces over leading dims instead: its only
    reductions are over `columns` and nothing uses their results inside.

    A body whose only computation is one `ff.concat` of block arguments and
    constants joins them; they have the shapes of its operands.

    Operands may be views of any strides: `ff-lower-kernels` reads them in place.
    `ff-form-kernels` makes these, and `ff-lower-kernels` turns them into loops.

    Example:
    ```mlir
    %y = ff.fused (%x) domain [8, 128] reduced 1 : (tensor<8x128xf32>) -> tensor<8x128xf32> {
    ^bb0(%a: tensor<8x128xf32>):
      %m = ff.reduce <max> %a dims [1] : tensor<8x128xf32> to tensor<8xf32>
      %b = ff.broadcast %m dims [0] : tensor<8xf32> to tensor<8x128xf32>
      %c = arith.subf %a, %b : tensor<8x128xf32>
      ff.yield %c : tensor<8x128xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<FF_Tensor>:$inputs, DenseI64ArrayAttr:$domain,
                       I64Attr:$reduced, OptionalAttr<DenseI64ArrayAttr>:$columns);
  let results = (outs Variadic<FF_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` `domain` $domain `reduced` $reduced (`columns` $columns^)?
    attr-dict `:` functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
}

def FF_YieldOp : FF_Op<"yield", [Pure, ReturnLike, Terminator,
                                 HasParent<"FusedOp">]> {
  let summary = "the results of an ff.fused";
  let arguments = (ins Variadic<FF_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ /* yields nothing yet */ }]>];
}

def FF_LaunchOp : FF_TensorOp<"launch", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel over its iterations";
  let description = [{
    `kernel` is a function (buffers: !llvm.ptr, begin: i64, end: i64) that
    computes the iterations [begin, end) of [0, `iterations`); `buffers` is an
    array of pointers to the operands, then the results, each row-major. Pieces
    of at least `grain` iterations run in parallel. A result that nothing reads
    is scratch memory. The results share no memory with the operands: kernels
    read operands again after they have written results.

    Example:
    ```mlir
    %y = ff.launch @kernel_0(%x) iterations 2048 grain 64 : (tensor<2048x128xf32>) -> tensor<2048x128xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<FF_Tensor>:$inputs,
                       I64Attr:$iterations, I64Attr:$grain);
  let results = (outs Variadic<FF_Tensor>:$outputs);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `iterations` $iterations `grain` $grain attr-dict `:`
    functional-type($inputs, $outputs)
  }];
}

def FF_LaunchDeviceOp : FF_TensorOp<"launch_device", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel of a GPU";
  let description = [{
    `kernel` is a function of a `gpu.module`. Its parameters are pointers to the
    operands, then to the results, in this order, each row-major and aligned to 16
    bytes (an operand that is a slice, to what its offset leaves of them). It runs in
    `blocks` blocks of `threads` threads, with `shared` bytes of dynamic shared
    memory in each. The results share no memory with the operands.

    Example:
    ```mlir
    %y = ff.launch_device @kernels::@kernel_0(%x) blocks 256 threads 128 shared 0 : (tensor<2048x128xf32>) -> tensor<2048x128xf32>
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<FF_Tensor>:$inputs,
                       I64Attr:$blocks, I64Attr:$threads, I64Attr:$shared);
  let results = (outs Variadic<FF_Tensor>:$outputs);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `blocks` $blocks `threads` $threads `shared` $shared
    attr-dict `:` functional-type($inputs, $outputs)
  }];
}

#endif // FF_DIALECT_TENSOR_OPS_TD
