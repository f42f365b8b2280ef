//===- AdapterFile.h - Adapters as others write them ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What files of adapters hold, whoever wrote them:
//
//   PATH.lora_A.weight, PATH.lora_A.NAME.weight     [r, in]     PEFT, diffusers
//   PATH.lora_B.weight, PATH.lora_B.NAME.weight     [out, r]
//   PATH.lora_down.weight, PATH.lora_up.weight      likewise    kohya, original
//   PATH.alpha                                      one number
//   PATH.diff, PATH.diff_b            added to the weight, to the bias
//   PATH.set_weight                   the weight itself
//
// kohya's PATH has `_` for `.` and begins with `lora_unet_` or the like.
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_ADAPTERFILE_H
#define FF_FRONTEND_ADAPTERFILE_H

#include "frontend/Weights.h"

#include <map>

namespace ff::frontend {

/// What an adapter file has for one layer.
struct LayerAdapter {
  using Tensor = const WeightFiles::Tensor *;
  Tensor down = nullptr, up = nullptr, alpha = nullptr;
  Tensor diff = nullptr, diffBias = nullptr, setWeight = nullptr;

  /// The keys of what is there.
  std::vector<std::string> keys() const;
};

struct AdapterFile {
  WeightFiles files;
  std::map<std::string, LayerAdapter> layers; ///< by path, as in the file
  std::vector<std::string> unknown; ///< keys that are nothing of an adapter
};

/// Sorts the tensors of `file.files`, which are read.
void sortAdapterTensors(AdapterFile &file);

/// The path without what wrappers put before it (`base_model.model.`,
/// `transformer.`, `unet.`, ..., or the name of the component), all ways of
/// stripping it, the path itself first.
std::vector<std::string> strippedPaths(llvm::StringRef path,
                                       llvm::StringRef component);

/// The path of kohya's name ("blocks_0_attn_to_q" of
/// "lora_unet_blocks_0_attn_to_q"), or empty where it is none.
llvm::StringRef kohyaPath(llvm::StringRef path);

/// The number in a tensor of one element, or none where it cannot be read.
std::optional<double> readScalar(const WeightFiles &files,
                                 const WeightFiles::Tensor &tensor);

} // namespace ff::frontend

#endif // FF_FRONTEND_ADAPTERFILE_H
