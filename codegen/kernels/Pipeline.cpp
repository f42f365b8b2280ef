//===- Pipeline.cpp - From tensors to kernels to LLVM -----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void ff::buildFormKernelsPipeline(OpPassManager &pm, const Target &target) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  // Before ff-decompose, which would take the activations apart.
  FuseEpiloguesPassOptions epilogues;
  epilogues.device = target.isCuda();
  functions.addPass(createFuseEpiloguesPass(epilogues));
  functions.addPass(createDecomposePass());
  // Norms and their gradients share means and variances.
  functions.addPass(createCSEPass());
  FormKernelsPassOptions kernels;
  kernels.device = target.isCuda();
  functions.addPass(createFormKernelsPass(kernels));
  functions.addPass(createVerifyKernelsPass());
  if (target.isCuda())
    functions.addPass(createVerifyDeviceOpsPass());
}
