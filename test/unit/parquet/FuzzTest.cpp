//===- FuzzTest.cpp - Broken files are refused, or read -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files are cut at every byte, and every byte of theirs is changed. Nothing is
// said of what is read then; no call may crash, or take all memory.
//
//===----------------------------------------------------------------------===//

#include "ParquetSupport.h"

#include <algorithm>

using namespace ff::parquet::test;

namespace {

/// Uses all of a file. True where nothing of it was an error.
bool useAll(const std::string &path) {
  char error[FF_PARQUET_ERROR] = "";
  ff_parquet *file = api().open(path.c_str(), error);
  if (!file) {
    EXPECT_NE(error[0], 0);
    return false;
  }
  bool good = true;
  int64_t rows = std::min<int64_t>(api().rows(file), 64);
  for (int field = 0; field < api().fields(file); ++field)
    for (int64_t row = 0; row < rows; ++row) {
      ff_parquet_value value;
      good &= !api().describe(file, field, row, 1, &value, error);
      std::string bytes(24, '\0');
      int64_t count =
          std::string(api().field_name(file, field)) == "x" ? 24 : 4;
      good &= !api().read(file, field, row, bytes.data(), count, error);
    }
  api().close(file);
  return good;
}

std::vector<std::string> makeFiles(const Folder &folder) {
  auto columns = simpleTensors(5);
  columns.push_back(column("n", arrow::int32(), "[1, 2, null, 4, 5]"));
  const Properties layouts[] = {
      [](auto &b) { b.compression(arrow::Compression::SNAPPY); },
      [](auto &b) { b.disable_dictionary(); },
      [](auto &b) {
        b.disable_dictionary()
            ->data_page_version(::parquet::ParquetDataPageVersion::V2)
            ->compression(arrow::Compression::ZSTD);
      }};
  std::vector<std::string> files;
  for (const Properties &layout : layouts) {
    write(folder / "whole.parquet", columns, 3, layout);
    files.push_back(readFile(folder / "whole.parquet"));
  }
  return files;
}

} // namespace

TEST(Fuzz, CutShort) {
  Folder folder;
  for (const std::string &whole : makeFiles(folder))
    for (size_t size = 0; size < whole.size(); ++size) {
      writeFile(folder / "cut.parquet", whole.substr(0, size));
      EXPECT_FALSE(useAll(folder / "cut.parquet")) << size;
    }
}

// As a broken copy is: the footer is there, and not what it tells of.
TEST(Fuzz, Holes) {
  Folder folder;
  for (const std::string &whole : makeFiles(folder))
    for (size_t at = 4; at + 300 < whole.size(); at += 7) {
      std::string broken = whole;
      broken.erase(at, 100);
      writeFile(folder / "hole.parquet", broken);
      useAll(folder / "hole.parquet");
      broken = whole;
      std::fill_n(broken.begin() + at, 64, '\0');
      writeFile(folder / "hole.parquet", broken);
      useAll(folder / "hole.parquet");
    }
}

TEST(Fuzz, ChangedBytes) {
  Folder folder;
  for (const std::string &whole : makeFiles(folder))
    for (size_t at = 0; at < whole.size(); ++at)
      for (int mask : {0x01, 0x80, 0xff}) {
        std::string broken = whole;
        broken[at] = static_cast<char>(broken[at] ^ mask);
        writeFile(folder / "bad.parquet", broken);
        useAll(folder / "bad.parquet");
      }
}
