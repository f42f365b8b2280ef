//===- SaveTable.cpp - What a checkpoint's model holds ----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table says what is saved, under which name and in which file; the trainer
// writes by it and reads by it (V10).
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

static std::string fiveDigits(int64_t number) {
  std::string digits = std::to_string(number);
  return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
}

void Importer::addSaveTable(ComponentInfo &info) {
  if (info.train == TrainMode::Frozen)
    return;
  if (info.train == TrainMode::LoRA) {
    for (ComponentParam &param : info.params)
      if (param.isAdapter)
        param.saveName = "base_model.model." + param.name;
    info.saveFiles.push_back("adapter_model.safetensors");
    return;
  }
  // As diffusers and transformers split: a file is closed before the tensor
  // that would take it over the limit.
  int64_t limit = bytesOf("checkpoint", "max_shard_size");
  int64_t file = 0, inFile = 0;
  for (ComponentParam &param : info.params) {
    int64_t bytes =
        param.numel() *
        ((static_cast<int64_t>(param.storage.getIntOrFloatBitWidth()) + 7) / 8);
    if (inFile > 0 && limit > 0 && bytes > limit - inFile) {
      ++file;
      inFile = 0;
    }
    inFile += bytes;
    param.saveName = param.name;
    param.saveFile = file;
  }
  // transformers, whose config files name architectures, looks for the one;
  // diffusers for the other.
  const char *stem =
      info.isOfTransformers ? "model" : "diffusion_pytorch_model";
  if (file == 0) {
    info.saveFiles.push_back(std::string(stem) + ".safetensors");
    return;
  }
  for (int64_t i = 0; i <= file; ++i)
    info.saveFiles.push_back(llvm::formatv("{0}-{1}-of-{2}.safetensors", stem,
                                           fiveDigits(i + 1),
                                           fiveDigits(file + 1))
                                 .str());
}
