//===- Safetensors.cpp - Headers of safetensors files -----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Safetensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace ff::frontend;
using llvm::StringRef;

const TensorInfo *SafetensorsHeader::find(StringRef name) const {
  auto it = llvm::find_if(tensors,
                          [&](const TensorInfo &t) { return t.name == name; });
  return it == tensors.end() ? nullptr : &*it;
}

/// Bytes of an element, 0 for an unknown dtype.
static unsigned bytesOf(StringRef dtype) {
  return llvm::StringSwitch<unsigned>(dtype)
      .Cases("F64", "I64", "U64", 8)
      .Cases("F32", "I32", "U32", 4)
      .Cases("F16", "BF16", "I16", "U16", 2)
      .Cases("I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", 1)
      .Default(0);
}

bool ff::frontend::isNestedTooDeeply(StringRef json) {
  constexpr unsigned limit = 100;
  unsigned depth = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if ((c == '{' || c == '[') && ++depth > limit)
      return true;
    if ((c == '}' || c == ']') && depth)
      --depth;
    if (c != '"')
      continue;
    ++i;
    while (i < json.size() && json[i] != '"')
      i += json[i] == '\\' ? 2 : 1;
  }
  return false;
}

/// The first key that stands twice in the outermost object. llvm::json keeps
/// the last of them without a word.
static std::string findDuplicateKey(StringRef json) {
  llvm::StringSet<> seen;
  unsigned depth = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (c == '{' || c == '[')
      ++depth;
    if (c == '}' || c == ']')
      --depth;
    if (c != '"')
      continue;
    size_t begin = ++i;
    while (i < json.size() && json[i] != '"')
      i += json[i] == '\\' ? 2 : 1;
    StringRef text = json.slice(begin, i);
    bool isKey =
        json.drop_front(std::min(i + 1, json.size())).ltrim().starts_with(":");
    if (depth == 1 && isKey && !seen.insert(text).second)
      return text.str();
  }
  return "";
}

static std::string parseTensor(StringRef name, const llvm::json::Value &value,
                               TensorInfo &info) {
  std::string where = ("tensor '" + name + "' ").str();
  const llvm::json::Object *object = value.getAsObject();
  const llvm::json::Array *shape = object ? object->getArray("shape") : nullptr;
  const llvm::json::Array *offsets =
      object ? object->getArray("data_offsets") : nullptr;
  auto dtype = object ? object->getString("dtype") : std::nullopt;
  if (!shape || !offsets || !dtype || offsets->size() != 2)
    return where + "lacks its dtype, shape or data_offsets";
  unsigned bytes = bytesOf(*dtype);
  if (!bytes)
    return where + "has the unknown dtype " + dtype->str();
  uint64_t size = bytes;
  for (const llvm::json::Value &item : *shape) {
    auto dim = item.getAsInteger();
    if (!dim || *dim < 0)
      return where + "has a size that is not a number";
    info.shape.push_back(*dim);
    if (*dim && size > (uint64_t(1) << 62) / static_cast<uint64_t>(*dim))
      return where + "is larger than any file";
    size *= static_cast<uint64_t>(*dim);
  }
  auto begin = (*offsets)[0].getAsInteger(), end = (*offsets)[1].getAsInteger();
  if (!begin || !end || *begin < 0 || *end < *begin)
    return where + "has offsets that are not a range";
  info.name = name.str();
  info.dtype = dtype->lower();
  info.begin = *begin;
  info.end = *end;
  if (info.end - info.begin != size)
    return where + "has " + std::to_string(info.end - info.begin) +
           " bytes, its shape takes " + std::to_string(size);
  return "";
}

static std::string checkExtent(SafetensorsHeader &header, uint64_t dataStart,
                               uint64_t fileSize) {
  llvm::sort(header.tensors, [](const TensorInfo &a, const TensorInfo &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t end = 0;
  for (const TensorInfo &tensor : header.tensors) {
    if (tensor.begin != end)
      return "tensor '" + tensor.name + "' begins at " +
             std::to_string(tensor.begin) + ", the one before it ends at " +
             std::to_string(end);
    end = tensor.end;
    if (dataStart + end <= fileSize)
      continue;
    return "it is truncated: expected " +
           std::to_string(dataStart + header.tensors.back().end) +
           " bytes, it has " + std::to_string(fileSize) +
           "; the first tensor that is cut is '" + tensor.name + "'";
  }
  if (dataStart + end != fileSize)
    return "it has " + std::to_string(fileSize - dataStart - end) +
           " bytes after its last tensor";
  return "";
}

std::string ff::frontend::readSafetensorsHeader(StringRef path,
                                                SafetensorsHeader &header) {
  uint64_t fileSize = 0;
  if (std::error_code code = llvm::sys::fs::file_size(path, fileSize))
    return code.message();
  if (llvm::sys::fs::is_directory(path))
    return "it is a folder";
  auto prefix = llvm::MemoryBuffer::getFileSlice(path, 8, 0);
  if (fileSize < 8)
    return "it is truncated: a header takes 8 bytes, it has " +
           std::to_string(fileSize);
  if (!prefix)
    return prefix.getError().message();
  uint64_t length =
      llvm::support::endian::read64le((*prefix)->getBufferStart());
  constexpr uint64_t limit = 100'000'000; // that of the reference reader
  if (length > limit)
    return "it is not a safetensors file: its header would take " +
           std::to_string(length) + " bytes";
  if (8 + length > fileSize)
    return "it is truncated: expected at least " + std::to_string(8 + length) +
           " bytes for its header, it has " + std::to_string(fileSize);
  auto buffer = llvm::MemoryBuffer::getFileSlice(path, length, 8);
  if (!buffer)
    return buffer.getError().message();
  StringRef text = (*buffer)->getBuffer();
  if (isNestedTooDeeply(text))
    return "its header is nested too deeply";
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json)
    return "its header is not JSON: " + llvm::toString(json.takeError());
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return "its header is not a JSON object";
  if (std::string twice = findDuplicateKey(text); !twice.empty())
    return "its header names tensor '" + twice + "' twice";
  for (const auto &[key, value] : *object) {
    StringRef name = key;
    if (name == "__metadata__")
      continue;
    TensorInfo info;
    if (std::string wrong = parseTensor(name, value, info); !wrong.empty())
      return wrong;
    header.tensors.push_back(std::move(info));
  }
  return checkExtent(header, 8 + length, fileSize);
}
