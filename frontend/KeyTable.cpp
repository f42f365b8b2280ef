//===- KeyTable.cpp - Every key of the language, once -----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/KeyTable.h"

#include "llvm/ADT/STLExtras.h"

using namespace ff::frontend;
using llvm::ArrayRef;
using llvm::StringRef;

static constexpr SectionInfo sections[] = {
    {"pipeline", true, "The run, and what it imports."},
    {"mesh", false,
     "How the ranks are arranged. Their number is replicate × shard."},
    {"bundle.*", true,
     "A component: a module with parameters of its own. All components of the "
     "bundle are sharded, and those that are not frozen are trained, "
     "together."},
    {"precision", false,
     "Dtypes. This version computes in one dtype throughout: the four keys "
     "must be equal, `fp32` or `fp64`."},
    {"sharding", false, "How parameters are grouped into shard units."},
    {"data", false,
     "Safetensors files whose tensors are the inputs of the train program. "
     "Their headers are read when the spec is compiled, and bind the named "
     "dims of the inputs."},
    {"optimizer", false, "The rule that updates the trained parameters."},
    {"schedule", false,
     "The learning rate over the optimizer steps; its length is `steps` of "
     "[train]."},
    {"train", true, "How long, on how much, and by which program to train."},
    {"checkpoint", false, "When and where the state of the run is saved."},
    {"log", false, "What is reported while training."},
    {"sample", false, "Runs a second program after training, and on --sample."},
    {"sample.inputs.*", false,
     "Where an input of the sample program comes from: `cycle`, or `file` with "
     "`tensor`."},
    {"sample.image", false, "Draws an output of the sample program as a PNG."},
    {"module.*", false,
     "A module: parameters named as in checkpoints, submodules, and a forward "
     "function."},
    {"module.*.params.*", false, "A parameter in its long form."},
    {"module.*.modules.*", false, "A submodule."},
    {"program.*", true,
     "A program: what one step computes on a micro-batch, from its inputs and "
     "the components of the bundle."},
};

using K = KeyType;
using R = Range;

