//===- DeviceImage.h - The kernels of a GPU in a program --------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_DEVICEIMAGE_H
#define FF_CODEGEN_DEVICE_DEVICEIMAGE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace ff {

/// An ff_device_image of ff_rt.h, and what it points to. The host code declares
/// it, ff-embed-device-code defines it.
inline constexpr llvm::StringLiteral kDeviceImage = "ff_device_image";
inline constexpr llvm::StringLiteral kDevicePtx = "ff_device_ptx";
inline constexpr llvm::StringLiteral kDeviceCubin = "ff_device_cubin";

/// struct { ptr, i64, ptr, i64 }
mlir::LLVM::LLVMStructType deviceImageType(mlir::MLIRContext *context);

/// The bytes of one of the two constants, without an end; none where there is
/// no such constant.
std::optional<llvm::StringRef> getDeviceCode(mlir::ModuleOp module,
                                             llvm::StringRef symbol);

} // namespace ff

#endif // FF_CODEGEN_DEVICE_DEVICEIMAGE_H
