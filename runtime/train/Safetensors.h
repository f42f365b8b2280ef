//===- Safetensors.h - Reads safetensors files ----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_SAFETENSORS_H
#define FF_RUNTIME_TRAIN_SAFETENSORS_H

#include "runtime/core/Dtype.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ff::rt {

/// A tensor of a file, as its header describes it.
struct FileTensor {
  std::string dtype; ///< the name in the file, such as "F32" or "U8"
  std::vector<int64_t> shape;
  size_t begin = 0, end = 0; ///< bytes in the data part

  int64_t numel() const;
};

/// A memory-mapped file whose header was checked as a whole: sizes, dtypes,
/// duplicates, overlaps and holes. Errors name the file, what was expected and
/// what is there.
class SafetensorsFile {
public:
  explicit SafetensorsFile(const std::string &path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile &) = delete;
  SafetensorsFile &operator=(const SafetensorsFile &) = delete;

  const std::string &path() const { return filePath; }
  const std::map<std::string, FileTensor> &tensors() const { return entries; }
  const std::map<std::string, std::string> &metadata() const { return extra; }

  /// An Error with the nearest names where the file has no such tensor.
  const FileTensor &tensor(const std::string &name) const;
  const char *data(const FileTensor &tensor) const {
    return dataStart + tensor.begin;
  }
  /// The byte of the file at which a tensor begins.
  size_t offset(const FileTensor &tensor) const {
    return static_cast<size_t>(dataStart - mapping) + tensor.begin;
  }

  /// Copies `bytes` bytes of a tensor, from byte `first` of it on, without the
  /// mapping, whose pages would count as memory of this process.
  void read(const FileTensor &tensor, size_t first, size_t bytes,
            void *out) const;

  /// Opens it for read(), which does so else: two threads may read then.
  void open() const;

  /// Tells the system that these bytes of a tensor are read soon, after open().
  void expect(const FileTensor &tensor, size_t first, size_t bytes) const;

  /// Tells the system that the bytes of `tensor` are not needed again soon.
  void forget(const FileTensor &tensor) const;

private:
  void parseHeader(const std::string &header);
  void checkOffsets(size_t dataBytes) const;

  std::string filePath;
  mutable int fd =
      -1; ///< opened by the first read(): data sets have many files
  uint64_t inode = 0;
  char *mapping = nullptr;
  size_t mappedBytes = 0;
  const char *dataStart = nullptr;
  std::map<std::string, FileTensor> entries;
  std::map<std::string, std::string> extra; ///< __metadata__
};

/// Converts n elements. False, with nothing written, where the conversion is
/// not supported; with `lossless`, also where it could change a value.
bool convertFromFile(const std::string &srcType, const void *src, DType dstType,
                     void *dst, int64_t n, bool lossless);

/// `[2, 3]`
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_SAFETENSORS_H
