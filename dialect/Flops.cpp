//===- Flops.cpp - Floating-point operations of a function ---------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Flops.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ff;

/// Of one product of queries and keys, or of probabilities and values; a causal
/// one sees half of the pairs.
static double attentionProduct(Value query, Value key, bool causal) {
  auto shape = cast<RankedTensorType>(query.getType()).getShape();
  auto keys = cast<RankedTensorType>(key.getType()).getDimSize(1);
  double flops = 2.0 * static_cast<double>(shape[0]) *
                 static_cast<double>(shape[1]) * static_cast<double>(shape[2]) *
                 static_cast<double>(shape[3]) * static_cast<double>(keys);
  return causal ? flops / 2 : flops;
}

double ff::countFlops(Operation *op) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([](MatmulOp matmul) {
        auto lhs = cast<RankedTensorType>(matmul.getLhs().getType());
        auto out = cast<RankedTensorType>(matmul.getType());
        int64_t k =
            lhs.getDimSize(lhs.getRank() - (matmul.getTransposeLhs() ? 2 : 1));
        return 2.0 * static_cast<double>(out.getNumElements()) *
               static_cast<double>(k);
      })
      .Case([](AttentionOp attention) {
        return 2 * attentionProduct(attention.getQuery(), attention.getKey(),
                                    attention.getCausal());
      })
      // Scores once more, then the gradients of probabilities, values, queries
      // and keys.
      .Case([](AttentionBackwardOp attention) {
        return 5 * attentionProduct(attention.getQuery(), attention.getKey(),
                                    attention.getCausal());
      })
      .Case<LaunchOp, LaunchDeviceOp>([](Operation *launch) {
        auto flops = launch->getAttrOfType<FloatAttr>(kFlopsAttr);
        return flops ? flops.getValueAsDouble() : 0.0;
      })
      .Default([](Operation *) { return 0.0; });
}

double FlopCounter::count(func::FuncOp func) {
  if (auto it = counts.find(func); it != counts.end())
    return it->second;
  double total = 0;
  func.walk([&](Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      total += callee ? count(callee) : 0;
    } else {
      total += countFlops(op);
    }
  });
  return counts[func] = total;
}
