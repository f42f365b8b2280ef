// RUN: ff-opt %s --ff-decompose | FileCheck %s

// CHECK-LABEL: @softmax
func.func @softmax(%x: tensor<8x10xf32>) -> tensor<8x10xf32> {
  // CHECK: %[[MAX:.*]] = ff.reduce <max> %{{.*}} dims [1]
  // CHECK: %[[B:.*]] = ff.broadcast %[[MAX]] dims [0]
  // CHECK: %[[C:.*]] = arith.subf %{{.*}}, %[[B]]
  // CHECK: %[[E:.*]] = math.exp %[[C]]
  // CHECK: ff.reduce <sum> %[[E]] dims [1]
  %y = ff.softmax %x : tensor<8x10xf32>
  return %y : tensor<8x10xf32>
}

// No 1 + tanh, which cancels: x · sigmoid(2u).
// CHECK-LABEL: @gelu_tanh
func.func @gelu_tanh(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NOT: math.tanh
  // CHECK: math.exp
  // CHECK: arith.divf
  %y = ff.activation <gelu_tanh> %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// CHECK-LABEL: @stop_gradient
func.func @stop_gradient(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: return %arg0
  %y = ff.stop_gradient %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// CHECK-LABEL: @matmul_f64
func.func @matmul_f64(%x: tensor<3x5xf64>, %w: tensor<5x4xf64>) -> tensor<3x4xf64> {
  // CHECK-NOT: ff.matmul
  // CHECK: ff.reduce <sum> %{{.*}} dims [2] : tensor<3x4x5xf64> to tensor<3x4xf64>
  %y = ff.matmul %x, %w : tensor<3x5xf64>, tensor<5x4xf64> to tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
