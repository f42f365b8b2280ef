//===- Link.cpp - Links trainers -----------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/Driver.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message.str().c_str());
}

Error ff::writeFile(StringRef path, ArrayRef<char> data) {
  // A regular file is replaced as a whole; a device or a pipe is written to.
  if (path != "-" && sys::fs::exists(path) && !sys::fs::is_regular_file(path)) {
    std::error_code error;
    raw_fd_ostream os(path, error);
    if (!error) {
      os.write(data.data(), data.size());
      os.close();
      error = os.error();
      os.clear_error();
    }
    if (error)
      return makeError("cannot write '" + path + "': " + error.message());
    return Error::success();
  }
  return writeToOutput(path, [&](raw_ostream &os) {
    os.write(data.data(), data.size());
    return Error::success();
  });
}

/// A driver that knows where the C++ library lies.
static Expected<std::string> findLinkerDriver() {
  for (const char *name : {"clang++-19", "clang++", "c++", "g++"})
    if (auto path = sys::findProgramByName(name))
      return *path;
  return makeError("no linker found: install clang-19 and lld-19, or use --run "
                   "or --emit=obj, which need none");
}

Error ff::linkExecutable(ArrayRef<char> object, StringRef output, bool isCuda) {
  auto driver = findLinkerDriver();
  if (!driver)
    return driver.takeError();
  // What trainers are linked with, one argument a line.
  StringRef listPath =
      isCuda ? FF_RUNTIME_CUDA_LINK_FILE : FF_RUNTIME_LINK_FILE;
  auto list = MemoryBuffer::getFile(listPath);
  if (!list)
    return makeError("cannot read '" + listPath +
                     "', which lists what trainers are linked with: " +
                     list.getError().message());

  SmallString<128> objectPath, logPath;
  if (auto error = sys::fs::createTemporaryFile("ff-trainer", "o", objectPath))
    return makeError("no temporary file: " + error.message());
  FileRemover removeObject(objectPath);
  if (auto error = sys::fs::createTemporaryFile("ff-link", "log", logPath))
    return makeError("no temporary file: " + error.message());
  FileRemover removeLog(logPath);
  if (Error error = writeFile(objectPath, object))
    return error;

  SmallVector<StringRef> lines;
  (*list)->getBuffer().split(lines, '\n', /*MaxSplit=*/-1,
                             /*KeepEmpty=*/false);
  SmallVector<StringRef> args{*driver, "-o", output, objectPath};
  if (sys::findProgramByName("ld.lld") || sys::findProgramByName("ld.lld-19"))
    args.push_back("-fuse-ld=lld");
  append_range(args, lines);
  args.push_back("-lm");
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(logPath),
                                          StringRef(logPath)};
  std::string message;
  int status = sys::ExecuteAndWait(*driver, args, std::nullopt, redirects, 0, 0,
                                   &message);
  if (status == 0)
    return Error::success();
  auto log = MemoryBuffer::getFile(logPath);
  return makeError("cannot link '" + output + "': " + message +
                   (log ? (*log)->getBuffer().str() : std::string()));
}
