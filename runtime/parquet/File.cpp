//===- File.cpp - A Parquet file, by fields and rows ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/parquet/File.h"
#include "runtime/parquet/Error.h"
#include "runtime/parquet/Pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <parquet/column_reader.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace ff::parquet {

using ::parquet::ColumnDescriptor;
using ::parquet::ColumnReader;
using ::parquet::Type;

namespace {

constexpr int64_t batchValues = 16 << 10;

/// Checked before Arrow is: what it says of files that are none is long.
void checkMagic(const Source &source) {
  char head[4] = {}, tail[4] = {};
  if (source.size() < 12)
    fail("is not a Parquet file: it has {} bytes", source.size());
  source.read(0, sizeof head, head);
  source.read(source.size() - 4, sizeof tail, tail);
  if (std::memcmp(tail, "PARE", 4) == 0)
    fail("is encrypted: write it without encryption");
  if (std::memcmp(head, "PAR1", 4) != 0)
    fail("is not a Parquet file: it does not start with PAR1");
  if (std::memcmp(tail, "PAR1", 4) != 0)
    fail("does not end with PAR1: it was cut short, or is still being written");
}

/// What a user may read of bytes that should be text.
std::string printable(std::string_view text) {
  std::string result;
  for (char c : text.substr(0, 40))
    result += c >= ' ' && c < 127 ? c : '?';
  return text.size() > 40 ? result + "..." : result;
}

/// Reads all `expected` values of a column, batch by batch: `body(levels,
/// definitionLevels, repetitionLevels, values)`, where nulls have levels and no
/// value.
template <typename DType, typename Body>
void readAll(ColumnReader &reader, int64_t expected, Body &&body) {
  auto &typed = static_cast<::parquet::TypedColumnReader<DType> &>(reader);
  std::vector<int16_t> definition(batchValues), repetition(batchValues);
  auto values = std::make_unique<typename DType::c_type[]>(batchValues);
  bool nullable = reader.descr()->max_definition_level() > 0;
  bool repeated = reader.descr()->max_repetition_level() > 0;
  int emptyPages = 0;
  while (expected > 0) {
    // Arrow takes a page without values for the end; some writers leave one.
    if (!reader.HasNext()) {
      if (++emptyPages > 8)
        fail("its pages end early");
      continue;
    }
    emptyPages = 0;
    int64_t count = 0;
    int64_t levels = typed.ReadBatch(
        batchValues, nullable ? definition.data() : nullptr,
        repeated ? repetition.data() : nullptr, values.get(), &count);
    if (!nullable) { // a column without nulls has no levels
      levels = count;
      std::fill_n(definition.begin(), levels, int16_t(0));
    }
    if (levels == 0)
      fail("its pages end early");
    expected -= levels;
    body(levels, definition.data(), repetition.data(), values.get(), count);
  }
}

/// Shapes of rows, one behind the other.
struct Shapes {
  enum State : uint8_t { Good, Null, NullElement };
  std::vector<int64_t> dims;
  std::vector<size_t> begins; ///< of each row in `dims`
  std::vector<State> states;

