//===- Fields.h - What the columns of a file are --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_PARQUET_FIELDS_H
#define FF_RUNTIME_PARQUET_FIELDS_H

#include "runtime/parquet/Dtypes.h"

#include <parquet/schema.h>

#include <string>
#include <vector>

namespace ff::parquet {

/// A field, which is a tensor of three columns or a number of each row.
struct Field {
  enum Kind { Tensor, Number, Broken };

  std::string name;
  Kind kind = Broken;
  /// Columns, by index among the leaves of the schema.
  int bytes = -1, shape = -1, dtype = -1; ///< of a tensor
  int number = -1;                        ///< of a number
  Dtype numberDtype;
  /// Of a broken one, what is wrong. It is said to who asks for the field, so
  /// that other fields of the file can be used.
  std::string problem;

  std::string bytesColumn() const { return name + "_bytes"; }
  std::string shapeColumn() const { return name + "_shape"; }
  std::string dtypeColumn() const { return name + "_dtype"; }
};

/// The fields in the order of the columns.
std::vector<Field> findFields(const ::parquet::SchemaDescriptor &schema);

} // namespace ff::parquet

#endif // FF_RUNTIME_PARQUET_FIELDS_H
