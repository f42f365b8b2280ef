//===- PageHeader.cpp - The header of a page ------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/parquet/PageHeader.h"
#include "runtime/parquet/Error.h"

namespace ff::parquet {

namespace {

/// Types of Thrift's compact protocol.
enum Wire {
  Stop = 0,
  True = 1,
  False = 2,
  Byte = 3,
  I16 = 4,
  I32 = 5,
  I64 = 6,
  Double = 7,
  Binary = 8,
  List = 9,
  Set = 10,
  Map = 11,
  Struct = 12
};

/// Thrown where the bytes end within the header.
struct Ended {};

class Reader {
public:
  Reader(const uint8_t *data, size_t bytes) : begin(data), at(data) {
    end = data + bytes;
  }

  size_t used() const { return at - begin; }

  uint8_t byte() {
    if (at == end)
      throw Ended();
    return *at++;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      uint8_t next = byte();
      value |= static_cast<uint64_t>(next & 0x7f) << shift;
      if (!(next & 0x80))
        return value;
    }
    fail("a page header is broken: a number of more than 64 bits");
  }

  int64_t zigzag() {
    uint64_t value = varint();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }

  int32_t i32(int type) {
    if (type != I32)
      fail("a page header is broken: type {} where a number is expected", type);
    int64_t value = zigzag();
    if (value < INT32_MIN || value > INT32_MAX)
      fail("a page header is broken: {} where 32 bits are expected", value);
    return static_cast<int32_t>(value);
  }

  void advance(uint64_t count) {
    if (count > static_cast<uint64_t>(end - at))
      throw Ended();
    at += count;
  }

  void skip(int type, int depth = 0) {
    if (depth > 8)
      fail("a page header is broken: it is nested too deep");
    switch (type) {
    case True:
    case False:
      return;
    case Byte:
      return advance(1);
    case I16:
    case I32:
    case I64:
      varint();
      return;
    case Double:
      return advance(8);
    case Binary:
      return advance(varint());
    case List:
    case Set: {
      uint8_t head = byte();
      uint64_t count = head >> 4 == 15 ? varint() : head >> 4;
      for (uint64_t i = 0; i < count; ++i)
        skipElement(head & 15, depth);
      return;
    }
    case Map: {
      uint64_t count = varint();
      uint8_t types = count ? byte() : 0;
      for (uint64_t i = 0; i < count; ++i) {
        skipElement(types >> 4, depth);
        skipElement(types & 15, depth);
      }
      return;
    }
    case Struct:
      fields([&](int, int type) { skip(type, depth + 1); });
      return;
    }
    fail("a page header is broken: it has a value of type {}", type);
  }

  /// Calls `body(id, type)` for each field of a struct; it reads the value.
  template <typename Body> void fields(Body &&body) {
    int64_t id = 0;
    while (uint8_t head = byte()) {
      id = head >> 4 ? id + (head >> 4) : zigzag();
      body(id < 0 || id > INT16_MAX ? -1 : static_cast<int>(id), head & 15);
    }
  }

private:
  void skipElement(int type, int depth) {
    // Within a list, a truth value takes a byte.
    if (type == True || type == False)
      advance(1);
    else
      skip(type, depth + 1);
  }

  const uint8_t *begin, *at, *end;
};

void readData(Reader &reader, PageHeader &header, bool isData) {
  reader.fields([&](int id, int type) {
    if (id == 1)
      header.values = reader.i32(type);
    else if (id == 2)
      header.encoding = reader.i32(type);
    else if (id == 3 && isData) // a dictionary has a truth value there
      header.definitionEncoding = reader.i32(type);
    else
      reader.skip(type);
  });
}

void readDataV2(Reader &reader, PageHeader &header) {
  reader.fields([&](int id, int type) {
    if (id == 1)
      header.values = reader.i32(type);
    else if (id == 4)
      header.encoding = reader.i32(type);
    else if (id == 5)
      header.definitionBytes = reader.i32(type);
    else if (id == 6)
      header.repetitionBytes = reader.i32(type);
    else if (id == 7)
      header.isCompressed = type == True;
    else
      reader.skip(type);
  });
}

} // namespace

std::optional<PageHeader> parsePageHeader(const uint8_t *data, size_t bytes) {
  PageHeader header;
  Reader reader(data, bytes);
  int body = -1; // the type whose fields were read
  try {
    reader.fields([&](int id, int type) {
      if (id == 1) {
        header.type = reader.i32(type);
      } else if (id == 2) {
        header.uncompressedBytes = reader.i32(type);
      } else if (id == 3) {
        header.compressedBytes = reader.i32(type);
      } else if (id == 5 && type == Struct) {
        body = PageHeader::Data;
        readData(reader, header, true);
      } else if (id == 7 && type == Struct) {
        body = PageHeader::Dictionary;
        readData(reader, header, false);
      } else if (id == 8 && type == Struct) {
        body = PageHeader::DataV2;
        readDataV2(reader, header);
      } else {
        reader.skip(type);
      }
    });
  } catch (const Ended &) {
    return std::nullopt;
  }
  bool isKnown = header.type == PageHeader::Data ||
                 header.type == PageHeader::DataV2 ||
                 header.type == PageHeader::Dictionary;
  if (header.type < 0 || header.uncompressedBytes < 0 ||
      header.compressedBytes < 0 ||
      (isKnown &&
       (body != header.type || header.values < 0 || header.encoding < 0 ||
        header.definitionBytes < 0 || header.repetitionBytes < 0)))
    fail("a page header is broken: it lacks sizes or a number of values");
  header.headerBytes = static_cast<int32_t>(reader.used());
  return header;
}

} // namespace ff::parquet
