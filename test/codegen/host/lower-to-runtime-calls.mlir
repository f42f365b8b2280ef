// RUN: ff-opt %s --ff-plan-memory --ff-lower-to-runtime-calls | FileCheck %s

// Tensors become pointers, operations become calls; a program gets its context, a block its frame, arguments and results.

func.func private @kernel(!llvm.ptr, i64, i64)

// CHECK-LABEL: llvm.func internal @block.part0(
// CHECK: llvm.call @ff_rt_parallel_for(
func.func private @block(%x: tensor<64xf32>) -> tensor<64xf32> attributes {ff.block = "B"} {
  %y = ff.launch @kernel(%x) iterations 64 grain 64 : (tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// CHECK-LABEL: llvm.func internal @ff_program_p.part0(
// CHECK: %[[FRAME:.*]] = llvm.call @ff_rt_arena(
// CHECK: %[[IN:.*]] = llvm.call @ff_rt_input(
// CHECK: %[[OUT:.*]] = llvm.call @ff_rt_output(
// CHECK: llvm.call @block(%{{.*}}, %{{.*}}, %[[IN]],
// A bool is a byte: the slice begins 32 bytes into its buffer.
// CHECK: %[[THIRTYTWO:.*]] = llvm.mlir.constant(32 : i64)
// CHECK-NEXT: llvm.getelementptr %{{.*}}[%[[THIRTYTWO]]]
func.func @p(%x: tensor<64xf32> {ff.input = "x"}) -> (tensor<64xf32> {ff.output = "y"}) attributes {ff.program = "p"} {
  %a = func.call @block(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %m = ff.launch @kernel(%a) iterations 64 grain 64 : (tensor<64xf32>) -> tensor<64xi1>
  %s = ff.slice %m dim 0 at 32 : tensor<64xi1> to tensor<32xi1>
  %y = ff.launch @kernel(%a, %s) iterations 64 grain 64 : (tensor<64xf32>, tensor<32xi1>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// CHECK: llvm.mlir.global private constant @ff_metadata(
// CHECK-LABEL: llvm.func @main(
// CHECK: llvm.call @ff_rt_main(
