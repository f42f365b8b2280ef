//===- SampleSource.cpp - Where samples lie -------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/SampleSource.h"
#include "runtime/core/Error.h"
#include "runtime/train/ParquetSource.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace ff::rt {

namespace fs = std::filesystem;

static bool endsWith(const std::string &path, const std::string &suffix) {
  return path.size() >= suffix.size() &&
         path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
}

void SampleSource::addRun(int64_t count, std::vector<SampleField> fields) {
  if (count < 1)
    return;
  if (!list.empty() && kinds[list.back().kind] == fields) {
    list.back().count += count;
    return;
  }
  auto kind = std::find(kinds.begin(), kinds.end(), fields);
  int64_t first = size();
  list.push_back({first, count, static_cast<size_t>(kind - kinds.begin())});
  if (kind == kinds.end())
    kinds.push_back(std::move(fields));
}

/// The files below `folder`. A folder that a link leads to a second time is not
/// read again: it may be the one that the link is in.
static void listBelow(const fs::path &folder, const std::string &suffix,
                      std::set<std::pair<dev_t, ino_t>> &seen,
                      std::vector<std::string> &paths) {
  struct stat info;
  if (stat(folder.c_str(), &info) != 0)
    fail("cannot read the folder {}: {}", folder.string(),
         std::strerror(errno));
  if (!seen.insert({info.st_dev, info.st_ino}).second)
    return;
  std::error_code error;
  std::vector<fs::path> folders;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored))
      folders.push_back(it->path());
    else if (endsWith(it->path().string(), suffix))
      paths.push_back(it->path().string());
  }
  if (error)
    fail("cannot read the folder {}: {}", folder.string(), error.message());
  // Of two ways to one folder, always the same counts.
  std::sort(folders.begin(), folders.end());
  for (const fs::path &below : folders)
    listBelow(below, suffix, seen, paths);
}

