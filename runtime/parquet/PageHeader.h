//===- PageHeader.h - The header of a page --------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrow reads a page's header together with the page. To reach one row it is
// enough to step from header to header, so that is done here: Thrift's compact
// protocol, of which the fields that say where the next page is are kept.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_PARQUET_PAGEHEADER_H
#define FF_RUNTIME_PARQUET_PAGEHEADER_H

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ff::parquet {

/// The numbers are those of parquet.thrift.
struct PageHeader {
  enum Type { Data = 0, Index = 1, Dictionary = 2, DataV2 = 3 };
  enum Encoding { Plain = 0, PlainDictionary = 2, Rle = 3, RleDictionary = 8 };

  int32_t type = -1;
  int32_t uncompressedBytes = -1;
  int32_t compressedBytes = -1;
  // of Data, DataV2 and Dictionary
  int32_t values = -1;
  int32_t encoding = -1;
  int32_t definitionEncoding = -1; ///< of Data
  // of DataV2
  int32_t definitionBytes = 0;
  int32_t repetitionBytes = 0;
  bool isCompressed = true;

  int32_t headerBytes = 0;
};

/// The header at the start of `data`; nothing where it does not end in `bytes`.
/// An Error where it is none.
std::optional<PageHeader> parsePageHeader(const uint8_t *data, size_t bytes);

} // namespace ff::parquet

#endif // FF_RUNTIME_PARQUET_PAGEHEADER_H
