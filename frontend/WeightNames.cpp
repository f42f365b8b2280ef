//===- WeightNames.cpp - How others name tensors ----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/WeightNames.h"

#include "frontend/Pattern.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

using namespace ff::frontend;
using llvm::StringRef;

static constexpr StringRef compiledPart = "_orig_mod.";

/// `model.diffusion_model.` and other stacks are made of these.
static constexpr StringRef wrappers[] = {"module.", "base_model.model.",
                                         "model.", "transformer.",
                                         "diffusion_model."};

static std::string withoutCompiled(StringRef key) {
  std::string text;
  while (!key.empty()) {
    if (key.consume_front(compiledPart))
      continue;
    size_t dot = key.find('.');
    size_t size = dot == StringRef::npos ? key.size() : dot + 1;
    text += key.take_front(size);
    key = key.drop_front(size);
  }
  return text;
}

std::string Wrapping::describe() const {
  std::string text = prefix.empty() ? "" : "'" + prefix + "'";
  if (compiled)
    text += (text.empty() ? "'" : " and '") + compiledPart.str() + "'";
  return text;
}

std::string Wrapping::strip(StringRef key) const {
  std::string text = compiled ? withoutCompiled(key) : key.str();
  // The prefix alone is no name.
  if (text.size() > prefix.size() && StringRef(text).starts_with(prefix))
    text.erase(0, prefix.size());
  return text;
}

std::vector<Wrapping>
ff::frontend::findWrappings(llvm::ArrayRef<std::string> keys) {
  // More than any stack of wrappers, few enough for names that are made up.
  constexpr size_t limit = 32, longest = 96;
  bool compiled = llvm::any_of(keys, [](const std::string &key) {
    return withoutCompiled(key).size() != key.size();
  });
  std::set<std::pair<size_t, std::string>> prefixes;
  for (const std::string &key : keys) {
    std::string name = compiled ? withoutCompiled(key) : key;
    std::vector<size_t> ends{0};
    while (!ends.empty()) {
      size_t end = ends.back();
      ends.pop_back();
      StringRef rest = StringRef(name).drop_front(end);
      for (StringRef wrapper : wrappers) {
        size_t next = end + wrapper.size();
        if (!rest.starts_with(wrapper) || next >= name.size() || next > longest)
          continue;
        if (prefixes.size() < limit)
          prefixes.insert({next, name.substr(0, next)});
        ends.push_back(next);
      }
    }
  }
  std::vector<Wrapping> all{{false, ""}};
  if (compiled)
    all.push_back({true, ""});
  for (const auto &[size, prefix] : prefixes)
    all.push_back({compiled, prefix});
  return all;
}

StringRef ff::frontend::detectConvention(llvm::ArrayRef<std::string> names) {
  // Of those that fit equally many names the first counts: the particular ones
  // stand before the general.
  static constexpr std::pair<StringRef, StringRef> conventions[] = {
      {"*_flat_param*", "PyTorch FSDP with flat parameters"},
      {"*_fsdp_wrapped_module.*", "PyTorch FSDP"},
      {"*.lora_A.*", "PEFT adapters"},
      {"*.lora_B.*", "PEFT adapters"},
      {"*.base_layer.*", "PEFT with adapters that are not merged"},
      {"lora_unet_*", "kohya adapters"},
      {"lora_transformer_*", "kohya adapters"},
      {"*.lora_down.*", "kohya adapters"},
      {"*.lora_up.*", "kohya adapters"},
      {"*.quant_state.*", "bitsandbytes, quantized"},
      {"*.absmax", "bitsandbytes, quantized"},
      {"*.qweight", "GPTQ or AWQ, quantized"},
      {"*.qzeros", "GPTQ or AWQ, quantized"},
      {"*.weight_scale*", "scaled fp8 weights"},
      {"*.scale_weight", "scaled fp8 weights"},
      {"*.parametrizations.*", "PyTorch with parametrizations"},
      {"*.weight_g", "PyTorch with weight_norm"},
      {"first_stage_model.*", "a checkpoint of latent-diffusion"},
      {"cond_stage_model.*", "a checkpoint of latent-diffusion"},
      {"*double_blocks.*", "the original Flux"},
      {"*single_blocks.*", "the original Flux"},
      {"*joint_blocks.*", "the original Stable Diffusion 3"},
      {"*transformer_blocks.*", "diffusers"},
      {"*.to_q.*", "diffusers"},
      {"*.to_out.0.*", "diffusers"},
      {"*.self_attn.q_proj.*", "Hugging Face transformers"},
      {"*.mlp.gate_proj.*", "Hugging Face transformers"},
      {"*.linear_qkv.*", "Megatron"},
      {"*.query_key_value.*", "Megatron or GPT-NeoX"},
      {"*.feed_forward.w1.*", "the original Llama"},
      {"*layers.*.attention.wq.*", "the original Llama"},
      {"*.attn.qkv.*", "timm"},
      {"*.c_attn.*", "GPT-2, with transposed weights"},
      {"*.gamma", "TensorFlow"},
  };
  std::map<StringRef, size_t> hits;
  for (const std::string &name : names)
    for (auto [pattern, convention] : conventions)
      if (matchesPattern(pattern, name)) {
        ++hits[convention];
        break;
      }
  StringRef best;
  size_t most = 0;
  for (auto [pattern, convention] : conventions)
    if (auto it = hits.find(convention); it != hits.end() && it->second > most)
      std::tie(best, most) = std::pair(convention, it->second);
  return best;
}
