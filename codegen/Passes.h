//===- Passes.h - Passes of code generation ---------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_PASSES_H
#define FF_CODEGEN_PASSES_H

#include "codegen/Target.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace ff {

/// On a func.func: it is a kernel that ff.launch runs.
inline constexpr llvm::StringLiteral kKernelAttr = "ff.kernel";

#define GEN_PASS_DECL
#include "codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

/// Registers all passes of code generation for ff-opt.
inline void registerFFCodegenPasses() { registerFFCodegenGenPasses(); }

/// From tensor operations to fused ones (the stage `kernels`), as they are best
/// for `target`.
void buildFormKernelsPipeline(mlir::OpPassManager &pm,
                              const Target &target = {});

/// Lowers functions of scf, arith, math, vector and func to the LLVM dialect.
void buildKernelToLLVMPipeline(mlir::OpPassManager &pm);

} // namespace ff

#endif // FF_CODEGEN_PASSES_H
