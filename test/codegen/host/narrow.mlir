// RUN: ff-opt %s --ff-plan-memory --ff-lower-to-runtime-calls | FileCheck %s

// Matmuls of bf16 with results of bf16 and of f32; the sum of an embedding's gradient is f32, the call says what is summed.

// CHECK: llvm.call @ff_rt_matmul(
// CHECK: llvm.call @ff_rt_matmul(
// CHECK: %[[BF16:.*]] = llvm.mlir.constant(2 : i32)
// CHECK: llvm.call @ff_rt_embedding_grad(%{{.*}}, %[[BF16]],
func.func @p(%x: tensor<8x4xbf16> {ff.input = "x"}, %i: tensor<8xi64> {ff.input = "i"}) -> (tensor<8x8xbf16> {ff.output = "a"}, tensor<8x8xf32> {ff.output = "b"}, tensor<3x4xf32> {ff.output = "c"}) attributes {ff.program = "p"} {
  %a = ff.matmul %x, %x {transpose_rhs} : tensor<8x4xbf16>, tensor<8x4xbf16> to tensor<8x8xbf16>
  %b = ff.matmul %x, %x {transpose_rhs} : tensor<8x4xbf16>, tensor<8x4xbf16> to tensor<8x8xf32>
  %c = ff.embedding_backward %x[%i] : tensor<8x4xbf16>, tensor<8xi64> to tensor<3x4xf32>
  return %a, %b, %c : tensor<8x8xbf16>, tensor<8x8xf32>, tensor<3x4xf32>
}

// CHECK: llvm.mlir.global private constant @ff_metadata(
// CHECK-SAME: \22bias\22:false,\22c_strides\22:[8,1],\22dtype\22:\22bf16\22
// CHECK-SAME: \22bias\22:false,\22c_dtype\22:\22f32\22,\22c_strides\22:[8,1],\22dtype\22:\22bf16\22
