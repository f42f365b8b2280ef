//===- KeyTable.cpp - Every key of the language, once -----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/KeyTable.h"

#include "llvm/ADT/STLExtras.h"
#include <vector>

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
    {"bundle.*.adapters", false,
     "An adapter of a file that is folded into the weights of a component."},
    {"bundle.*.keys", false,
     "A rule that takes tensors of the weight files to parameters of a "
     "component."},
    {"bundle.*.lora", false,
     "Low-rank adapters, of a component with train = \"lora\": a linear layer "
     "W x becomes W x + alpha / rank · B A x. Names, initial values and files "
     "are those of PEFT."},
    {"bundle.*.precision", false,
     "Dtypes of one component; what is absent is that of [precision]."},
    {"bundle.*.sharding", false,
     "Sharding of one component; what is absent is that of [sharding]."},
    {"precision", false,
     "Dtypes. Programs compute in fp32 (fp64 where compute_dtype is that), "
     "components in compute_dtype. In bf16 and fp16 the operands of products "
     "are rounded, and the value of each statement, argument and result; "
     "everything in between, norms, activations, softmax and sums, is fp32. "
     "Parameters are gathered in the narrower of storage and compute dtype."},
    {"sharding", false,
     "How parameters are grouped into shard units. A unit is gathered at once, "
     "as one flat group for each storage dtype, trainable or not."},
    {"data", false,
     "Samples, whose tensors are the inputs of the train program: `files`, "
     "`samples`, or several `sources` of them. Their headers are read when the "
     "spec is compiled, and bind the named dims of the inputs."},
    {"data.sources", false,
     "Samples that are drawn from at a rate of their own. Of a source, or with "
     "buckets of each of its shapes, all samples are drawn before one comes "
     "again."},
    {"data.pad.*", false,
     "An input whose first dim behind B differs from sample to sample, and is "
     "filled up with zeros."},
    {"optimizer", false, "The rule that updates the trained parameters."},
    {"schedule", false,
     "The learning rate over the optimizer steps; its length is `steps` of "
     "[train]."},
    {"train", true, "How long, on how much, and by which program to train."},
    {"checkpoint", false, "When and where the state of the run is saved."},
    {"log", false, "What is reported while training."},
    {"sample", false, "A second program, which the trainer runs on --sample."},
    {"sample.inputs.*", false,
     "Where an input of the sample program comes from: `cycle`, or `file` with "
     "`tensor`."},
    {"sample.image", false, "Draws an output of the sample program as a PNG."},
    {"module.*", false,
     "A module: parameters named as in checkpoints, submodules, and a forward "
     "function."},
    {"module.*.published", false,
     "The config files of published checkpoints of the module."},
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
    {"mesh", "device_memory", K::Bytes, R::Any, "", "",
     "Memory of the device of one rank. A plan that does not fit is an error, "
     "with the cheapest fixes.",
     "device_memory = \"80GiB\""},
    {"mesh", "host_memory", K::Bytes, R::Any, "", "",
     "Memory of the host for one rank; likewise.", "host_memory = \"64GiB\""},
    // bundle
    {"bundle.*", "module", K::String, R::Any, "required", "",
     "The module of the component.", "module = \"DiT\""},
    {"bundle.*", "config", K::Config, R::Any, "{}", "",
     "Values of the module's config: a table, or the path of a JSON file, of "
     "which keys that start with '_' and null values are ignored. A table with "
     "`from`, the path of a JSON file, has the values of the file where it "
     "does not give its own.",
     "config = { from = \"encoder/config.json\", pooling = \"mean\" }"},
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
    {"bundle.*", "keys", K::Tables, R::Any, "", "",
     "Rules that take the tensors of `weights` to parameters, where names "
     "differ. The first that matches a tensor counts; others keep their names.",
     "keys = [{ from = \"model.*\", to = \"*\" }]"},
    {"bundle.*", "adapters", K::Tables, R::Any, "", "",
     "Adapters of files that are folded into the weights when they are loaded: "
     "low-rank ones of PEFT, diffusers and kohya, and whole tensors (.diff, "
     ".diff_b, .set_weight).",
     "adapters = [{ path = \"style.safetensors\", strength = 0.8 }]"},
    {"bundle.*", "file_dtype", K::Choice, R::Any, "", "fp32|bf16|fp16|fp64",
     "Dtype that the weights will have, to plan a run before they are there. "
     "Absent: the dtype in which the parameters are stored. Where the files "
     "are "
     "there, theirs counts.",
     "file_dtype = \"bf16\""},
    {"bundle.*", "train", K::Choice, R::Any, "\"full\"", "full|lora|frozen",
     "What is trained: all parameters, low-rank adapters of some layers, or "
     "nothing.",
     "train = \"frozen\""},
    {"bundle.*", "lora", K::Section, R::Any, "", "",
     "The adapters of train = \"lora\".",
     "lora = { rank = 16, alpha = 32, targets = [\"to_q\", \"to_v\"] }"},
    {"bundle.*", "precision", K::Section, R::Any, "", "",
     "Dtypes of this component.", "precision = { compute_dtype = \"bf16\" }"},
    {"bundle.*", "sharding", K::Section, R::Any, "", "",
     "Sharding of this component.", "sharding = { strategy = \"replicate\" }"},
    // bundle.*.keys
    {"bundle.*.keys", "from", K::Strings, R::Any, "required", "",
     "Pattern of tensors, or several, whose tensors are joined along dim 0. "
     "`*` stands for any characters; all patterns of a rule have as many.",
     "from = [\"*.q.weight\", \"*.k.weight\", \"*.v.weight\"]"},
    {"bundle.*.keys", "to", K::Strings, R::Any, "required", "",
     "Name of the parameter, with what each `*` stands for; or several, into "
     "which the tensor is split along dim 0.",
     "to = \"*.qkv.weight\""},
    // bundle.*.adapters
    {"bundle.*.adapters", "path", K::Path, R::Any, "required", "",
     "A safetensors file, or a folder of PEFT.",
     "path = \"style.safetensors\""},
    {"bundle.*.adapters", "strength", K::Float, R::Any, "1.0", "",
     "Factor of the adapter.", "strength = 0.8"},
    {"bundle.*.adapters", "alpha", K::Float, R::Positive, "", "",
     "The adapter is scaled by alpha / rank. Default: what "
     "adapter_config.json says, or the header of a file of diffusers; a tensor "
     "`.alpha` of a layer counts before both; with neither, alpha = rank.",
     "alpha = 16"},
    // bundle.*.lora
    {"bundle.*.lora", "rank", K::Integer, R::Count, "required", "",
     "Rank of A and B.", "rank = 16"},
    {"bundle.*.lora", "alpha", K::Float, R::Positive, "", "",
     "The adapter's output is scaled by alpha / rank. Default: rank.",
     "alpha = 32"},
    {"bundle.*.lora", "dropout", K::Float, R::UnitInterval, "0.0", "",
     "Probability with which an input of an adapter is zero while training.",
     "dropout = 0.05"},
    {"bundle.*.lora", "init", K::Choice, R::Any, "\"kaiming_uniform\"",
     "kaiming_uniform|gaussian",
     "Initial value of A; B is zero. \"gaussian\" has deviation 1 / rank.",
     "init = \"gaussian\""},
    {"bundle.*.lora", "targets", K::StringArray, R::Any, "required", "",
     "Patterns over the paths of linear layers, or over their last parts. Each "
     "must match. Buffers are passed over.",
     "targets = [\"blocks.*.attn.to_*\", \"ffn.net.2\"]"},
    {"bundle.*.lora", "ranks", K::FreeTable, R::Any, "{}", "",
     "Ranks of single layers: pattern = rank. They keep alpha, unless `alphas` "
     "names them too.",
     "ranks = { \"ffn.*\" = 8 }"},
    {"bundle.*.lora", "alphas", K::FreeTable, R::Any, "{}", "",
     "Alphas of single layers: pattern = alpha.", "alphas = { \"ffn.*\" = 8 }"},
    {"bundle.*.lora", "merge", K::Boolean, R::Any, "false", "",
     "Whether checkpoints hold the merged weights W + alpha / rank · B A as "
     "well.",
     "merge = true"},
    // precision
    {"precision", "compute_dtype", K::Choice, R::Any, "\"fp32\"",
     "fp32|fp64|bf16|fp16", "Dtype of activations in components.",
     "compute_dtype = \"bf16\""},
    {"precision", "trainable_parameters_dtype", K::Choice, R::Any, "\"fp32\"",
     "fp32|fp64|bf16|fp16",
     "Dtype in which trained parameters are stored and saved. Default: fp32, "
     "or fp64 where compute_dtype is that.",
     "trainable_parameters_dtype = \"fp32\""},
    {"precision", "frozen_parameters_dtype", K::Choice, R::Any, "",
     "fp32|fp64|bf16|fp16",
     "Dtype in which frozen parameters are stored. Default: each keeps the "
     "dtype of its file.",
     "frozen_parameters_dtype = \"bf16\""},
    {"precision", "reduce_dtype", K::Choice, R::Any, "\"fp32\"",
     "fp32|fp64|bf16|fp16",
     "Dtype in which gradients are reduced and accumulated. Default: fp32; "
     "fp64 parameters are reduced in fp64.",
     "reduce_dtype = \"fp32\""},
    {"precision", "output_dtype", K::Choice, R::Any, "", "fp32|fp64|bf16|fp16",
     "Dtype of what a call of a component returns. Default: that of programs.",
     "output_dtype = \"fp32\""},
    {"precision", "master", K::Choice, R::Any, "\"auto\"", "auto|none",
     "Whether parameters that are trained in bf16 or fp16 have fp32 masters, "
     "which the optimizer updates.",
     "master = \"none\""},
    {"precision", "keep", K::StringTable, R::Any, "{}", "",
     "Parameters with a dtype of their own, for storage and compute: pattern = "
     "dtype, of which the first that matches counts. A pattern matches whole "
     "parts of a name.",
     "keep = { \"norm*\" = \"fp32\" }"},
    {"precision", "tf32", K::Boolean, R::Any, "false", "",
     "Whether fp32 matmuls of --target=cuda may round their operands to TF32 "
     "(10 bits of fraction), which is faster and less exact.",
     "tf32 = true"},
    // sharding
    {"sharding", "units", K::Units, R::Any, "\"blocks\"", "",
     "What is gathered at once: \"blocks\" makes a unit of every instance of a "
     "block module; { min_params = N } joins blocks up to that size; an array "
     "of "
     "patterns makes a unit of every module whose path one of them matches. "
     "The "
     "rest of each component is one unit.",
     "units = { min_params = 10_000_000 }"},
    {"sharding", "mixed_dtype", K::Choice, R::Any, "\"split\"",
     "split|promote|error",
     "A unit with several storage dtypes: one group for each, or all in the "
     "widest, or an error.",
     "mixed_dtype = \"split\""},
    {"sharding", "reshard_after_forward", K::Boolean, R::Any, "true", "",
     "Release gathered parameters after the forward pass and gather them again "
     "for the backward pass.",
     "reshard_after_forward = false"},
    {"sharding", "strategy", K::Choice, R::Any, "\"shard\"", "shard|replicate",
     "\"replicate\": every rank holds all parameters, and gradients are "
     "all-reduced.",
     "strategy = \"replicate\""},
    {"sharding", "max_buffer", K::Bytes, R::Any, "\"4GiB\"", "",
     "Largest contiguous buffer of a gathered group or its gradients; a larger "
     "group is split, within its unit.",
     "max_buffer = \"2GiB\""},
    // data
    {"data", "files", K::Strings, R::Any, "", "",
     "Files of many samples, or folders of them, behind each other: "
     "safetensors files, in which dim 0 counts the samples, or Parquet files, "
     "with a sample in each row. A tensor in Parquet is three columns, "
     "NAME_bytes, NAME_shape and NAME_dtype; a column of numbers is a scalar.",
     "files = \"digits.safetensors\""},
    {"data", "samples", K::Strings, R::Any, "", "",
     "Folders of safetensors files, each of which is one sample, without a dim "
     "that counts them.",
     "samples = \"latents\""},
    {"data", "sources", K::Tables, R::Any, "", "",
     "Several sources, instead of `files` and `samples`.",
     "sources = [{ files = \"photos\", weight = 3.0 }, { samples = "
     "\"drawings\" }]"},
    {"data", "buckets", K::Buckets, R::Any, "", "",
     "For samples of several shapes, of which each has a step of its own, and "
     "each step samples of one. \"auto\": those that the data has, at most 64; "
     "or a table for each, with named dims of the inputs, and a `micro_batch` "
     "where it is not that of [train].",
     "buckets = [{ H = 64, W = 64 }, { H = 96, W = 64, micro_batch = 4 }]"},
    {"data", "pad", K::SectionTable, R::Any, "{}", "",
     "Inputs that are filled up to one size.",
     "pad = { text = { to = 512, mask = \"text_mask\" } }"},
    {"data", "fields", K::StringTable, R::Any, "{}", "",
     "Tensor that supplies an input of the train program; default: the one "
     "with the name of the input.",
     "fields = { image = \"pixels\" }"},
    {"data", "shuffle", K::Boolean, R::Any, "true", "",
     "Whether each epoch has an order of its own, a function of the seed.",
     "shuffle = false"},
    {"data.sources", "files", K::Strings, R::Any, "", "", "As in [data].",
     "files = [\"a.safetensors\", \"b.safetensors\"]"},
    {"data.sources", "samples", K::Strings, R::Any, "", "",
     "As in [data]; instead of `files`.", "samples = \"latents\""},
    {"data.sources", "weight", K::Float, R::Positive, "1.0", "",
     "How often it is drawn from, in proportion to the other weights and "
     "whatever its size.",
     "weight = 3.0"},
    {"data.pad.*", "to", K::Integer, R::Count, "required", "",
     "Size of the dim. A longer sample is an error.", "to = 512"},
    {"data.pad.*", "mask", K::String, R::Any, "", "",
     "Input of the train program, [B, to] i64, that is 1 for what the sample "
     "has and 0 for what was added.",
     "mask = \"text_mask\""},
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
     "The program whose only result, a scalar, is minimised: its mean over the "
     "micro-batches of a step. A program that returns {sum = s, count = n} "
     "minimises the sum of all s over the sum of all n instead: a mean over "
     "tokens, however many each micro-batch has.",
     "program = \"train\""},
    {"train", "steps", K::Integer, R::Count, "required", "", "Optimizer steps.",
     "steps = 600"},
    {"train", "global_batch", K::Integer, R::Count, "required", "",
     "Samples per optimizer step, over all ranks.", "global_batch = 128"},
    {"train", "micro_batch", K::Integer, R::Count, "", "",
     "Samples that one rank computes at once: the `B` of the train program. It "
     "divides global_batch. Default: global_batch.",
     "micro_batch = 32"},
    {"train", "recompute", K::Recompute, R::Any, "\"none\"", "",
     "Blocks whose forward is computed again in the backward instead of being "
     "kept: \"none\", \"block\" for all, or patterns over their paths.",
     "recompute = \"block\""},
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
    {"checkpoint", "max_shard_size", K::Bytes, R::Any, "\"10GB\"", "",
     "Largest file of a saved model; more is split, with an index.",
     "max_shard_size = \"5GB\""},
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
     "defaults, and `{}` to a name without one. { from = EXPRESSION, default = "
     "VALUE } computes one that is not given from values that are, those under "
     "names of published configs among them, and has the default where these "
     "are absent; one_of = [VALUES] lists all that it can be.",
     "config = { heads = {}, dim = { from = \"heads * head_dim\" }, depth = { "
     "from = \"num_layers\", default = 12 }, act = { default = \"gelu\", "
     "one_of "
     "= [\"gelu\", \"relu\"] } }"},
    {"module.*", "inputs", K::StringArray, R::Any, "[]", "",
     "What the module is called with: `name: [dims] dtype` for a tensor, a "
     "bare name for a compile-time value. One that ends in `= None` may be "
     "left out, and is None then.",
     "inputs = [\"x: [B, S, dim]\", \"mask: [B, S] bool = None\"]"},
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
    {"module.*", "published", K::Section, R::Any, "", "",
     "How its config is published.",
     "published = { class = [\"GPT2LMHeadModel\"] }"},
    {"module.*.published", "class", K::StringArray, R::Any, "[]", "",
     "Values of `_class_name`, or of one of `architectures`, in config files "
     "of the module. Another one is an error.",
     "class = [\"WanTransformer3DModel\"]"},
    {"module.*.published", "fixed", K::FreeTable, R::Any, "{}", "",
     "Fields of which the module knows one value. Another one is an error. A "
     "member of an object is OBJECT.MEMBER, here as in `from`.",
     "fixed = { patch_size = [1, 2, 2] }"},
    {"module.*.published", "ignored", K::StringArray, R::Any, "[]", "",
     "Fields that do not matter to the module. A warning lists others that it "
     "does not know.",
     "ignored = [\"transformers_version\"]"},
    {"module.*.published", "tensors", K::StringArray, R::Any, "[]", "",
     "Patterns of tensors in the published files that the module does without, "
     "as if `on_unexpected` named them.",
     "tensors = [\"h.*.attn.bias\"]"},
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
    {"module.*.params.*", "tie", K::String, R::Any, "", "",
     "Another parameter of the module, which this is a second name of.",
     "tie = \"wte.weight\""},
    {"module.*.params.*", "buffer", K::Expression, R::Any, "false", "",
     "Part of the model and its files that is never trained and keeps its "
     "dtype, whatever the policy: a table, or what a checkpoint holds and "
     "nothing uses. It may depend on the config.",
     "buffer = true"},
    {"module.*.params.*", "dtype", K::Choice, R::Any, "", "fp32|fp64|bf16|fp16",
     "Dtype of a buffer where no file says it. Default: fp32.",
     "dtype = \"fp32\""},
    {"module.*.params.*", "when", K::Expression, R::Any, "", "",
     "A condition on the config, without which there is no such parameter.",
     "when = \"qk_norm\""},
    {"module.*.modules.*", "module", K::String, R::Any, "required", "",
     "The module.", "module = \"Block\""},
    {"module.*.modules.*", "config", K::FreeTable, R::Any, "{}", "",
     "Values of its config; strings are expressions over the config of the "
     "module around it, and of its place `index` in a list.",
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
    {"gradient_checkpointing", "train", "recompute", ""},
    {"activation_checkpointing", "train", "recompute", ""},
    {"enable_gradient_checkpointing_type", "train", "recompute", ""},
    {"lora_rank", "bundle.*.lora", "rank", ""},
    {"lora_alpha", "bundle.*.lora", "alpha", ""},
    {"lora_dropout", "bundle.*.lora", "dropout", ""},
    {"target_modules", "bundle.*.lora", "targets", ""},
    {"lora_target_modules", "bundle.*.lora", "targets", ""},
    {"r", "bundle.*.lora", "rank", ""},
    {"rank_pattern", "bundle.*.lora", "ranks", ""},
    {"alpha_pattern", "bundle.*.lora", "alphas", ""},
    {"init_lora_weights", "bundle.*.lora", "init", ""},
    {"fsdp_transformer_layer_cls_to_wrap", "sharding", "units",
     "blocks are found from the modules"},
    {"transformer_layer_cls_to_wrap", "sharding", "units",
     "blocks are found from the modules"},
    {"sharding_strategy", "sharding", "strategy", ""},
    {"num_layers", "module.*.modules.*", "count", ""},
};