std::vector<std::string> filesBelow(const std::string &folder,
                                    const std::string &suffix) {
  std::vector<std::string> paths;
  std::set<std::pair<dev_t, ino_t>> seen;
  listBelow(folder, suffix, seen, paths);
  if (paths.empty())
    fail("there is no file *{} in {}", suffix, folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

namespace {

/// Files of which dim 0 counts samples. They are read without their mapping:
/// one that became shorter would end the process by a signal.
class ShardSource final : public SampleSource {
public:
  ShardSource(const std::vector<std::string> &paths,
              const std::vector<std::string> &names) {
    for (const std::string &path : paths)
      add(path, names);
  }

  const char *bytes(int64_t sample, size_t field,
                    std::vector<char> &scratch) const override {
    auto [shard, row] = find(sample);
    const FileTensor &tensor = *shard->fields[field];
    size_t rowBytes =
        (tensor.end - tensor.begin) /
        static_cast<size_t>(std::max<int64_t>(tensor.shape[0], 1));
    scratch.resize(std::max<size_t>(rowBytes, 1));
    shard->file->read(tensor, static_cast<size_t>(row) * rowBytes, rowBytes,
                      scratch.data());
    return scratch.data();
  }

  std::string describe(int64_t sample) const override {
    auto [shard, row] = find(sample);
    return fmt::format("{}, row {}", shard->file->path(), row);
  }

private:
  struct Shard {
    std::unique_ptr<SafetensorsFile> file;
    std::vector<const FileTensor *> fields;
    int64_t first; ///< number of its first row
  };

  void add(const std::string &path, const std::vector<std::string> &names) {
    Shard shard{std::make_unique<SafetensorsFile>(path), {}, size()};
    std::vector<SampleField> fields;
    int64_t rows = 0;
    for (const std::string &name : names) {
      const FileTensor &tensor = shard.file->tensor(name);
      if (tensor.shape.empty())
        fail("'{}' in {} is a scalar; dim 0 must count the samples", name,
             path);
      if (!fields.empty() && tensor.shape[0] != rows)
        fail("'{}' in {} has {} samples, '{}' has {}", name, path,
             tensor.shape[0], names[0], rows);
      rows = tensor.shape[0];
      fields.push_back(
          {tensor.dtype, {tensor.shape.begin() + 1, tensor.shape.end()}});
      shard.fields.push_back(&tensor);
    }
    addRun(rows, std::move(fields));
    shards.push_back(std::move(shard));
  }

  std::pair<const Shard *, int64_t> find(int64_t sample) const {
    const Shard &shard = lastNotAfter(shards, sample);
    return {&shard, sample - shard.first};
  }

  std::vector<Shard> shards;
};

/// A file for each sample. There may be more than a process can map or open, so
/// that each read opens its file.
class FolderSource final : public SampleSource {
public:
  FolderSource(const std::vector<std::string> &folders,
               const std::vector<std::string> &names)
      : names(names) {
    for (const std::string &folder : folders)
      for (std::string &path : filesBelow(folder, ".safetensors"))
        add(std::move(path));
  }

  const char *bytes(int64_t sample, size_t field,
                    std::vector<char> &scratch) const override {
    const File &file = files[static_cast<size_t>(sample)];
    auto [offset, size] = file.places[field];
    scratch.resize(size);
    int fd = open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
      fail("cannot open {}: {}", file.path, std::strerror(errno));
    if (!file.state.isOf(fd)) {
      close(fd);
      fail("{} changed since the start of the run; fix: start again, with "
           "--resume auto",
           file.path);
    }
    size_t done = 0;
    ssize_t got = 1;
    while (done < size && got > 0) {
      got = pread(fd, scratch.data() + done, size - done,
                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR)
        got = 1;
      else if (got > 0)
        done += static_cast<size_t>(got);
    }
    int error = errno;
    close(fd);
    if (done < size)
      fail("cannot read '{}' of {}: {} of {} bytes ({})", names[field],
           file.path, done, size,
           got < 0 ? std::strerror(error)
                   : "the file became shorter since the start");
    return scratch.data();
  }

  std::string describe(int64_t sample) const override {
    return files[static_cast<size_t>(sample)].path;
  }

private:
  /// Whether a file is the one that was there at the start.
  struct FileState {
    ino_t inode = 0;
    off_t size = 0;
    timespec changed{};

    static FileState of(int fd) {
      struct stat info{};
      fstat(fd, &info);
      return {info.st_ino, info.st_size, info.st_mtim};
    }
    bool isOf(int fd) const {
      FileState now = of(fd);
      return now.inode == inode && now.size == size &&
             now.changed.tv_sec == changed.tv_sec &&
             now.changed.tv_nsec == changed.tv_nsec;
    }
  };
  struct File {
    std::string path;
    std::vector<std::pair<size_t, size_t>> places; ///< byte and size
    FileState state;
  };

  void add(std::string path) {
    SafetensorsFile file(path);
    std::vector<SampleField> fields;
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FileState state = fd >= 0 ? FileState::of(fd) : FileState();
    if (fd >= 0)
      close(fd);
    File entry{std::move(path), {}, state};
    for (const std::string &name : names) {
      const FileTensor &tensor = file.tensor(name);
      fields.push_back({tensor.dtype, tensor.shape});
      entry.places.emplace_back(file.offset(tensor), tensor.end - tensor.begin);
    }
    addRun(1, std::move(fields));
    files.push_back(std::move(entry));
  }

  std::vector<std::string> names;
  std::vector<File> files;
};

} // namespace

/// Folders are replaced by the files in them.
static std::vector<std::string>
expandFolders(const std::vector<std::string> &paths,
              const std::string &suffix) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> below = filesBelow(path, suffix);
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
}

std::unique_ptr<SampleSource>
openSource(const SourcePolicy &policy, const std::vector<std::string> &fields) {
  switch (policy.kind) {
  case SourcePolicy::Shards:
    return std::make_unique<ShardSource>(
        expandFolders(policy.paths, ".safetensors"), fields);
  case SourcePolicy::Samples:
    return std::make_unique<FolderSource>(policy.paths, fields);
  case SourcePolicy::Parquet:
    return openParquet(expandFolders(policy.paths, ".parquet"), fields);
  }
  failInternal("unknown kind of source");
}

SourcePolicy sourceOf(const std::vector<std::string> &paths,
                      const SourcePolicy &like) {
  SourcePolicy source;
  source.paths = paths;
  source.kind = like.kind;
  size_t folders = 0, parquet = 0;
  for (const std::string &path : paths) {
    bool isFolder = fs::is_directory(path);
    folders += isFolder;
    std::vector<std::string> below;
    std::set<std::pair<dev_t, ino_t>> seen;
    if (isFolder)
      listBelow(path, ".parquet", seen, below);
    parquet += isFolder ? !below.empty() : endsWith(path, ".parquet");
  }
  if (parquet && parquet != paths.size())
    fail("--data names Parquet and other files; fix: `sources` of [data] can "
         "hold both");
  if (folders && folders != paths.size() && like.kind == SourcePolicy::Samples)
    fail("--data names files and folders, and a folder of this spec has a file "
         "for each sample; fix: folders alone");
  if (parquet)
    source.kind = SourcePolicy::Parquet;
  else if (!folders || like.kind == SourcePolicy::Parquet)
    source.kind = SourcePolicy::Shards;
  return source;
}

} // namespace ff::rt