  size_t rows() const { return begins.size(); }
  size_t end(size_t row) const {
    return row + 1 < begins.size() ? begins[row + 1] : dims.size();
  }
};

/// The level from which on an element of the list exists.
int16_t elementLevel(const ColumnDescriptor &column) {
  int16_t after = 0; // optional nodes below the list
  const ::parquet::schema::Node *node = column.schema_node().get();
  while (node && !node->is_repeated()) {
    after += node->is_optional();
    node = node->parent();
  }
  return static_cast<int16_t>(column.max_definition_level() - after);
}

template <typename DType>
Shapes readShapes(ColumnReader &reader, int64_t expected) {
  Shapes shapes;
  int16_t element = elementLevel(*reader.descr());
  int16_t most = reader.descr()->max_definition_level();
  const auto *type = reader.descr()->logical_type().get();
  bool isUnsigned =
      type && type->is_int() &&
      !static_cast<const ::parquet::IntLogicalType &>(*type).is_signed();
  readAll<DType>(
      reader, expected,
      [&](int64_t levels, const int16_t *definition, const int16_t *repetition,
          const auto *values, int64_t count) {
        int64_t next = 0;
        for (int64_t i = 0; i < levels; ++i) {
          if (repetition[i] == 0) {
            shapes.begins.push_back(shapes.dims.size());
            // An empty list has the level right below that of an element.
            shapes.states.push_back(definition[i] < element - 1 ? Shapes::Null
                                                                : Shapes::Good);
          } else if (shapes.begins.empty()) {
            fail("its first row begins within a list");
          }
          if (definition[i] == most) {
            if (next == count)
              fail("its pages end early");
            auto value = values[next++];
            shapes.dims.push_back(
                isUnsigned && sizeof value == 4
                    ? static_cast<int64_t>(static_cast<uint32_t>(value))
                    : value);
          } else if (definition[i] >= element) {
            shapes.states.back() = Shapes::NullElement;
          }
        }
      });
  return shapes;
}

/// Texts of rows, each of which is one of few: an index for each row.
struct Texts {
  static constexpr uint32_t null = UINT32_MAX;
  std::vector<std::string> distinct;
  std::vector<uint32_t> ofRow;
};

Texts readTexts(ColumnReader &reader, int64_t expected) {
  Texts texts;
  std::unordered_map<std::string, uint32_t> numbers;
  int16_t most = reader.descr()->max_definition_level();
  readAll<::parquet::ByteArrayType>(
      reader, expected,
      [&](int64_t levels, const int16_t *definition, const int16_t *,
          const ::parquet::ByteArray *values, int64_t count) {
        int64_t next = 0;
        for (int64_t i = 0; i < levels; ++i) {
          if (definition[i] != most) {
            texts.ofRow.push_back(Texts::null);
            continue;
          }
          if (next == count)
            fail("its pages end early");
          const ::parquet::ByteArray &value = values[next++];
          std::string text(reinterpret_cast<const char *>(value.ptr),
                           value.len);
          auto [it, isNew] = numbers.try_emplace(
              text, static_cast<uint32_t>(texts.distinct.size()));
          if (isNew)
            texts.distinct.push_back(std::move(text));
          texts.ofRow.push_back(it->second);
        }
      });
  return texts;
}

std::string shapeText(const ff_parquet_value &value) {
  return fmt::format("[{}]",
                     fmt::join(value.shape, value.shape + value.rank, ", "));
}

} // namespace

/// What the tensors of a row group are.
struct File::Tensors {
  struct Kind {
    ff_parquet_value value = {};
    int64_t bytes = 0;
    std::string dtypeText; ///< as the file has it
    std::string column;    ///< of a problem
    std::string problem;   ///< empty where there is none
  };
  std::vector<Kind> kinds;
  std::vector<uint32_t> kindOfRow; ///< empty where all are of the first one

  const Kind &at(int64_t index) const {
    return kinds[kindOfRow.empty() ? 0 : kindOfRow[index]];
  }
};

struct File::Numbers {
  std::vector<uint8_t> data;
  std::vector<bool> isNull; ///< empty where none is
};

File::File(const std::string &path) : source(path) {
  checkMagic(source);
  try {
    reader = ::parquet::ParquetFileReader::Open(source.arrowFile(),
                                                readerProperties());
    metadata = reader->metadata();
  } catch (const std::exception &error) {
    fail("has a broken footer: {}", error.what());
  }
  firstRows.push_back(0);
  for (int i = 0; i < metadata->num_row_groups(); ++i) {
    int64_t count = metadata->RowGroup(i)->num_rows();
    if (count < 0 || count > INT64_MAX - firstRows.back())
      fail("has a broken footer: row group {} has {} rows", i, count);
    firstRows.push_back(firstRows.back() + count);
  }
  if (rows() != metadata->num_rows())
    fail("has a broken footer: it has {} rows, and its row groups have {}",
         metadata->num_rows(), rows());
  fieldList = findFields(*metadata->schema());
}

File::~File() {
  indexCache().forget(source.number());
  dataCache().forget(source.number());
}

const Field &File::fieldAt(int32_t field) const {
  if (field < 0 || field >= static_cast<int32_t>(fieldList.size()))
    fail("field {} of {}", field, fieldList.size());
  const Field &result = fieldList[field];
  if (result.kind == Field::Broken)
    throw Error(result.problem);
  return result;
}

int File::rowGroupOf(int64_t row) const {
  return static_cast<int>(
             std::upper_bound(firstRows.begin(), firstRows.end(), row) -
             firstRows.begin()) -
         1;
}

template <typename Body>
auto File::reading(const std::string &column, int rowGroup, Body &&body) const {
  try {
    return body();
  } catch (const std::exception &error) {
    fail("column \"{}\", rows {} to {}: {}", column, firstRows[rowGroup],
         firstRows[rowGroup + 1] - 1, error.what());
  }
}

