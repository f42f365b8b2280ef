//===- CheckpointFolders.cpp - Finds checkpoints on disk ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Manifest.h"

#include <algorithm>
#include <filesystem>

namespace ff::rt {

namespace fs = std::filesystem;

std::string stepName(int64_t step) { return fmt::format("step-{:08}", step); }

/// The step of a folder name, or -1. No step has more than 18 digits.
int64_t stepOfName(const std::string &name) {
  if (name.size() < 13 || name.size() > 23 ||
      name.compare(0, 5, "step-") != 0 ||
      name.find_first_not_of("0123456789", 5) != std::string::npos)
    return -1;
  return std::stoll(name.substr(5));
}

namespace {
/// Moves the checkpoints of an earlier run to a folder of their own: a run that
/// starts over must neither mix with them nor destroy them.
void setAside(const std::string &out, const std::vector<std::string> &folders,
              std::vector<std::string> &warnings) {
  if (folders.empty())
    return;
  std::string target;
  for (int number = 1; target.empty() || fs::exists(target); ++number)
    target = fmt::format("{}/previous-{}", out, number);
  makeFolder(target);
  for (const std::string &folder : folders)
    moveFolder(folder, target + "/" + fs::path(folder).filename().string());
  warnings.push_back(
      fmt::format("the checkpoints of an earlier run are now in {}", target));
}
} // namespace

/// Folders that an earlier run left when it was killed while saving.
void removeLeftovers(const std::string &out) {
  std::vector<std::string> leftovers;
  for (const fs::directory_entry &entry : fs::directory_iterator(out)) {
    std::string name = entry.path().filename().string();
    if (name.compare(0, 10, ".tmp-step-") == 0 ||
        name.compare(0, 10, ".old-step-") == 0)
      leftovers.push_back(entry.path().string());
  }
  for (const std::string &path : leftovers)
    removeFolder(path);
}

CheckpointInfo verifyCheckpoint(const std::string &path) {
  Manifest manifest = readManifest(path + "/manifest.json");
  CheckpointInfo info{path, manifest.step, manifest.samples, manifest.seed,
                      false};
  for (const Manifest::File &file : manifest.files) {
    std::string name = path + "/" + file.path;
    std::error_code error;
    uintmax_t bytes = fs::file_size(name, error);
    if (error)
      fail("{} is missing", name);
    if (bytes != file.bytes)
      fail("{} has {} bytes, the manifest says {}", name, bytes, file.bytes);
    std::string hash = hashFile(name);
    if (hash != file.xxh64)
      fail("{} has the checksum {}, the manifest says {}", name, hash,
           file.xxh64);
    info.hasEma |= file.path == "state/ema.safetensors";
  }
  return info;
}

std::vector<std::string> checkpointFolders(const std::string &out) {
  std::vector<std::pair<int64_t, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator it(out, error), end; !error && it != end;
       it.increment(error)) {
    int64_t step = stepOfName(it->path().filename().string());
    if (step >= 0)
      found.emplace_back(step, it->path().string());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> paths;
  for (auto &entry : found)
    paths.push_back(entry.second);
  return paths;
}

std::optional<CheckpointInfo>
findCheckpoint(const std::string &out, const std::string &resume,
               std::vector<std::string> &warnings) {
  std::vector<std::string> folders = checkpointFolders(out);
  if (resume.empty() && !folders.empty())
    fail("{} already holds checkpoints, the newest is {}; fix: --resume auto "
         "to continue, --resume none to set them aside, or another --out",
         out, folders[0]);
  if (resume.empty() || resume == "none") {
    setAside(out, folders, warnings);
    return std::nullopt;
  }
  if (resume != "auto") {
    try {
      CheckpointInfo info = verifyCheckpoint(resume);
      if (!folders.empty() &&
          stepOfName(fs::path(folders[0]).filename().string()) > info.step)
        warnings.push_back(fmt::format(
            "{} is newer than the checkpoint that is resumed; --resume auto "
            "will take it again",
            folders[0]));
      return info;
    } catch (const Error &e) {
      fail("--resume {}: {}", resume, e.what());
    }
  }
  for (const std::string &folder : folders) {
    try {
      return verifyCheckpoint(folder);
    } catch (const Error &e) {
      warnings.push_back(fmt::format("ignoring {}: {}", folder, e.what()));
    }
  }
  // To start over here would write over them.
  if (!folders.empty())
    fail("no checkpoint in {} is complete; {}; fix: mend one, or --resume none "
         "to set them aside and start over",
         out, warnings.back());
  return std::nullopt;
}

std::optional<CheckpointInfo>
agreeOnCheckpoint(Communicator &comm, const std::string &out,
                  const std::string &resume,
                  std::vector<std::string> &warnings) {
  // One byte says what follows: E an error, N nothing, C a checkpoint.
  std::string message;
  if (comm.rank == 0) {
    try {
      auto found = findCheckpoint(out, resume, warnings);
      message = "N";
      if (found)
        message = fmt::format("C{} {} {} {} {}", found->step, found->samples,
                              found->seed, found->hasEma ? 1 : 0, found->path);
    } catch (const Error &e) {
      message = std::string("E") + e.what();
    }
  }
  message = comm.fromRankZero(message);
  if (message[0] == 'E')
    throw Error(message.substr(1));
  if (message[0] == 'N')
    return std::nullopt;
  CheckpointInfo info;
  long long step, samples;
  unsigned long long seed;
  int ema, used = 0;
  std::sscanf(message.c_str() + 1, "%lld %lld %llu %d %n", &step, &samples,
              &seed, &ema, &used);
  info.step = step;
  info.samples = samples;
  info.seed = seed;
  info.hasEma = ema != 0;
  info.path = message.substr(1 + static_cast<size_t>(used));
  return info;
}

} // namespace ff::rt
