// RUN: ff-opt %s --ff-fuse-epilogues | FileCheck %s

// CHECK-LABEL: @bias_and_activation
func.func @bias_and_activation(%x: tensor<128x64xf32>, %w: tensor<64x32xf32>, %bias: tensor<32xf32>) -> tensor<8x16x32xf32> {
  // CHECK: %[[M:.*]] = ff.matmul %{{.*}}, %{{.*}} bias %{{.*}} : tensor<32xf32> {activation = #ff.activation_kind<silu>}
  // CHECK: %[[R:.*]] = ff.reshape %[[M]]
  // CHECK-NOT: arith.addf
  // CHECK-NOT: ff.activation
  // CHECK: return %[[R]]
  %m = ff.matmul %x, %w : tensor<128x64xf32>, tensor<64x32xf32> to tensor<128x32xf32>
  %r = ff.reshape %m : tensor<128x32xf32> to tensor<8x16x32xf32>
  %b = ff.broadcast %bias dims [2] : tensor<32xf32> to tensor<8x16x32xf32>
  %s = arith.addf %r, %b : tensor<8x16x32xf32>
  %y = ff.activation <silu> %s : tensor<8x16x32xf32>
  return %y : tensor<8x16x32xf32>
}

// The gradient of the activation needs the sum itself.
// CHECK-LABEL: @sum_used_twice
func.func @sum_used_twice(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>, %bias: tensor<32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  // CHECK: ff.matmul {{.*}} bias
  // CHECK: ff.activation
  %m = ff.matmul %x, %w : tensor<8x64xf32>, tensor<64x32xf32> to tensor<8x32xf32>
  %b = ff.broadcast %bias dims [1] : tensor<32xf32> to tensor<8x32xf32>
  %s = arith.addf %b, %m : tensor<8x32xf32>
  %y = ff.activation <silu> %s : tensor<8x32xf32>
  return %y, %s : tensor<8x32xf32>, tensor<8x32xf32>
}

// CHECK-LABEL: @bias_of_rows_stays
func.func @bias_of_rows_stays(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>, %bias: tensor<8xf32>) -> tensor<8x32xf32> {
  // CHECK-NOT: bias %
  // CHECK: arith.addf
  %m = ff.matmul %x, %w : tensor<8x64xf32>, tensor<64x32xf32> to tensor<8x32xf32>
  %b = ff.broadcast %bias dims [0] : tensor<8xf32> to tensor<8x32xf32>
  %s = arith.addf %m, %b : tensor<8x32xf32>
  return %s : tensor<8x32xf32>
}

// CHECK-LABEL: @product_used_elsewhere
func.func @product_used_elsewhere(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>, %bias: tensor<32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  // CHECK-NOT: bias %
  // CHECK: arith.addf
  %m = ff.matmul %x, %w : tensor<8x64xf32>, tensor<64x32xf32> to tensor<8x32xf32>
  %b = ff.broadcast %bias dims [1] : tensor<32xf32> to tensor<8x32xf32>
  %s = arith.addf %m, %b : tensor<8x32xf32>
  return %m, %s : tensor<8x32xf32>, tensor<8x32xf32>
}

