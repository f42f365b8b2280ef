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
