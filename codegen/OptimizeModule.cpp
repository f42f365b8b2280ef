//===- OptimizeModule.cpp - LLVM's pipeline over generated code -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/OptimizeModule.h"

#include "llvm/Passes/PassBuilder.h"

void ff::optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                        unsigned level) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  llvm::ModulePassManager passes =
      level == 0 ? builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0)
                 : builder.buildPerModuleDefaultPipeline(
                       level == 1 ? llvm::OptimizationLevel::O1
                                  : llvm::OptimizationLevel::O2);
  passes.run(module, mam);
}