static constexpr KeyInfo keys[] = {
    // pipeline
    {"pipeline", "name", K::String, R::Any, "required", "",
     "Name of the run, in logs and checkpoints.", "name = \"digits\""},
    {"pipeline", "seed", K::Integer, R::NotNegative, "0", "",
     "Seed of initial values, data order and all random values.", "seed = 42"},
    {"pipeline", "imports", K::StringArray, R::Any, "[]", "",
     "TOML files with modules: next to this file, else in the library that "
     "ships with ff.",
     "imports = [\"dit.toml\"]"},
    // mesh
    {"mesh", "replicate", K::Integer, R::Positive, "1", "",
     "Size of the axis over which parameters are replicated.", "replicate = 2"},
    {"mesh", "shard", K::IntegerOrAuto, R::Positive, "\"auto\"", "",
     "Size of the axis over which parameters are sharded; \"auto\": whatever "
     "the launch provides.",
     "shard = 8"},
    // bundle
    {"bundle.*", "module", K::String, R::Any, "required", "",
     "The module of the component.", "module = \"DiT\""},
    {"bundle.*", "config", K::Config, R::Any, "{}", "",
     "Values of the module's config: a table, or the path of a JSON file, of "
     "which keys that start with '_' and null values are ignored.",
     "config = { dim = 128, depth = 4 }"},
    {"bundle.*", "weights", K::Path, R::Any, "", "",
     "Where the parameters are: a safetensors file, a folder of them, or a "
     "safetensors.index.json. Their headers are read when the spec is "
     "compiled: each parameter needs a tensor with its name and shape, and "
     "each tensor a parameter. Without it the initialisers give the values.",
     "weights = \"weights/dit.safetensors\""},
    {"bundle.*", "on_missing", K::StringTable, R::Any, "{}", "",
     "Parameters that `weights` may lack: pattern = \"init\", and the "
     "initialisers give their values. In patterns `*` stands for any "
     "characters, dots among them, and `?` for one.",
     "on_missing = { \"head.*\" = \"init\" }"},
    {"bundle.*", "on_unexpected", K::StringTable, R::Any, "{}", "",
     "Tensors that `weights` may have and the component lacks: pattern = "
     "\"ignore\".",
     "on_unexpected = { \"teacher.*\" = \"ignore\" }"},
    {"bundle.*", "file_dtype", K::Choice, R::Any, "", "fp32|bf16|fp16|fp64",
     "Dtype that the weights will have, to plan a run before they are there. "
     "Absent: the dtype in which the parameters are stored.",
     "file_dtype = \"bf16\""},
    {"bundle.*", "train", K::Choice, R::Any, "\"full\"", "full|lora|frozen",
     "What is trained: all parameters, or none. \"lora\" is not supported "
     "yet.",
     "train = \"frozen\""},
    // precision
    {"precision", "compute_dtype", K::Choice, R::Any, "\"fp32\"",
     "fp32|fp64|bf16|fp16",
     "Dtype of activations. \"bf16\" and \"fp16\" are not supported yet.",
     "compute_dtype = \"fp32\""},
    {"precision", "trainable_parameters_dtype", K::Choice, R::Any, "",
     "fp32|fp64|bf16|fp16",
     "Dtype in which trained parameters are stored. Default: compute_dtype.",
     "trainable_parameters_dtype = \"fp32\""},
    {"precision", "frozen_parameters_dtype", K::Choice, R::Any, "",
     "fp32|fp64|bf16|fp16",
     "Dtype in which frozen parameters are stored. Default: compute_dtype.",
     "frozen_parameters_dtype = \"fp32\""},
    {"precision", "reduce_dtype", K::Choice, R::Any, "", "fp32|fp64|bf16|fp16",
     "Dtype of gradients and of their reduction. Default: compute_dtype.",
     "reduce_dtype = \"fp32\""},
    // sharding
    {"sharding", "units", K::Choice, R::Any, "\"blocks\"", "blocks",
     "What is gathered at once: \"blocks\" makes a unit of every instance of a "
     "block module, and one of the rest of each component.",
     "units = \"blocks\""},
    {"sharding", "mixed_dtype", K::Choice, R::Any, "\"split\"",
     "split|promote|error",
     "A unit with several dtypes: one group for each, or all in the widest, or "
     "an error.",
     "mixed_dtype = \"split\""},
    {"sharding", "reshard_after_forward", K::Boolean, R::Any, "true", "",
     "Release gathered parameters after the forward pass and gather them again "
     "for the backward pass.",
     "reshard_after_forward = false"},
    // data
    {"data", "files", K::Strings, R::Any, "required", "",
     "One or more safetensors files, concatenated along dim 0.",
     "files = \"digits.safetensors\""},
    {"data", "fields", K::StringTable, R::Any, "{}", "",
     "Tensor that supplies an input of the train program; default: the one "
     "with the name of the input.",
     "fields = { image = \"pixels\" }"},
    {"data", "shuffle", K::Boolean, R::Any, "true", "",
     "Whether each epoch has an order of its own, a function of the seed.",
     "shuffle = false"},
    // optimizer
    {"optimizer", "kind", K::Choice, R::Any, "\"adamw\"", "adamw",
     "AdamW with decoupled weight decay.", "kind = \"adamw\""},
    {"optimizer", "lr", K::Float, R::Positive, "1e-3", "",
     "Learning rate after warmup.", "lr = 1e-3"},
    {"optimizer", "betas", K::FloatPair, R::UnitInterval, "", "",
     "Both decay rates at once; instead of beta1 and beta2.",
     "betas = [0.9, 0.95]"},
    {"optimizer", "beta1", K::Float, R::UnitInterval, "0.9", "",
     "Decay rate of the first moment.", "beta1 = 0.9"},
    {"optimizer", "beta2", K::Float, R::UnitInterval, "0.999", "",
     "Decay rate of the second moment.", "beta2 = 0.99"},
    {"optimizer", "eps", K::Float, R::Positive, "1e-8", "",
     "Added to the root of the second moment.", "eps = 1e-8"},
    {"optimizer", "weight_decay", K::Float, R::NotNegative, "0.01", "",
     "Decoupled decay, of the parameters that say so (default: rank 2 and "
     "more).",
     "weight_decay = 0.0"},
    // schedule
    {"schedule", "kind", K::Choice, R::Any, "\"constant\"", "constant|cosine",
     "Shape after warmup.", "kind = \"cosine\""},
    {"schedule", "warmup_steps", K::Integer, R::NotNegative, "0", "",
     "Optimizer steps over which the learning rate rises from 0.",
     "warmup_steps = 50"},
    {"schedule", "final_lr", K::Float, R::NotNegative, "0.0", "",
     "Learning rate at the end of \"cosine\".", "final_lr = 1e-5"},
    // train
    {"train", "program", K::String, R::Any, "\"train\"", "",
     "The program whose only result, a scalar, is minimised.",
     "program = \"train\""},
    {"train", "steps", K::Integer, R::Count, "required", "", "Optimizer steps.",
     "steps = 600"},
    {"train", "global_batch", K::Integer, R::Count, "required", "",
     "Samples per optimizer step, over all ranks.", "global_batch = 128"},
    {"train", "micro_batch", K::Integer, R::Count, "", "",
     "Samples that one rank computes at once: the `B` of the train program. It "
     "divides global_batch. Default: global_batch.",
     "micro_batch = 32"},
    {"train", "clip_norm", K::Float, R::Positive, "", "",
     "Largest global norm of the gradient. Absent: no clipping.",
     "clip_norm = 1.0"},
    {"train", "ema_decay", K::Float, R::UnitInterval, "", "",
     "Decay of the exponential moving average of the trained parameters. "
     "Absent: no average is kept.",
     "ema_decay = 0.999"},
    {"train", "on_nonfinite", K::Choice, R::Any, "\"stop\"", "stop|skip",
     "What a step with an infinite or undefined gradient does, on all ranks.",
     "on_nonfinite = \"skip\""},
    // checkpoint
    {"checkpoint", "dir", K::Path, R::Any, "\"out\"", "",
     "Folder for checkpoints and metrics.", "dir = \"out\""},
    {"checkpoint", "every", K::Integer, R::Positive, "", "",
     "Steps between checkpoints. Absent: none on the way.", "every = 200"},
    {"checkpoint", "keep", K::Integer, R::Positive, "2", "",
     "How many of the newest checkpoints stay.", "keep = 2"},
    {"checkpoint", "at_end", K::Boolean, R::Any, "true", "",
     "Whether the last step is saved.", "at_end = true"},
    // log
    {"log", "every", K::Integer, R::Positive, "10", "",
     "Steps between lines of the log.", "every = 10"},
    // sample
    {"sample", "program", K::String, R::Any, "\"sample\"", "",
     "The program to run.", "program = \"sample\""},
    {"sample", "count", K::Integer, R::Count, "required", "",
     "Number of samples.", "count = 200"},
    {"sample", "micro_batch", K::Integer, R::Count, "", "",
     "Samples computed at once: the `B` of the sample program. Default: that "
     "of [train].",
     "micro_batch = 50"},
    {"sample", "weights", K::Choice, R::Any, "", "ema|model",
     "Which parameters to use. Default: \"ema\" where [train] keeps one, else "
     "\"model\".",
     "weights = \"ema\""},
    {"sample", "inputs", K::SectionTable, R::Any, "{}", "",
     "Where each input of the program comes from.",
     "inputs = { label = { cycle = 10 } }"},
    {"sample", "image", K::Section, R::Any, "", "", "Draws an output as a PNG.",
     "image = { output = \"x\", file = \"samples.png\" }"},
    {"sample.inputs.*", "cycle", K::Integer, R::Positive, "", "",
     "The value of sample i is i modulo this number; of an i64 input [B].",
     "cycle = 10"},
    {"sample.inputs.*", "file", K::Path, R::Any, "", "", "A safetensors file.",
     "file = \"labels.safetensors\""},
    {"sample.inputs.*", "tensor", K::String, R::Any, "", "",
     "The tensor in it. Default: the name of the input.", "tensor = \"label\""},
    {"sample.image", "output", K::String, R::Any, "required", "",
     "An output [B, C, H, W] of the program, with C = 1 or 3.",
     "output = \"x\""},
    {"sample.image", "file", K::String, R::Any, "\"samples.png\"", "",
     "The image file, in the folder of the checkpoints.",
     "file = \"samples.png\""},
    {"sample.image", "columns", K::Integer, R::Positive, "10", "",
     "Samples in a row of the image.", "columns = 20"},
    {"sample.image", "low", K::Float, R::Any, "-1.0", "",
     "The value that is black.", "low = -1.0"},
    {"sample.image", "high", K::Float, R::Any, "1.0", "",
     "The value that is white.", "high = 1.0"},
    {"sample.image", "scale", K::Integer, R::Scale, "1", "",
     "Pixels of the image for each pixel of a sample.", "scale = 4"},
    // module
    {"module.*", "doc", K::String, R::Any, "", "", "What the module is.",
     "doc = \"Two linear layers\""},
    {"module.*", "config", K::ConfigDecl, R::Any, "[]", "",
     "Names of the compile-time values that the module takes; a table gives "
     "defaults, and `{}` to a name without one.",
     "config = { dim = {}, mlp_ratio = 4 }"},
    {"module.*", "inputs", K::StringArray, R::Any, "[]", "",
     "What the module is called with: `name: [dims] dtype` for a tensor, a "
     "bare name for a compile-time value.",
     "inputs = [\"x: [B, S, dim]\"]"},
    {"module.*", "params", K::ParamTable, R::Any, "{}", "",
     "Parameters by their names in checkpoints, with their shapes.",
     "params = { \"fc.weight\" = [\"hidden\", \"dim\"] }"},
    {"module.*", "modules", K::SectionTable, R::Any, "{}", "", "Submodules.",
     "modules = { blocks = { module = \"Block\", count = \"depth\" } }"},
    {"module.*", "unit", K::Boolean, R::Any, "false", "",
     "Whether each instance is a block of its own: one function, one shard "
     "unit. Submodules with a `count` always are.",
     "unit = true"},
    {"module.*", "forward", K::String, R::Any, "required", "",
     "What the module computes, in the forward language.",
     "forward = \"return linear(x, fc)\""},
    {"module.*.params.*", "shape", K::Shape, R::Any, "required", "",
     "Sizes, as integers or expressions over the config.",
     "shape = [\"4 * dim\", \"dim\"]"},
    {"module.*.params.*", "init", K::Initializer, R::Any, "", "",
     "Initial value: \"zeros\", \"ones\", \"xavier_uniform\", "
     "\"kaiming_uniform\", { normal = STD }, { uniform = [LOW, HIGH] }, "
     "{ constant = VALUE }. Default: xavier_uniform for rank 2 and more; for "
     "less, ones where the last part of the name is `weight`, else zeros.",
     "init = { normal = 0.02 }"},
    {"module.*.params.*", "decay", K::Boolean, R::Any, "", "",
     "Whether weight decay applies. Default: for rank 2 and more.",
     "decay = false"},
    {"module.*.params.*", "when", K::Expression, R::Any, "", "",
     "A condition on the config, without which there is no such parameter.",
     "when = \"qk_norm\""},
    {"module.*.modules.*", "module", K::String, R::Any, "required", "",
     "The module.", "module = \"Block\""},
    {"module.*.modules.*", "config", K::FreeTable, R::Any, "{}", "",
     "Values of its config; strings are expressions over the config of the "
     "module around it.",
     "config = { dim = \"dim\", hidden = \"4 * dim\" }"},
    {"module.*.modules.*", "count", K::Expression, R::Any, "", "",
     "Makes it a list of that many, each a block: NAME.0, NAME.1, ...",
     "count = \"depth\""},
    {"module.*.modules.*", "when", K::Expression, R::Any, "", "",
     "A condition on the config, without which there is no such submodule.",
     "when = \"depth > 0\""},
    // program
    {"program.*", "doc", K::String, R::Any, "", "", "What the program is.",
     "doc = \"Flow matching\""},
    {"program.*", "inputs", K::StringArray, R::Any, "[]", "",
     "Tensors of a micro-batch; dim 0 is B.",
     "inputs = [\"image: [B, C, H, W]\", \"label: [B] i64\"]"},
    {"program.*", "forward", K::String, R::Any, "required", "",
     "What the program computes, in the forward language.",
     "forward = \"return mean(square(net(image)))\""},
};

