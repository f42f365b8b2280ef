//===- Safetensors.h - Headers of safetensors files -------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_SAFETENSORS_H
#define FF_FRONTEND_SAFETENSORS_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace ff::frontend {

struct TensorInfo {
  std::string name;
  std::string dtype; ///< as in specs: "f32", "i64", ...
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0; ///< bytes after the header
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors; ///< by offset
  /// JSON in which diffusers says the ranks and alphas of adapters, or empty.
  std::string adapterConfig;

  const TensorInfo *find(llvm::StringRef name) const;
};

/// Reads and checks the header of a file. Empty, or what is wrong with it.
std::string readSafetensorsHeader(llvm::StringRef path,
                                  SafetensorsHeader &header);

/// Why `path` is no file that can be read from front to back, or empty.
std::string whyNotRegular(llvm::StringRef path);

/// Whether JSON nests deeper than what can be read: its parser recurses.
bool isNestedTooDeeply(llvm::StringRef json);

} // namespace ff::frontend

#endif // FF_FRONTEND_SAFETENSORS_H
