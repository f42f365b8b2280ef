//===- WeightNames.h - How others name tensors ------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_WEIGHTNAMES_H
#define FF_FRONTEND_WEIGHTNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace ff::frontend {

/// What wrappers of a model (DDP, torch.compile, PEFT, a pipeline) add to the
/// names of its tensors.
struct Wrapping {
  bool compiled = false; ///< `_orig_mod.`, wherever a part of a name
  std::string prefix;    ///< at the front of names; others stay as they are

  bool isNone() const { return !compiled && prefix.empty(); }
  /// "'module.' and '_orig_mod.'".
  std::string describe() const;
  std::string strip(llvm::StringRef key) const;
};

/// All wrappings that `keys` may have, none first, then from the shortest.
std::vector<Wrapping> findWrappings(llvm::ArrayRef<std::string> keys);

/// The tool or library whose naming most of `names` follow, or empty.
llvm::StringRef detectConvention(llvm::ArrayRef<std::string> names);

} // namespace ff::frontend

#endif // FF_FRONTEND_WEIGHTNAMES_H
