//===- DurableFile.h - File operations that survive a crash ---------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that writes a checkpoint goes through these functions. For tests,
// the environment variable FF_FAULT_WRITE=n kills the process (SIGKILL) at the
// n-th of these operations, counted from 1 in each process; a write is cut in
// the middle first. FF_FAULT_WRITE=n@R does so on rank R alone.
// FF_FULL_DISK=n@R fails the n-th write with ENOSPC instead. FF_FREE_DISK=n is
// what freeBytes() says.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_DURABLEFILE_H
#define FF_RUNTIME_TRAIN_DURABLEFILE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ff::rt {

/// Reads the variables above for this rank. Without this call, or where they
/// are not set, nothing fails.
void armFaults(int rank);

/// FF_FAULT_READ=n@R: whether this is the n-th block of weights that the rank
/// reads, which is to fail.
bool isUnreadable();

/// A file that is written at offsets, possibly by several ranks. An Error names
/// the path and the bytes.
class DurableFile {
public:
  /// Opens the file for writing; `create` makes it, or empties what is there.
  DurableFile(const std::string &path, bool create);
  ~DurableFile();
  DurableFile(const DurableFile &) = delete;
  DurableFile &operator=(const DurableFile &) = delete;

  void write(const void *data, size_t bytes, size_t offset);
  /// Gives the file its final size; the disk space is reserved.
  void resize(size_t bytes);
  void sync();

private:
  std::string path;
  int fd = -1;
};

/// Bytes that may still be written to the file system of a folder; nothing
/// where it does not say.
std::optional<uint64_t> freeBytes(const std::string &path);

void makeFolder(const std::string &path);
/// Makes what a folder holds (names of new files, renames) survive a crash.
void syncFolder(const std::string &path);
/// Renames a folder. Where `to` exists, the two swap names in one step and
/// true is returned: `from` is then the old `to`.
bool moveFolder(const std::string &from, const std::string &to);
/// Removes a folder with what it holds; absent is fine.
void removeFolder(const std::string &path);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_DURABLEFILE_H
