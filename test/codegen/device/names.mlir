// RUN: ff-opt %s --ff-lower-kernels-to-gpu | FileCheck %s

// A function of the program has the name of the gpu.module.
// CHECK-LABEL: func.func @kernels
// CHECK: ff.launch_device @kernels_0::@kernel_0
// CHECK: gpu.module @kernels_0
func.func @kernels(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = ff.fused (%a) domain [8] reduced 0 : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<8xf32>):
    %e = arith.negf %x : tensor<8xf32>
    ff.yield %e : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
