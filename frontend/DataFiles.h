//===- DataFiles.h - What the headers of data files say ---------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_DATAFILES_H
#define FF_FRONTEND_DATAFILES_H

#include "frontend/Safetensors.h"
#include "frontend/Spec.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ff::frontend {

/// A source of [data]. What is in it is found anew by the trainer at its start.
struct DataSource {
  StringRef kind; ///< "shards", "samples" or "parquet", as in metadata
  std::vector<std::string> paths; ///< files and folders, as they are read
  double weight = 1;
  SMLoc loc; ///< of the paths
};

/// A field that an input asks for.
struct DataField {
  StringRef input;    ///< that needs it; a name of the spec
  std::string tensor; ///< its name in the files
  SMLoc loc;
};

/// All samples of a source whose fields have equal dtypes and shapes.
struct SampleRun {
  std::string where; ///< the first of them: "data.safetensors", or with a row
  int64_t count = 0;
  std::vector<TensorInfo> fields; ///< in the order asked; of one sample
};

/// Reads the headers of all files of a source. Errors are reported; false where
/// there was one.
class DataFiles {
public:
  DataFiles(const Spec &spec, Diagnostics &diags,
            llvm::ArrayRef<DataField> fields)
      : spec(spec), diags(diags), fields(fields) {}

  /// What a table with `files` or `samples` names. Nothing after an error.
  std::optional<DataSource> parse(const Node &table);
  bool read(const DataSource &source, std::vector<SampleRun> &runs);

private:
  bool expand(const DataSource &source, std::vector<std::string> &files);
  bool readTensors(const DataSource &source, StringRef file,
                   std::vector<SampleRun> &runs);
  bool checkCounts(const DataSource &source, StringRef file,
                   llvm::ArrayRef<const TensorInfo *> tensors);
  void reportMissing(const DataField &field, StringRef file,
                     const std::vector<std::string> &names);
  void add(SampleRun run, llvm::function_ref<std::string()> where,
           std::vector<SampleRun> &runs);
  bool readParquet(const DataSource &source, StringRef file,
                   std::vector<SampleRun> &runs);

  const Spec &spec;
  Diagnostics &diags;
  llvm::ArrayRef<DataField> fields;
};

} // namespace ff::frontend

#endif // FF_FRONTEND_DATAFILES_H
