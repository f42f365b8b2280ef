//===- Diagnostics.cpp - Errors with a place, a caret and a fix -*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Diagnostics.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace ff::frontend;
using llvm::SourceMgr;

Diagnostics::Report &Diagnostics::Report::note(SMLoc place,
                                               const Twine &message) {
  if (!silent)
    diags.sources.PrintMessage(diags.os, place, SourceMgr::DK_Note, message);
  return *this;
}

Diagnostics::Report &Diagnostics::Report::note(const Twine &message) {
  if (silent)
    return *this;
  if (loc.isValid())
    diags.os << diags.describe(loc) << ": ";
  diags.os << "note: " << message << "\n";
  return *this;
}

bool Diagnostics::seenBefore(SMLoc loc, const Twine &message) {
  // A module that is elaborated for several callers repeats its errors.
  return !seen.insert({loc.getPointer(), message.str()}).second;
}

Diagnostics::Report Diagnostics::error(SMLoc loc, const Twine &message) {
  ++numErrors;
  if (seenBefore(loc, message))
    return {*this, loc, /*silent=*/true};
  if (loc.isValid())
    sources.PrintMessage(os, loc, SourceMgr::DK_Error, message);
  else
    os << "error: " << message << "\n";
  return {*this, loc, /*silent=*/false};
}

Diagnostics::Report Diagnostics::warning(SMLoc loc, const Twine &message) {
  if (seenBefore(loc, message))
    return {*this, loc, /*silent=*/true};
  sources.PrintMessage(os, loc, SourceMgr::DK_Warning, message);
  return {*this, loc, /*silent=*/false};
}

StringRef Diagnostics::addFile(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  unsigned id = sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
  return sources.getMemoryBuffer(id)->getBuffer();
}

StringRef Diagnostics::fileOf(SMLoc loc) const {
  unsigned id = loc.isValid() ? sources.FindBufferContainingLoc(loc) : 0;
  return id ? sources.getMemoryBuffer(id)->getBufferIdentifier() : StringRef();
}

SMLoc Diagnostics::startOfFile(SMLoc loc) const {
  unsigned id = sources.FindBufferContainingLoc(loc);
  return id ? SMLoc::getFromPointer(
                  sources.getMemoryBuffer(id)->getBufferStart())
            : SMLoc();
}

std::string Diagnostics::describe(SMLoc loc) const {
  unsigned id = loc.isValid() ? sources.FindBufferContainingLoc(loc) : 0;
  if (!id)
    return "<unknown>";
  auto [line, column] = sources.getLineAndColumn(loc, id);
  return (sources.getMemoryBuffer(id)->getBufferIdentifier() + ":" +
          Twine(line) + ":" + Twine(column))
      .str();
}

mlir::FileLineColLoc Diagnostics::location(mlir::MLIRContext *context,
                                           SMLoc loc) {
  unsigned id = loc.isValid() ? sources.FindBufferContainingLoc(loc) : 0;
  if (!id)
    return mlir::FileLineColLoc::get(context, "<unknown>", 0, 0);
  auto [line, column] = sources.getLineAndColumn(loc, id);
  return mlir::FileLineColLoc::get(
      context, sources.getMemoryBuffer(id)->getBufferIdentifier(), line,
      column);
}
