//===- Pages.h - One value of a column of bytes ---------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Training reads rows in random order, and a row group may hold many large
// ones. What must be read for one depends on how the column was written:
//   not compressed   the value alone, straight from the file
//   compressed       its page, which is decompressed as a whole. Writers make a
//                    page of many rows, also where each is large, and where
//                    they make a dictionary first that holds the values of the
//                    whole row group. The last pages stay in dataCache().
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_PARQUET_PAGES_H
#define FF_RUNTIME_PARQUET_PAGES_H

#include "runtime/parquet/Cache.h"
#include "runtime/parquet/PageHeader.h"
#include "runtime/parquet/Source.h"

#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <vector>

namespace ff::parquet {

/// Properties of all readers.
::parquet::ReaderProperties readerProperties();

/// An Error where the column of this row group cannot be read: it is encrypted,
/// in another file, or compressed by what Arrow was built without.
void checkChunk(const ::parquet::ColumnChunkMetaData &chunk);

/// A column of binary values, which is neither repeated nor nested. Any thread
/// may use it.
class BytesColumn {
public:
  BytesColumn(const Source &source, const ::parquet::FileMetaData &metadata,
              int leaf)
      : source(source), metadata(metadata), leaf(leaf) {}

  /// Where a value is: in memory that `holder` keeps, or in the file.
  struct Value {
    bool isNull = false;
    std::shared_ptr<const void> holder;
    const uint8_t *data = nullptr; ///< null where it is in the file
    int64_t at = 0;                ///< in the file
    int64_t bytes = 0;
  };
  /// Of a row of a row group, counted from the first row of that.
  Value find(int rowGroup, int64_t row) const;

  void copy(const Value &value, void *out) const;

private:
  struct Page {
    int64_t at = 0; ///< of its header, in the file
    int64_t firstRow = 0;
    PageHeader header;
  };
  struct Chunk;
  struct Values;

  std::shared_ptr<const Chunk> chunkOf(int rowGroup) const;
  Cache::Made scanChunk(int rowGroup) const;
  PageHeader readHeader(int64_t at) const;
  /// `number` is dictionaryPage or an index among the data pages.
  std::shared_ptr<const Values> valuesOf(int rowGroup, const Chunk &chunk,
                                         int number) const;
  bool isDirect(const Chunk &chunk, const Page &page) const;
  Cache::Made findValues(const Page &page) const;
  Cache::Made decodePage(const Chunk &chunk, const Page &page) const;

  const Source &source;
  const ::parquet::FileMetaData &metadata;
  const int leaf;
};

} // namespace ff::parquet

#endif // FF_RUNTIME_PARQUET_PAGES_H
