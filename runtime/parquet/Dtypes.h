//===- Dtypes.h - Names of dtypes -----------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_PARQUET_DTYPES_H
#define FF_RUNTIME_PARQUET_DTYPES_H

#include <string_view>

namespace ff::parquet {

struct Dtype {
  const char *name = nullptr; ///< in safetensors' spelling in lower case
  int bytes = 0;
};

/// The dtype that `text` names: in NumPy ("float32"), in PyTorch, also with
/// "torch." before it, or in safetensors ("F32", "f32"). Its name is null where
/// there is none.
Dtype parseDtype(std::string_view text);

} // namespace ff::parquet

#endif // FF_RUNTIME_PARQUET_DTYPES_H
