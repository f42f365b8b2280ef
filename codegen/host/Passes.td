//===- Passes.td - Host code ------------------------------*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_HOST_PASSES_TD
#define FF_CODEGEN_HOST_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToRuntimeCalls : Pass<"ff-lower-to-runtime-calls", "mlir::ModuleOp"> {
  let summary = "Programs and blocks become functions of runtime calls";
  let description = [{
    Every value has a place (`ff-plan-memory`), so a tensor becomes a pointer and
    an operation becomes a call of `runtime/abi/ff_rt.h`. A program becomes
    `void NAME(ctx)`; a block becomes `void NAME(ctx, frame, arguments...,
    results...)`. Beside them the pass leaves the metadata (a constant string) and
    `main`, which hands both to `ff_rt_main`. Kernels are left as they are.

    For a GPU (`ff.target` of the module) a launch is a call of `ff_rt_launch` with
    the number of the kernel in the metadata, and `main` calls `ff_rt_cuda_main` with
    `ff_device_image`, which `ff-embed-device-code` defines.

    Input:
    ```mlir
    %y = ff.launch @kernel_0(%x) iterations 8 grain 8 {ff.offsets = array<i64: 64>} : (tensor<8xf32>) -> tensor<8xf32>
    ```
    Output:
    ```mlir
    %p = llvm.getelementptr %frame[64] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %x, %array : !llvm.ptr, !llvm.ptr
    ...
    llvm.call @ff_rt_parallel_for(%ctx, %kernel, %array, %n, %grain)
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::func::FuncDialect"];
}

#endif // FF_CODEGEN_HOST_PASSES_TD
