//===- Pages.cpp - One value of a column of bytes -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/parquet/Pages.h"
#include "runtime/parquet/Error.h"

#include <arrow/io/memory.h>
#include <arrow/util/compression.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/encoding.h>
#include <parquet/schema.h>

#include <algorithm>
#include <cstring>

namespace ff::parquet {

using ::parquet::ByteArray;
using ::parquet::ByteArrayType;
using ::parquet::ColumnDescriptor;
using ::parquet::Compression;
using ::parquet::Encoding;

namespace {
/// Keys of what is no data page of a column.
constexpr int dictionaryPage = -1;
constexpr int chunkIndex = -2;

/// Values of at least so many bytes on average are read one by one.
constexpr int64_t directBytes = 64 << 10;

/// Where a value is, in the file or in the bytes of a page.
struct Slice {
  int64_t at = 0;
  int64_t bytes = 0;
};

/// The value at `at` of what ends at `end`, as PLAIN writes it: its length in 4
/// bytes, then its bytes.
Slice plainValue(int64_t at, int64_t end, const uint8_t length[4]) {
  uint32_t bytes;
  std::memcpy(&bytes, length, sizeof bytes);
  if (bytes > end - at - 4)
    fail("a page is broken: a value of {} bytes where {} are left", bytes,
         end - at - 4);
  return {at + 4, bytes};
}

template <typename T> int64_t sizeOf(const std::vector<T> &vector) {
  return static_cast<int64_t>(vector.capacity() * sizeof(T));
}
} // namespace

struct BytesColumn::Chunk {
  Compression::type codec;
  bool alwaysCompressed;
  int64_t values;
  bool hasDictionary = false;
  Page dictionary;
  std::vector<Page> pages; ///< of data
};

/// The values of a page.
struct BytesColumn::Values {
  std::shared_ptr<arrow::Buffer> data; ///< null where they are in the file
  std::vector<Slice> slices;           ///< unless by dictionary
  std::vector<int32_t> entries;        ///< of the dictionary
  bool byDictionary = false;
  /// Where there are nulls, which of the values is that of a row, or -1.
  std::vector<int32_t> valueOfRow;
  int64_t rows = 0;

