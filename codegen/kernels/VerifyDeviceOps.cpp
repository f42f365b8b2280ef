//===- VerifyDeviceOps.cpp - All of a program has code for a GPU -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "dialect/FF.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace ff {
#define GEN_PASS_DEF_VERIFYDEVICEOPSPASS
#include "codegen/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

/// What a GPU has no instruction for, and ff no polynomial of 53 bits.
static bool needsPolynomial(Operation *op) {
  return isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp, math::SinOp,
             math::CosOp, math::PowFOp>(op);
}

namespace {
struct VerifyDeviceOps : ff::impl::VerifyDeviceOpsPassBase<VerifyDeviceOps> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    getOperation().walk([&](Operation *op) {
      if (!needsPolynomial(op) ||
          !getElementTypeOrSelf(op->getResult(0).getType()).isF64())
        return WalkResult::advance();
      InFlightDiagnostic error = op->emitError(); // D1
      error << "'" << op->getName().stripDialect() << "' of "
            << op->getResult(0).getType() << " has no code for a GPU";
      error.attachNote() << "fix: set compute_dtype = \"fp32\" in [precision], "
                            "or compile with --target=cpu";
      signalPassFailure();
      return WalkResult::interrupt();
    });
  }
};
} // namespace
