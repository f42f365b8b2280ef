//===- TensorFile.h - Writes safetensors files, each rank its own bytes ---===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_TENSORFILE_H
#define FF_RUNTIME_TRAIN_TENSORFILE_H

#include "runtime/core/Arena.h"
#include "runtime/train/DurableFile.h"
#include "runtime/train/Parameters.h"

#include <string>
#include <vector>

namespace ff::rt {

/// The tensors of a file and where their bytes lie. Every rank computes the
/// same plan; no tensor is ever gathered.
class TensorFilePlan {
public:
  /// Places `tensors` in this order.
  explicit TensorFilePlan(std::vector<TensorType> tensors);

  const std::vector<TensorType> &tensors() const { return types; }
  /// Byte in the file of the first element of tensor `index`.
  size_t offset(size_t index) const { return offsets[index]; }
  size_t totalBytes() const { return total; }

  /// Creates the file with its header and its final size: rank 0 does it.
  void create(const std::string &path) const;

  /// Reads the file back: an Error where tensors or shapes are not those of the
  /// plan.
  void verify(const std::string &path) const;

private:
  std::vector<TensorType> types;
  std::vector<size_t> offsets;
  std::string header;
  size_t total = 0;
};

/// What of a parameter is written or read.
enum class StateKind { Master, ExpAvg, ExpAvgSq, Ema, Gradient };

/// The parameters of a plan, in its order.
struct ParameterFile {
  std::string path; ///< below the folder of the checkpoint
  StateKind kind;
  std::vector<std::pair<size_t, size_t>> params; ///< group and parameter
  TensorFilePlan plan;
};

/// One file of a kind of state. `component` < 0 takes the trainable parameters
/// of all components, named `component.parameter`; else all parameters of one
/// component, named as its own.
ParameterFile parameterFile(const Metadata &metadata, const Layout &layout,
                            const std::string &path, StateKind kind,
                            int component);

/// The memory of a kind of state of a group, and its dtype.
std::pair<Region, DType> stateRegion(const Metadata &metadata,
                                     const Layout &layout, size_t group,
                                     StateKind kind);

/// Writes the bytes of this rank to the file, and syncs it.
void writePieces(const ParameterFile &file, const std::string &path,
                 const Metadata &metadata, const Layout &layout,
                 const Arena &arena, const std::vector<OwnedPiece> &pieces);

/// Reads the own part of every tensor of the file into `target`. An Error where
/// the tensors of the file are not those of the plan.
void readPieces(const ParameterFile &file, const std::string &path,
                StateKind target, const Metadata &metadata,
                const Layout &layout, const Arena &arena,
                const std::vector<OwnedPiece> &pieces);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_TENSORFILE_H
