//===- TensorFile.cpp - Writes safetensors files --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/TensorFile.h"
#include "runtime/core/Error.h"
#include "runtime/core/Layout.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace ff::rt {

size_t PlannedTensor::bytes() const {
  size_t bytes = fileDtypeSize(dtype);
  for (int64_t dim : shape)
    bytes *= static_cast<size_t>(dim);
  return bytes;
}

TensorFilePlan::TensorFilePlan(std::vector<PlannedTensor> tensors, bool weights,
                               const std::string &adapter)
    : planned(std::move(tensors)) {
  size_t end = 0;
  if (weights) {
    nlohmann::ordered_json metadata{{"format", "pt"}};
    if (!adapter.empty())
      metadata["lora_adapter_metadata"] = adapter;
    header = "{\"__metadata__\":" + metadata.dump();
  }
  for (const PlannedTensor &tensor : planned) {
    size_t bytes = tensor.bytes();
    header += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets"
                          "\":[{},{}]}}",
                          header.empty() ? "{" : ",",
                          nlohmann::json(tensor.name).dump(), tensor.dtype,
                          shapeText(tensor.shape), end, end + bytes);
    offsets.push_back(end);
    end += bytes;
  }
  header += header.empty() ? "{}" : "}";
  // Data is aligned for readers that map the file.
  header.resize((header.size() + 8 + 63) / 64 * 64 - 8, ' ');
  for (size_t &offset : offsets)
    offset += 8 + header.size();
  total = 8 + header.size() + end;
}

void TensorFilePlan::create(const std::string &path) const {
  DurableFile file(path, true);
  file.resize(total);
  uint64_t length = header.size();
  std::string start(reinterpret_cast<const char *>(&length), sizeof length);
  start += header;
  file.write(start.data(), start.size(), 0);
}

void TensorFilePlan::verify(const std::string &path) const {
  SafetensorsFile file(path);
  for (const PlannedTensor &expected : planned) {
    auto it = file.tensors().find(expected.name);
    std::string found = "no such tensor";
    if (it != file.tensors().end())
      found = it->second.dtype + " " + shapeText(it->second.shape);
    std::string wanted = expected.dtype + " " + shapeText(expected.shape);
    if (found != wanted)
      fail("'{}' in {}: expected {}, the file has {}", expected.name, path,
           wanted, found);
    if (!expected.bytes())
      fail("'{}' in {} is empty: its shape is {}", expected.name, path,
           shapeText(expected.shape));
  }
  if (file.tensors().size() != planned.size())
    fail("{} has {} tensors, expected {}", path, file.tensors().size(),
         planned.size());
}

const std::string &TensorFilePlan::tensorAt(size_t byte) const {
  auto it = std::upper_bound(offsets.begin(), offsets.end(), byte);
  size_t after = static_cast<size_t>(it - offsets.begin());
  return planned[after ? after - 1 : 0].name;
}

void TensorFilePlan::checkCoverage(const std::string &path,
                                   std::vector<Span> spans) const {
  std::sort(spans.begin(), spans.end(),
            [](const Span &a, const Span &b) { return a.offset < b.offset; });
  size_t end = total - dataBytes();
  auto expect = [&](size_t next) {
    if (next > end)
      failInternal("no rank wrote the bytes [{}, {}) of {}, in '{}'", end, next,
                   path, tensorAt(end));
    if (next < end)
      failInternal("several ranks wrote the bytes [{}, {}) of {}, in '{}'",
                   next, end, path, tensorAt(next));
  };
  for (const Span &span : spans) {
    expect(span.offset);
    end = span.offset + span.bytes;
  }
  expect(total);
}

std::vector<PlannedTensor>
plannedTensors(const std::vector<TensorType> &types) {
  std::vector<PlannedTensor> tensors;
  for (const TensorType &type : types)
    tensors.push_back({type.name, fileDtypeName(type.dtype), type.shape});
  return tensors;
}

double readElements(const SafetensorsFile &file, const FileTensor &tensor,
                    int64_t first, int64_t count, DType dtype, void *out,
                    std::vector<char> &staging) {
  size_t size = dtypeSize(dtype);
  char *to = static_cast<char *>(out);
  DType from;
  if (!parseFileDtype(tensor.dtype, from) || from == dtype) {
    file.read(tensor, static_cast<size_t>(first) * size,
              static_cast<size_t>(count) * size, to);
    return 0;
  }
  staging.resize(stagingBytes);
  size_t fromSize = dtypeSize(from);
  auto chunk = static_cast<int64_t>(stagingBytes / fromSize);
  double overflow = 0;
  for (int64_t i = 0; i < count; i += chunk) {
    int64_t n = std::min(chunk, count - i);
    char *piece = to + static_cast<size_t>(i) * size;
    file.read(tensor, static_cast<size_t>(first + i) * fromSize,
              static_cast<size_t>(n) * fromSize, staging.data());
    convertElements(from, staging.data(), dtype, piece, n);
    overflow = std::max(overflow,
                        largestOverflow(from, staging.data(), dtype, piece, n));
  }
  return overflow;
}

double writeElements(DurableFile &file, size_t offset, const std::string &to,
                     DType dtype, const void *data, int64_t count,
                     std::vector<char> &staging) {
  size_t size = dtypeSize(dtype);
  const char *from = static_cast<const char *>(data);
  DType target;
  if (!parseFileDtype(to, target) || target == dtype) {
    file.write(from, static_cast<size_t>(count) * size, offset);
    return 0;
  }
  staging.resize(stagingBytes);
  size_t toSize = dtypeSize(target);
  auto chunk = static_cast<int64_t>(stagingBytes / toSize);
  double overflow = 0;
  for (int64_t i = 0; i < count; i += chunk) {
    int64_t n = std::min(chunk, count - i);
    const char *piece = from + static_cast<size_t>(i) * size;
    convertElements(dtype, piece, target, staging.data(), n);
    overflow = std::max(
        overflow, largestOverflow(dtype, piece, target, staging.data(), n));
    file.write(staging.data(), static_cast<size_t>(n) * toSize,
               offset + static_cast<size_t>(i) * toSize);
  }
  return overflow;
}

} // namespace ff::rt
