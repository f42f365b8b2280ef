//===- Ptxas.h - PTX to machine code by the CUDA toolkit --------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_PTXAS_H
#define FF_CODEGEN_DEVICE_PTXAS_H

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace ff {

/// A kernel whose values do not all fit into registers.
struct Spill {
  std::string kernel;
  int64_t storeBytes = 0, loadBytes = 0;
};

struct Cubin {
  std::string bytes;
  std::vector<Spill> spills;
};

/// The path of ptxas: `wanted` itself, or where that is "", the one in PATH,
/// CUDA_HOME or /usr/local/cuda. "" where there is none, or `wanted` is "none".
llvm::Expected<std::string> findPtxas(llvm::StringRef wanted);

/// The machine code of `ptx` for `chip`. The error is what ptxas says.
llvm::Expected<Cubin> assemble(llvm::StringRef ptxas, llvm::StringRef ptx,
                               llvm::StringRef chip);

} // namespace ff

#endif // FF_CODEGEN_DEVICE_PTXAS_H
