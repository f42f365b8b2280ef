//===- Patch.h - Adapters that are folded into weights --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_PATCH_H
#define FF_RUNTIME_TRAIN_PATCH_H

#include "runtime/core/Metadata.h"
#include "runtime/train/BlockReader.h"

#include <memory>

namespace ff::rt {

using Files = std::vector<std::unique_ptr<SafetensorsFile>>;

/// An Error where the tensors of `patch` are no longer what the spec was
/// compiled against; `owner` names the parameter.
void checkPatch(const ParamPatch &patch, const Files &files,
                const std::string &spec, const std::string &owner);

struct LoadPart;
struct LoadChunk;

/// Opens a block, converts `count` elements of it to floats, and releases it.
template <typename T>
void widenBlock(BlockReader &reader, size_t block, DType from, int64_t count,
                std::vector<T> &values);

/// The patches of one part of a parameter. T is float, or double for parameters
/// of f64. It holds the factors of those that are low-rank.
template <typename T> class Patches {
public:
  /// Reads the factors.
  Patches(const LoadPart &part, BlockReader &reader);

  /// Adds them to `values`, the elements of the chunk, in their order.
  void add(const LoadChunk &chunk, T *values);

private:
  struct Factors {
    std::vector<T> down, up;
  };

  const LoadPart &part;
  BlockReader &reader;
  std::vector<Factors> factors; ///< as part.factors
  std::vector<T> difference;    ///< of one chunk
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_PATCH_H
