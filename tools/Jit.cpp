//===- Jit.cpp - Runs an object file in process --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/ff_rt.h"
#include "tools/Driver.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;

/// The runtime's calls at their addresses in this process: they are no dynamic
/// symbols, since the runtime is linked statically.
static orc::SymbolMap runtimeSymbols(orc::LLJIT &jit) {
  orc::SymbolMap symbols;
#define FF_SYMBOL(name)                                                        \
  symbols[jit.mangleAndIntern(#name)] = {                                      \
      orc::ExecutorAddr::fromPtr(reinterpret_cast<void *>(&name)),             \
      JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  FF_RT_CALLS(FF_SYMBOL)
#undef FF_SYMBOL
  return symbols;
}

Expected<int> ff::runObject(ArrayRef<char> object, ArrayRef<std::string> args) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto jit = orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  orc::JITDylib &dylib = (*jit)->getMainJITDylib();
  if (Error error = dylib.define(orc::absoluteSymbols(runtimeSymbols(**jit))))
    return error;
  // libm, memcpy and their like.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  dylib.addGenerator(std::move(*process));
  if (Error error = (*jit)->addObjectFile(MemoryBuffer::getMemBufferCopy(
          StringRef(object.data(), object.size()), "trainer.o")))
    return error;
  auto main = (*jit)->lookup("main");
  if (!main)
    return main.takeError();
  SmallVector<char *> argv;
  for (const std::string &arg : args)
    argv.push_back(const_cast<char *>(arg.c_str()));
  argv.push_back(nullptr);
  return main->toPtr<int(int, char **)>()(args.size(), argv.data());
}
