//===- Safetensors.cpp - Reads safetensors files --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Safetensors.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ff::rt {

using nlohmann::json;

namespace {

/// The limit of the format's own library.
constexpr uint64_t maxHeaderBytes = 100'000'000;

template <typename Src>
bool convertIntegers(const void *src, DType dstType, void *dst, int64_t n) {
  const Src *in = static_cast<const Src *>(src);
  auto run = [&](auto *out) {
    for (int64_t i = 0; i < n; ++i) {
      Src value; // data of a file has no alignment
      std::memcpy(&value, in + i, sizeof value);
      out[i] = static_cast<std::remove_pointer_t<decltype(out)>>(value);
    }
    return true;
  };
  if (dstType == FF_F32)
    return run(static_cast<float *>(dst));
  if (dstType == FF_F64)
    return run(static_cast<double *>(dst));
  if (dstType == FF_I64)
    return run(static_cast<int64_t *>(dst));
  if (dstType == FF_I32)
    return run(static_cast<int32_t *>(dst));
  return false;
}

/// Whether every value of `from` is a value of `to`.
bool isLossless(DType from, DType to) {
  if (from == to)
    return true;
  if (isFloat(from))
    return to == FF_F64 || (to == FF_F32 && from != FF_F64);
  size_t fromSize = dtypeSize(from);
  if (!isFloat(to))
    return dtypeSize(to) > fromSize && to != FF_BOOL;
  return (to == FF_F32 && fromSize <= 1) || (to == FF_F64 && fromSize <= 4);
}

} // namespace

int64_t FileTensor::numel() const {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

bool convertFromFile(const std::string &srcType, const void *src, DType dstType,
                     void *dst, int64_t n, bool lossless) {
  DType from;
  if (parseFileDtype(srcType, from)) {
    if (lossless ? !isLossless(from, dstType)
                 : isFloat(from) && !isFloat(dstType))
      return false;
    convertElements(from, src, dstType, dst, n);
    return true;
  }
  bool narrow = dstType == FF_F32 || dstType == FF_I32;
  if (srcType == "U8")
    return convertIntegers<uint8_t>(src, dstType, dst, n);
  if (srcType == "I16")
    return convertIntegers<int16_t>(src, dstType, dst, n);
  if (srcType == "U16")
    return convertIntegers<uint16_t>(src, dstType, dst, n);
  if (srcType == "U32" && !(lossless && narrow))
    return convertIntegers<uint32_t>(src, dstType, dst, n);
  return false;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t dim : shape)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", dim);
  return "[" + text + "]";
}

