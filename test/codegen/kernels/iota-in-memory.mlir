// RUN: ff-opt %s --ff-form-kernels --ff-verify-kernels | FileCheck %s

// An iota that something reads as memory, through a view or directly, is written by a kernel.
// CHECK-LABEL: func.func @sliced
// CHECK: ff.fused
// CHECK: return
func.func @sliced(%x: tensor<1xf32>) -> tensor<1xf32> attributes {ff.program = "p"} {
  %i = ff.iota dim 0 : tensor<10xf32>
  %s = ff.slice %i dim 0 at 3 : tensor<10xf32> to tensor<1xf32>
  %y = arith.addf %x, %s : tensor<1xf32>
  return %y : tensor<1xf32>
}

// CHECK-LABEL: func.func @multiplied
// CHECK: %[[I:.*]] = ff.fused
// CHECK: %[[R:.*]] = ff.reshape %[[I]]
// CHECK: ff.matmul %{{.*}}, %[[R]]
func.func @multiplied(%x: tensor<5x5xf32>) -> tensor<5x5xf32> attributes {ff.program = "p"} {
  %i = ff.iota dim 0 : tensor<25xf32>
  %r = ff.reshape %i : tensor<25xf32> to tensor<5x5xf32>
  %y = ff.matmul %x, %r : tensor<5x5xf32>, tensor<5x5xf32> to tensor<5x5xf32>
  return %y : tensor<5x5xf32>
}

// CHECK-LABEL: func.func @transposed
// CHECK: return
func.func @transposed(%x: tensor<3x2xf32>) -> tensor<3x2xf32> attributes {ff.program = "p"} {
  %i = ff.iota dim 0 : tensor<6xf32>
  %r = ff.reshape %i : tensor<6xf32> to tensor<2x3xf32>
  %t = ff.transpose %r [1, 0] : tensor<2x3xf32> to tensor<3x2xf32>
  %y = arith.mulf %x, %t : tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}
