//===- ReadTest.cpp - Values of Parquet files, however they are written ---===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParquetSupport.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ff::parquet::test;

namespace {
struct Layout {
  const char *name;
  Properties properties;
};

const Layout layouts[] = {
    {"plain, uncompressed",
     [](auto &b) {
       b.disable_dictionary()->compression(arrow::Compression::UNCOMPRESSED);
     }},
    {"dictionary, uncompressed",
     [](auto &b) { b.compression(arrow::Compression::UNCOMPRESSED); }},
    {"plain, snappy",
     [](auto &b) {
       b.disable_dictionary()->compression(arrow::Compression::SNAPPY);
     }},
    {"dictionary, zstd",
     [](auto &b) { b.compression(arrow::Compression::ZSTD); }},
    {"dictionary that does not fit, gzip",
     [](auto &b) {
       b.dictionary_pagesize_limit(1024)->write_batch_size(3)->compression(
           arrow::Compression::GZIP);
     }},
    {"small pages of version 2, lz4",
     [](auto &b) {
       b.disable_dictionary()
           ->data_page_version(::parquet::ParquetDataPageVersion::V2)
           ->data_pagesize(1000)
           ->write_batch_size(2)
           ->compression(arrow::Compression::LZ4);
     }},
    {"version 2, uncompressed",
     [](auto &b) {
       b.disable_dictionary()
           ->data_page_version(::parquet::ParquetDataPageVersion::V2)
           ->compression(arrow::Compression::UNCOMPRESSED);
     }},
    {"lengths as deltas, brotli",
     [](auto &b) {
       b.disable_dictionary()
           ->encoding("x_bytes", ::parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY)
           ->compression(arrow::Compression::BROTLI);
     }},
    {"prefixes as deltas",
     [](auto &b) {
       b.disable_dictionary()->encoding("x_bytes",
                                        ::parquet::Encoding::DELTA_BYTE_ARRAY);
     }},
    {"checksums and an index of pages",
     [](auto &b) {
       b.enable_page_checksum()
           ->enable_write_page_index()
           ->write_batch_size(1)
           ->data_pagesize(1);
     }},
};

/// Values of different sizes, some of them again and again.
std::vector<std::optional<std::string>> makeValues(int rows, size_t unit,
                                                   bool nulls) {
  std::vector<std::optional<std::string>> values;
  std::mt19937 random(7);
  for (int row = 0; row < rows; ++row) {
    if (nulls && row % 5 == 3) {
      values.push_back(std::nullopt);
    } else if (row % 7 == 6) {
      values.push_back(values[row - 6]);
    } else {
      std::string value((row % 4) * unit, '\0');
      for (char &c : value)
        c = static_cast<char>(random());
      values.push_back(value);
    }
  }
  return values;
}

std::vector<Column>
tensorsOf(const std::vector<std::optional<std::string>> &values) {
  std::string shapes, dtypes;
  for (const auto &value : values) {
    const char *comma = shapes.empty() ? "" : ",";
    shapes += comma + ("[" + std::to_string(value ? value->size() : 0)) + "]";
    dtypes += std::string(comma) + "\"uint8\"";
  }
  return {binary("x_bytes", values),
          column("x_shape", arrow::list(arrow::int64()), "[" + shapes + "]"),
          column("x_dtype", arrow::utf8(), "[" + dtypes + "]")};
}

void expectValue(Opened &file, int64_t row,
                 const std::optional<std::string> &value) {
  std::string got = file.read("x", row, value ? value->size() : 0);
  if (value)
    EXPECT_TRUE(got == *value) << "row " << row << ": " << got.substr(0, 200);
  else
    EXPECT_NE(got.find("is null"), std::string::npos) << got;
}

/// All rows in random order.
void expectValues(const std::string &path,
                  const std::vector<std::optional<std::string>> &values) {
  Opened file(path);
  ASSERT_TRUE(file.good()) << file.error;
  ASSERT_EQ(file.rows(), static_cast<int64_t>(values.size()));
  std::vector<int> order(values.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int>(i);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  for (int row : order)
    expectValue(file, row, values[row]);
}
} // namespace

TEST(Read, EveryLayout) {
  Folder folder;
  for (const Layout &layout : layouts)
    for (int64_t rowGroup : {1, 4, 100})
      for (bool nulls : {false, true})
        // Values above and below the size from which they are read alone.
        for (size_t unit : {50u, 100'000u}) {
          SCOPED_TRACE(layout.name);
          SCOPED_TRACE(rowGroup);
          SCOPED_TRACE(unit);
          auto values = makeValues(unit > 1000 ? 12 : 30, unit, nulls);
          auto columns = tensorsOf(values);
          columns[0].nullable = nulls || rowGroup == 4;
          write(folder / "l.parquet", columns, rowGroup, layout.properties);
          expectValues(folder / "l.parquet", values);
          if (HasFailure())
            return;
        }
}

TEST(Read, BySeveralThreads) {
  Folder folder;
  auto values = makeValues(60, 30'000, false);
  for (const Layout &layout : {layouts[0], layouts[3]}) {
    write(folder / "t.parquet", tensorsOf(values), 10, layout.properties);
    Opened file(folder / "t.parquet");
    std::atomic<int> bad{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread)
      threads.emplace_back([&, thread] {
        std::mt19937 random(thread);
        for (int i = 0; i < 200; ++i) {
          int row = static_cast<int>(random() % values.size());
          if (i % 20 == 0)
            bad += file.describe("x").size() != values.size();
          bad += file.read("x", row, values[row]->size()) != *values[row];
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(bad, 0);
  }
}

// More than stay open.
TEST(Read, ManyFiles) {
  Folder folder;
  std::vector<std::unique_ptr<Opened>> files;
  for (int i = 0; i < 150; ++i) {
    std::string path = folder / std::to_string(i);
    auto columns = simpleTensors(i % 5 + 1);
    columns.push_back(column(
        "n", arrow::int32(), "[" + std::to_string(i) + [&] {
          std::string more;
          for (int k = 0; k < i % 5; ++k)
            more += ", " + std::to_string(-k);
          return more;
        }() + "]"));
    write(path, columns, 2);
    files.push_back(std::make_unique<Opened>(path));
  }
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 150; ++i) {
      EXPECT_EQ(files[i]->number<int32_t>("n", 0), i);
      EXPECT_EQ(files[i]->read("x", i % 5, 24), simpleBytes(i % 5));
    }
}

// As ranks on one machine are started.
TEST(Read, AfterFork) {
  Folder folder;
  auto values = makeValues(40, 30'000, false);
  write(folder / "f.parquet", tensorsOf(values), 10, layouts[3].properties);
  Opened file(folder / "f.parquet");
  expectValue(file, 0, values[0]);
  for (int rank = 0; rank < 4; ++rank)
    if (fork() == 0) {
      int bad = 0;
      for (int row = rank; row < 40; row += 2)
        bad += file.read("x", row, values[row]->size()) != *values[row];
      _exit(bad);
    }
  int status;
  while (wait(&status) > 0)
    EXPECT_EQ(status, 0);
}