SafetensorsFile::SafetensorsFile(const std::string &path) : filePath(path) {
  // A pipe would wait for a writer.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    fail("cannot open {}: {}", path, std::strerror(errno));
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    fail("{} is not a regular file; fix: name a safetensors file", path);
  }
  mappedBytes = static_cast<size_t>(info.st_size);
  if (mappedBytes < 8) {
    close(fd);
    fail("{} is not a safetensors file: it has {} bytes, the length of the "
         "header alone takes 8",
         path, mappedBytes);
  }
  inode = info.st_ino;
  void *memory = mmap(nullptr, mappedBytes, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED)
    fail("cannot map {}: {}", path, std::strerror(errno));
  mapping = static_cast<char *>(memory);
  try {
    uint64_t headerBytes;
    std::memcpy(&headerBytes, mapping, 8);
    if (headerBytes > maxHeaderBytes)
      fail("{} is not a safetensors file: its header would have {} bytes, more "
           "than the limit of {}",
           path, headerBytes, maxHeaderBytes);
    if (headerBytes > mappedBytes - 8)
      fail("{} is truncated: its header needs {} bytes, the file has {}; fix: "
           "copy or download it again",
           path, headerBytes + 8, mappedBytes);
    dataStart = mapping + 8 + headerBytes;
    parseHeader(std::string(mapping + 8, headerBytes));
    checkOffsets(mappedBytes - 8 - headerBytes);
  } catch (...) {
    munmap(mapping, mappedBytes);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() {
  munmap(mapping, mappedBytes);
  if (fd >= 0)
    close(fd);
}

void SafetensorsFile::parseHeader(const std::string &header) {
  // The JSON parser keeps the last of two equal keys, so look at each.
  std::set<std::string> names;
  auto onEvent = [&](int depth, json::parse_event_t event, json &parsed) {
    if (event != json::parse_event_t::key || depth != 1)
      return true;
    const std::string &name = parsed.get_ref<const std::string &>();
    if (!names.insert(name).second) {
      std::string quoted = json(name).dump();
      size_t first = header.find(quoted);
      fail("duplicate tensor '{}' in {} (header offsets {} and {})", name,
           filePath, first, header.find(quoted, first + 1));
    }
    return true;
  };
  json document;
  try {
    document = json::parse(header, onEvent);
  } catch (const json::exception &e) {
    fail("the header of {} is not JSON: {}", filePath, e.what());
  }
  if (!document.is_object())
    fail("the header of {} is not a JSON object", filePath);
  for (const auto &item : document.items()) {
    const json &value = item.value();
    try {
      if (item.key() == "__metadata__") {
        extra = value.get<std::map<std::string, std::string>>();
        continue;
      }
      FileTensor tensor;
      tensor.dtype = value.at("dtype").get<std::string>();
      tensor.shape = value.at("shape").get<std::vector<int64_t>>();
      const json &offsets = value.at("data_offsets");
      if (value.size() != 3 || offsets.size() != 2 ||
          !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
        fail("tensor '{}' in {} does not have exactly dtype, shape and two "
             "data_offsets",
             item.key(), filePath);
      tensor.begin = offsets[0].get<size_t>();
      tensor.end = offsets[1].get<size_t>();
      entries.emplace(item.key(), std::move(tensor));
    } catch (const json::exception &e) {
      fail("tensor '{}' in {}: {}", item.key(), filePath, e.what());
    }
  }
}

void SafetensorsFile::checkOffsets(size_t dataBytes) const {
  std::vector<std::pair<const std::string, FileTensor> const *> order;
  for (const auto &entry : entries) {
    const FileTensor &tensor = entry.second;
    size_t size = fileDtypeSize(tensor.dtype);
    if (!size)
      fail("tensor '{}' in {} has the unknown dtype '{}'", entry.first,
           filePath, tensor.dtype);
    unsigned __int128 bytes = size;
    for (int64_t dim : tensor.shape) {
      if (dim < 0)
        fail("tensor '{}' in {} has the shape {}", entry.first, filePath,
             shapeText(tensor.shape));
      bytes *= static_cast<uint64_t>(dim);
      if (bytes > UINT64_MAX)
        fail("tensor '{}' in {} has the shape {}, which is too large",
             entry.first, filePath, shapeText(tensor.shape));
    }
    if (tensor.end < tensor.begin || tensor.end - tensor.begin != bytes)
      fail(
          "tensor '{}' in {} has dtype {} and shape {}, which is {} bytes, but "
          "the data offsets [{}, {}]",
          entry.first, filePath, tensor.dtype, shapeText(tensor.shape),
          static_cast<uint64_t>(bytes), tensor.begin, tensor.end);
    order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](auto *a, auto *b) {
    return std::make_pair(a->second.begin, a->second.end) <
           std::make_pair(b->second.begin, b->second.end);
  });
  size_t end = 0;
  const std::string *before = nullptr, *cut = nullptr;
  for (auto *entry : order) {
    const FileTensor &tensor = entry->second;
    if (tensor.begin < end)
      fail("tensors '{}' and '{}' in {} overlap: one ends at {}, the other "
           "begins at {}",
           *before, entry->first, filePath, end, tensor.begin);
    if (tensor.begin > end)
      fail("{} has {} bytes of no tensor before '{}'", filePath,
           tensor.begin - end, entry->first);
    if (tensor.end > dataBytes && !cut)
      cut = &entry->first;
    end = tensor.end;
    before = &entry->first;
  }
  size_t headerEnd = static_cast<size_t>(dataStart - mapping);
  if (cut)
    fail("{} is truncated: {} bytes expected, {} found; the first tensor that "
         "is cut is '{}'; fix: copy or download it again",
         filePath, headerEnd + end, mappedBytes, *cut);
  if (end != dataBytes)
    fail("{} has {} bytes behind the last tensor: {} expected, {} found",
         filePath, dataBytes - end, headerEnd + end, mappedBytes);
}

const FileTensor &SafetensorsFile::tensor(const std::string &name) const {
  auto it = entries.find(name);
  if (it != entries.end())
    return it->second;
  std::string some;
  int count = 0;
  for (const auto &entry : entries)
    if (count++ < 8)
      some += fmt::format("{}'{}'", some.empty() ? "" : ", ", entry.first);
  fail("{} has no tensor '{}'; it has {}{}", filePath, name,
       some.empty() ? "none" : some, entries.size() > 8 ? ", ..." : "");
}

void SafetensorsFile::open() const {
  if (fd >= 0)
    return;
  struct stat info;
  fd = ::open(filePath.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    fail("cannot open {}: {}", filePath, std::strerror(errno));
  if (fstat(fd, &info) != 0 || info.st_ino != inode)
    fail("{} was replaced while it was read; fix: start again", filePath);
}

void SafetensorsFile::read(const FileTensor &tensor, size_t first, size_t bytes,
                           void *out) const {
  open();
  char *to = static_cast<char *>(out);
  size_t position =
      static_cast<size_t>(dataStart - mapping) + tensor.begin + first;
  while (bytes) {
    ssize_t n = pread(fd, to, bytes, static_cast<off_t>(position));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      fail("cannot read {} bytes at {} of {}: {}", bytes, position, filePath,
           n ? std::strerror(errno) : "the file was cut");
    to += n;
    position += static_cast<size_t>(n);
    bytes -= static_cast<size_t>(n);
  }
}

void SafetensorsFile::expect(const FileTensor &tensor, size_t first,
                             size_t bytes) const {
  posix_fadvise(fd, static_cast<off_t>(offset(tensor) + first),
                static_cast<off_t>(bytes), POSIX_FADV_WILLNEED); // only a hint
}

void SafetensorsFile::forget(const FileTensor &tensor) const {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t begin = static_cast<size_t>(data(tensor) - mapping) / page * page;
  size_t end =
      static_cast<size_t>(data(tensor) - mapping) + (tensor.end - tensor.begin);
  madvise(mapping + begin, end - begin, MADV_DONTNEED);
}

} // namespace ff::rt
