//===- WeightReader.h - Reads weight files ----------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_WEIGHTREADER_H
#define FF_FRONTEND_WEIGHTREADER_H

#include "frontend/Weights.h"

#include "llvm/ADT/StringMap.h"

namespace ff::frontend {

/// "'a', 'b', 'c' and 4 more".
std::string someOf(llvm::ArrayRef<std::string> names);
/// "[2, 3]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);
/// "1 tensor", "2 tensors".
std::string counted(size_t count, StringRef what);

/// Whether the extension is one under which pickles are kept.
bool isPickle(StringRef file);
std::string joinPath(StringRef folder, StringRef name);

/// "model-00002-of-00007.safetensors".
struct Shard {
  StringRef stem, digits;
  unsigned number = 0, count = 0;

  static std::optional<Shard> parse(StringRef file);
  /// The name of another shard of the same model.
  std::string name(unsigned other) const;
};

/// Finds the files of readWeightFiles and reads their headers. WeightFiles.cpp,
/// and WeightIndex.cpp for those with an index.
class FilesReader {
public:
  FilesReader(SMLoc loc, WeightFiles &files, Diagnostics &diags)
      : loc(loc), files(files), diags(diags) {}

  bool read(StringRef path);

private:
  Diagnostics::Report fail(const Twine &message) {
    failed = true;
    return diags.error(loc, message);
  }
  void refusePickle(StringRef file, StringRef all);
  void readFile(StringRef file);
  void readFolder(StringRef folder);
  void readUnindexed(StringRef folder, llvm::ArrayRef<std::string> names);
  void refuseFolder(StringRef folder, llvm::ArrayRef<std::string> pickles,
                    llvm::ArrayRef<std::string> subfolders);
  void readIndex(StringRef file);
  bool parseIndex(StringRef file);
  bool checkIndexedName(StringRef key, std::string &name);
  bool findIndexed(StringRef folder, llvm::ArrayRef<std::string> names);
  void warnOfStrays(StringRef folder, llvm::ArrayRef<std::string> names);
  void checkIndex();
  void readHeaders();
  void checkUnique();
  void dropExtraState();

  SMLoc loc;
  WeightFiles &files;
  Diagnostics &diags;
  bool failed = false;
  llvm::StringMap<std::string> indexed; ///< tensor -> file, of the index
  std::vector<std::string> order;       ///< the tensors as the index lists them
};

} // namespace ff::frontend

#endif // FF_FRONTEND_WEIGHTREADER_H
