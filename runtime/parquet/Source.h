//===- Source.h - The bytes of a file -------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_PARQUET_SOURCE_H
#define FF_RUNTIME_PARQUET_SOURCE_H

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>

#include <memory>
#include <string>

namespace ff::parquet {

/// The bytes of a file, read by position: a mapping would end the process by a
/// signal where a disk fails or a file shrinks, and count as its memory. Data
/// sets have more files than a process may hold open, so a file is opened where
/// it is read, and the last ones stay open (fileCache). Any thread may read.
class Source {
public:
  explicit Source(const std::string &path);
  ~Source();
  Source(const Source &) = delete;
  Source &operator=(const Source &) = delete;

  uint64_t number() const { return id; } ///< its own in this process
  int64_t size() const { return bytes; }

  void read(int64_t at, int64_t count, void *out) const;
  std::shared_ptr<arrow::Buffer> read(int64_t at, int64_t count) const;

  /// What Arrow reads through. It must not outlive the source.
  std::shared_ptr<arrow::io::RandomAccessFile> arrowFile() const;

private:
  class Handle;
  std::shared_ptr<const Handle> handle() const;

  std::string path;
  uint64_t id;
  int64_t bytes = 0;
  uint64_t device = 0, inode = 0; ///< of the file that was opened first
  int64_t modified = 0;
};

} // namespace ff::parquet

#endif // FF_RUNTIME_PARQUET_SOURCE_H
