// RUN: ff-opt %s --ff-lower-kernels | FileCheck %s

// CHECK-LABEL: @equal_kernels_are_one
func.func @equal_kernels_are_one(%x: tensor<4x128xf32>, %y: tensor<4x128xf32>) -> (tensor<4x128xf32>, tensor<4x128xf32>) {
  // CHECK: ff.launch @[[$K:.*]](%arg0) iterations 512 grain 4096
  // CHECK: ff.launch @[[$K]](%arg1)
  %0 = ff.fused (%x) domain [4, 128] reduced 0 : (tensor<4x128xf32>) -> tensor<4x128xf32> {
  ^bb0(%a: tensor<4x128xf32>):
    %e = math.exp %a : tensor<4x128xf32>
    ff.yield %e : tensor<4x128xf32>
  }
  %1 = ff.fused (%y) domain [4, 128] reduced 0 : (tensor<4x128xf32>) -> tensor<4x128xf32> {
  ^bb0(%a: tensor<4x128xf32>):
    %e = math.exp %a : tensor<4x128xf32>
    ff.yield %e : tensor<4x128xf32>
  }
  return %0, %1 : tensor<4x128xf32>, tensor<4x128xf32>
}

// Strides are in the kernel, offsets in the launch.
// CHECK-LABEL: @views_are_read_in_place
func.func @views_are_read_in_place(%x: tensor<4x128xf32>) -> tensor<4x16xf32> {
  // CHECK: %[[FLAT:.*]] = ff.reshape %arg0
  // CHECK: %[[START:.*]] = ff.slice %[[FLAT]] dim 0 at 16
  // CHECK: ff.launch @{{.*}}(%[[START]]) iterations 4
  %s = ff.slice %x dim 1 at 16 : tensor<4x128xf32> to tensor<4x16xf32>
  %0 = ff.fused (%s) domain [4, 16] reduced 0 : (tensor<4x16xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x16xf32>):
    ff.yield %a : tensor<4x16xf32>
  }
  return %0 : tensor<4x16xf32>
}

// CHECK-LABEL: @rows_are_iterations
func.func @rows_are_iterations(%x: tensor<4x8x128xf32>) -> tensor<4x8xf32> {
  // CHECK: ff.launch @{{.*}}(%arg0) iterations 32
  %0 = ff.fused (%x) domain [4, 8, 128] reduced 1 : (tensor<4x8x128xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8x128xf32>):
    %r = ff.reduce <sum> %a dims [2] : tensor<4x8x128xf32> to tensor<4x8xf32>
    ff.yield %r : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @attention
func.func @attention(%q: tensor<2x32x4x8xf32>) -> tensor<2x32x4x8xf32> {
  // Batch, head and tile of 16 queries.
  // The plan counts its products: 2 x 2 B H Sq Sk D.
  // CHECK: ff.launch @{{.*}}(%arg0, %arg0, %arg0) iterations 16 {{.*}} {ff.flops = 2.621440e+05 : f64}
  %o, %l = ff.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>) -> (tensor<2x32x4x8xf32>, tensor<2x4x32xf32>)
  return %o : tensor<2x32x4x8xf32>
}

// CHECK: func.func private @[[$K]](%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64) attributes {ff.kernel}
// CHECK: llvm.intr.masked.store
