//===- Register.cpp - Dialects and passes of the tools -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An explicit list: all of MLIR's dialects would take half a minute to compile
// and milliseconds to load.
//
//===----------------------------------------------------------------------===//

#include "tools/Register.h"

#include "codegen/Passes.h"
#include "codegen/device/PTX.h"
#include "codegen/host/Host.h"
#include "dialect/FF.h"
#include "passes/Passes.h"
#include "tools/Pipeline.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void ff::registerDialects(DialectRegistry &registry) {
  registry.insert<FFDialect, arith::ArithDialect, func::FuncDialect,
                  gpu::GPUDialect, LLVM::LLVMDialect, math::MathDialect,
                  NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
  registerUpstreamGradients(registry);
  registerDeviceTranslations(registry);
}

void ff::registerPasses() {
  registerFFPasses();
  registerFFCodegenPasses();
  registerFFHostPasses();
  registerCanonicalizerPass();
  registerCSEPass();
  registerSymbolDCEPass();
  registerStagePipelines();
}