/// Says by the statistics of the file that there are nulls, where it has some.
void File::checkNulls(const std::string &column, int leaf, int rowGroup) const {
  if (metadata->schema()->Column(leaf)->max_definition_level() == 0)
    return;
  reading(column, rowGroup, [&] {
    auto group = metadata->RowGroup(rowGroup);
    auto chunk = group->ColumnChunk(leaf);
    auto statistics = chunk->encoded_statistics();
    if (statistics && statistics->has_null_count && statistics->null_count > 0)
      fail("{} of them {} null: give each row a value, or leave the row out",
           statistics->null_count, statistics->null_count == 1 ? "is" : "are");
  });
}

void File::describe(int32_t fieldIndex, int64_t first, int64_t count,
                    ff_parquet_value *values) {
  const Field &field = fieldAt(fieldIndex);
  if (first < 0 || count < 0 || first > rows() || count > rows() - first)
    fail("rows {} to {} of {}", first, first + count - 1, rows());
  int64_t end = first + count;
  for (int64_t row = first; row < end;) {
    int rowGroup = rowGroupOf(row);
    int64_t begin = firstRows[rowGroup];
    int64_t groupEnd = std::min(end, firstRows[rowGroup + 1]);
    // Of a part of a row group, it is not known whether the null is in it.
    bool isWhole = row == begin && groupEnd == firstRows[rowGroup + 1];
    if (field.kind == Field::Number) {
      if (isWhole)
        checkNulls(field.name, field.number, rowGroup);
      for (; row < groupEnd; ++row, ++values) {
        *values = {};
        std::strcpy(values->dtype, field.numberDtype.name);
      }
      continue;
    }
    auto tensors = tensorsOf(field, rowGroup);
    for (; row < groupEnd; ++row, ++values) {
      const Tensors::Kind &kind = tensors->at(row - begin);
      if (!kind.problem.empty())
        fail("column \"{}\", row {}: {}", kind.column, row, kind.problem);
      *values = kind.value;
    }
    if (isWhole)
      checkNulls(field.bytesColumn(), field.bytes, rowGroup);
  }
}

void File::read(int32_t fieldIndex, int64_t row, void *out, int64_t bytes) {
  const Field &field = fieldAt(fieldIndex);
  if (row < 0 || row >= rows())
    fail("row {} of {}", row, rows());
  if (field.kind == Field::Tensor)
    readTensor(field, row, out, bytes);
  else
    readNumber(field, row, out, bytes);
}

void File::readTensor(const Field &field, int64_t row, void *out,
                      int64_t bytes) {
  int rowGroup = rowGroupOf(row);
  int64_t index = row - firstRows[rowGroup];
  auto tensors = tensorsOf(field, rowGroup);
  const Tensors::Kind &kind = tensors->at(index);
  if (!kind.problem.empty())
    fail("column \"{}\", row {}: {}", kind.column, row, kind.problem);
  std::string shape = shapeText(kind.value);
  if (kind.bytes != bytes)
    fail("columns \"{}\" and \"{}\", row {}: {} of {} are {} bytes, where {} "
         "are expected",
         field.shapeColumn(), field.dtypeColumn(), row, shape, kind.dtypeText,
         kind.bytes, bytes);
  BytesColumn column(source, *metadata, field.bytes);
  BytesColumn::Value value;
  std::string problem;
  try {
    value = column.find(rowGroup, index);
    if (!value.isNull && value.bytes == bytes)
      column.copy(value, out);
  } catch (const std::exception &error) {
    problem = error.what();
  }
  if (!problem.empty())
    fail("column \"{}\", row {}: {}", field.bytesColumn(), row, problem);
  if (value.isNull)
    fail("column \"{}\", row {}: it is null: give each row a value, or leave "
         "the row out",
         field.bytesColumn(), row);
  if (value.bytes != bytes)
    fail("column \"{}\", row {}: it has {} bytes, and {} of {} (columns "
         "\"{}\" and \"{}\") are {}: write the three of one array",
         field.bytesColumn(), row, value.bytes, shape, kind.dtypeText,
         field.shapeColumn(), field.dtypeColumn(), kind.bytes);
}

void File::readNumber(const Field &field, int64_t row, void *out,
                      int64_t bytes) {
  int width = field.numberDtype.bytes;
  if (bytes != width)
    fail("column \"{}\", row {}: a number of {} is {} bytes, where {} are "
         "expected",
         field.name, row, field.numberDtype.name, width, bytes);
  int rowGroup = rowGroupOf(row);
  auto numbers = numbersOf(field, rowGroup);
  int64_t index = row - firstRows[rowGroup];
  if (!numbers->isNull.empty() && numbers->isNull[index])
    fail("column \"{}\", row {}: it is null: give each row a value, or leave "
         "the row out",
         field.name, row);
  std::memcpy(out, numbers->data.data() + index * width, width);
}