static constexpr RenamedKey renamed[] = {
    {"master_weight_dtype", "precision", "trainable_parameters_dtype", ""},
    {"master_dtype", "precision", "trainable_parameters_dtype", ""},
    {"param_dtype", "precision", "compute_dtype",
     "parameters are stored in trainable_parameters_dtype and "
     "frozen_parameters_dtype"},
    {"mixed_precision", "precision", "compute_dtype", ""},
    {"torch_dtype", "precision", "compute_dtype", ""},
    {"load_dtype", "precision", "frozen_parameters_dtype", ""},
    {"frozen_dtype", "precision", "frozen_parameters_dtype", ""},
    {"num_processes", "mesh", "shard", "the trainer runs on any number"},
    {"world_size", "mesh", "shard", "the trainer runs on any number"},
    {"nproc_per_node", "mesh", "shard", "the trainer runs on any number"},
    {"dp_shard", "mesh", "shard", ""},
    {"fsdp_size", "mesh", "shard", ""},
    {"hsdp_shard_dim", "mesh", "shard", ""},
    {"dp_replicate", "mesh", "replicate", ""},
    {"hsdp_replicate_dim", "mesh", "replicate", ""},
    {"learning_rate", "optimizer", "lr", ""},
    {"adam_beta1", "optimizer", "beta1", ""},
    {"adam_beta2", "optimizer", "beta2", ""},
    {"adam_epsilon", "optimizer", "eps", ""},
    {"adam_eps", "optimizer", "eps", ""},
    {"adam_weight_decay", "optimizer", "weight_decay", ""},
    {"optim", "optimizer", "kind", ""},
    {"gradient_accumulation_steps", "train", "micro_batch",
     "accumulation is global_batch / (micro_batch × ranks)"},
    {"gradient_accumulation", "train", "micro_batch",
     "accumulation is global_batch / (micro_batch × ranks)"},
    {"accumulation", "train", "micro_batch",
     "accumulation is global_batch / (micro_batch × ranks)"},
    {"batch_size", "train", "global_batch", "it counts all ranks"},
    {"train_batch_size", "train", "global_batch", "it counts all ranks"},
    {"per_device_train_batch_size", "train", "micro_batch", ""},
    {"micro_batch_size", "train", "micro_batch", ""},
    {"global_batch_size", "train", "global_batch", ""},
    {"epochs", "train", "steps", "in optimizer steps"},
    {"num_epochs", "train", "steps", "in optimizer steps"},
    {"num-epochs", "train", "steps", "in optimizer steps"},
    {"num_train_epochs", "train", "steps", "in optimizer steps"},
    {"max_steps", "train", "steps", ""},
    {"max_train_steps", "train", "steps", ""},
    {"total_steps", "train", "steps", ""},
    {"max_grad_norm", "train", "clip_norm", ""},
    {"grad_clip", "train", "clip_norm", ""},
    {"gradient_clip_val", "train", "clip_norm", ""},
    {"use_ema", "train", "ema_decay", ""},
    {"ema", "train", "ema_decay", ""},
    {"lr_scheduler", "schedule", "kind", ""},
    {"lr_scheduler_type", "schedule", "kind", ""},
    {"lr_warmup_steps", "schedule", "warmup_steps", ""},
    {"num_warmup_steps", "schedule", "warmup_steps", ""},
    {"warmup", "schedule", "warmup_steps", ""},
    {"min_lr", "schedule", "final_lr", ""},
    {"output_dir", "checkpoint", "dir", ""},
    {"save_dir", "checkpoint", "dir", ""},
    {"save_steps", "checkpoint", "every", ""},
    {"save_freq", "checkpoint", "every", ""},
    {"checkpointing_steps", "checkpoint", "every", ""},
    {"save_total_limit", "checkpoint", "keep", ""},
    {"checkpoints_total_limit", "checkpoint", "keep", ""},
    {"logging_steps", "log", "every", ""},
    {"log_every", "log", "every", ""},
    {"random_seed", "pipeline", "seed", ""},
    {"run_name", "pipeline", "name", ""},
    {"dataset", "data", "files", ""},
    {"data_dir", "data", "files", ""},
    {"train_data", "data", "files", ""},
    {"requires_grad", "bundle.*", "train", ""},
    {"trainable", "bundle.*", "train", ""},
    {"num_layers", "module.*.modules.*", "count", ""},
};

