//===- Object.cpp - Machine code -----------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/host/Host.h"

#include "codegen/OptimizeModule.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace ff;

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const ObjectOptions &options) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  std::string triple = llvm::sys::getDefaultTargetTriple(), error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), error);
  std::string cpu = options.cpu, features;
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      target->createMCSubtargetInfo(triple, "", ""));
  if (cpu != "native" && !known->isCPUStringValid(cpu))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "there is no CPU '" + cpu + "' of " +
                                       triple);
  if (cpu == "native") {
    cpu = llvm::sys::getHostCPUName().str();
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features += (features.empty() ? "" : ",") +
                  std::string(feature.second ? "+" : "-") +
                  feature.first().str();
  }
  llvm::TargetOptions targetOptions;
  // Contraction of a multiplication and an addition is the same in every
  // build: nothing else of fast math is on, so runs can be compared bitwise.
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, features, targetOptions, llvm::Reloc::PIC_, std::nullopt,
      options.optLevel >= 2 ? llvm::CodeGenOptLevel::Default
                            : llvm::CodeGenOptLevel::Less));
}

/// The optimised LLVM module and the machine it is for.
static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(ModuleOp module, const ObjectOptions &options,
          llvm::LLVMContext &context, llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "ff");
  if (!result)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "the module has no LLVM IR");
  result->setDataLayout(machine.createDataLayout());
  result->setTargetTriple(machine.getTargetTriple().str());
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    // Kernels are written in whole vector registers.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  optimizeModule(*result, machine, options.optLevel);
  return result;
}

llvm::Expected<llvm::SmallVector<char, 0>>
ff::compileToObject(ModuleOp module, const ObjectOptions &options) {
  auto machine = createTargetMachine(options);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto llvmModule = translate(module, options, context, **machine);
  if (!llvmModule)
    return llvmModule.takeError();
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager codegen;
  if ((*machine)->addPassesToEmitFile(codegen, os, nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "the target cannot write object files");
  codegen.run(**llvmModule);
  return object;
}

llvm::Expected<std::string> ff::compileToLLVMIR(ModuleOp module,
                                                const ObjectOptions &options) {
  auto machine = createTargetMachine(options);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto llvmModule = translate(module, options, context, **machine);
  if (!llvmModule)
    return llvmModule.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  (*llvmModule)->print(os, nullptr);
  return os.str();
}
