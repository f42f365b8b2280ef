//===- Ptxas.cpp - PTX to machine code by the CUDA toolkit ----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/device/Ptxas.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

Expected<std::string> ff::findPtxas(StringRef wanted) {
  if (wanted == "none")
    return std::string();
  if (!wanted.empty()) {
    if (!sys::fs::can_execute(wanted))
      return makeError("'" + wanted +
                       "' is no program; give the path of ptxas "
                       "or none");
    return wanted.str();
  }
  if (auto path = sys::findProgramByName("ptxas"))
    return *path;
  SmallVector<std::string> homes;
  if (auto home = sys::Process::GetEnv("CUDA_HOME"))
    homes.push_back(*home);
  homes.push_back("/usr/local/cuda");
  for (StringRef home : homes) {
    SmallString<128> path(home);
    sys::path::append(path, "bin", "ptxas");
    if (sys::fs::can_execute(path))
      return path.str().str();
  }
  return std::string();
}

/// What `ptxas -v` says of each kernel:
///   ptxas info    : Function properties for kernel_0
///       0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
static std::vector<ff::Spill> parseSpills(StringRef log) {
  std::vector<ff::Spill> spills;
  Regex name("Function properties for ([^ ]+)");
  Regex bytes("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  StringRef kernel;
  for (StringRef line : split(log, '\n')) {
    SmallVector<StringRef> match;
    if (name.match(line, &match)) {
      kernel = match[1];
      continue;
    }
    if (!bytes.match(line, &match))
      continue;
    ff::Spill spill;
    spill.kernel = kernel.str();
    match[1].getAsInteger(10, spill.storeBytes);
    match[2].getAsInteger(10, spill.loadBytes);
    if (spill.storeBytes || spill.loadBytes)
      spills.push_back(spill);
  }
  return spills;
}

Expected<ff::Cubin> ff::assemble(StringRef ptxas, StringRef ptx,
                                 StringRef chip) {
  SmallString<128> source, object, log;
  for (auto [path, suffix] :
       {std::pair(&source, "ptx"), std::pair(&object, "cubin"),
        std::pair(&log, "log")})
    if (auto error = sys::fs::createTemporaryFile("ff-device", suffix, *path))
      return makeError("no temporary file: " + error.message());
  FileRemover removeSource(source), removeObject(object), removeLog(log);
  if (Error error = writeToOutput(source, [&](raw_ostream &os) {
        os << ptx;
        return Error::success();
      }))
    return error;
  std::string arch = ("-arch=" + chip).str(), message;
  StringRef args[] = {ptxas, "-v", arch, source, "-o", object};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  int status =
      sys::ExecuteAndWait(ptxas, args, std::nullopt, redirects, 0, 0, &message);
  auto text = MemoryBuffer::getFile(log);
  StringRef said = text ? (*text)->getBuffer() : "";
  if (status != 0)
    return makeError("'" + ptxas + "' does not accept the kernels: " + message +
                     said);
  auto bytes = MemoryBuffer::getFile(object, /*IsText=*/false,
                                     /*RequiresNullTerminator=*/false);
  if (!bytes)
    return makeError("'" + ptxas +
                     "' wrote no cubin: " + bytes.getError().message());
  return Cubin{(*bytes)->getBuffer().str(), parseSpills(said)};
}
