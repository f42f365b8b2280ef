//===- Manifest.h - The manifest of a checkpoint --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_MANIFEST_H
#define FF_RUNTIME_TRAIN_MANIFEST_H

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
  std::string name; ///< of the pipeline
  int64_t step = 0;
  int64_t samples = 0;
  uint64_t seed = 0;
  std::vector<File> files;
};

std::string manifestText(const Manifest &manifest);

/// An Error where the file is absent or not a manifest.
Manifest readManifest(const std::string &path);

/// The XXH64 of a file.
std::string hashFile(const std::string &path);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_MANIFEST_H
