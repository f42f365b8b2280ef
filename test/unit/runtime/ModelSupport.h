//===- ModelSupport.h - Tiny models with many kinds of groups -------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_TEST_UNIT_RUNTIME_MODELSUPPORT_H
#define FF_TEST_UNIT_RUNTIME_MODELSUPPORT_H

#include "TinyRun.h"

namespace ff::rt::test {

/// A tensor of a weight file that a test makes.
struct MadeTensor {
  std::string name;
  std::string dtype; ///< of the file, such as "BF16"
  std::vector<int64_t> shape;
};

/// Writes a safetensors file with bytes that differ everywhere, and are finite
/// in every type of floats.
void writeTensors(const std::string &path,
                  const std::vector<MadeTensor> &tensors);

/// The bytes of a tensor of a file.
std::string tensorBytes(const std::string &path, const std::string &name);

/// The names of the tensors of a file, with dtype and shape.
std::map<std::string, std::string> tensorsOf(const std::string &path);

/// A group of unit 1 of the first component, and its parameters, which come
/// from `tensors` of file 0 and are saved under their names.
nlohmann::json frozenGroup(const std::string &dtype, const std::string &master,
                           const std::string &storage, bool sharded,
                           const std::vector<MadeTensor> &tensors);

/// Adds a group to unit 1.
void addGroup(nlohmann::json &metadata, nlohmann::json group);

/// Tiny, with trained bf16 and f32 groups, one of them replicated, and frozen
/// ones of all kinds from a file in the folder of the run.
void makeMixed(TinyRun &run);

/// The tensors of that file.
std::vector<MadeTensor> mixedTensors();

/// Tiny as an adapter of two frozen weights from a file in the folder of the
/// run: "w", a matrix, and "c", a convolution.
void makeLora(TinyRun &run);

/// The meshes that tests run on: replicate, and the argument --ranks N.
struct MeshCase {
  int replicate;
  const char *ranks;
};
extern const std::vector<MeshCase> meshes;

} // namespace ff::rt::test

#endif // FF_TEST_UNIT_RUNTIME_MODELSUPPORT_H
