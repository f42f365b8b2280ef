//===- Passes.h - Passes over the ff dialect -------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_PASSES_PASSES_H
#define FF_PASSES_PASSES_H

#include "mlir/Pass/Pass.h"

namespace ff {

/// What ff-verify-collectives finds in programs.
enum class CollectiveForm {
  None,      ///< before sharding: uses of parameters
  Sharded,   ///< gathers and reductions, each at once
  Scheduled, ///< each started and waited for
};

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace ff

#endif // FF_PASSES_PASSES_H
