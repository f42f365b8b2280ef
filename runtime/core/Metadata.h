//===- Metadata.h - The metadata of a compiled spec as plain structs ------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The meaning of each field is in runtime/abi/metadata.md. Names here are those
// of the JSON text in camelBack.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_METADATA_H
#define FF_RUNTIME_CORE_METADATA_H

#include "runtime/core/Dtype.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ff::rt {

/// How a parameter without a weight file starts.
struct Initializer {
  enum class Kind { Normal, Uniform, Constant };
  Kind kind = Kind::Constant;
  double first = 0.0;  ///< mean, low or value
  double second = 0.0; ///< std or high
};

/// Some elements of a tensor of a weight file.
struct SourcePiece {
  int file = 0; ///< in Component::files
  std::string tensor;
  std::vector<int64_t> shape; ///< of the tensor
  int64_t first = 0, count = 0;
};

/// What a parameter starts as: the pieces behind each other.
struct ParamSource {
  int file = 0; ///< of the first piece
  std::string tensor;
  std::string dtype; ///< in the files, such as "F8_E4M3"
  std::vector<SourcePiece> pieces;

  /// The name of the one tensor that is the parameter, or `param` where it is
  /// made of several, of a part of one, or comes from an adapter.
  const std::string &nameFor(const std::string &param) const;
};

/// An adapter of a weight file that is folded into a parameter.
struct ParamPatch {
  int file = 0;
  std::string tensor;
  std::vector<int64_t> shape; ///< of the tensor
  std::string down;           ///< empty: the tensor itself is added
  double scale = 1;
  int64_t first = 0, count = 0; ///< elements of the parameter
};

/// The tensor that a parameter is in model/.
struct ParamSave {
  int file = 0; ///< in SaveFiles::files
  std::string name;
};

/// merged weight = weight + scale * b x a
struct ParamMerge {
  std::string a, b; ///< parameters of the same component
  double scale = 1;
};

struct Param {
  std::string name; ///< without the name of the component
  std::vector<int64_t> shape;
  int64_t offset = 0; ///< in elements, in the buffer of the group
  /// Elements in the buffer of the group: those of the shape, or the bytes of
  /// a type that the runtime only copies.
  int64_t span = 0;
  bool decay = false;
  std::optional<Initializer> init;
  std::optional<ParamSource> source;
  std::vector<ParamPatch> patches;
  std::optional<ParamSave> save;
  std::optional<ParamMerge> merge;
  std::string savedDtype; ///< in model/, such as "BF16"

  int64_t numel() const;
};

/// One contiguous buffer, uniform in its types.
struct Group {
  int unit = 0;
  int component = 0;
  bool trainable = false;
  std::string storageDtype; ///< in files, such as "BF16"
  DType dtype = FF_F32;
  DType masterDtype = FF_F32;
  DType reduceDtype = FF_F32;
  bool sharded = true; ///< else every rank holds all of it
  int64_t numel = 0;
  std::vector<Param> params;
};

struct Unit {
  std::string name;
  int component = 0;
  std::vector<int> groups;
};

/// The adapters of a component, as adapter_config.json says it.
struct LoraPolicy {
  int64_t rank = 0;
  double alpha = 0, dropout = 0;
  bool merge = false;
  std::vector<std::string> targetModules;
  std::map<std::string, int64_t> rankPattern;
  std::map<std::string, double> alphaPattern;
  std::string baseModel;
};

/// The files of a component below model/.
struct SaveFiles {
  bool adapter = false; ///< in the layout of PEFT, else of diffusers
  std::vector<std::string> files;
};

struct Component {
  std::string name;
  std::string module;
  bool trained = false;           ///< full or lora
  std::vector<std::string> files; ///< of weights; none: from the initialisers
  std::string config;             ///< JSON text
  bool reshardAfterForward = true;
  std::optional<LoraPolicy> lora;
  std::optional<SaveFiles> save;
};

struct TensorType {
  std::string name;
  DType dtype = FF_F32;
  std::vector<int64_t> shape;

  int64_t numel() const;
  size_t bytes() const;
};

struct Program {
  std::string name;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  size_t arenaBytes = 0;
  std::vector<std::vector<int>> gatherSlots; ///< units of each slot
  std::vector<std::vector<int>> gradSlots;

  /// A collective of one run of the program.
  struct Collective {
    bool reduce; ///< else a gather
    int unit;
  };
  // For the plan alone.
  double flops = 0;
  std::vector<Collective> collectives;
  std::vector<std::string> recompute;
};

enum class Activation { None, GeluTanh, Gelu, Silu, Relu, Tanh, Sigmoid };