  int64_t bytes() const {
    return static_cast<int64_t>(sizeof(Values)) + 128 + sizeOf(slices) +
           sizeOf(entries) + sizeOf(valueOfRow) + (data ? data->size() : 0);
  }
};

::parquet::ReaderProperties readerProperties() {
  // Arrow's own pool: with malloc, a page of 256 MB takes four times as long,
  // most of it to get memory from the system.
  ::parquet::ReaderProperties properties(arrow::default_memory_pool());
  properties.set_page_checksum_verification(true);
  return properties;
}

void checkChunk(const ::parquet::ColumnChunkMetaData &chunk) {
  if (chunk.crypto_metadata())
    fail("it is encrypted: write the file without encryption");
  if (!chunk.file_path().empty())
    fail("its data is in another file, \"{}\"", chunk.file_path());
  if (!chunk.can_decompress())
    fail("it is compressed by {}, which this Arrow was built without: use zstd "
         "or snappy",
         arrow::util::Codec::GetCodecAsString(chunk.compression()));
}

BytesColumn::Value BytesColumn::find(int rowGroup, int64_t row) const {
  std::shared_ptr<const Chunk> chunk = chunkOf(rowGroup);
  auto next = std::upper_bound(
      chunk->pages.begin(), chunk->pages.end(), row,
      [](int64_t row, const Page &page) { return row < page.firstRow; });
  if (next == chunk->pages.begin())
    fail("the column has no page of this row");
  int number = static_cast<int>(next - chunk->pages.begin()) - 1;
  std::shared_ptr<const Values> values = valuesOf(rowGroup, *chunk, number);
  int64_t index = row - chunk->pages[number].firstRow;
  if (index >= values->rows)
    fail("the column has no page of this row");
  if (!values->valueOfRow.empty()) {
    index = values->valueOfRow[index];
    if (index < 0) {
      Value null;
      null.isNull = true;
      return null;
    }
  }
  if (values->byDictionary) {
    if (!chunk->hasDictionary)
      fail("a page refers to a dictionary, and the column has none");
    auto entry = static_cast<uint32_t>(values->entries[index]);
    values = valuesOf(rowGroup, *chunk, dictionaryPage);
    if (entry >= values->slices.size())
      fail("a page refers to value {} of a dictionary of {}", entry,
           values->slices.size());
    index = entry;
  }
  const Slice &slice = values->slices[index];
  Value value;
  value.at = slice.at;
  value.bytes = slice.bytes;
  if (values->data)
    value.data = values->data->data() + slice.at;
  value.holder = std::move(values);
  return value;
}

void BytesColumn::copy(const Value &value, void *out) const {
  if (value.data)
    std::memcpy(out, value.data, value.bytes);
  else
    source.read(value.at, value.bytes, out);
}

std::shared_ptr<const BytesColumn::Chunk>
BytesColumn::chunkOf(int rowGroup) const {
  return indexCache().get<Chunk>({source.number(), leaf, rowGroup, chunkIndex},
                                 [&] { return scanChunk(rowGroup); });
}

Cache::Made BytesColumn::scanChunk(int rowGroup) const {
  auto group = metadata.RowGroup(rowGroup);
  auto columnChunk = group->ColumnChunk(leaf);
  checkChunk(*columnChunk);
  auto chunk = std::make_shared<Chunk>();
  chunk->codec = columnChunk->compression();
  chunk->alwaysCompressed = metadata.writer_version().VersionLt(
      ::parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
  chunk->values = columnChunk->num_values();
  if (chunk->values != group->num_rows())
    fail("it has {} values in a row group of {} rows", chunk->values,
         group->num_rows());
  int64_t at = columnChunk->data_page_offset();
  if (columnChunk->has_dictionary_page() &&
      columnChunk->dictionary_page_offset() > 0)
    at = std::min(at, columnChunk->dictionary_page_offset());
  int64_t row = 0;
  while (row < chunk->values) {
    Page page;
    page.at = at;
    page.firstRow = row;
    page.header = readHeader(at);
    at += page.header.headerBytes;
    if (page.header.compressedBytes > source.size() - at)
      fail("a page of {} bytes at byte {} goes beyond the end of the file",
           page.header.compressedBytes, at);
    at += page.header.compressedBytes;
    if (page.header.type == PageHeader::Dictionary) {
      chunk->dictionary = page;
      chunk->hasDictionary = true;
    } else if (page.header.type == PageHeader::Data ||
               page.header.type == PageHeader::DataV2) {
      row += page.header.values;
      chunk->pages.push_back(page);
    }
  }
  if (row != chunk->values)
    fail("its pages have {} values in a row group of {} rows", row,
         chunk->values);
  chunk->pages.shrink_to_fit();
  int64_t bytes = sizeof(Chunk) + 128 + sizeOf(chunk->pages);
  return {std::move(chunk), bytes};
}

PageHeader BytesColumn::readHeader(int64_t at) const {
  // Most are short; statistics within them may be long.
  for (int64_t bytes = 512; bytes <= 16 << 20; bytes *= 8) {
    int64_t count = std::min(bytes, source.size() - at);
    if (at < 0 || count <= 0)
      fail("a page is expected at byte {} of a file of {}", at, source.size());
    auto buffer = source.read(at, count);
    if (auto header = parsePageHeader(buffer->data(), buffer->size()))
      return *header;
    if (count < bytes)
      break;
  }
  fail("the header of the page at byte {} does not end", at);
}

bool BytesColumn::isDirect(const Chunk &chunk, const Page &page) const {
  const PageHeader &header = page.header;
  bool isCompressed = chunk.codec != Compression::UNCOMPRESSED &&
                      !(header.type == PageHeader::DataV2 &&
                        !header.isCompressed && !chunk.alwaysCompressed);
  bool isPlain = header.encoding == PageHeader::Plain ||
                 (header.type == PageHeader::Dictionary &&
                  header.encoding == PageHeader::PlainDictionary);
  bool hasLevels = header.type == PageHeader::Data &&
                   metadata.schema()->Column(leaf)->max_definition_level() > 0;
  return !isCompressed && isPlain && header.values > 0 &&
         header.compressedBytes / header.values >= directBytes &&
         (!hasLevels || header.definitionEncoding == PageHeader::Rle);
}

std::shared_ptr<const BytesColumn::Values>
BytesColumn::valuesOf(int rowGroup, const Chunk &chunk, int number) const {
  const Page &page =
      number == dictionaryPage ? chunk.dictionary : chunk.pages[number];
  bool direct = isDirect(chunk, page);
  // Indices into a dictionary are small.
  bool isIndex =
      direct || (number != dictionaryPage &&
                 (page.header.encoding == PageHeader::RleDictionary ||
                  page.header.encoding == PageHeader::PlainDictionary));
  // Of a page of one value nothing else is wanted soon, and its memory serves
  // for the next one.
  if (!isIndex && page.header.values == 1)
    return std::static_pointer_cast<const Values>(
        decodePage(chunk, page).entry);
  Cache &cache = isIndex ? indexCache() : dataCache();
  return cache.get<Values>({source.number(), leaf, rowGroup, number}, [&] {
    return direct ? findValues(page) : decodePage(chunk, page);
  });
}

namespace {
/// Fills in which value is that of a row, where `levels` has nulls. Returns how
/// many values there are.
int countValues(const std::vector<int16_t> &levels, int16_t maxLevel,
                std::vector<int32_t> &valueOfRow) {
  int count =
      static_cast<int>(std::count(levels.begin(), levels.end(), maxLevel));
  if (count == static_cast<int>(levels.size()))
    return count;
  valueOfRow.reserve(levels.size());
  int32_t value = 0;
  for (int16_t level : levels)
    valueOfRow.push_back(level == maxLevel ? value++ : -1);
  return count;
}

std::vector<int16_t> decodeLevels(::parquet::LevelDecoder &decoder, int rows) {
  std::vector<int16_t> levels(rows);
  if (decoder.Decode(rows, levels.data()) != rows)
    fail("a page is broken: it has fewer levels than values");
  return levels;
}
} // namespace

/// The values of a page that is not compressed, without reading them.
Cache::Made BytesColumn::findValues(const Page &page) const {
  const PageHeader &header = page.header;
  int16_t maxLevel = metadata.schema()->Column(leaf)->max_definition_level();
  auto values = std::make_shared<Values>();
  values->rows = header.values;
  int64_t at = page.at + header.headerBytes;
  int64_t end = at + header.compressedBytes;
  int count = header.values;
  if (header.type == PageHeader::Data && maxLevel > 0) {
    auto prefix = source.read(at, 4);
    uint32_t bytes;
    std::memcpy(&bytes, prefix->data(), sizeof bytes);
    if (bytes > end - at - 4)
      fail("a page is broken: {} bytes of levels where {} are left", bytes,
           end - at - 4);
    auto levels = source.read(at, 4 + int64_t(bytes));
    at += levels->size();
    ::parquet::LevelDecoder decoder;
    decoder.SetData(Encoding::RLE, maxLevel, header.values, levels->data(),
                    static_cast<int32_t>(levels->size()));
    count = countValues(decodeLevels(decoder, header.values), maxLevel,
                        values->valueOfRow);
  } else if (header.type == PageHeader::DataV2) {
    int64_t before = int64_t(header.repetitionBytes) + header.definitionBytes;
    if (before > end - at)
      fail("a page is broken: {} bytes of levels where {} are left", before,
           end - at);
    auto levels =
        source.read(at + header.repetitionBytes, header.definitionBytes);
    at += before;
    if (maxLevel > 0) {
      ::parquet::LevelDecoder decoder;
      decoder.SetDataV2(header.definitionBytes, maxLevel, header.values,
                        levels->data());
      count = countValues(decodeLevels(decoder, header.values), maxLevel,
                          values->valueOfRow);
    }
  }
  values->slices.reserve(count);
  for (int i = 0; i < count; ++i) {
    if (end - at < 4)
      fail("a page is broken: it ends after {} of {} values", i, count);
    uint8_t length[4];
    source.read(at, sizeof length, length);
    values->slices.push_back(plainValue(at, end, length));
    at = values->slices.back().at + values->slices.back().bytes;
  }
  int64_t bytes = values->bytes();
  return {std::move(values), bytes};
}

Cache::Made BytesColumn::decodePage(const Chunk &chunk,
                                    const Page &page) const {
  const ColumnDescriptor *column = metadata.schema()->Column(leaf);
  auto raw = source.read(page.at, int64_t(page.header.headerBytes) +
                                      page.header.compressedBytes);
  auto reader = ::parquet::PageReader::Open(
      std::make_shared<arrow::io::BufferReader>(raw), chunk.values + 1,
      chunk.codec, readerProperties(), *column, chunk.alwaysCompressed);
  std::shared_ptr<::parquet::Page> decoded = reader->NextPage();
  if (!decoded)
    fail("a page is broken: Arrow finds none at byte {}", page.at);
  raw.reset();

  auto values = std::make_shared<Values>();
  values->rows = page.header.values;
  values->data = decoded->buffer();
  const uint8_t *begin = decoded->data();
  int64_t at = 0, end = decoded->size();
  int count = page.header.values;
  Encoding::type encoding = Encoding::PLAIN;
  int16_t maxLevel = column->max_definition_level();
  auto takeLevels = [&](::parquet::LevelDecoder &decoder) {
    count = countValues(decodeLevels(decoder, page.header.values), maxLevel,
                        values->valueOfRow);
  };
  if (decoded->type() == ::parquet::PageType::DATA_PAGE) {
    const auto &data = static_cast<const ::parquet::DataPageV1 &>(*decoded);
    encoding = data.encoding();
    if (maxLevel > 0) {
      ::parquet::LevelDecoder decoder;
      at =
          decoder.SetData(data.definition_level_encoding(), maxLevel,
                          page.header.values, begin, static_cast<int32_t>(end));
      takeLevels(decoder);
    }
  } else if (decoded->type() == ::parquet::PageType::DATA_PAGE_V2) {
    const auto &data = static_cast<const ::parquet::DataPageV2 &>(*decoded);
    encoding = data.encoding();
    at = int64_t(page.header.repetitionBytes) + page.header.definitionBytes;
    if (at > end)
      fail("a page is broken: {} bytes of levels where {} are left", at, end);
    if (maxLevel > 0) {
      ::parquet::LevelDecoder decoder;
      decoder.SetDataV2(page.header.definitionBytes, maxLevel,
                        page.header.values,
                        begin + page.header.repetitionBytes);
      takeLevels(decoder);
    }
  } else if (decoded->type() != ::parquet::PageType::DICTIONARY_PAGE) {
    fail("a page is broken: it is of type {}",
         static_cast<int>(decoded->type()));
  }

  if (encoding == Encoding::RLE_DICTIONARY ||
      encoding == Encoding::PLAIN_DICTIONARY) {
    values->byDictionary = true;
    values->entries.resize(count);
    auto decoder = ::parquet::MakeDictDecoder<ByteArrayType>(
        column, arrow::default_memory_pool());
    decoder->SetData(count, begin + at, static_cast<int>(end - at));
    if (decoder->DecodeIndices(count, values->entries.data()) != count)
      fail("a page is broken: it has fewer values than its header says");
    values->data.reset();
  } else if (encoding == Encoding::PLAIN) {
    if (count > (end - at) / 4)
      fail("a page is broken: {} values in {} bytes", count, end - at);
    values->slices.reserve(count);
    for (int i = 0; i < count; ++i) {
      if (end - at < 4)
        fail("a page is broken: it ends after {} of {} values", i, count);
      values->slices.push_back(plainValue(at, end, begin + at));
      at = values->slices.back().at + values->slices.back().bytes;
    }
  } else {
    // Deltas of lengths, or of prefixes. Where the values are depends on the
    // decoder, so they are copied.
    auto decoder = ::parquet::MakeTypedDecoder<ByteArrayType>(
        encoding, column, arrow::default_memory_pool());
    if (!decoder)
      fail("its encoding, {}, is not one of bytes",
           ::parquet::EncodingToString(encoding));
    decoder->SetData(count, begin + at, static_cast<int>(end - at));
    std::vector<ByteArray> arrays(count);
    if (decoder->Decode(arrays.data(), count) != count)
      fail("a page is broken: it has fewer values than its header says");
    int64_t total = 0;
    for (const ByteArray &array : arrays)
      total += array.len;
    auto buffer = arrow::AllocateBuffer(total, arrow::default_memory_pool());
    if (!buffer.ok())
      fail("{}", buffer.status().message());
    int64_t offset = 0;
    values->slices.reserve(count);
    for (const ByteArray &array : arrays) {
      if (array.len > 0)
        std::memcpy((*buffer)->mutable_data() + offset, array.ptr, array.len);
      values->slices.push_back({offset, array.len});
      offset += array.len;
    }
    values->data = std::move(*buffer);
  }
  int64_t bytes = values->bytes();
  return {std::move(values), bytes};
}

} // namespace ff::parquet