// The product is rounded before the bias is added, as written.
// CHECK-LABEL: @rounded_between
func.func @rounded_between(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xbf16>) -> tensor<8x32xbf16> {
  // CHECK: ff.matmul %arg0, %arg1 :
  // CHECK: arith.addf
  // CHECK: ff.activation
  %m = ff.matmul %x, %w : tensor<8x64xbf16>, tensor<64x32xbf16> to tensor<8x32xbf16>
  %b = ff.broadcast %bias dims [1] : tensor<32xbf16> to tensor<8x32xbf16>
  %s = arith.addf %m, %b : tensor<8x32xbf16>
  %y = ff.activation <relu> %s : tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// CHECK-LABEL: @wide_result
func.func @wide_result(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>) -> tensor<8x32xf32> {
  // CHECK: ff.matmul %arg0, %arg1 bias %arg2 : tensor<32xf32> {activation = #ff.activation_kind<relu>} : tensor<8x64xbf16>, tensor<64x32xbf16> to tensor<8x32xf32>
  // CHECK-NEXT: return
  %m = ff.matmul %x, %w : tensor<8x64xbf16>, tensor<64x32xbf16> to tensor<8x32xf32>
  %b = ff.broadcast %bias dims [1] : tensor<32xf32> to tensor<8x32xf32>
  %s = arith.addf %m, %b : tensor<8x32xf32>
  %y = ff.activation <relu> %s : tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// What is rounded once, at the end, the library rounds; it reads the bias as it was.
// CHECK-LABEL: @rounded
func.func @rounded(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xbf16>) -> tensor<2x4x32xbf16> {
  // CHECK: %[[M:.*]] = ff.matmul %{{.*}}, %{{.*}} bias %arg2 : tensor<32xbf16> {activation = #ff.activation_kind<gelu_tanh>} : tensor<8x64xbf16>, tensor<64x32xbf16> to tensor<8x32xbf16>
  // CHECK-NEXT: %[[R:.*]] = ff.reshape %[[M]] : tensor<8x32xbf16> to tensor<2x4x32xbf16>
  // CHECK-NEXT: return %[[R]]
  %m = ff.matmul %x, %w : tensor<8x64xbf16>, tensor<64x32xbf16> to tensor<8x32xf32>
  %r = ff.reshape %m : tensor<8x32xf32> to tensor<2x4x32xf32>
  %e = arith.extf %bias : tensor<32xbf16> to tensor<32xf32>
  %b = ff.broadcast %e dims [2] : tensor<32xf32> to tensor<2x4x32xf32>
  %s = arith.addf %r, %b : tensor<2x4x32xf32>
  %a = ff.activation <gelu_tanh> %s : tensor<2x4x32xf32>
  %y = arith.truncf %a : tensor<2x4x32xf32> to tensor<2x4x32xbf16>
  return %y : tensor<2x4x32xbf16>
}

// CHECK-LABEL: @rounded_product
func.func @rounded_product(%x: tensor<8x64xf16>, %w: tensor<64x32xf16>) -> tensor<8x32xf16> {
  // CHECK: %[[M:.*]] = ff.matmul {{.*}} to tensor<8x32xf16>
  // CHECK-NEXT: return %[[M]]
  %m = ff.matmul %x, %w : tensor<8x64xf16>, tensor<64x32xf16> to tensor<8x32xf32>
  %y = arith.truncf %m : tensor<8x32xf32> to tensor<8x32xf16>
  return %y : tensor<8x32xf16>
}

// The sum in f32 is used as well: nothing is widened for the matmul alone.
// CHECK-LABEL: @rounded_and_not
func.func @rounded_and_not(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xbf16>) -> (tensor<8x32xbf16>, tensor<8x32xf32>) {
  // CHECK: ff.matmul {{.*}} to tensor<8x32xf32>
  // CHECK: arith.extf
  // CHECK: arith.addf
  // CHECK: arith.truncf
  %m = ff.matmul %x, %w : tensor<8x64xbf16>, tensor<64x32xbf16> to tensor<8x32xf32>
  %e = arith.extf %bias : tensor<32xbf16> to tensor<32xf32>
  %b = ff.broadcast %e dims [1] : tensor<32xf32> to tensor<8x32xf32>
  %s = arith.addf %m, %b : tensor<8x32xf32>
  %y = arith.truncf %s : tensor<8x32xf32> to tensor<8x32xbf16>
  return %y, %s : tensor<8x32xbf16>, tensor<8x32xf32>
}

// A wider bias would be rounded before it is added.
// CHECK-LABEL: @rounded_wide_bias
func.func @rounded_wide_bias(%x: tensor<8x64xbf16>, %w: tensor<64x32xbf16>, %bias: tensor<32xf32>) -> tensor<8x32xbf16> {
  // CHECK: ff.matmul {{.*}} bias {{.*}} to tensor<8x32xf32>
  // CHECK: arith.truncf
  %m = ff.matmul %x, %w : tensor<8x64xbf16>, tensor<64x32xbf16> to tensor<8x32xf32>
  %b = ff.broadcast %bias dims [1] : tensor<32xf32> to tensor<8x32xf32>
  %s = arith.addf %m, %b : tensor<8x32xf32>
  %y = arith.truncf %s : tensor<8x32xf32> to tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}
