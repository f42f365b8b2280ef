//===- Driver.h - What ff-compile does with an object file -----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_TOOLS_DRIVER_H
#define FF_TOOLS_DRIVER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace ff {

/// Loads the object file into this process, with the runtime that ff-compile
/// itself is linked with, and calls its main. `args` begins with the name of
/// the program. Returns the exit status.
llvm::Expected<int> runObject(llvm::ArrayRef<char> object,
                              llvm::ArrayRef<std::string> args);

/// Links the object file with the runtime, that of GPUs for `isCuda`, into an
/// executable at `output`.
llvm::Error linkExecutable(llvm::ArrayRef<char> object, llvm::StringRef output,
                           bool isCuda);

/// Writes `data` to `path`, or leaves `path` as it was.
llvm::Error writeFile(llvm::StringRef path, llvm::ArrayRef<char> data);

} // namespace ff

#endif // FF_TOOLS_DRIVER_H
