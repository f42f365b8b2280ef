// RUN: ff-kernel-test %s
// RUN: ff-opt %s --ff-form-kernels --ff-lower-kernels | FileCheck %s

// Steps that differ in a constant alone run one kernel.
// CHECK-LABEL: @steps
func.func @steps(%x: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>) {
  // CHECK: %[[TABLE:.*]] = ff.launch @{{.*}}() iterations 1
  // CHECK: ff.launch @[[K:kernel_[0-9]+]](%arg0, %{{.*}})
  // CHECK: ff.matmul
  // CHECK: ff.launch @[[K]](
  // CHECK: ff.matmul
  // CHECK: ff.launch @[[K]](
  // CHECK: ff.matmul
  // CHECK: ff.launch @[[K]](
  %c0 = arith.constant dense<1.5> : tensor<5x3xf32>
  %c1 = arith.constant dense<2.5> : tensor<5x3xf32>
  %c2 = arith.constant dense<-0.5> : tensor<5x3xf32>
  %c3 = arith.constant dense<0.25> : tensor<5x3xf32>
  %two = arith.constant dense<2.0> : tensor<3x3xf32>
  %w = arith.mulf %two, %two : tensor<3x3xf32>
  %0 = arith.addf %x, %c0 : tensor<5x3xf32>
  %1 = math.tanh %0 : tensor<5x3xf32>
  %2 = ff.matmul %1, %w : tensor<5x3xf32>, tensor<3x3xf32> to tensor<5x3xf32>
  %3 = arith.addf %2, %c1 : tensor<5x3xf32>
  %4 = math.tanh %3 : tensor<5x3xf32>
  %5 = ff.matmul %4, %w : tensor<5x3xf32>, tensor<3x3xf32> to tensor<5x3xf32>
  %6 = arith.addf %5, %c2 : tensor<5x3xf32>
  %7 = math.tanh %6 : tensor<5x3xf32>
  %8 = ff.matmul %7, %w : tensor<5x3xf32>, tensor<3x3xf32> to tensor<5x3xf32>
  %9 = arith.addf %8, %c3 : tensor<5x3xf32>
  %10 = math.tanh %9 : tensor<5x3xf32>
  %f = arith.constant dense<1.0> : tensor<3xf32>
  return %10, %f : tensor<5x3xf32>, tensor<3xf32>
}
