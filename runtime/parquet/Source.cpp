//===- Source.cpp - The bytes of a file -----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/parquet/Source.h"
#include "runtime/parquet/Cache.h"
#include "runtime/parquet/Error.h"

#include <arrow/result.h>
#include <arrow/status.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ff::parquet {

class Source::Handle {
public:
  explicit Handle(const std::string &path) {
    // Not to wait for the writer of a pipe; files do not mind.
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
      fail("cannot be opened: {}", std::strerror(errno));
  }
  ~Handle() { ::close(fd); }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;

  struct stat status() const {
    struct stat result;
    if (fstat(fd, &result) != 0)
      fail("cannot be read: {}", std::strerror(errno));
    return result;
  }

  int fd = -1;
};

namespace {

int64_t modificationTime(const struct stat &status) {
  return status.st_mtim.tv_sec * int64_t(1'000'000'000) +
         status.st_mtim.tv_nsec;
}

/// A file as Arrow wants it. Exceptions become its statuses.
class SourceFile : public arrow::io::RandomAccessFile {
public:
  explicit SourceFile(const Source &source) : source(source) {}

  arrow::Status Close() override {
    isClosed = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return isClosed; }
  arrow::Result<int64_t> Tell() const override { return position; }
  arrow::Status Seek(int64_t to) override {
    position = to;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> GetSize() override { return source.size(); }

  arrow::Result<int64_t> ReadAt(int64_t at, int64_t count, void *out) override {
    try {
      count = available(at, count);
      source.read(at, count, out);
      return count;
    } catch (const std::exception &error) {
      return arrow::Status::IOError(error.what());
    }
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t at,
                                                       int64_t count) override {
    try {
      return source.read(at, available(at, count));
    } catch (const std::exception &error) {
      return arrow::Status::IOError(error.what());
    }
  }
  arrow::Result<int64_t> Read(int64_t count, void *out) override {
    ARROW_ASSIGN_OR_RAISE(int64_t got, ReadAt(position, count, out));
    position += got;
    return got;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position, count));
    position += buffer->size();
    return buffer;
  }

private:
  int64_t available(int64_t at, int64_t count) const {
    if (at < 0 || count < 0 || at > source.size())
      fail("{} bytes at {} are outside of the file, which has {}", count, at,
           source.size());
    return std::min(count, source.size() - at);
  }

  const Source &source;
  int64_t position = 0;
  bool isClosed = false;
};

} // namespace

Source::Source(const std::string &path) : path(path) {
  static std::atomic<uint64_t> last{0};
  id = ++last;
  struct stat status = Handle(path).status();
  if (!S_ISREG(status.st_mode))
    fail("is {}", S_ISDIR(status.st_mode) ? "a folder" : "not a regular file");
  bytes = status.st_size;
  device = status.st_dev;
  inode = status.st_ino;
  modified = modificationTime(status);
}

Source::~Source() { fileCache().forget(id); }

std::shared_ptr<const Source::Handle> Source::handle() const {
  return fileCache().get<Handle>({id}, [this] {
    auto handle = std::make_shared<Handle>(path);
    struct stat status = handle->status();
    if (status.st_dev != device || status.st_ino != inode ||
        status.st_size != bytes || modificationTime(status) != modified)
      fail("was changed while it is in use");
    return Cache::Made{handle, 1};
  });
}

void Source::read(int64_t at, int64_t count, void *out) const {
  std::shared_ptr<const Handle> file = handle();
  char *to = static_cast<char *>(out);
  while (count > 0) {
    ssize_t got = pread(file->fd, to, count, at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      fail("cannot be read: {}", std::strerror(errno));
    if (got == 0)
      fail("ends at byte {}, where {} more are expected: it was cut short", at,
           count);
    to += got;
    at += got;
    count -= got;
  }
}

std::shared_ptr<arrow::Buffer> Source::read(int64_t at, int64_t count) const {
  // Checked first: a broken file may ask for more memory than there is.
  if (at < 0 || count < 0 || at > bytes || count > bytes - at)
    fail("{} bytes at {} are outside of the file, which has {}", count, at,
         bytes);
  auto buffer = arrow::AllocateBuffer(count, arrow::default_memory_pool());
  if (!buffer.ok())
    fail("{}", buffer.status().message());
  read(at, count, (*buffer)->mutable_data());
  return std::move(*buffer);
}

std::shared_ptr<arrow::io::RandomAccessFile> Source::arrowFile() const {
  return std::make_shared<SourceFile>(*this);
}

} // namespace ff::parquet
