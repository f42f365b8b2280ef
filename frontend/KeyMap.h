//===- KeyMap.h - Names of files as names of parameters -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A list of rules, of which the first that matches a tensor counts:
//
//   keys = [{ from = "model.*", to = "*" },
//           { from = ["*.q.weight", "*.k.weight"], to = "*.qk.weight" },
//           { from = "*.gate_up.weight", to = ["*.gate.weight", "*.up.weight"]
//           }]
//
// `*` stands for any characters, and all patterns of a rule have as many, so
// that the way back, from parameters to tensors, is as clear as the way there.
// Tensors are joined and split along dim 0.
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_KEYMAP_H
#define FF_FRONTEND_KEYMAP_H

#include "frontend/Weights.h"

namespace ff::frontend {

/// Replaces the tensors of `files` by those that the rules make of them;
/// tensors that no rule matches stay. `shapeOf` gives the shape of a parameter,
/// which a split needs; empty where there is none of that name. False after an
/// error.
bool applyKeyMap(
    WeightFiles &files, const Node &rules, llvm::StringRef component,
    llvm::function_ref<std::optional<llvm::ArrayRef<int64_t>>(llvm::StringRef)>
        shapeOf,
    Diagnostics &diags);

} // namespace ff::frontend

#endif // FF_FRONTEND_KEYMAP_H
