//===- ErrorsTest.cpp - What the library says of data that it cannot use --===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParquetSupport.h"

#include <parquet/encryption/encryption.h>

using namespace ff::parquet::test;

using Texts = std::vector<std::string>;

namespace {
/// Columns of one row, the file of which is broken in one place.
std::vector<Column> row(const std::string &bytes, const std::string &shape,
                        const std::string &dtype) {
  return {
      binary("x_bytes", {"", bytes}),
      column("x_shape", arrow::list(arrow::int64()), "[[0], " + shape + "]"),
      column("x_dtype", arrow::utf8(), "[\"float32\", " + dtype + "]")};
}

class Errors : public testing::Test {
protected:
  /// Of a file with these columns, what is said of field "x".
  std::string described(const std::vector<Column> &columns) {
    write(folder / "x.parquet", columns);
    Opened file(folder / "x.parquet");
    EXPECT_TRUE(file.good()) << file.error;
    Texts texts = file.describe("x");
    return texts.empty() ? "" : texts[0];
  }
  std::string openError(const std::string &text) {
    writeFile(folder / "o.parquet", text);
    Opened file(folder / "o.parquet");
    EXPECT_FALSE(file.good());
    return file.error;
  }
  std::string read(const std::vector<Column> &columns, int64_t row,
                   int64_t bytes, const std::string &field = "x") {
    write(folder / "r.parquet", columns);
    Opened file(folder / "r.parquet");
    EXPECT_TRUE(file.good()) << file.error;
    return file.read(field, row, bytes);
  }
  Folder folder;
};
} // namespace

TEST_F(Errors, Values) {
  EXPECT_EQ(described(row("", "[2, -3]", "\"float32\"")),
            "column \"x_shape\", row 1: dim 1 of [2, -3] is negative");
  EXPECT_EQ(described(row("", "[1,1,1,1,1,1,1,1,1]", "\"float32\"")),
            "column \"x_shape\", row 1: it has 9 dims, and a tensor has at "
            "most 8: write it with fewer");
  EXPECT_EQ(described(row("", "null", "\"float32\"")),
            "column \"x_shape\", row 1: it is null: write the shape, which is "
            "[] of a scalar");
  EXPECT_EQ(described(row("", "[2, null]", "\"float32\"")),
            "column \"x_shape\", row 1: a dim of it is null");
  EXPECT_EQ(described(row("", "[4294967296, 4294967296]", "\"float32\"")),
            "column \"x_shape\", row 1: a tensor of [4294967296, 4294967296] "
            "has more than 2^63 bytes");
  EXPECT_EQ(described(row("", "[2]", "null")),
            "column \"x_dtype\", row 1: it is null: write the dtype, such as "
            "\"float32\"");
  EXPECT_EQ(
      described(row("", "[2]", "\"complex64\\n\"")).substr(0, 64),
      "column \"x_dtype\", row 1: \"complex64?\" is no dtype that is known:");
}

TEST_F(Errors, OtherRowsAreGood) {
  write(folder / "g.parquet", row("", "[2, -3]", "\"float32\""));
  Opened file(folder / "g.parquet");
  EXPECT_EQ(file.describe("x", 0, 1), Texts{"f32 [0]"});
  EXPECT_EQ(file.read("x", 0, 0), "");
  EXPECT_EQ(file.read("x", 1, 4),
            "column \"x_shape\", row 1: dim 1 of [2, -3] is negative");
}

TEST_F(Errors, Bytes) {
  EXPECT_EQ(read(row("1234567", "[2, 1]", "\"torch.float32\""), 1, 8),
            "column \"x_bytes\", row 1: it has 7 bytes, and [2, 1] of "
            "torch.float32 (columns \"x_shape\" and \"x_dtype\") are 8: write "
            "the three of one array");
  EXPECT_EQ(read(row("12345678", "[2, 1]", "\"float32\""), 1, 4),
            "columns \"x_shape\" and \"x_dtype\", row 1: [2, 1] of float32 are "
            "8 bytes, where 4 are expected");
  EXPECT_EQ(read(row("1234", "[1]", "\"float32\""), 2, 4), "row 2 of 2");
  EXPECT_EQ(read(row("1234", "[1]", "\"float32\""), -1, 4), "row -1 of 2");
  auto null = row("", "[2]", "\"float32\"");
  null[0] = binary("x_bytes", {"", std::nullopt});
  EXPECT_EQ(read(null, 1, 8), "column \"x_bytes\", row 1: it is null: give "
                              "each row a value, or leave the row out");
  // Known without reading them, by the statistics of the file.
  EXPECT_EQ(described(null), "column \"x_bytes\", rows 0 to 1: 1 of them is "
                             "null: give each row a value, or leave the row "
                             "out");
}

TEST_F(Errors, Numbers) {
  std::vector<Column> columns = {column("n", arrow::int32(), "[1, null]")};
  EXPECT_EQ(read(columns, 1, 4, "n"), "column \"n\", row 1: it is null: give "
                                      "each row a value, or leave the row out");
  EXPECT_EQ(read(columns, 0, 8, "n"), "column \"n\", row 0: a number of i32 is "
                                      "4 bytes, where 8 are expected");
}

