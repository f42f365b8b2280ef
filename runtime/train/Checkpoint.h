//===- Checkpoint.h - Checkpoints -----------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   out/step-00000100/
//     model/COMPONENT/diffusion_pytorch_model.safetensors, config.json, or
//                     adapter_model.safetensors, adapter_config.json
//     merged/COMPONENT/  the same with the adapters added, where it is asked
//     for state/{master,exp_avg,exp_avg_sq,ema}.safetensors manifest.json
//
// State files hold logical tensors `component.parameter` with whole shapes, so
// any number of ranks can resume. Each rank writes its bytes of one file; that
// all bytes were written, each once, is checked. All of it is written below
// out/.tmp-step-00000100, synced, read back and hashed; manifest.json comes
// last, and then the folder gets its name.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_CHECKPOINT_H
#define FF_RUNTIME_TRAIN_CHECKPOINT_H

#include "runtime/train/CheckpointFiles.h"
#include "runtime/train/Manifest.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ff::rt {

/// A complete checkpoint on disk.
struct CheckpointInfo {
  std::string path;
  int64_t step = 0;
  int64_t samples = 0; ///< position in the stream of samples
  uint64_t seed = 0;
  bool hasEma = false;
};

/// Reads the manifest and checks the size and the hash of every file. An Error
/// says what is missing or damaged.
CheckpointInfo verifyCheckpoint(const std::string &path);

/// Folders `step-N` in `out`, newest first, complete or not.
std::vector<std::string> checkpointFolders(const std::string &out);

/// Rank 0 of all ranks: what --resume asks for, or nothing where the run starts
/// from the beginning. An empty `resume` (no flag) is an Error where there are
/// checkpoints; "none" moves them to out/previous-N; "auto" takes the newest
/// complete one and adds a warning for each newer folder that is not.
std::optional<CheckpointInfo>
findCheckpoint(const std::string &out, const std::string &resume,
               std::vector<std::string> &warnings);

/// The same on all ranks, which get the choice of rank 0; an Error there is an
/// Error everywhere.
std::optional<CheckpointInfo>
agreeOnCheckpoint(Communicator &comm, const std::string &out,
                  const std::string &resume,
                  std::vector<std::string> &warnings);

/// The name of the folder of a step, and the step of such a name or -1.
std::string stepName(int64_t step);
int64_t stepOfName(const std::string &name);

/// Removes the folders that an earlier run left when it was killed while
/// saving.
void removeLeftovers(const std::string &out);

/// Saves and loads the state of all ranks. Every rank calls the same functions.
class Checkpointer {
public:
  Checkpointer(const Metadata &metadata, const Layout &layout,
               const Arena &arena, Communicator &comm, std::string out,
               const std::vector<std::string> &data);

  /// Returns an empty string, or why no checkpoint was made, the same on all
  /// ranks; then the earlier ones are as they were.
  std::string save(int64_t step, int64_t samples);

  /// Loads master weights, moments and EMA. Without `info.hasEma` the EMA stays
  /// as it is. Another trainable set is an Error; the result are warnings.
  std::vector<std::string> load(const CheckpointInfo &info,
                                const LoadTeam &team);

  /// Loads the weights to sample from into the master slices.
  void loadForSampling(const CheckpointInfo &info, bool ema,
                       const LoadTeam &team);

  /// Bytes of one checkpoint without its manifest.
  size_t bytes() const;

  /// Of the data that the run reads, for whoever goes on from a checkpoint.
  void setDataOrder(std::string text) {
    settings.settings.order = std::move(text);
  }

  const std::string &folder() const { return out; }

private:
  /// Folders below that of the checkpoint, parents first.
  std::set<std::string> folders() const;
  void createFiles(const std::string &temporary) const;
  /// Returns what this rank wrote, for checkCoverage() on rank 0.
  std::string writeFiles(const std::string &temporary);
  void checkCoverage(const std::vector<std::string> &lines) const;
  std::string hashFiles(const std::string &temporary) const;
  void publish(const std::string &temporary, const std::string &hashes,
               int64_t step, int64_t samples) const;
  void prune(int64_t step) const;
  /// Runs `body` on this rank; all ranks get the first message of any of them.
  template <typename Body> std::string phase(Body &&body);

  const Metadata &metadata;
  const Layout &layout;
  const Arena &arena;
  Communicator &comm;
  std::string out;
  std::vector<OwnedPiece> owned, written;
  Manifest settings; ///< without step and files
  const CheckpointFiles planned;
  const std::vector<ParameterFile> &files;
  const std::vector<TextFile> &texts;
};

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_CHECKPOINT_H