ArrayRef<SectionInfo> ff::frontend::getSections() { return sections; }
/// The table, and the sections of a component that override another one: the
/// same keys, of which none has a default, since what is absent is that of the
/// other section.
ArrayRef<KeyInfo> ff::frontend::getKeys() {
  static const auto *all = [] {
    auto *result = new std::vector<KeyInfo>(std::begin(keys), std::end(keys));
    for (const KeyInfo &key : keys) {
      KeyInfo copy = key;
      copy.fallback = "";
      if (key.section == "precision" && key.name != "tf32")
        copy.section = "bundle.*.precision";
      else if (key.section == "sharding" && key.name != "max_buffer")
        copy.section = "bundle.*.sharding";
      else
        continue;
      result->push_back(copy);
    }
    return result;
  }();
  return *all;
}
ArrayRef<RenamedKey> ff::frontend::getRenamedKeys() { return renamed; }

const SectionInfo *ff::frontend::findSection(StringRef section) {
  const auto *it = llvm::find_if(
      sections, [&](const SectionInfo &s) { return s.name == section; });
  return it == std::end(sections) ? nullptr : it;
}

const KeyInfo *ff::frontend::findKey(StringRef section, StringRef name) {
  const auto *it = llvm::find_if(getKeys(), [&](const KeyInfo &k) {
    return k.section == section && k.name == name;
  });
  return it == getKeys().end() ? nullptr : it;
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
  case K::Units:
    return "\"blocks\", { min_params = N } or an array of patterns";
  case K::Buckets:
    return "\"auto\" or an array of tables of integers";
  case K::Recompute:
    return "\"none\", \"block\" or an array of patterns";
  case K::Bytes:
    return "a size such as \"80GiB\"";
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
  case K::Tables:
    return "an array of tables";
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
