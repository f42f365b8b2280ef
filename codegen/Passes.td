//===- Passes.td - Passes of code generation ---------------*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_PASSES_TD
#define FF_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Kernels, in the order in which they run
//===----------------------------------------------------------------------===//

def FuseEpiloguesPass : Pass<"ff-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "moves a bias and an activation into the matmul before them";
  let description = [{
    The matmul library adds a bias and applies an activation while the result is
    still in registers. A bias is an addition of a vector broadcast along the last
    dim; reshapes that keep the last dim may stand between. Only where the result
    of the matmul has no other use, and is not rounded to bf16 or f16 before. A
    rounding after them is the library's as well: it rounds once, at the end.

    Before:
    ```mlir
    %m = ff.matmul %x, %w : tensor<128x64xf32>, tensor<64x32xf32> to tensor<128x32xf32>
    %r = ff.reshape %m : tensor<128x32xf32> to tensor<8x16x32xf32>
    %b = ff.broadcast %bias dims [2] : tensor<32xf32> to tensor<8x16x32xf32>
    %s = arith.addf %r, %b : tensor<8x16x32xf32>
    %y = ff.activation <silu> %s : tensor<8x16x32xf32>
    ```
    After:
    ```mlir
    %m = ff.matmul %x, %w bias %bias : tensor<32xf32> {activation = #ff.activation_kind<silu>} : tensor<128x64xf32>, tensor<64x32xf32> to tensor<128x32xf32>
    %y = ff.reshape %m : tensor<128x32xf32> to tensor<8x16x32xf32>
    ```

    For a GPU, relu and gelu_tanh are the activations that the library has; with
    others the matmul keeps its bias. Of f64 it has the product alone.
  }];
  let dependentDialects = ["::ff::FFDialect"];
  let options = [
    Option<"device", "device", "bool", /*default=*/"false",
           "Only what the matmul library of a GPU has">
  ];
}

