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

// On bf16 all is computed in f32 and rounded at the end.
// CHECK-LABEL: @narrow
func.func @narrow(%x: tensor<8x10xbf16>) -> (tensor<8x10xbf16>, tensor<8xbf16>) {
  // CHECK: %[[W:.*]] = arith.extf %{{.*}} : tensor<8x10xbf16> to tensor<8x10xf32>
  // CHECK: ff.reduce <max> %[[W]]
  // CHECK-NOT: bf16
  // CHECK: %[[S:.*]] = arith.truncf %{{.*}} : tensor<8x10xf32> to tensor<8x10xbf16>
  %y = ff.softmax %x : tensor<8x10xbf16>
  // CHECK: %[[YW:.*]] = arith.extf %[[S]]
  // CHECK: %[[R:.*]] = ff.reduce <sum> %[[YW]] dims [1] : tensor<8x10xf32> to tensor<8xf32>
  // CHECK: arith.truncf %[[R]]
  %r = ff.reduce <sum> %y dims [1] : tensor<8x10xbf16> to tensor<8xbf16>
  return %y, %r : tensor<8x10xbf16>, tensor<8xbf16>
}

// The runtime makes these in f32.
// CHECK-LABEL: @narrow_of_the_runtime
func.func @narrow_of_the_runtime(%g: tensor<8x10xbf16>, %i: tensor<8xi64>) -> (tensor<8x10xbf16>, tensor<5x10xbf16>) {
  // CHECK: %[[N:.*]] = ff.random <normal> site 3 : tensor<8x10xf32>
  // CHECK: arith.truncf %[[N]]
  %0 = ff.random <normal> site 3 : tensor<8x10xbf16>
  // CHECK: %[[E:.*]] = ff.embedding_backward %{{.*}} : tensor<8x10xbf16>, tensor<8xi64> to tensor<5x10xf32>
  // CHECK: arith.truncf %[[E]]
  %1 = ff.embedding_backward %g[%i] : tensor<8x10xbf16>, tensor<8xi64> to tensor<5x10xbf16>
  return %0, %1 : tensor<8x10xbf16>, tensor<5x10xbf16>
}
