//===- PTX.h - Kernels of a GPU as PTX --------------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_PTX_H
#define FF_CODEGEN_DEVICE_PTX_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Error.h"

#include <string>

namespace ff {

/// What compileToPTX translates must be registered before.
void registerDeviceTranslations(mlir::DialectRegistry &registry);

/// The kernels of `kernels` as PTX text for the chip of its target attribute.
/// The module itself stays as it is. Nothing of a CUDA toolkit is needed: no
/// kernel calls libdevice.
llvm::Expected<std::string> compileToPTX(mlir::gpu::GPUModuleOp kernels);

} // namespace ff

#endif // FF_CODEGEN_DEVICE_PTX_H
