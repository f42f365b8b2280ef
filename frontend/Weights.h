//===- Weights.h - The weight files of a component --------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are inputs of the compiler: it reads the headers of all files of a
// component and matches their tensors to the parameters, so that what does not
// fit is an error before anything is compiled or launched.
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_WEIGHTS_H
#define FF_FRONTEND_WEIGHTS_H

#include "frontend/Pattern.h"
#include "frontend/Toml.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace ff::frontend {

/// The weight files of one component: headers only.
struct WeightFiles {
  std::vector<std::string> files; ///< as the trainer opens them, in order
  std::string index;              ///< the index that names them, or empty
  std::string adapterConfig;      ///< see SafetensorsHeader

  struct Tensor {
    std::string key;
    unsigned file;     ///< in `files`
    std::string dtype; ///< as in TensorInfo: "bf16", "f8_e4m3", ...
    llvm::SmallVector<int64_t, 4> shape;
    uint64_t begin, end; ///< bytes after the header of the file

    /// Some elements of a tensor of the files.
    struct Piece {
      unsigned file;
      std::string key;
      llvm::SmallVector<int64_t, 4> shape;
      int64_t first, count;
    };
    /// Where a key map has made this tensor: what it consists of. `key` is the
    /// name that the map gives then, and `file` that of the first piece.
    std::vector<Piece> pieces;

    int64_t numel() const {
      int64_t product = 1;
      for (int64_t size : shape)
        product *= size;
      return product;
    }
  };
  std::vector<Tensor> tensors; ///< by file and offset
};

/// Reads what stands at `path`: a safetensors file, a folder of them, or an
/// index. Reports at `loc`. False after an error.
bool readWeightFiles(llvm::StringRef path, SMLoc loc, WeightFiles &files,
                     Diagnostics &diags);

struct ExpectedTensor {
  std::string name; ///< relative to the component
  llvm::SmallVector<int64_t, 4> shape;
  /// Other names of the same tensor (tied). Any may supply it; those that are
  /// there must agree in dtype and shape; which one was taken is reported.
  std::vector<std::string> aliases;
  /// No error if absent: adapters start from their initialiser.
  bool optional = false;
  SMLoc loc; ///< its declaration
};

/// Compares names, shapes and dtypes of the files with those of the model.
/// `match[i]` becomes the index in files.tensors for expected[i], or -1 where
/// the initialiser gives the value. `spare` are patterns of tensors that are
/// not needed. `onMissing` and `onUnexpected` are the tables pattern -> action
/// of the component, or null. False after an error.
bool matchWeights(const WeightFiles &files,
                  llvm::ArrayRef<ExpectedTensor> expected,
                  const Node *onMissing, const Node *onUnexpected,
                  llvm::StringRef component, SMLoc loc, Diagnostics &diags,
                  std::vector<int> &match,
                  llvm::ArrayRef<llvm::StringRef> spare = {});

} // namespace ff::frontend

#endif // FF_FRONTEND_WEIGHTS_H