struct MatmulType {
  DType dtype = FF_F32; ///< of a and b
  std::vector<int64_t> batch;
  int64_t m = 0, n = 0, k = 0;
  std::vector<int64_t> aStrides, bStrides, cStrides;
  bool bias = false;
  Activation activation = Activation::None;
  std::optional<DType> cDtype = std::nullopt; ///< none: that of a and b

  /// Of c and the bias.
  DType resultDtype() const { return cDtype.value_or(dtype); }
};

/// A GPU that the programs were compiled for.
struct TargetPolicy {
  std::string chip; ///< such as "sm_90"
  bool tf32 = false;
};

/// A kernel of the device image, with the shape of its launch.
struct KernelType {
  std::string name;
  int64_t blocks = 1;
  int threads = 1;
  int sharedBytes = 0; ///< dynamic
  int buffers = 0;
  int64_t bytes = 0; ///< of all buffers
  double flops = 0;
};

/// A set of samples that is drawn from at a rate of its own.
struct SourcePolicy {
  enum Kind {
    Shards,  ///< safetensors files; dim 0 counts samples
    Samples, ///< folders of safetensors files, a sample each
    Parquet  ///< a sample in each row
  };
  Kind kind = Shards;
  std::vector<std::string> paths;
  double weight = 1;
};

/// An input that is filled up with zeros to `to` in its first dim, and the
/// input, if any, that is 1 where it is not.
struct PadPolicy {
  std::string input;
  int64_t to = 0;
  std::string mask; ///< empty: none
};

struct DataPolicy {
  std::vector<SourcePolicy> sources;
  /// Input of the training program, tensor in the files.
  std::vector<std::pair<std::string, std::string>> fields;
  std::vector<PadPolicy> pads;
  bool shuffle = true;
};

/// The step for samples of one shape.
struct BucketPolicy {
  std::string program;
  int64_t microBatch = 0;
};

struct TrainPolicy {
  std::string program;               ///< that of the first bucket
  std::vector<BucketPolicy> buckets; ///< at least one
  int64_t steps = 0;
  int64_t globalBatch = 0;
  int64_t microBatch = 0;
  std::optional<double> clipNorm;
  std::optional<double> emaDecay;
  bool skipNonfinite = false;
};

struct OptimizerPolicy {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weightDecay = 0;
};

struct SchedulePolicy {
  bool cosine = false;
  int64_t warmupSteps = 0;
  int64_t totalSteps = 0;
  double finalLr = 0;
};

struct CheckpointPolicy {
  std::string dir;
  int64_t every = 0; ///< 0: never during the run
  int64_t keep = 1;
  bool atEnd = true;
};

struct SampleInput {
  std::string name; ///< input of the sampling program
  int64_t cycle = 0;
  std::string file, tensor; ///< where cycle is 0
};

struct ImagePolicy {
  std::string output, file;
  int64_t columns = 1, scale = 1;
  double low = -1, high = 1;
};

struct SamplePolicy {
  std::string program;
  int64_t count = 0;
  bool ema = false;
  std::vector<SampleInput> inputs;
  std::optional<ImagePolicy> image;
};

struct Metadata {
  std::string name, spec;
  uint64_t seed = 0;
  int64_t replicate = 1, shard = 0; ///< 0: whatever the launch provides
  std::vector<Component> components;
  std::vector<Group> groups;
  std::vector<Unit> units;
  std::vector<Program> programs;
  std::vector<MatmulType> matmuls;
  std::optional<DataPolicy> data;
  std::optional<TrainPolicy> train;
  std::optional<OptimizerPolicy> optimizer;
  std::optional<SchedulePolicy> schedule;
  CheckpointPolicy checkpoint;
  int64_t logEvery = 1;
  std::optional<SamplePolicy> sample;
  std::optional<int64_t> deviceMemory, hostMemory; ///< bytes; for the plan
  std::optional<TargetPolicy> target; ///< none: the cores of the host
  std::vector<KernelType> kernels;    ///< of its device image

  /// The program of that name; an internal Error where there is none.
  const Program &program(const std::string &programName) const;

  /// `component.parameter`, the name in checkpoints and messages.
  std::string fullName(const Group &group, const Param &param) const;

  /// Whether checkpoints hold merged/COMPONENT.
  bool merges(const Component &component) const {
    return component.lora && component.lora->merge;
  }

  /// Group and parameter of that name in a component; nothing where there is
  /// none.
  std::optional<std::pair<size_t, size_t>>
  findParam(int component, const std::string &paramName) const;
};

/// Parses the JSON text and checks that it is consistent. An unknown, missing
/// or mistyped key is an internal Error that names it.
Metadata parseMetadata(const std::string &text);

class Reader;
/// The part of the text that is not the model.
void parsePolicies(Reader &root, Metadata &metadata);

/// Checks what refers to something else; see Metadata.cpp.
void checkMetadata(const Metadata &metadata);

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_METADATA_H