def DecomposePass : Pass<"ff-decompose", "::mlir::func::FuncOp"> {
  let summary = "expands norms, softmax and activations into elementwise "
                "operations and reductions";
  let description = [{
    So that they fuse with what stands around them. An f64 matmul, which the
    matmul library lacks, becomes a product and a sum. On bf16 and f16 they are
    computed in f32 and rounded at the end, as are random values and the gradient
    of an embedding, which the runtime makes in f32.

    Before:
    ```mlir
    %y = ff.softmax %x : tensor<8x10xf32>
    ```
    After:
    ```mlir
    %m = ff.reduce <max> %x dims [1] : tensor<8x10xf32> to tensor<8xf32>
    %b = ff.broadcast %m dims [0] : tensor<8xf32> to tensor<8x10xf32>
    %c = arith.subf %x, %b : tensor<8x10xf32>
    %e = math.exp %c : tensor<8x10xf32>
    ...
    ```
  }];
  let dependentDialects = ["::ff::FFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def FormKernelsPass : Pass<"ff-form-kernels", "::mlir::func::FuncOp"> {
  let summary = "groups operations into ff.fused, one for each loop nest";
  let description = [{
    In this order:

    1. views move up over elementwise operations that only they use, so that
       both sides of a view share one iteration space;
    2. reductions are split into those that kernels can do: over trailing dims
       (*rows*) or over leading dims (*columns*), with enough parallel work;
    3. column reductions take their single-use elementwise producers in;
    4. all other operations of one iteration space are grouped along their
       uses, unless that would make a cycle;
    5. conversions to a wider type are done in each kernel that needs them, so
       that the narrow value is what lies in memory;
    6. operands that must lie in memory as they are get copies (see
       `ff-verify-kernels`).

    Before:
    ```mlir
    %b = ff.broadcast %bias dims [1] : tensor<128xf32> to tensor<8x128xf32>
    %s = arith.addf %x, %b : tensor<8x128xf32>
    %e = math.exp %s : tensor<8x128xf32>
    ```
    After:
    ```mlir
    %b = ff.broadcast %bias dims [1] : tensor<128xf32> to tensor<8x128xf32>
    %e = ff.fused (%x, %b) domain [8, 128] reduced 0 : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32> {
    ^bb0(%0: tensor<8x128xf32>, %1: tensor<8x128xf32>):
      %2 = arith.addf %0, %1 : tensor<8x128xf32>
      %3 = math.exp %2 : tensor<8x128xf32>
      ff.yield %3 : tensor<8x128xf32>
    }
    ```
  }];
  let dependentDialects = ["::ff::FFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let options = [
    Option<"device", "device", "bool", /*default=*/"false",
           "For a GPU, whose kernels split sums themselves (`ff-lower-kernels-to-gpu`)">
  ];
}

def VerifyDeviceOpsPass
    : Pass<"ff-verify-device-ops", "::mlir::func::FuncOp"> {
  let summary = "checks that all of a program has code for a GPU";
  let description = [{
    **Constraints:**
    - (D1) no exp, log, tanh, erf, sin, cos or powf is of f64.

    Runs where the operations still have their places in the spec.
  }];
}

def VerifyKernelsPass : Pass<"ff-verify-kernels", "::mlir::func::FuncOp"> {
  let summary = "checks the exit form of ff-form-kernels";
  let description = [{
    **Constraints:**
    - (K1) no elementwise operation, reduction, iota, concat or constant stands
      outside `ff.fused`;
    - (K2) the matrix dims of matmul operands are strided views with strides
      other than 0;
    - (K3) the operands of attention are strided views whose last dim has
      stride 1;
    - (K4) operands of ff.embedding, func.call, func.return, ff.gradient,
      ff.reduce_gradients, of the backward of embedding, and the bias of a matmul
      are contiguous;
    - (K5) a function returns no argument of its own, and no value twice;
    - (K6) random values and gradients of embeddings are f32 or f64.
  }];
}

def LowerKernelsPass : Pass<"ff-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "turns ff.fused and attention into kernels and launches";
  let description = [{
    Each becomes an `ff.launch` of a function of loops over vectors. Equal
    kernels are emitted once: unrolled programs repeat them many times.
    Registers hold bf16 and f16 as bits, i16; each operation on them is computed
    in f32 and rounded once, and they are reduced in f32.

    Before:
    ```mlir
    %e = ff.fused (%x) domain [8, 128] reduced 0 : (tensor<8x128xf32>) -> tensor<8x128xf32> {
    ^bb0(%0: tensor<8x128xf32>):
      %1 = math.exp %0 : tensor<8x128xf32>
      ff.yield %1 : tensor<8x128xf32>
    }
    ```
    After:
    ```mlir
    %e = ff.launch @kernel_0(%x) iterations 1024 grain 4096 : (tensor<8x128xf32>) -> tensor<8x128xf32>
    ...
    func.func private @kernel_0(%buffers: !llvm.ptr, %begin: i64, %end: i64) attributes {ff.kernel} {
    ```
  }];
  let dependentDialects = ["::ff::FFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", /*default=*/"64",
           "Bytes of a vector register of the target">
  ];
}

//===----------------------------------------------------------------------===//
// Kernels of a GPU
//===----------------------------------------------------------------------===//

