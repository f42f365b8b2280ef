//===- BuiltinFamilies.h - Emitters of the builtin operations ---*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_BUILTINFAMILIES_H
#define FF_FRONTEND_BUILTINFAMILIES_H

#include "frontend/Builtins.h"

namespace ff::frontend {

// BuiltinLayers.cpp
Val emitLinear(Call &call);
Val emitMatmul(Call &call);
Val emitEmbedding(Call &call);
Val emitAttention(Call &call);
Val emitLayerNorm(Call &call);
Val emitRmsNorm(Call &call);
Val emitSoftmax(Call &call);

// BuiltinMath.cpp
Val emitGeluTanh(Call &call);
Val emitGelu(Call &call);
Val emitSilu(Call &call);
Val emitRelu(Call &call);
Val emitSigmoid(Call &call);
Val emitTanh(Call &call);
Val emitExp(Call &call);
Val emitLog(Call &call);
Val emitSqrt(Call &call);
Val emitRsqrt(Call &call);
Val emitSin(Call &call);
Val emitCos(Call &call);
Val emitAbs(Call &call);
Val emitSquare(Call &call);
Val emitPow(Call &call);
Val emitMaximum(Call &call);
Val emitMinimum(Call &call);
Val emitClamp(Call &call);
Val emitWhere(Call &call);
Val emitCast(Call &call);
Val emitStopGradient(Call &call);
Val emitSum(Call &call);
Val emitMean(Call &call);
Val emitMax(Call &call);
Val emitMse(Call &call);
Val emitCrossEntropy(Call &call);

// BuiltinShapes.cpp
Val emitReshape(Call &call);
Val emitTranspose(Call &call);
Val emitPermute(Call &call);
Val emitSplit(Call &call);
Val emitConcat(Call &call);
Val emitExpand(Call &call);
Val emitDim(Call &call);
Val emitLen(Call &call);
Val emitRange(Call &call);

// BuiltinSources.cpp
Val emitArange(Call &call);
Val emitFull(Call &call);
Val emitZeros(Call &call);
Val emitOnes(Call &call);
Val emitZerosLike(Call &call);
Val emitOnesLike(Call &call);
Val emitRand(Call &call);
Val emitRandn(Call &call);
Val emitRandLike(Call &call);
Val emitRandnLike(Call &call);
Val emitCfgDropout(Call &call);

} // namespace ff::frontend

#endif // FF_FRONTEND_BUILTINFAMILIES_H
