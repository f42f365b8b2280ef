//===- PTX.cpp - Kernels of a GPU as PTX ----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/device/PTX.h"

#include "codegen/OptimizeModule.h"
#include "codegen/device/DeviceLibrary.h"

// The headers of conversions declare passes without it.
#include "mlir/Pass/Pass.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace ff;

void ff::registerDeviceTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
}

/// The conversion of gpu wants calls of libdevice in the place of these
/// intrinsics, for which NVPTX has instructions: it lets calls by name pass.
static void callByName(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!isa<LLVM::SqrtOp, LLVM::FAbsOp, LLVM::FFloorOp, LLVM::FCeilOp>(op))
      return;
    OpBuilder b(op);
    StringRef name = op->getName().getStringRef();
    name.consume_front("llvm.intr.");
    auto call = b.create<LLVM::CallIntrinsicOp>(
        op->getLoc(), op->getResultTypes()[0], b.getStringAttr("llvm." + name),
        op->getOperands());
    op->replaceAllUsesWith(call);
    op->erase();
  });
}

/// To the LLVM dialect, math first.
static LogicalResult lowerToNVVM(ModuleOp module) {
  PassManager first(module.getContext()), second(module.getContext());
  OpPassManager &math = first.nest<gpu::GPUModuleOp>();
  math.addPass(createConvertSCFToCFPass());
  math.addPass(createConvertMathToLLVMPass());
  math.addPass(createArithToLLVMConversionPass());
  if (failed(first.run(module)))
    return failure();
  callByName(module);
  OpPassManager &device = second.nest<gpu::GPUModuleOp>();
  ConvertGpuOpsToNVVMOpsOptions options;
  options.indexBitwidth = 64;
  device.addPass(createConvertGpuOpsToNVVMOps(options));
  device.addPass(createReconcileUnrealizedCastsPass());
  return second.run(module);
}

llvm::Expected<std::string> ff::compileToPTX(gpu::GPUModuleOp kernels) {
  auto fail = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  auto target = dyn_cast<NVVM::NVVMTargetAttr>(
      kernels.getTargetsAttr() ? kernels.getTargetsAttr()[0] : Attribute());
  if (!target)
    return fail("the gpu.module has no target");
  OwningOpRef<ModuleOp> copy = ModuleOp::create(kernels.getLoc());
  auto device = cast<gpu::GPUModuleOp>(kernels->clone());
  copy->push_back(device);
  if (failed(lowerToNVVM(*copy)))
    return fail("the kernels have no form in the NVVM dialect");

  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  std::string error, triple = target.getTriple().str();
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return fail(error);
  llvm::TargetOptions options;
  // As on the CPU: a multiplication and an addition become one rounding.
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, target.getChip(), target.getFeatures(), options, std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(device, context, "ff");
  if (!module)
    return fail("the kernels have no LLVM IR");
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(triple);
  if (auto missing = linkDeviceLibrary(*module))
    return missing;
  optimizeModule(*module, *machine, /*level=*/2);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, os, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return fail("the target cannot write PTX");
  codegen.run(*module);
  return text.str().str();
}
