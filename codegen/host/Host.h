//===- Host.h - Host code: runtime calls, metadata, objects ----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_HOST_HOST_H
#define FF_CODEGEN_HOST_HOST_H

#include "dialect/FF.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace mlir::LLVM {
class LLVMDialect;
}
namespace mlir::func {
class FuncDialect;
}

namespace ff {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "codegen/host/Passes.h.inc"

/// The number of a dtype in ff_rt.h (ff_dtype), or -1.
int getDtypeCode(mlir::Type type);

/// The name of a dtype in metadata ("f32"), or "".
llvm::StringRef getDtypeName(mlir::Type type);

/// The metadata of a module whose memory is planned (runtime/abi/metadata.md).
/// The keys "matmuls" and "kernels" are left to the lowering, which numbers
/// them.
llvm::json::Value buildMetadata(mlir::ModuleOp module);

/// The same for the plan, with all matmuls and kernels, before anything is
/// lowered.
std::string buildPlanMetadata(mlir::ModuleOp module);

/// How to make machine code.
struct ObjectOptions {
  std::string cpu = "native"; ///< an LLVM CPU name, or the machine's own
  unsigned optLevel = 2;
};

/// Compiles a module of the LLVM dialect into an object file.
llvm::Expected<llvm::SmallVector<char, 0>>
compileToObject(mlir::ModuleOp module, const ObjectOptions &options);

/// The text of the LLVM IR after optimisation, as compileToObject sees it.
llvm::Expected<std::string> compileToLLVMIR(mlir::ModuleOp module,
                                            const ObjectOptions &options);

} // namespace ff

#endif // FF_CODEGEN_HOST_HOST_H
