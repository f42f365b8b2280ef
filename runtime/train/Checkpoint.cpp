//===- Checkpoint.cpp - Saves and loads checkpoints -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Checkpoint.h"
#include "runtime/core/Error.h"
#include "runtime/train/Manifest.h"
#include "runtime/train/Safetensors.h"

#include <filesystem>

namespace ff::rt {

namespace fs = std::filesystem;

namespace {

std::string stepName(int64_t step) { return fmt::format("step-{:08}", step); }

/// The step of a folder name, or -1.
int64_t stepOfName(const std::string &name) {
  if (name.size() < 13 || name.compare(0, 5, "step-") != 0 ||
      name.find_first_not_of("0123456789", 5) != std::string::npos)
    return -1;
  return std::stoll(name.substr(5));
}

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

std::string modelFolder(const Component &component) {
  return "model/" + component.name;
}

void writeText(const std::string &path, const std::string &text) {
  DurableFile file(path, true);
  file.write(text.data(), text.size(), 0);
  file.sync();
}

} // namespace

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

Checkpointer::Checkpointer(const Metadata &metadata, const Layout &layout,
                           const Arena &arena, Communicator &comm,
                           std::string out)
    : metadata(metadata), layout(layout), arena(arena), comm(comm),
      out(std::move(out)),
      pieces(ownedPieces(metadata, layout, comm.shardIndex())) {
  for (size_t c = 0; c < metadata.components.size(); ++c)
    if (metadata.components[c].trained)
      files.push_back(parameterFile(metadata, layout,
                                    modelFolder(metadata.components[c]) +
                                        "/diffusion_pytorch_model.safetensors",
                                    StateKind::Master, static_cast<int>(c)));
  auto add = [&](const char *name, StateKind kind) {
    files.push_back(parameterFile(metadata, layout, name, kind, -1));
  };
  add("state/master.safetensors", StateKind::Master);
  add("state/exp_avg.safetensors", StateKind::ExpAvg);
  add("state/exp_avg_sq.safetensors", StateKind::ExpAvgSq);
  if (metadata.train && metadata.train->emaDecay)
    add("state/ema.safetensors", StateKind::Ema);
}

size_t Checkpointer::bytes() const {
  size_t total = 0;
  for (const ParameterFile &file : files)
    total += file.plan.totalBytes();
  return total;
}

template <typename Body> std::string Checkpointer::phase(Body &&body) {
  std::string mine;
  try {
    body();
  } catch (const std::exception &e) {
    mine = fmt::format("[rank {}] {}", comm.rank, e.what());
  }
  for (const std::string &message : comm.exchange(mine))
    if (!message.empty())
      return message;
  return std::string();
}

void Checkpointer::createFiles(const std::string &temporary) const {
  fs::create_directories(out);
  removeLeftovers(out);
  makeFolder(temporary);
  makeFolder(temporary + "/model");
  makeFolder(temporary + "/state");
  for (const Component &component : metadata.components)
    if (component.trained) {
      std::string folder = temporary + "/" + modelFolder(component);
      makeFolder(folder);
      writeText(folder + "/config.json", component.config + "\n");
    }
  for (const ParameterFile &file : files)
    file.plan.create(temporary + "/" + file.path);
}

std::string Checkpointer::hashFiles(const std::string &temporary) const {
  std::string lines;
  for (size_t i = 0; i < files.size(); ++i) {
    if (static_cast<int>(i) % comm.world() != comm.rank)
      continue;
    std::string path = temporary + "/" + files[i].path;
    files[i].plan.verify(path);
    lines += fmt::format("{} {}\n", i, hashFile(path));
  }
  return lines;
}

void Checkpointer::publish(const std::string &temporary,
                           const std::string &hashes, int64_t step,
                           int64_t samples) const {
  Manifest manifest;
  manifest.name = metadata.name;
  manifest.step = step;
  manifest.samples = samples;
  manifest.seed = metadata.seed;
  for (size_t i = 0; i < files.size(); ++i)
    manifest.files.push_back(
        {files[i].path, files[i].plan.totalBytes(), std::string()});
  size_t at = 0;
  while (at < hashes.size()) {
    size_t space = hashes.find(' ', at), end = hashes.find('\n', at);
    size_t index = std::stoul(hashes.substr(at, space - at));
    manifest.files[index].xxh64 = hashes.substr(space + 1, end - space - 1);
    at = end + 1;
  }
  for (const Component &component : metadata.components)
    if (component.trained) {
      std::string path = modelFolder(component) + "/config.json";
      std::string full = temporary + "/" + path;
      manifest.files.push_back({path, fs::file_size(full), hashFile(full)});
      syncFolder(temporary + "/" + modelFolder(component));
    }
  syncFolder(temporary + "/model");
  syncFolder(temporary + "/state");
  writeText(temporary + "/manifest.json", manifestText(manifest));
  syncFolder(temporary);
  bool replaced = moveFolder(temporary, out + "/" + stepName(step));
  syncFolder(out);
  if (replaced)
    removeFolder(temporary);
}

void Checkpointer::prune(int64_t step) const {
  int64_t kept = 0;
  for (const std::string &folder : checkpointFolders(out)) {
    std::string name = fs::path(folder).filename().string();
    // Newer ones belong to a run that this one was branched from.
    if (stepOfName(name) > step || !fs::exists(folder + "/manifest.json"))
      continue;
    if (++kept <= std::max<int64_t>(metadata.checkpoint.keep, 1))
      continue;
    // Under another name first, so that no half of it is ever resumed.
    std::string old = out + "/.old-" + name;
    moveFolder(folder, old);
    removeFolder(old);
  }
}

std::string Checkpointer::save(int64_t step, int64_t samples) {
  std::string temporary = out + "/.tmp-" + stepName(step);
  bool first = comm.rank == 0;
  std::string hashes;
  std::string error = phase([&] {
    if (first)
      createFiles(temporary);
  });
  if (error.empty())
    error = phase([&] {
      // Replicas hold the same slices; one of them writes.
      if (comm.replicateIndex() == 0)
        for (const ParameterFile &file : files)
          writePieces(file, temporary + "/" + file.path, metadata, layout,
                      arena, pieces);
    });
  if (error.empty()) {
    std::string mine;
    error = phase([&] { mine = hashFiles(temporary); });
    for (const std::string &lines : comm.exchange(mine))
      hashes += lines;
  }
  if (error.empty())
    error = phase([&] {
      if (first)
        publish(temporary, hashes, step, samples);
    });
  if (error.empty())
    return phase([&] {
      if (first)
        prune(step);
    });
  if (first)
    phase([&] { removeFolder(temporary); });
  else
    phase([] {});
  return error;
}

void Checkpointer::load(const CheckpointInfo &info) {
  if (info.seed != metadata.seed)
    fail("{} was made with seed {}, the spec has seed {}; another seed would "
         "repeat some samples and drop others; fix: seed = {}",
         info.path, info.seed, metadata.seed, info.seed);
  for (const ParameterFile &file : files) {
    bool isState = file.path.compare(0, 6, "state/") == 0;
    if (!isState || (file.kind == StateKind::Ema && !info.hasEma))
      continue;
    readPieces(file, info.path + "/" + file.path, file.kind, metadata, layout,
               arena, pieces);
  }
}

void Checkpointer::loadForSampling(const CheckpointInfo &info, bool ema) {
  if (ema && !info.hasEma)
    fail("{} has no EMA; fix: [sample] weights = \"model\", or train with "
         "ema_decay",
         info.path);
  std::string path = ema ? "state/ema.safetensors" : "state/master.safetensors";
  ParameterFile file =
      parameterFile(metadata, layout, path, StateKind::Master, -1);
  readPieces(file, info.path + "/" + path, StateKind::Master, metadata, layout,
             arena, pieces);
}

} // namespace ff::rt