def LowerKernelsToGPUPass : Pass<"ff-lower-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "turns ff.fused and attention into kernels of a GPU and launches";
  let description = [{
    Each `ff.fused` becomes an `ff.launch_device` of a `gpu.func` in one
    `gpu.module`; equal kernels are emitted once. How dims fall on blocks and
    threads, and why, is in docs/decisions/0010-kernels-of-a-gpu.md:

    - *elementwise* and *concatenations*: blocks of 256 threads in a stride of the
      grid; a thread has a few places of up to 16 bytes;
    - *rows*: a part of a warp, a warp or a block for each row, which is read once
      where it fits into registers;
    - *columns*: tiles, whose rows of threads are joined in shared memory. Where
      the columns are too few for the chip, they are cut into parts and a second
      launch adds up the sums of the parts.

    Attention becomes a call of a function of the device library
    (docs/decisions/0011-device-library.md), its gradient two launches of them: of
    queries, which also leaves the sums of products of results and gradients, then
    of keys and values. Head dims are at most 128, and there is none for f64.

    Results do not depend on the order in which blocks run. Numbers are stored and
    computed as by `ff-lower-kernels`, with the same polynomials. There is no code
    for exp, log, tanh, erf, sin, cos and powf of f64: the pass fails.

    Before:
    ```mlir
    %e = ff.fused (%x) domain [2048, 128] reduced 0 : (tensor<2048x128xf32>) -> tensor<2048x128xf32> {
    ^bb0(%0: tensor<2048x128xf32>):
      %1 = math.exp %0 : tensor<2048x128xf32>
      ff.yield %1 : tensor<2048x128xf32>
    }
    ```
    After:
    ```mlir
    %e = ff.launch_device @kernels::@kernel_0(%x) blocks 256 threads 256 shared 0 : (tensor<2048x128xf32>) -> tensor<2048x128xf32>
    ...
    gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90", features = "+ptx78">] {
      llvm.mlir.global external @ff_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
      gpu.func @kernel_0(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %e: !llvm.ptr {llvm.noalias}) kernel attributes {known_block_size = array<i32: 256, 1, 1>, nvvm.minctasm = 2 : i32} {
    ```
  }];
  let dependentDialects = ["::ff::FFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_90\"",
           "The chip to compile for: sm_80, sm_90 or sm_90a">
  ];
}

def MergeLaunchesPass : Pass<"ff-merge-launches", "::mlir::ModuleOp"> {
  let summary = "joins independent launches of a GPU";
  let description = [{
    A launch moves down to one that does not depend on it, with as many threads;
    both become one, whose first blocks do what the first one did. It moves past
    matmuls and a few launches (any number if its operands are small, none if they are large), not past
    calls and collectives. Kernels that call functions stay as they are.

    Before:
    ```mlir
    %s = ff.launch_device @kernels::@kernel_0(%x) blocks 4 threads 256 shared 4096 : (tensor<64x128xf32>) -> tensor<128xf32>
    %m = ff.matmul %x, %w : tensor<64x128xf32>, tensor<128x32xf32> to tensor<64x32xf32>
    %y = ff.launch_device @kernels::@kernel_1(%m) blocks 2 threads 256 shared 0 : (tensor<64x32xf32>) -> tensor<64x32xf32>
    ```
    After:
    ```mlir
    %m = ff.matmul %x, %w : tensor<64x128xf32>, tensor<128x32xf32> to tensor<64x32xf32>
    %s, %y = ff.launch_device @kernels::@merged_0(%x, %m) blocks 6 threads 256 shared 4096 : (tensor<64x128xf32>, tensor<64x32xf32>) -> (tensor<128xf32>, tensor<64x32xf32>)
    ```
  }];
  let dependentDialects = ["::ff::FFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def EmbedDeviceCodePass : Pass<"ff-embed-device-code", "::mlir::ModuleOp"> {
  let summary = "compiles the gpu.module and leaves its code as constants";
  let description = [{
    The module has at most one `gpu.module` (`ff-lower-kernels-to-gpu`). It becomes
    PTX, and where there is a ptxas also a cubin for the chip; both are constants
    that `ff_device_image` (of `runtime/abi/ff_rt.h`), which `main` declares and
    hands to the runtime, points to. A kernel that spills registers
    is a warning, what ptxas does not accept an error with its text.

    Before:
    ```mlir
    llvm.mlir.global external constant @ff_device_image() : !llvm.struct<(ptr, i64, ptr, i64)>
    gpu.module @kernels [#nvvm.target<chip = "sm_90">] {
      ...
    }
    ```
    After:
    ```mlir
    llvm.mlir.global private constant @ff_device_ptx("//\0A// Generated by LLVM ...")
    llvm.mlir.global private constant @ff_device_cubin("\7FELF...")
    llvm.mlir.global constant @ff_device_image() : !llvm.struct<(ptr, i64, ptr, i64)> {
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::cf::ControlFlowDialect"];
  let options = [
    Option<"ptxas", "ptxas", "std::string", /*default=*/"",
           "Path of ptxas, or `none`; by default it is searched for">
  ];
}

#endif // FF_CODEGEN_PASSES_TD
