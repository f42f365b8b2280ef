//===- DeviceLibrary.cpp - Our functions for a GPU ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/device/DeviceLibrary.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace ff;

// The bitcode that the build has made of library/.
#define FF_EMBED(name, file)                                                   \
  asm(".section .rodata." #name ",\"a\",@progbits\n"                           \
      ".balign 16\n" #name ":\n"                                               \
      ".incbin \"" FF_DEVICE_LIBRARY "/" file "\"\n" #name "_end:\n"           \
      ".previous\n");                                                          \
  extern "C" __attribute__((visibility("hidden"))) const char name[],          \
      name##_end[]

FF_EMBED(ff_device_attention_forward, "AttentionForward.bc");
FF_EMBED(ff_device_attention_backward, "AttentionBackward.bc");

/// Called for each module that is linked in: its functions become ours alone,
/// and all of them part of the kernels that call them, where constants are
/// known.
static void internalize(llvm::Module &module, const llvm::StringSet<> &names) {
  llvm::internalizeModule(module, [&](const llvm::GlobalValue &value) {
    return !value.hasName() || !names.count(value.getName());
  });
  for (const auto &name : names)
    if (llvm::Function *function = module.getFunction(name.getKey())) {
      function->addFnAttr(llvm::Attribute::AlwaysInline);
      // Made for the oldest chip, it may be inlined into code for another.
      function->removeFnAttr("target-cpu");
      function->removeFnAttr("target-features");
    }
}

static llvm::Error link(llvm::Module &module, llvm::StringRef bitcode) {
  auto library = llvm::getLazyBitcodeModule(
      llvm::MemoryBufferRef(bitcode, "device library"), module.getContext());
  if (!library)
    return library.takeError();
  (*library)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*library),
                                llvm::Linker::LinkOnlyNeeded, internalize))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "the device library cannot be linked");
  return llvm::Error::success();
}

llvm::Error ff::linkDeviceLibrary(llvm::Module &module) {
  auto isNeeded = [](const llvm::Function &function) {
    return function.isDeclaration() && function.getName().starts_with("ff_");
  };
  if (llvm::none_of(module, isNeeded))
    return llvm::Error::success();
  for (llvm::StringRef bitcode :
       {llvm::StringRef(ff_device_attention_forward,
                        ff_device_attention_forward_end -
                            ff_device_attention_forward),
        llvm::StringRef(ff_device_attention_backward,
                        ff_device_attention_backward_end -
                            ff_device_attention_backward)})
    if (auto error = link(module, bitcode))
      return error;
  for (const llvm::Function &function : module)
    if (isNeeded(function))
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     "the device library has no " +
                                         function.getName());
  return llvm::Error::success();
}
