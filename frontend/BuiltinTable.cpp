//===- BuiltinTable.cpp - The table of builtin operations -------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/BuiltinFamilies.h"

using namespace ff::frontend;

static constexpr Builtin builtins[] = {
    // Layers
    {"linear", "x, weight, bias=None",
     "x · weightᵀ + bias over the last dim; weight is [out, in]. For `weight` "
     "a prefix does as well: `linear(x, fc)` uses `fc.weight` and, where it is "
     "declared, `fc.bias`.",
     "y = linear(x, fc)", emitLinear},
    {"matmul", "a, b, transpose_a=False, transpose_b=False",
     "Matrix product of the last two dims; also written a @ b. `b` has the "
     "batch dims of `a`, or none.",
     "y = matmul(q, k, transpose_b=True)", emitMatmul},
    {"embedding", "ids, table",
     "Rows of `table` (or of `table.weight`) by i64 ids.",
     "e = embedding(label, label_table)", emitEmbedding},
    {"attention", "q, k, v, heads=None, causal=False, scale=None, mask=None",
     "Softmax(scale · q · kᵀ) · v. With `heads` the operands are [B, S, D], of "
     "which each head takes D / heads; without, they are [B, S, heads, D]. The "
     "result has the form of q. Scale is 1/√(head dim) by default. `mask` "
     "[B, S of k] is true where a key counts; a query for which none counts "
     "gets 0.",
     "y = attention(q, k, v, heads=8)", emitAttention},
    {"layer_norm", "x, weight=None, bias=None, eps=1e-5",
     "Normalises the last dim to mean 0 and variance 1, then scales and "
     "shifts. For `weight` a prefix does as well.",
     "y = layer_norm(x, norm, eps=1e-6)", emitLayerNorm,
     Numerics::WideLikeFirst},
    {"rms_norm", "x, weight=None, eps=1e-6",
     "x / √(mean(x²) + eps) over the last dim, then scales.",
     "y = rms_norm(q, norm_q)", emitRmsNorm, Numerics::WideLikeFirst},
    {"softmax", "x, dim=-1", "Softmax over one dim.", "p = softmax(scores)",
     emitSoftmax, Numerics::Wide},
    // Activations
    {"gelu_tanh", "x", "x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))).",
     "y = gelu_tanh(x)", emitGeluTanh, Numerics::Wide},
    {"gelu", "x", "x/2 · (1 + erf(x/√2)).", "y = gelu(x)", emitGelu,
     Numerics::Wide},
    {"silu", "x", "x · sigmoid(x).", "y = silu(x)", emitSilu, Numerics::Wide},
    {"relu", "x", "max(x, 0).", "y = relu(x)", emitRelu, Numerics::Wide},
    {"sigmoid", "x", "1 / (1 + exp(-x)).", "y = sigmoid(x)", emitSigmoid,
     Numerics::Wide},
    {"tanh", "x", "Hyperbolic tangent.", "y = tanh(x)", emitTanh,
     Numerics::Wide},
    // Elementwise
    {"exp", "x", "eˣ; of a number as well.", "y = exp(x)", emitExp,
     Numerics::Wide},
    {"log", "x", "Natural logarithm; of a number as well.", "y = log(x)",
     emitLog, Numerics::Wide},
    {"sqrt", "x", "Square root; of a number as well.", "y = sqrt(x)", emitSqrt,
     Numerics::Wide},
    {"rsqrt", "x", "1 / √x; of a number as well.", "y = rsqrt(x)", emitRsqrt,
     Numerics::Wide},
    {"sin", "x", "Sine; of a number as well.", "y = sin(x)", emitSin,
     Numerics::Wide},
    {"cos", "x", "Cosine; of a number as well.", "y = cos(x)", emitCos,
     Numerics::Wide},
    {"abs", "x", "Absolute value; of a number as well.", "y = abs(x)", emitAbs,
     Numerics::Wide},
    {"square", "x", "x · x; of a number as well.", "y = square(x)", emitSquare,
     Numerics::Wide},
    {"pow", "x, exponent",
     "A power with an exponent known at compile time; also written x ** n.",
     "y = pow(x, 3)", emitPow, Numerics::Wide},
    {"maximum", "a, b", "The larger one, elementwise.", "y = maximum(a, b)",
     emitMaximum, Numerics::Wide},
    {"minimum", "a, b", "The smaller one, elementwise.", "y = minimum(a, b)",
     emitMinimum, Numerics::Wide},
    {"clamp", "x, low=None, high=None", "Limits x to [low, high].",
     "y = clamp(x, -1.0, 1.0)", emitClamp, Numerics::Wide},
    {"where", "condition, a, b",
     "a where the condition (a comparison of tensors) holds, else b.",
     "y = where(t > 0.5, a, b)", emitWhere, Numerics::Wide},
    {"cast", "x, dtype=None",
     "x in another float dtype (\"f32\", \"f64\", \"bf16\", \"f16\", "
     "\"float\"), the compute dtype by default. Integers and booleans become "
     "floats.",
     "y = cast(label)", emitCast},
    {"stop_gradient", "x", "x, as a constant of differentiation.",
     "target = stop_gradient(x)", emitStopGradient},
    // Reductions
    {"sum", "x, dims=None, keepdim=False",
     "Sum over a dim, a list of dims, or all.", "s = sum(x, dims=[1, 2])",
     emitSum, Numerics::Wide},
    {"mean", "x, dims=None, keepdim=False",
     "Mean over a dim, a list of dims, or all.", "m = mean(x, dims=-1)",
     emitMean, Numerics::Wide},
    {"max", "x, dims=None, keepdim=False",
     "Maximum over a dim, a list of dims, or all.", "m = max(x, dims=-1)",
     emitMax, Numerics::Wide},
    {"mse", "a, b", "mean(square(a - b)).", "loss = mse(v, target)", emitMse,
     Numerics::Wide},
    {"cross_entropy", "logits, ids, ignore=None",
     "-log(softmax(logits))[id] at each place, in fp32: `logits` is [..., V] "
     "and "
     "`ids` [...] i64. Where the id is `ignore`, 0. Another id that is not in "
     "[0, V) makes the loss NaN, which ends the run.",
     "losses = cross_entropy(logits, tokens, ignore=-100)", emitCrossEntropy},
    // Shapes
    {"reshape", "x, shape",
     "The same elements in row-major order; one size may be -1.",
     "y = reshape(x, [B, -1, dim])", emitReshape},
    {"transpose", "x, dim0, dim1", "Exchanges two dims.",
     "y = transpose(x, 1, 2)", emitTranspose},
    {"permute", "x, dims", "Dim i of the result is dim dims[i] of x.",
     "y = permute(x, [0, 2, 1])", emitPermute},
    {"split", "x, parts, dim=-1",
     "A list of `parts` equal pieces along a dim; `parts` may be a list of "
     "sizes.",
     "q, k, v = split(qkv, 3)", emitSplit},
    {"chunk", "x, parts, dim=-1", "The same as split.",
     "shift, scale = chunk(c, 2)", emitSplit},
    {"concat", "xs, dim=-1", "Joins a list of tensors along a dim.",
     "y = concat([a, b], dim=1)", emitConcat},
    {"expand", "x, shape", "Repeats dims of size 1 and adds leading dims.",
     "y = expand(x, [B, S, dim])", emitExpand},
    {"dim", "x, i", "The size of a dim, as an integer; also x.shape[i].",
     "s = dim(x, 1)", emitDim},
    {"len", "xs", "The length of a list.", "n = len(blocks)", emitLen},
    {"range", "start, stop=None, step=None",
     "A list of integers, known at compile time.",
     "for i in range(4):", emitRange},
    // Constants and randomness
    {"arange", "start, stop=None, dtype=None",
     "The numbers from start (default 0) up to stop, as a tensor.",
     "i = arange(16)", emitArange},
    {"full", "shape, value", "A tensor of one value.", "t = full([B], 0.5)",
     emitFull},
    {"zeros", "shape", "A tensor of zeros.", "z = zeros([B, dim])", emitZeros},
    {"ones", "shape", "A tensor of ones.", "o = ones([B])", emitOnes},
    {"zeros_like", "x", "Zeros in the shape and dtype of x.",
     "z = zeros_like(x)", emitZerosLike},
    {"ones_like", "x", "Ones in the shape and dtype of x.", "o = ones_like(x)",
     emitOnesLike},
    {"rand", "shape",
     "Uniform in [0, 1). Dim 0 is B: a value depends on the seed, the step, "
     "the sample and the place of use, not on the number of ranks.",
     "t = rand([B])", emitRand},
    {"randn", "shape", "Normal with mean 0 and deviation 1; see rand.",
     "x = randn([B, C, H, W])", emitRandn},
    {"rand_like", "x", "rand in the shape of x.", "u = rand_like(x)",
     emitRandLike},
    {"randn_like", "x", "randn in the shape of x.", "noise = randn_like(x)",
     emitRandnLike},
    {"cfg_dropout", "x, p, null=0",
     "Dropout of the condition, for classifier-free guidance: each sample of x "
     "is replaced by `null` with probability p, anew each time that it is "
     "drawn, whatever the number of ranks. Of a list of tensors each has dim 0 "
     "B, they are dropped together, and `null` is one value for all or a list.",
     "text, pooled = cfg_dropout([text, pooled], 0.1)", emitCfgDropout},
    {"param", "name",
     "A parameter whose name cannot be written as it is, such as "
     "\"embed.2-1.weight\"; or the prefix of some.",
     "y = linear(x, param(\"embed.2-1\"))", nullptr},
};

llvm::ArrayRef<Builtin> ff::frontend::getBuiltins() { return builtins; }
