// RUN: ff-opt %s | ff-opt | FileCheck %s

// CHECK-LABEL: func.func @compute
func.func @compute(%x: tensor<2x4xbf16>, %w: tensor<4x4xbf16>, %b: tensor<4xf32>, %ids: tensor<2xi64>, %q: tensor<1x2x1x4xf16>, %l: tensor<1x1x2xf32>) {
  // CHECK: ff.embedding %{{.*}}[%{{.*}}] : tensor<4x4xbf16>, tensor<2xi64> to tensor<2x4xbf16>
  %0 = ff.embedding %w[%ids] : tensor<4x4xbf16>, tensor<2xi64> to tensor<2x4xbf16>
  // CHECK: ff.embedding_backward %{{.*}}[%{{.*}}] : tensor<2x4xbf16>, tensor<2xi64> to tensor<4x4xbf16>
  %1 = ff.embedding_backward %x[%ids] : tensor<2x4xbf16>, tensor<2xi64> to tensor<4x4xbf16>
  // CHECK: ff.embedding_backward %{{.*}}[%{{.*}}] : tensor<2x4xbf16>, tensor<2xi64> to tensor<4x4xf32>
  %2 = ff.embedding_backward %x[%ids] : tensor<2x4xbf16>, tensor<2xi64> to tensor<4x4xf32>
  // CHECK: ff.matmul %{{.*}}, %{{.*}} : tensor<2x4xbf16>, tensor<4x4xbf16> to tensor<2x4xbf16>
  %3 = ff.matmul %x, %w : tensor<2x4xbf16>, tensor<4x4xbf16> to tensor<2x4xbf16>
  // CHECK: ff.matmul %{{.*}}, %{{.*}} bias %{{.*}} : tensor<4xf32> : tensor<2x4xbf16>, tensor<4x4xbf16> to tensor<2x4xf32>
  %4 = ff.matmul %x, %w bias %b : tensor<4xf32> : tensor<2x4xbf16>, tensor<4x4xbf16> to tensor<2x4xf32>
  // CHECK: ff.attention {{.*}} -> (tensor<1x2x1x4xf16>, tensor<1x1x2xf32>)
  %5, %6 = ff.attention %q, %q, %q {scale = 0.5 : f64} : (tensor<1x2x1x4xf16>, tensor<1x2x1x4xf16>, tensor<1x2x1x4xf16>) -> (tensor<1x2x1x4xf16>, tensor<1x1x2xf32>)
  // CHECK: ff.attention_backward
  %7:3 = ff.attention_backward %q, %q, %q, %5, %6, %q {scale = 0.5 : f64} : (tensor<1x2x1x4xf16>, tensor<1x2x1x4xf16>, tensor<1x2x1x4xf16>, tensor<1x2x1x4xf16>, tensor<1x1x2xf32>, tensor<1x2x1x4xf16>) -> (tensor<1x2x1x4xf16>, tensor<1x2x1x4xf16>, tensor<1x2x1x4xf16>)
  return
}