std::shared_ptr<const File::Tensors> File::tensorsOf(const Field &field,
                                                     int rowGroup) {
  return indexCache().get<Tensors>(
      {source.number(), field.shape, rowGroup, 0},
      [&] { return readTensors(field, rowGroup); });
}

namespace {

/// What shape and dtype say of a tensor, or what is wrong with them.
template <typename Kind>
Kind makeKind(const Field &field, Shapes::State state, const int64_t *dims,
              size_t rank, const std::string *dtype) {
  Kind kind;
  auto problem = [&](const std::string &column, std::string text) {
    kind.column = column;
    kind.problem = std::move(text);
    return kind;
  };
  if (state == Shapes::Null)
    return problem(field.shapeColumn(),
                   "it is null: write the shape, which is [] of a scalar");
  if (state == Shapes::NullElement)
    return problem(field.shapeColumn(), "a dim of it is null");
  if (rank > FF_PARQUET_MAX_DIMS)
    return problem(field.shapeColumn(),
                   fmt::format("it has {} dims, and a tensor has at most {}: "
                               "write it with fewer",
                               rank, static_cast<int>(FF_PARQUET_MAX_DIMS)));
  kind.value.rank = static_cast<int32_t>(rank);
  std::copy(dims, dims + rank, kind.value.shape);
  for (size_t i = 0; i < rank; ++i)
    if (dims[i] < 0)
      return problem(
          field.shapeColumn(),
          fmt::format("dim {} of {} is negative", i, shapeText(kind.value)));
  if (!dtype)
    return problem(field.dtypeColumn(),
                   "it is null: write the dtype, such as \"float32\"");
  kind.dtypeText = printable(*dtype);
  Dtype parsed = parseDtype(*dtype);
  if (!parsed.name)
    return problem(
        field.dtypeColumn(),
        fmt::format("\"{}\" is no dtype that is known: float32, float64, "
                    "bfloat16, float16, int64, int32, int16, int8, uint8, "
                    "uint16, uint32, uint64, bool, float8_e4m3fn and "
                    "float8_e5m2 are, also with \"torch.\" before them",
                    kind.dtypeText));
  std::strcpy(kind.value.dtype, parsed.name);
  kind.bytes = parsed.bytes;
  // A dim of 0 comes first: beside it, others may be of any size.
  if (std::find(dims, dims + rank, 0) != dims + rank)
    kind.bytes = 0;
  for (size_t i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(kind.bytes, dims[i], &kind.bytes))
      return problem(field.shapeColumn(),
                     fmt::format("a tensor of {} has more than 2^63 bytes",
                                 shapeText(kind.value)));
  return kind;
}

} // namespace

File::OpenColumn File::openColumn(int leaf, int rowGroup) {
  std::lock_guard lock(mutex);
  auto group = metadata->RowGroup(rowGroup);
  auto chunk = group->ColumnChunk(leaf);
  checkChunk(*chunk);
  return {reader->RowGroup(rowGroup)->Column(leaf), chunk->num_values()};
}