TEST_F(Errors, Columns) {
  auto whole = simpleTensors(2);
  EXPECT_EQ(described({whole[0], whole[1]}),
            "column \"x_bytes\" has no column \"x_dtype\" beside it: write it, "
            "text, with the dtype of each row, such as \"float32\"");
  EXPECT_EQ(described({whole[0], whole[2]}),
            "column \"x_bytes\" has no column \"x_shape\" beside it: write it, "
            "a list of integers, with the shape of each row, such as [16, 60, "
            "104]");
  EXPECT_EQ(described({whole[1], whole[2]}),
            "column \"x_shape\" has no column \"x_bytes\" beside it: write it, "
            "binary, with the values of each row, row-major");
  EXPECT_EQ(described({column("x_bytes", arrow::utf8(), R"(["a", "b"])"),
                       whole[1], whole[2]}),
            "column \"x_bytes\" is text, not binary: write the values of each "
            "row, row-major");
  EXPECT_EQ(described({whole[0], column("x_shape", arrow::int64(), "[1, 2]"),
                       whole[2]}),
            "column \"x_shape\" is a number, not a list of integers: write the "
            "shape of each row, such as [16, 60, 104]");
  EXPECT_EQ(
      described({whole[0],
                 column("x_shape", arrow::list(arrow::list(arrow::int64())),
                        "[[[1]], []]"),
                 whole[2]}),
      "column \"x_shape\" is of another type, not a list of integers: write "
      "the shape of each row, such as [16, 60, 104]");
  EXPECT_EQ(described({whole[0], whole[1],
                       column("x_dtype", arrow::int64(), "[1, 2]")}),
            "column \"x_dtype\" is a number, not text: write the dtype of each "
            "row, such as \"float32\"");
  EXPECT_EQ(described({whole[0], whole[0], whole[1], whole[2]}),
            "the file has two columns \"x_bytes\"");
  EXPECT_EQ(described({whole[0], whole[1], whole[2],
                       column("x", arrow::int64(), "[1, 2]")}),
            "\"x\" is a column, and so are \"x_bytes\", \"x_shape\" and "
            "\"x_dtype\": rename one of the two");
  // Text that is called so by chance is no tensor.
  write(folder / "t.parquet",
        {column("x_dtype", arrow::utf8(), R"(["a", "b"])"),
         column("y_bytes", arrow::int64(), "[1, 2]")});
  EXPECT_EQ(Opened(folder / "t.parquet").fields(), Texts{"y_bytes"});
  // What is wrong with one field does not concern another.
  whole.push_back(binary("jpeg_bytes", {"a", "b"}));
  write(folder / "o.parquet", whole);
  Opened other(folder / "o.parquet");
  EXPECT_EQ(other.describe("x"), Texts(2, "f32 [2, 3]"));
  EXPECT_EQ(other.read("x", 1, 24), simpleBytes(1));
}

TEST_F(Errors, Arguments) {
  write(folder / "x.parquet", simpleTensors(2));
  Opened file(folder / "x.parquet");
  EXPECT_EQ(file.describe("y"), Texts{"field -1 of 1"});
  EXPECT_EQ(file.describe("x", 1, 2), Texts{"rows 1 to 2 of 2"});
  EXPECT_EQ(file.describe("x", 2, 0), Texts{});
}

TEST_F(Errors, Files) {
  EXPECT_EQ(Opened(folder / "none.parquet").error,
            "cannot be opened: No such file or directory");
  EXPECT_EQ(Opened(folder / ".").error, "is a folder");
  EXPECT_EQ(Opened("/dev/null").error, "is not a regular file");
  EXPECT_EQ(openError(""), "is not a Parquet file: it has 0 bytes");
  EXPECT_EQ(openError("name,label\ncat,1\ndog,2\n"),
            "is not a Parquet file: it does not start with PAR1");
  write(folder / "x.parquet", simpleTensors(2));
  std::string text = readFile(folder / "x.parquet");
  EXPECT_EQ(openError(text.substr(0, text.size() - 5)),
            "does not end with PAR1: it was cut short, or is still being "
            "written");
  EXPECT_EQ(openError("PAR1" + std::string(8, '\xff') + "PAR1").substr(0, 19),
            "has a broken footer");
}

TEST_F(Errors, Encrypted) {
  auto encrypt = [](bool footer) {
    return [=](::parquet::WriterProperties::Builder &builder) {
      ::parquet::FileEncryptionProperties::Builder encryption(
          ::arrow::util::SecureString("0123456789012345"));
      if (!footer)
        encryption.set_plaintext_footer();
      builder.encryption(encryption.build());
    };
  };
  write(folder / "e.parquet", simpleTensors(2), 2, encrypt(true));
  EXPECT_EQ(Opened(folder / "e.parquet").error,
            "is encrypted: write it without encryption");
  write(folder / "p.parquet", simpleTensors(2), 2, encrypt(false));
  Opened plain(folder / "p.parquet");
  EXPECT_TRUE(plain.good()) << plain.error;
  if (plain.good())
    EXPECT_EQ(plain.describe("x"),
              Texts{"column \"x_shape\", rows 0 to 1: it is encrypted: write "
                    "the file without encryption"});
}

TEST_F(Errors, ChangedWhileInUse) {
  write(folder / "x.parquet", simpleTensors(2));
  Opened file(folder / "x.parquet");
  ASSERT_EQ(file.read("x", 0, 24), simpleBytes(0));
  // Those that stay open are of the old file.
  std::vector<std::unique_ptr<Opened>> others;
  for (int i = 0; i < 200; ++i) {
    std::string path = folder / ("o" + std::to_string(i));
    write(path, simpleTensors(2));
    others.push_back(std::make_unique<Opened>(path));
    ASSERT_EQ(others.back()->read("x", 1, 24), simpleBytes(1));
  }
  write(folder / "y.parquet", simpleTensors(3), 1);
  std::rename((folder / "y.parquet").c_str(), (folder / "x.parquet").c_str());
  std::string text = file.read("x", 1, 24);
  EXPECT_TRUE(text == simpleBytes(1) ||
              text.find("was changed while it is in use") != std::string::npos)
      << text;
}
