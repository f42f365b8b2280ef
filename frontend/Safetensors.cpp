//===- Safetensors.cpp - Headers of safetensors files -----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Safetensors.h"

#include "frontend/JsonReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace ff::frontend;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;

const TensorInfo *SafetensorsHeader::find(StringRef name) const {
  auto it = llvm::find_if(tensors,
                          [&](const TensorInfo &t) { return t.name == name; });
  return it == tensors.end() ? nullptr : &*it;
}

/// Bits of an element, 0 for an unknown dtype. All that the format has: which
/// of them can be used is not the question here.
static unsigned bitsOf(StringRef dtype) {
  return llvm::StringSwitch<unsigned>(dtype)
      .Cases("F64", "I64", "U64", "C64", 64)
      .Cases("F32", "I32", "U32", 32)
      .Cases("F16", "BF16", "I16", "U16", 16)
      .Cases("I8", "U8", "BOOL", 8)
      .Cases("F8_E4M3", "F8_E5M2", "F8_E8M0", 8)
      .Cases("F8_E4M3FNUZ", "F8_E5M2FNUZ", 8)
      .Cases("F6_E2M3", "F6_E3M2", 6)
      .Case("F4", 4)
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

std::string ff::frontend::whyNotRegular(StringRef path) {
  fs::file_status status;
  if (std::error_code code = fs::status(path, status))
    return code.message();
  if (fs::is_directory(status))
    return "it is a folder";
  if (!fs::is_regular_file(status))
    return "it is not a regular file";
  return "";
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
/// Reads the text of a header.
class HeaderReader {
public:
  HeaderReader(StringRef text, StringRef file, SafetensorsHeader &header)
      : json(text, "its header"), file(file), header(header) {}

  /// Empty, or what is wrong.
  std::string read();

private:
  bool readMetadata();
  bool readTensor(StringRef name, size_t offset);
  bool readShape(TensorInfo &info, StringRef name);
  bool readOffsets(TensorInfo &info, StringRef name);
  bool checkSize(const TensorInfo &info, StringRef dtype);

  bool fail(StringRef name, const Twine &message) {
    return json.fail(("tensor '" + name + "' " + message).str());
  }

  JsonReader json;
  StringRef file;
  SafetensorsHeader &header;
  llvm::StringMap<size_t> offsets; ///< of the names in the header
};
} // namespace

std::string HeaderReader::read() {
  bool ok = json.object([&](StringRef name, size_t offset) {
    auto [first, isNew] = offsets.try_emplace(name, offset);
    if (!isNew)
      return json.fail(("duplicate tensor '" + name + "' in " +
                        llvm::sys::path::filename(file) + " (header offsets " +
                        Twine(first->second) + " and " + Twine(offset) + ")")
                           .str());
    return name == "__metadata__" ? readMetadata() : readTensor(name, offset);
  });
  if (ok)
    json.end();
  return json.error();
}

bool HeaderReader::readMetadata() {
  std::string value;
  if (json.peek() != '{')
    return json.fail("its __metadata__ is not a table of strings");
  return json.object([&](StringRef key, size_t) {
    if (json.peek() != '"')
      return json.fail("its __metadata__ is not a table of strings: '" +
                       key.str() + "' is none");
    bool ok = json.string(value);
    if (ok && key == "lora_adapter_metadata")
      header.adapterConfig = value;
    return ok;
  });
}

bool HeaderReader::readShape(TensorInfo &info, StringRef name) {
  return json.array([&] {
    uint64_t dim = 0;
    StringRef token;
    if (!json.integer(dim, token))
      return fail(name, "has the size " + token +
                            ", which is not a number from 0 to 2^63 - 1");
    info.shape.push_back(static_cast<int64_t>(dim));
    return true;
  });
}

bool HeaderReader::readOffsets(TensorInfo &info, StringRef name) {
  llvm::SmallVector<uint64_t, 2> range;
  bool ok = json.array([&] {
    uint64_t offset = 0;
    StringRef token;
    if (!json.integer(offset, token))
      return fail(name, "has the offset " + token +
                            ", which is not a number from 0 to 2^63 - 1");
    range.push_back(offset);
    return true;
  });
  if (!ok)
    return false;
  if (range.size() != 2 || range[1] < range[0])
    return fail(name, "has offsets that are not a range");
  info.begin = range[0];
  info.end = range[1];
  return true;
}

bool HeaderReader::checkSize(const TensorInfo &info, StringRef dtype) {
  int64_t bits = bitsOf(dtype);
  if (!bits)
    return fail(info.name, "has the unknown dtype " + dtype);
  for (int64_t dim : info.shape)
    if (llvm::MulOverflow(bits, dim, bits))
      return fail(info.name, "is larger than any file");
  if (bits % 8)
    return fail(info.name, "takes " + Twine(bits) + " bits, a file has bytes");
  if (info.end - info.begin != static_cast<uint64_t>(bits / 8))
    return fail(info.name, "has " + Twine(info.end - info.begin) +
                               " bytes, its shape takes " + Twine(bits / 8));
  return true;
}

bool HeaderReader::readTensor(StringRef name, size_t offset) {
  if (name.empty())
    return json.fail("it has a tensor without a name (header offset " +
                     std::to_string(offset) + ")");
  if (llvm::any_of(name, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
      }))
    return json.fail("the name of a tensor has a control character (header "
                     "offset " +
                     std::to_string(offset) + ")");
  TensorInfo info;
  info.name = name.str();
  std::string dtype;
  bool hasDtype = false, hasShape = false, hasOffsets = false;
  auto lacks = [&] {
    return fail(name, "lacks its dtype, shape or data_offsets");
  };
  if (json.peek() != '{')
    return lacks();
  auto once = [&](bool &has, StringRef key, char kind) {
    if (has)
      return fail(name, "has " + key + " twice");
    has = true;
    return json.peek() == kind || lacks();
  };
  bool ok = json.object([&](StringRef key, size_t) {
    if (key == "dtype")
      return once(hasDtype, key, '"') && json.string(dtype);
    if (key == "shape")
      return once(hasShape, key, '[') && readShape(info, name);
    if (key == "data_offsets")
      return once(hasOffsets, key, '[') && readOffsets(info, name);
    return json.skip(); // the reference reader takes other keys, too
  });
  if (!ok)
    return false;
  if (!hasDtype || !hasShape || !hasOffsets)
    return lacks();
  info.dtype = StringRef(dtype).lower();
  if (!checkSize(info, dtype))
    return false;
  header.tensors.push_back(std::move(info));
  return true;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Whether the tensors lie one after the other, and nothing else in the file.
static std::string checkExtent(SafetensorsHeader &header, uint64_t dataStart,
                               uint64_t fileSize) {
  llvm::sort(header.tensors, [](const TensorInfo &a, const TensorInfo &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t end = 0;
  const TensorInfo *last = nullptr;
  for (const TensorInfo &tensor : header.tensors) {
    if (tensor.begin < end)
      return "tensors '" + last->name + "' and '" + tensor.name +
             "' overlap: the second begins at " + std::to_string(tensor.begin) +
             ", the first ends at " + std::to_string(end);
    if (tensor.begin > end)
      return "tensor '" + tensor.name + "' begins at " +
             std::to_string(tensor.begin) + ", the one before it ends at " +
             std::to_string(end) + ": the bytes between belong to none";
    end = tensor.end;
    last = &tensor;
  }
  for (const TensorInfo &tensor : header.tensors)
    if (dataStart + tensor.end > fileSize)
      return "it is truncated: expected " + std::to_string(dataStart + end) +
             " bytes, it has " + std::to_string(fileSize) +
             "; the first tensor that is cut is '" + tensor.name + "'";
  if (dataStart + end != fileSize)
    return "it has " + std::to_string(fileSize - dataStart - end) +
           " bytes after its last tensor";
  return "";
}

std::string ff::frontend::readSafetensorsHeader(StringRef path,
                                                SafetensorsHeader &header) {
  // Opening a pipe would wait for a writer.
  if (std::string wrong = whyNotRegular(path); !wrong.empty())
    return wrong;
  uint64_t fileSize = 0;
  if (std::error_code code = fs::file_size(path, fileSize))
    return code.message();
  if (fileSize == 0)
    return "it is empty";
  auto prefix = llvm::MemoryBuffer::getFileSlice(path, 8, 0);
  if (!prefix)
    return prefix.getError().message();
  if (fileSize < 8)
    return "it is truncated: a header takes 8 bytes, it has " +
           std::to_string(fileSize);
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
  if (!text.starts_with("{"))
    return "its header is not JSON: it does not begin with '{'";
  std::string wrong = HeaderReader(text, path, header).read();
  return wrong.empty() ? checkExtent(header, 8 + length, fileSize) : wrong;
}
