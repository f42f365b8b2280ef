//===- Register.h - Dialects and passes of the tools -----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_TOOLS_REGISTER_H
#define FF_TOOLS_REGISTER_H

#include "mlir/IR/DialectRegistry.h"

namespace ff {

/// Registers every dialect that the pipeline meets, with its interfaces.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers every pass of ff, and the stages as pipelines (--ff-stage-NAME).
void registerPasses();

} // namespace ff

#endif // FF_TOOLS_REGISTER_H
