//===- Fields.cpp - What the columns of a file are ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/parquet/Fields.h"

#include <fmt/format.h>
#include <parquet/types.h>

#include <map>
#include <optional>

namespace ff::parquet {

using ::parquet::ColumnDescriptor;
using ::parquet::LogicalType;
using ::parquet::SchemaDescriptor;
using ::parquet::Type;

namespace {

/// A column of the outermost level.
struct Column {
  enum Kind { Binary, Text, Integers, Number, Other };

  std::string name;
  Kind kind = Other;
  int leaf = -1; ///< unless Other
  Dtype dtype;   ///< of a Number
  bool twice = false;

  const char *kindName() const {
    static const char *const names[] = {"binary", "text", "a list of integers",
                                        "a number", "of another type"};
    return names[kind];
  }
};

bool isInteger(const ColumnDescriptor &leaf) {
  const LogicalType *logical = leaf.logical_type().get();
  return (leaf.physical_type() == Type::INT32 ||
          leaf.physical_type() == Type::INT64) &&
         (!logical || logical->is_none() || logical->is_int());
}

/// Its name is null where the column is not of numbers: a date is an integer in
/// the file too, but nothing that a step computes with.
Dtype numberDtype(const ColumnDescriptor &leaf) {
  const LogicalType *logical = leaf.logical_type().get();
  bool plain = !logical || logical->is_none();
  switch (leaf.physical_type()) {
  case Type::BOOLEAN:
    return {"bool", 1};
  case Type::FLOAT:
    return {"f32", 4};
  case Type::DOUBLE:
    return {"f64", 8};
  case Type::FIXED_LEN_BYTE_ARRAY:
    if (logical && logical->is_float16())
      return {"f16", 2};
    return {};
  case Type::INT32:
  case Type::INT64:
    if (plain)
      return leaf.physical_type() == Type::INT32 ? Dtype{"i32", 4}
                                                 : Dtype{"i64", 8};
    if (!logical->is_int())
      return {};
    {
      const auto &type =
          static_cast<const ::parquet::IntLogicalType &>(*logical);
      return parseDtype(
          fmt::format("{}{}", type.is_signed() ? 'i' : 'u', type.bit_width()));
    }
  default:
    return {};
  }
}

bool isText(const ColumnDescriptor &leaf) {
  const LogicalType *logical = leaf.logical_type().get();
  return logical && (logical->is_string() || logical->is_enum());
}

Column describeColumn(const SchemaDescriptor &schema, int leafIndex,
                      int leaves) {
  const ColumnDescriptor &leaf = *schema.Column(leafIndex);
  const ::parquet::schema::Node &root = *schema.GetColumnRoot(leafIndex);
  Column column;
  column.name = root.name();
  if (leaves != 1)
    return column;
  column.leaf = leafIndex;
  if (leaf.max_repetition_level() == 1) {
    // One level of repetition, and nothing but lists above the numbers.
    const ::parquet::schema::Node &node = *leaf.schema_node();
    bool isList = root.is_primitive() || root.logical_type()->is_list();
    bool isFlat = root.is_primitive() || node.parent() == &root ||
                  node.parent()->parent() == &root;
    if (isList && isFlat && isInteger(leaf))
      column.kind = Column::Integers;
    return column;
  }
  if (!root.is_primitive() || leaf.max_repetition_level() != 0)
    return column;
  const LogicalType *logical = leaf.logical_type().get();
  if (leaf.physical_type() == Type::BYTE_ARRAY) {
    if (isText(leaf))
      column.kind = Column::Text;
    else if (!logical || logical->is_none())
      column.kind = Column::Binary;
    return column;
  }
  column.dtype = numberDtype(leaf);
  if (column.dtype.name)
    column.kind = Column::Number;
  return column;
}

std::vector<Column> describeColumns(const SchemaDescriptor &schema) {
  std::vector<Column> columns;
  std::map<std::string, size_t> byName;
  int count = schema.num_columns();
  for (int leaf = 0; leaf < count;) {
    int end = leaf + 1;
    while (end < count &&
           schema.GetColumnRoot(end) == schema.GetColumnRoot(leaf))
      ++end;
    Column column = describeColumn(schema, leaf, end - leaf);
    auto [it, isNew] = byName.try_emplace(column.name, columns.size());
    if (isNew)
      columns.push_back(std::move(column));
    else
      columns[it->second].twice = true;
    leaf = end;
  }
  return columns;
}

/// The three columns of a tensor; absent ones are null.
struct Triple {
  const Column *bytes = nullptr, *shape = nullptr, *dtype = nullptr;
};

/// Whether these are meant to be a tensor.
bool isMeant(const Triple &triple) {
  int present = !!triple.bytes + !!triple.shape + !!triple.dtype;
  return present > 1 ||
         (triple.bytes && triple.bytes->kind == Column::Binary) ||
         (triple.shape && triple.shape->kind == Column::Integers);
}

std::string problemOf(const std::string &name, const Triple &triple) {
  struct Part {
    const char *suffix;
    const Column *column;
    bool fits;
    const char *wanted, *fix;
  };
  auto is = [](const Column *column, Column::Kind kind) {
    return column && column->kind == kind;
  };
  const Part parts[] = {
      {"_bytes", triple.bytes, is(triple.bytes, Column::Binary), "binary",
       "the values of each row, row-major"},
      {"_shape", triple.shape, is(triple.shape, Column::Integers),
       "a list of integers", "the shape of each row, such as [16, 60, 104]"},
      {"_dtype", triple.dtype,
       is(triple.dtype, Column::Text) || is(triple.dtype, Column::Binary),
       "text", "the dtype of each row, such as \"float32\""}};
  for (const Part &part : parts)
    if (!part.column) {
      const Part &other = parts[0].column ? parts[0] : parts[1];
      return fmt::format("column \"{0}{1}\" has no column \"{0}{2}\" beside "
                         "it: write it, {3}, with {4}",
                         name, other.suffix, part.suffix, part.wanted,
                         part.fix);
    }
  for (const Part &part : parts) {
    if (part.column->twice)
      return fmt::format("the file has two columns \"{}\"", part.column->name);
    if (!part.fits)
      return fmt::format("column \"{}\" is {}, not {}: write {}",
                         part.column->name, part.column->kindName(),
                         part.wanted, part.fix);
  }
  return "";
}

std::optional<std::string> stripSuffix(const std::string &name,
                                       std::string_view suffix) {
  if (name.size() <= suffix.size() || !name.ends_with(suffix))
    return std::nullopt;
  return name.substr(0, name.size() - suffix.size());
}

} // namespace

std::vector<Field> findFields(const SchemaDescriptor &schema) {
  std::vector<Column> columns = describeColumns(schema);
  std::map<std::string, Triple> triples;
  const struct {
    const char *suffix;
    const Column *Triple::*member;
  } suffixes[] = {{"_bytes", &Triple::bytes},
                  {"_shape", &Triple::shape},
                  {"_dtype", &Triple::dtype}};
  for (const Column &column : columns)
    for (const auto &[suffix, member] : suffixes)
      if (auto name = stripSuffix(column.name, suffix))
        triples[*name].*member = &column;

  std::vector<Field> fields;
  std::map<std::string, size_t> byName;
  auto add = [&](Field field) {
    auto [it, isNew] = byName.try_emplace(field.name, fields.size());
    if (isNew) {
      fields.push_back(std::move(field));
      return;
    }
    Field &other = fields[it->second];
    if (other.kind == Field::Broken) {
      other = std::move(field);
    } else if (field.kind != Field::Broken) {
      other.kind = Field::Broken;
      other.problem = fmt::format(
          "\"{0}\" is a column, and so are \"{0}_bytes\", \"{0}_shape\" and "
          "\"{0}_dtype\": rename one of the two",
          field.name);
    }
  };
  for (const Column &column : columns) {
    if (column.kind == Column::Number) {
      Field field;
      field.name = column.name;
      field.kind = column.twice ? Field::Broken : Field::Number;
      field.number = column.leaf;
      field.numberDtype = column.dtype;
      if (column.twice)
        field.problem =
            fmt::format("the file has two columns \"{}\"", column.name);
      add(std::move(field));
    }
    for (const auto &[suffix, member] : suffixes) {
      auto name = stripSuffix(column.name, suffix);
      if (!name)
        continue;
      auto it = triples.find(*name);
      if (it == triples.end() || !isMeant(it->second))
        continue;
      Triple triple = it->second;
      triples.erase(it); // once for its columns
      Field field;
      field.name = *name;
      field.problem = problemOf(*name, triple);
      if (field.problem.empty()) {
        field.kind = Field::Tensor;
        field.bytes = triple.bytes->leaf;
        field.shape = triple.shape->leaf;
        field.dtype = triple.dtype->leaf;
      }
      add(std::move(field));
    }
  }
  return fields;
}

} // namespace ff::parquet
