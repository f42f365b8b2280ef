//===- DeviceLibrary.h - Our functions for a GPU ----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_DEVICELIBRARY_H
#define FF_CODEGEN_DEVICE_DEVICELIBRARY_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace ff {

/// Gives the functions of the device library that `module` declares their
/// bodies (see docs/decisions/0011-device-library.md).
llvm::Error linkDeviceLibrary(llvm::Module &module);

} // namespace ff

#endif // FF_CODEGEN_DEVICE_DEVICELIBRARY_H