ArrayRef<SectionInfo> ff::frontend::getSections() { return sections; }
ArrayRef<KeyInfo> ff::frontend::getKeys() { return keys; }
ArrayRef<RenamedKey> ff::frontend::getRenamedKeys() { return renamed; }

const SectionInfo *ff::frontend::findSection(StringRef section) {
  const auto *it = llvm::find_if(
      sections, [&](const SectionInfo &s) { return s.name == section; });
  return it == std::end(sections) ? nullptr : it;
}

const KeyInfo *ff::frontend::findKey(StringRef section, StringRef name) {
  const auto *it = llvm::find_if(keys, [&](const KeyInfo &k) {
    return k.section == section && k.name == name;
  });
  return it == std::end(keys) ? nullptr : it;
}

StringRef ff::frontend::describeType(KeyType type) {
  switch (type) {
  case K::String:
    return "a string";
  case K::Integer:
    return "an integer";
  case K::Float:
    return "a number";
  case K::Boolean:
    return "a boolean";
  case K::Choice:
    return "a string";
  case K::Strings:
    return "a string or an array of strings";
  case K::StringArray:
    return "an array of strings";
  case K::FloatPair:
    return "an array of two numbers";
  case K::IntegerOrAuto:
    return "an integer or \"auto\"";
  case K::Expression:
    return "an integer, a boolean or a string with an expression";
  case K::Path:
    return "a string with a path";
  case K::StringTable:
    return "a table of strings";
  case K::Config:
    return "a table or the path of a JSON file";
  case K::FreeTable:
  case K::SectionTable:
  case K::Section:
    return "a table";
  case K::ConfigDecl:
    return "an array of names or a table of defaults";
  case K::ParamTable:
    return "a table of shapes";
  case K::Initializer:
    return "a string or a table with one key";
  case K::Shape:
    return "an array of integers and expressions";
  }
  llvm_unreachable("all types are covered");
}
