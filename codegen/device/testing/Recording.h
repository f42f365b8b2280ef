//===- Recording.h - Launches in a file, to run elsewhere -------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A safetensors file, which test/device/ff-device-check runs on a machine
// without a compiler. Its metadata has `ptx` and, for each launch, under a
// number of digits,
//
//   function kernel blocks threads shared inputs flops buffer...
//
// where a buffer is DTYPE:elements:tensor, and of a result also :tolerance. The
// tensor has its values, flat; "-" where the launch is only to be timed.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_TESTING_RECORDING_H
#define FF_CODEGEN_DEVICE_TESTING_RECORDING_H

#include "codegen/kernels/testing/TestTensors.h"
#include "llvm/Support/Error.h"

#include <map>

namespace ff {

class Recording {
public:
  /// A launch that was run on `in` and gave `out`, in a function that the
  /// interpreter says returns `want`. What the function returns of it must be
  /// what the interpreter says; the interpreter does not know the kernels'
  /// other results, so those must be as they were here.
  void add(mlir::func::FuncOp function, LaunchDeviceOp launch,
           llvm::ArrayRef<HostTensor> in, llvm::ArrayRef<HostTensor> out,
           llvm::ArrayRef<HostTensor> want);

  /// The launches of a lowered function, to be timed.
  void addShapes(mlir::func::FuncOp lowered);

  llvm::Error write(llvm::StringRef path, llvm::StringRef ptx) const;

private:
  /// `values` are of all buffers, or empty.
  void describe(mlir::func::FuncOp function, LaunchDeviceOp launch,
                llvm::ArrayRef<const HostTensor *> values);
  /// The name of the tensor that has them: many launches read the same.
  std::string keep(const HostTensor &values);

  std::vector<std::string> launches;
  std::map<std::string, size_t> numbers; ///< of tensors, by their bytes
  std::vector<std::pair<mlir::Type, const std::string *>> tensors;
};

} // namespace ff

#endif // FF_CODEGEN_DEVICE_TESTING_RECORDING_H
