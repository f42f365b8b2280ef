//===- Export.h - Weights for other libraries -----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_EXPORT_H
#define FF_RUNTIME_TRAIN_EXPORT_H

#include "runtime/train/Options.h"

namespace ff::rt {

/// Writes the components of a checkpoint (--resume, or the newest in --out) to
/// --export, a folder that must not exist:
///
///   NAME/config.json, diffusion_pytorch_model*.safetensors    trained in full
///   NAME/adapter_config.json, adapter_model.safetensors       adapters, for
///   PEFT NAME/pytorch_lora_weights.safetensors                     for
///   diffusers NAME-merged/...                                           where
///   merged
///
/// What came from files gets their names and pieces again: key maps are undone.
/// It takes one process and no device.
void exportWeights(const Metadata &metadata, const Options &options);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_EXPORT_H
