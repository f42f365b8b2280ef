//===- Checkpoint.cpp - Saves and loads checkpoints -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Checkpoint.h"
#include "runtime/core/Error.h"
#include "runtime/train/Merge.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace ff::rt {

namespace fs = std::filesystem;

static void writeText(const std::string &path, const std::string &text) {
  DurableFile file(path, true);
  file.write(text.data(), text.size(), 0);
  file.sync();
}

/// Neighbours in one: what a rank writes of a file is often one piece.
static std::vector<Span> joined(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span &a, const Span &b) { return a.offset < b.offset; });
  std::vector<Span> result;
  for (const Span &span : spans)
    if (!result.empty() &&
        result.back().offset + result.back().bytes == span.offset)
      result.back().bytes += span.bytes;
    else
      result.push_back(span);
  return result;
}

Checkpointer::Checkpointer(const Metadata &metadata, const Layout &layout,
                           const Arena &arena, Communicator &comm,
                           std::string out,
                           const std::vector<std::string> &data)
    : metadata(metadata), layout(layout), arena(arena), comm(comm),
      out(std::move(out)),
      owned(ownedPieces(metadata, layout, comm.shardIndex())),
      written(writtenPieces(metadata, layout, comm.mesh, comm.rank)),
      settings(manifestOf(metadata, data)), planned(metadata, layout),
      files(planned.files), texts(planned.texts) {}

size_t Checkpointer::bytes() const { return planned.bytes(); }

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

std::set<std::string> Checkpointer::folders() const {
  std::set<std::string> names;
  auto add = [&](const std::string &file) {
    for (fs::path path = fs::path(file).parent_path(); !path.empty();
         path = path.parent_path())
      names.insert(path.string());
  };
  for (const ParameterFile &file : files)
    add(file.path);
  for (const TextFile &file : texts)
    add(file.path);
  return names;
}

void Checkpointer::createFiles(const std::string &temporary) const {
  fs::create_directories(out);
  removeLeftovers(out);
  makeFolder(temporary);
  for (const std::string &name : folders()) // a folder before those in it
    makeFolder(temporary + "/" + name);
  for (const TextFile &file : texts)
    writeText(temporary + "/" + file.path, file.text);
  for (const ParameterFile &file : files)
    file.plan.create(temporary + "/" + file.path);
}

std::string Checkpointer::writeFiles(const std::string &temporary) {
  std::string lines;
  std::exception_ptr failure;
  for (size_t i = 0; i < files.size(); ++i) {
    std::string path = temporary + "/" + files[i].path;
    std::vector<Span> spans;
    try {
      if (i >=
          planned
              .firstMerged) // makes collectives, so without regard to failures
        spans =
            writeMerged(files[i], path, metadata, layout, arena, comm, written);
      else if (!failure)
        spans = writePieces(files[i], path, metadata, layout, arena, written);
    } catch (...) {
      if (!failure)
        failure = std::current_exception();
    }
    for (const Span &span : joined(std::move(spans)))
      lines += fmt::format("{} {} {}\n", i, span.offset, span.bytes);
  }
  if (failure)
    std::rethrow_exception(failure);
  return lines;
}

void Checkpointer::checkCoverage(const std::vector<std::string> &lines) const {
  std::vector<std::vector<Span>> spans(files.size());
  for (const std::string &text : lines)
    for (const char *at = text.c_str(); *at; ++at) { // ends at a line break
      char *end;
      size_t index = std::strtoull(at, &end, 10);
      size_t offset = std::strtoull(end, &end, 10);
      size_t bytes = std::strtoull(end, &end, 10);
      spans.at(index).push_back({offset, bytes});
      at = end;
    }
  for (size_t i = 0; i < files.size(); ++i)
    files[i].plan.checkCoverage(files[i].path, std::move(spans[i]));
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
  Manifest manifest = settings;
  manifest.step = step;
  manifest.samples = samples;
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
  for (const TextFile &file : texts) {
    std::string full = temporary + "/" + file.path;
    manifest.files.push_back({file.path, fs::file_size(full), hashFile(full)});
  }
  for (const std::string &name : folders())
    syncFolder(temporary + "/" + name);
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
  if (error.empty()) {
    std::string mine;
    error = phase([&] { mine = writeFiles(temporary); });
    std::vector<std::string> all = comm.exchange(mine);
    if (error.empty())
      error = phase([&] {
        if (first)
          checkCoverage(all);
      });
  }
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
  if (error.empty()) {
    // The checkpoint stands: an old one that cannot be removed does not undo
    // it.
    std::string left = phase([&] {
      if (first)
        prune(step);
    });
    if (!left.empty() && first)
      std::fprintf(stderr,
                   "warning: an old checkpoint could not be removed: %s\n",
                   left.c_str());
    return "";
  }
  if (first)
    phase([&] { removeFolder(temporary); });
  else
    phase([] {});
  return error;
}

std::vector<std::string> Checkpointer::load(const CheckpointInfo &info,
                                            const LoadTeam &team) {
  if (info.seed != metadata.seed)
    fail("{} was made with seed {}, the spec has seed {}; another seed would "
         "repeat some samples and drop others; fix: seed = {}",
         info.path, info.seed, metadata.seed, info.seed);
  std::vector<std::string> warnings = compareManifests(
      info.path, readManifest(info.path + "/manifest.json"), settings);
  for (const ParameterFile &file : files) {
    bool isState = file.path.compare(0, 6, "state/") == 0;
    if (!isState || (file.kind == StateKind::Ema && !info.hasEma))
      continue;
    readPieces(file, info.path + "/" + file.path, file.kind, metadata, layout,
               arena, team);
  }
  return warnings;
}

void Checkpointer::loadForSampling(const CheckpointInfo &info, bool ema,
                                   const LoadTeam &team) {
  if (ema && !info.hasEma)
    fail("{} has no EMA; fix: [sample] weights = \"model\", or train with "
         "ema_decay",
         info.path);
  std::string path = ema ? "state/ema.safetensors" : "state/master.safetensors";
  ParameterFile file = stateFile(metadata, layout, path,
                                 ema ? StateKind::Ema : StateKind::Master);
  readPieces(file, info.path + "/" + path, StateKind::Master, metadata, layout,
             arena, team);
}

} // namespace ff::rt
