//===- DurableFile.cpp - File operations that survive a crash -------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/DurableFile.h"
#include "runtime/core/Error.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace ff::rt {

namespace {
long killAt = 0, fullAt = 0, unreadableAt = 0;
std::atomic<long> operations{0}, writes{0}, reads{0};

/// The n of `n` or `n@R` where it is meant for `rank`, else 0.
long faultOf(const char *variable, int rank) {
  const char *text = std::getenv(variable);
  if (!text)
    return 0;
  char *rest;
  long n = std::strtol(text, &rest, 10);
  if (*rest == '@' && std::strtol(rest + 1, nullptr, 10) != rank)
    return 0;
  return n;
}

/// Counts an operation; true where the process is to die at it.
bool isFault() { return killAt && ++operations == killAt; }

void killHere() { kill(getpid(), SIGKILL); }

void faultPoint() {
  if (isFault())
    killHere();
}

[[noreturn]] void failSystem(const std::string &what) {
  fail("{}: {}", what, std::strerror(errno));
}
} // namespace

void armFaults(int rank) {
  killAt = faultOf("FF_FAULT_WRITE", rank);
  fullAt = faultOf("FF_FULL_DISK", rank);
  unreadableAt = faultOf("FF_FAULT_READ", rank);
}

bool isUnreadable() { return unreadableAt && ++reads == unreadableAt; }

DurableFile::DurableFile(const std::string &path, bool create) : path(path) {
  faultPoint();
  int flags = O_WRONLY | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0);
  fd = open(path.c_str(), flags, 0666);
  if (fd < 0)
    failSystem(fmt::format("cannot {} {}", create ? "create" : "open", path));
}

DurableFile::~DurableFile() { close(fd); }

void DurableFile::write(const void *data, size_t bytes, size_t offset) {
  bool die = isFault();
  size_t wanted = die ? bytes / 2 : bytes;
  const char *from = static_cast<const char *>(data);
  size_t done = 0;
  if (fullAt && ++writes == fullAt) {
    errno = ENOSPC;
    failSystem(fmt::format("cannot write {} bytes to {}", bytes, path));
  }
  while (done < wanted) {
    ssize_t n = pwrite(fd, from + done, wanted - done,
                       static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      failSystem(
          fmt::format("cannot write {} bytes to {}", bytes - done, path));
    done += static_cast<size_t>(n);
  }
  if (die)
    killHere();
}

void DurableFile::resize(size_t bytes) {
  faultPoint();
  // Not ftruncate: a full disk is better found now than at a later write.
  int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  if (error == 0 || bytes == 0)
    return;
  errno = error;
  bool unsupported = error == EOPNOTSUPP || error == EINVAL;
  if (!unsupported || ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    failSystem(fmt::format("cannot reserve {} bytes for {}", bytes, path));
}

void DurableFile::sync() {
  faultPoint();
  if (fsync(fd) != 0)
    failSystem("cannot sync " + path);
}

std::optional<uint64_t> freeBytes(const std::string &path) {
  if (const char *text = std::getenv("FF_FREE_DISK"))
    return std::strtoull(text, nullptr, 10);
  struct statvfs info;
  if (statvfs(path.c_str(), &info) != 0)
    return std::nullopt;
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

void makeFolder(const std::string &path) {
  faultPoint();
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    failSystem("cannot create the folder " + path);
}

void syncFolder(const std::string &path) {
  faultPoint();
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    failSystem("cannot open the folder " + path);
  // Some network file systems cannot sync a folder; they need not.
  bool failed = fsync(fd) != 0 && errno != EINVAL;
  close(fd);
  if (failed)
    failSystem("cannot sync the folder " + path);
}

bool moveFolder(const std::string &from, const std::string &to) {
  faultPoint();
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                RENAME_NOREPLACE) == 0)
    return false;
  if (errno == EEXIST && renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                                   RENAME_EXCHANGE) == 0)
    return true;
  // A file system without these modes: replaces only what is not there.
  if (errno == EINVAL && access(to.c_str(), F_OK) != 0 &&
      rename(from.c_str(), to.c_str()) == 0)
    return false;
  failSystem(fmt::format("cannot rename {} to {}", from, to));
}

void removeFolder(const std::string &path) {
  faultPoint();
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error)
    fail("cannot remove {}: {}", path, error.message());
}

} // namespace ff::rt
