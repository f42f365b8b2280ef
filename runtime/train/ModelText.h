//===- ModelText.h - The JSON files beside saved weights ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_MODELTEXT_H
#define FF_RUNTIME_TRAIN_MODELTEXT_H

#include "runtime/train/ParameterFile.h"

namespace ff::rt {

struct TextFile {
  std::string path; ///< below the folder of the checkpoint
  std::string text;
};

/// What other libraries read next to the weights of a component: config.json,
/// and an index where `files` are several; or adapter_config.json, as PEFT
/// writes it.
std::vector<TextFile> modelTexts(const Component &component,
                                 const std::vector<ParameterFile> &files);

/// How files of whole weights begin: with that for which transformers looks,
/// where the config file is of it, or diffusers.
std::string weightsStem(const Component &component);

/// What diffusers has in the header of a file of adapters, as JSON: the fields
/// of adapter_config.json, each under the name of the component.
std::string adapterMetadata(const Component &component);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_MODELTEXT_H