Cache::Made File::readTensors(const Field &field, int rowGroup) {
  auto rows =
      static_cast<size_t>(firstRows[rowGroup + 1] - firstRows[rowGroup]);
  auto checkRows = [&](size_t count) {
    if (count != rows)
      fail("it has {} rows, and its row group {}", count, rows);
  };
  Shapes shapes = reading(field.shapeColumn(), rowGroup, [&] {
    auto [column, values] = openColumn(field.shape, rowGroup);
    Shapes shapes = column->type() == Type::INT32
                        ? readShapes<::parquet::Int32Type>(*column, values)
                        : readShapes<::parquet::Int64Type>(*column, values);
    checkRows(shapes.rows());
    return shapes;
  });
  Texts dtypes = reading(field.dtypeColumn(), rowGroup, [&] {
    auto [column, values] = openColumn(field.dtype, rowGroup);
    Texts texts = readTexts(*column, values);
    checkRows(texts.ofRow.size());
    return texts;
  });

  auto tensors = std::make_shared<Tensors>();
  std::unordered_map<std::string, uint32_t> numbers;
  std::string key, lastKey;
  uint32_t last = 0;
  for (size_t row = 0; row < rows; ++row) {
    size_t begin = shapes.begins[row];
    size_t rank = shapes.end(row) - begin;
    const int64_t *dims = shapes.dims.data() + begin;
    uint32_t dtype = dtypes.ofRow[row];
    key.assign(reinterpret_cast<const char *>(dims), rank * sizeof *dims);
    key.append(reinterpret_cast<const char *>(&dtype), sizeof dtype);
    key += static_cast<char>(shapes.states[row]);
    if (row == 0 || key != lastKey) {
      auto [it, isNew] = numbers.try_emplace(
          key, static_cast<uint32_t>(tensors->kinds.size()));
      if (isNew)
        tensors->kinds.push_back(makeKind<Tensors::Kind>(
            field, shapes.states[row], dims, rank,
            dtype == Texts::null ? nullptr : &dtypes.distinct[dtype]));
      // Most files need no index at all.
      if (tensors->kindOfRow.empty() && tensors->kinds.size() > 1) {
        tensors->kindOfRow.reserve(rows);
        tensors->kindOfRow.assign(row, 0);
      }
      last = it->second;
      lastKey = key;
    }
    if (tensors->kinds.size() > 1)
      tensors->kindOfRow.push_back(last);
  }
  int64_t bytes = sizeof(Tensors) + 128 +
                  tensors->kindOfRow.capacity() * sizeof(uint32_t) +
                  tensors->kinds.capacity() * (sizeof(Tensors::Kind) + 64);
  return {std::move(tensors), bytes};
}

std::shared_ptr<const File::Numbers> File::numbersOf(const Field &field,
                                                     int rowGroup) {
  return dataCache().get<Numbers>(
      {source.number(), field.number, rowGroup, 0}, [&] {
        return reading(field.name, rowGroup,
                       [&] { return readNumbers(field, rowGroup); });
      });
}

namespace {
template <typename DType>
void readColumn(ColumnReader &reader, int64_t expected, int width,
                std::vector<uint8_t> &data, std::vector<bool> &isNull) {
  int16_t most = reader.descr()->max_definition_level();
  readAll<DType>(reader, expected,
                 [&](int64_t levels, const int16_t *definition, const int16_t *,
                     const auto *values, int64_t count) {
                   size_t at = data.size();
                   data.resize(at + levels * width);
                   int64_t next = 0;
                   for (int64_t i = 0; i < levels; ++i, at += width) {
                     isNull.push_back(definition[i] != most);
                     if (isNull.back())
                       continue;
                     if (next == count)
                       fail("its pages end early");
                     const auto &value = values[next++];
                     // Narrow integers are wide ones in the file; the machine
                     // is little-endian, as the file is.
                     if constexpr (std::is_same_v<DType, ::parquet::FLBAType>)
                       std::memcpy(data.data() + at, value.ptr, width);
                     else
                       std::memcpy(data.data() + at, &value, width);
                   }
                 });
}
} // namespace

Cache::Made File::readNumbers(const Field &field, int rowGroup) {
  auto [column, count] = openColumn(field.number, rowGroup);
  auto numbers = std::make_shared<Numbers>();
  auto readAs = [&, &reader = *column, values = count]<typename DType>(DType) {
    readColumn<DType>(reader, values, field.numberDtype.bytes, numbers->data,
                      numbers->isNull);
  };
  switch (column->type()) {
  case Type::BOOLEAN:
    readAs(::parquet::BooleanType());
    break;
  case Type::INT32:
    readAs(::parquet::Int32Type());
    break;
  case Type::INT64:
    readAs(::parquet::Int64Type());
    break;
  case Type::FLOAT:
    readAs(::parquet::FloatType());
    break;
  case Type::DOUBLE:
    readAs(::parquet::DoubleType());
    break;
  default:
    readAs(::parquet::FLBAType());
    break;
  }
  int64_t rows = firstRows[rowGroup + 1] - firstRows[rowGroup];
  if (static_cast<int64_t>(numbers->isNull.size()) != rows)
    fail("it has {} rows, and its row group {}", numbers->isNull.size(), rows);
  if (std::find(numbers->isNull.begin(), numbers->isNull.end(), true) ==
      numbers->isNull.end())
    std::vector<bool>().swap(numbers->isNull);
  int64_t bytes = sizeof(Numbers) + 128 + numbers->data.capacity() +
                  numbers->isNull.capacity() / 8;
  return {std::move(numbers), bytes};
}

} // namespace ff::parquet
