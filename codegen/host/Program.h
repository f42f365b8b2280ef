//===- Program.h - One function as runtime calls ---------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_HOST_PROGRAM_H
#define FF_CODEGEN_HOST_PROGRAM_H

#include "codegen/host/Host.h"
#include "dialect/Buffers.h"
#include "dialect/View.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

namespace ff {

/// What the functions of a module share while they are lowered: declarations of
/// the runtime, the numbers of units and groups, and the tables of matmuls and
/// of launches on a device.
class HostModule {
public:
  explicit HostModule(mlir::ModuleOp module);

  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name, mlir::Type result,
                                 llvm::ArrayRef<mlir::Type> args);
  /// The number of the matmul with this descriptor.
  int32_t getMatmul(llvm::json::Value descriptor);
  /// The number of the launch with this descriptor.
  int32_t getKernel(llvm::json::Value descriptor);
  int32_t getUnitNumber(mlir::FlatSymbolRefAttr unit) const {
    return unitNumbers.lookup(unit.getAttr());
  }
  struct GroupPlace {
    int32_t group;
    int64_t dataOffset; ///< bytes, in the gathered buffer
    int64_t gradOffset; ///< bytes, in the gradient buffer
  };
  GroupPlace lookup(mlir::FlatSymbolRefAttr unit, mlir::StringAttr param) const;

  mlir::ModuleOp module;
  mlir::Type ptr, i32, i64, voidType;
  std::vector<llvm::json::Value> matmuls, kernels;

private:
  llvm::DenseMap<mlir::Attribute, int32_t> unitNumbers;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, GroupPlace>
      places;
  llvm::StringMap<int32_t> matmulNumbers, kernelNumbers;
};

/// Moves the tables of `host` into the metadata.
void addTables(llvm::json::Value &metadata, HostModule &host);

/// An entry of the key "matmuls".
llvm::json::Object describeMatmul(MatmulOp op);

/// An entry of the key "kernels".
llvm::json::Object describeKernel(LaunchDeviceOp op);

/// Lowers one program or block; the new function replaces `func`.
mlir::LogicalResult lowerFunction(mlir::func::FuncOp func, HostModule &host);

} // namespace ff

#endif // FF_CODEGEN_HOST_PROGRAM_H
