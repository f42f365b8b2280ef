//===- Manifest.h - The manifest of a checkpoint --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_MANIFEST_H
#define FF_RUNTIME_TRAIN_MANIFEST_H

#include "runtime/core/Metadata.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ff::rt {

/// What manifest.json says: the same for any number of ranks.
struct Manifest {
  struct File {
    std::string path; ///< below the folder of the checkpoint
    uint64_t bytes = 0;
    std::string xxh64; ///< 16 hexadecimal digits, as of `xxhsum -H1`
  };
  /// What is trained: the parameters that state/ holds.
  struct Trained {
    std::string name, dtype; ///< of the master
    std::vector<int64_t> shape;
  };
  /// What may differ when a run goes on, but should not by accident.
  struct Settings {
    double lr = 0;
    int64_t globalBatch = 0;
    std::vector<std::string> data;
    std::string precision; ///< of what is trained
    std::string frozen;    ///< dtypes of what is not
    std::string adapters;  ///< their scales
    std::string order;     ///< of the data: what it depends on beside the seed
    std::string
        weights; ///< files that frozen and adapted components start from
  };
  std::string name; ///< of the pipeline
  int64_t step = 0;
  int64_t samples = 0;
  uint64_t seed = 0;
  /// By name. Absent in version 1, as are the settings.
  std::optional<std::vector<Trained>> trained;
  Settings settings;
  std::vector<File> files;
};

/// The parts of a manifest that the spec determines. `data` are the files that
/// are read, which the command line may have changed.
Manifest manifestOf(const Metadata &metadata,
                    const std::vector<std::string> &data);

/// Whether a run of `now` may go on from a checkpoint of `then`, which is in
/// the folder `path`: another trainable set is an Error that lists the
/// difference; each other difference is a line of the result.
std::vector<std::string> compareManifests(const std::string &path,
                                          const Manifest &then,
                                          const Manifest &now);

std::string manifestText(const Manifest &manifest);

/// An Error where the file is absent or not a manifest.
Manifest readManifest(const std::string &path);

/// The XXH64 of a file.
std::string hashFile(const std::string &path);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_MANIFEST_H
