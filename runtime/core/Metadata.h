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

struct Param {
  std::string name; ///< without the name of the component
  std::vector<int64_t> shape;
  int64_t offset = 0; ///< in elements, in the buffer of the group
  bool decay = false;
  Initializer init;

  int64_t numel() const;
};

/// One contiguous buffer, uniform in its types.
struct Group {
  int unit = 0;
  int component = 0;
  bool trainable = false;
  DType dtype = FF_F32;
  DType masterDtype = FF_F32;
  DType reduceDtype = FF_F32;
  int64_t numel = 0;
  std::vector<Param> params;
};

struct Unit {
  std::string name;
  int component = 0;
  std::vector<int> groups;
};

struct Component {
  std::string name;
  std::string module;
  bool trained = false;
  std::string weights; ///< empty: from the initialisers
  std::string config;  ///< JSON text
  bool reshardAfterForward = true;
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

struct DataPolicy {
  std::vector<std::string> files;
  /// Input of the training program, tensor in the files.
  std::vector<std::pair<std::string, std::string>> fields;
  bool shuffle = true;
};

struct TrainPolicy {
  std::string program;
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

  /// The program of that name; an internal Error where there is none.
  const Program &program(const std::string &programName) const;

  /// `component.parameter`, the name in checkpoints and messages.
  std::string fullName(const Group &group, const Param &param) const;
};

/// Parses the JSON text and checks that it is consistent. An unknown, missing
/// or mistyped key is an internal Error that names it.
Metadata parseMetadata(const std::string &text);

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_METADATA_H
