//===- ParquetSource.h - Samples in Parquet files -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_PARQUETSOURCE_H
#define FF_RUNTIME_TRAIN_PARQUETSOURCE_H

#include "runtime/train/SampleSource.h"

namespace ff::rt {

/// Reads the files by libff_parquet.so (runtime/abi/ff_parquet_load.h).
std::unique_ptr<SampleSource>
openParquet(const std::vector<std::string> &paths,
            const std::vector<std::string> &fields);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_PARQUETSOURCE_H
