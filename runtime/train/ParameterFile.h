//===- ParameterFile.h - Files of parameters and their state --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_PARAMETERFILE_H
#define FF_RUNTIME_TRAIN_PARAMETERFILE_H

#include "runtime/train/Parameters.h"
#include "runtime/train/TensorFile.h"

namespace ff::rt {

/// What of a parameter is written or read.
enum class StateKind { Master, ExpAvg, ExpAvgSq, Ema, Gradient };

/// The parameters of a plan, in its order.
struct ParameterFile {
  std::string path; ///< below the folder of the checkpoint
  StateKind kind;
  std::vector<std::pair<size_t, size_t>> params; ///< group and parameter
  TensorFilePlan plan;
};

/// One kind of state of all trainable parameters, named
/// `component.parameter`.
ParameterFile stateFile(const Metadata &metadata, const Layout &layout,
                        const std::string &path, StateKind kind);

/// The files of a component that model/ holds.
std::vector<ParameterFile> modelFiles(const Metadata &metadata,
                                      size_t component);

/// The memory of a kind of state of a group, and its dtype.
std::pair<Region, DType> stateRegion(const Metadata &metadata,
                                     const Layout &layout, size_t group,
                                     StateKind kind);

/// Calls `body(tensor, piece)` for each piece whose parameter is in the file.
void eachPiece(
    const ParameterFile &file, const std::vector<OwnedPiece> &pieces,
    const std::function<void(size_t tensor, const OwnedPiece &piece)> &body);

/// Writes these pieces to the file, times `scale`, and syncs it. Returns what
/// was written.
std::vector<Span> writePieces(const ParameterFile &file,
                              const std::string &path, const Metadata &metadata,
                              const Layout &layout, const Arena &arena,
                              const std::vector<OwnedPiece> &pieces,
                              double scale = 1.0);

/// Reads the own part of every tensor of the file into `target`. An Error where
/// the tensors of the file are not those of the plan. All ranks of a team with
/// a ring call it.
void readPieces(const ParameterFile &file, const std::string &path,
                StateKind target, const Metadata &metadata,
                const Layout &layout, const Arena &arena, const LoadTeam &team);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_PARAMETERFILE_H
