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
#include "runtime/train/Safetensors.h"

#include <memory>

namespace ff::rt {

using Files = std::vector<std::unique_ptr<SafetensorsFile>>;

/// An Error where the tensors of `patch` are no longer what the spec was
/// compiled against; `owner` names the parameter.
void checkPatch(const ParamPatch &patch, const Files &files,
                const std::string &spec, const std::string &owner);

/// The patches of one parameter, read from its files. T is float, or double for
/// parameters of f64.
template <typename T> class Patches {
public:
  Patches(const Param &param, const Files &files);

  /// Adds to `values`, the elements of the parameter from `first` on.
  void add(int64_t first, int64_t count, T *values) const;

private:
  struct Loaded {
    const ParamPatch *patch;
    std::vector<T> tensor, down;
    int64_t columns = 1; ///< of the weight
  };
  std::vector<Loaded> loaded;
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_PATCH_H
