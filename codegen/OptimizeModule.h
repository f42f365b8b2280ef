//===- OptimizeModule.h - LLVM's pipeline over generated code ---*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_OPTIMIZEMODULE_H
#define FF_CODEGEN_OPTIMIZEMODULE_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace ff {

/// LLVM's default pipeline of `level` 0, 1 or 2 without its vectorisers:
/// kernels of the host come vectorised, those of a GPU say what a thread reads
/// at once, and what is left is scalar.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                    unsigned level);

} // namespace ff

#endif // FF_CODEGEN_OPTIMIZEMODULE_H
