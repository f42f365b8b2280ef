//===- TensorFile.h - Writes safetensors files ----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_TENSORFILE_H
#define FF_RUNTIME_TRAIN_TENSORFILE_H

#include "runtime/core/Metadata.h"
#include "runtime/train/DurableFile.h"
#include "runtime/train/Safetensors.h"

namespace ff::rt {

/// A tensor of a file that is to be written.
struct PlannedTensor {
  std::string name;
  std::string dtype; ///< in the file, such as "BF16"
  std::vector<int64_t> shape;

  size_t bytes() const;
};

/// Bytes of a file that were written.
struct Span {
  size_t offset, bytes;
};

/// The tensors of a file and where their bytes lie. Every rank computes the
/// same plan and writes its bytes; no tensor is ever gathered.
class TensorFilePlan {
public:
  /// Places `tensors` in this order. A file of weights says in its header that
  /// it is of PyTorch, without which some libraries refuse it, and what
  /// `adapter`, the JSON of diffusers, says of adapters.
  explicit TensorFilePlan(std::vector<PlannedTensor> tensors,
                          bool weights = false,
                          const std::string &adapter = "");

  const std::vector<PlannedTensor> &tensors() const { return planned; }
  /// Byte in the file of the first element of tensor `index`.
  size_t offset(size_t index) const { return offsets[index]; }
  size_t totalBytes() const { return total; }
  size_t dataBytes() const { return total - 8 - header.size(); }

  /// Creates the file with its header and its final size: rank 0 does it.
  void create(const std::string &path) const;

  /// Reads the file back: an Error where tensors or shapes are not those of the
  /// plan.
  void verify(const std::string &path) const;

  /// An Error where `spans`, what all ranks wrote, leaves a byte of a tensor
  /// out or names one twice.
  void checkCoverage(const std::string &path, std::vector<Span> spans) const;

private:
  const std::string &tensorAt(size_t byte) const;

  std::vector<PlannedTensor> planned;
  std::vector<size_t> offsets;
  std::string header;
  size_t total = 0;
};

std::vector<PlannedTensor> plannedTensors(const std::vector<TensorType> &types);

/// Reads `count` elements of a tensor, from element `first` on, in chunks of
/// `staging`. Returns the largest finite value that became infinite, or 0.
/// Types that are not ours are read as the bytes that they are.
double readElements(const SafetensorsFile &file, const FileTensor &tensor,
                    int64_t first, int64_t count, DType dtype, void *out,
                    std::vector<char> &staging);

/// Writes `count` elements at byte `offset`, converted to the dtype `to` of the
/// file, in chunks of `staging`. Returns what readElements returns.
double writeElements(DurableFile &file, size_t offset, const std::string &to,
                     DType dtype, const void *data, int64_t count,
                     std::vector<char> &staging);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_TENSORFILE_H
