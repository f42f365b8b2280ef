// RUN: ff-opt %s --ff-lower-kernels=vector-bytes=64 | FileCheck %s

// bf16 is in registers as its bits; rounding is integer arithmetic on whole vectors.
// CHECK-LABEL: @sum
func.func @sum(%x: tensor<4x128xbf16>, %y: tensor<4x128xbf16>) -> tensor<4x128xbf16> {
  %0 = ff.fused (%x, %y) domain [4, 128] reduced 0 : (tensor<4x128xbf16>, tensor<4x128xbf16>) -> tensor<4x128xbf16> {
  ^bb0(%a: tensor<4x128xbf16>, %b: tensor<4x128xbf16>):
    %e = arith.addf %a, %b : tensor<4x128xbf16>
    ff.yield %e : tensor<4x128xbf16>
  }
  return %0 : tensor<4x128xbf16>
}

// CHECK-LABEL: @from_f16
func.func @from_f16(%x: tensor<4x128xf16>) -> tensor<4x128xf32> {
  %0 = ff.fused (%x) domain [4, 128] reduced 0 : (tensor<4x128xf16>) -> tensor<4x128xf32> {
  ^bb0(%a: tensor<4x128xf16>):
    %e = arith.extf %a : tensor<4x128xf16> to tensor<4x128xf32>
    ff.yield %e : tensor<4x128xf32>
  }
  return %0 : tensor<4x128xf32>
}

// Nothing is computed: vectors are full of elements as they are.
// CHECK-LABEL: @copies
func.func @copies(%x: tensor<4x256xbf16>, %y: tensor<4x256xi8>) -> (tensor<4x256xbf16>, tensor<4x256xi8>) {
  %0 = ff.fused (%x) domain [4, 256] reduced 0 : (tensor<4x256xbf16>) -> tensor<4x256xbf16> {
  ^bb0(%a: tensor<4x256xbf16>):
    ff.yield %a : tensor<4x256xbf16>
  }
  %1 = ff.fused (%y) domain [4, 256] reduced 0 : (tensor<4x256xi8>) -> tensor<4x256xi8> {
  ^bb0(%a: tensor<4x256xi8>):
    ff.yield %a : tensor<4x256xi8>
  }
  return %0, %1 : tensor<4x256xbf16>, tensor<4x256xi8>
}

// CHECK-LABEL: @decode
func.func @decode(%x: tensor<4x128xi8>) -> tensor<4x128xf32> {
  %0 = ff.fused (%x) domain [4, 128] reduced 0 : (tensor<4x128xi8>) -> tensor<4x128xf32> {
  ^bb0(%a: tensor<4x128xi8>):
    %c = arith.constant dense<20> : tensor<4x128xi32>
    %0 = arith.extui %a : tensor<4x128xi8> to tensor<4x128xi32>
    %1 = arith.shli %0, %c : tensor<4x128xi32>
    %2 = arith.bitcast %1 : tensor<4x128xi32> to tensor<4x128xf32>
    ff.yield %2 : tensor<4x128xf32>
  }
  return %0 : tensor<4x128xf32>
}

// Sums over rows of bf16 are f32 until they are whole.
// CHECK-LABEL: @row_sum
func.func @row_sum(%x: tensor<4x128xbf16>) -> tensor<4xbf16> {
  %0 = ff.fused (%x) domain [4, 128] reduced 1 : (tensor<4x128xbf16>) -> tensor<4xbf16> {
  ^bb0(%a: tensor<4x128xbf16>):
    %r = ff.reduce <sum> %a dims [1] : tensor<4x128xbf16> to tensor<4xbf16>
    ff.yield %r : tensor<4xbf16>
  }
  return %0 : tensor<4xbf16>
}

// The gradients of keys and values are summed in two results that nothing reads.
// CHECK-LABEL: @attention_backward
func.func @attention_backward(%q: tensor<2x32x4x8xbf16>, %l: tensor<2x4x32xf32>) -> (tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>) {
  // CHECK: %[[G:.*]]:5 = ff.launch {{.*}} -> (tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>, tensor<2x32x4x8xf32>, tensor<2x32x4x8xf32>)
  // CHECK: return %[[G]]#0, %[[G]]#1, %[[G]]#2
  %0:3 = ff.attention_backward %q, %q, %q, %q, %l, %q {scale = 1.0 : f64} : (tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>, tensor<2x4x32xf32>, tensor<2x32x4x8xbf16>) -> (tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>)
  return %0#0, %0#1, %0#2 : tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>, tensor<2x32x4x8xbf16>
}

// CHECK: func.func private @kernel_0
// CHECK-NOT: bf16
// CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<16xi16>
// CHECK: %[[XW:.*]] = arith.extui %[[X]] : vector<16xi16> to vector<16xi32>
// CHECK: %[[XS:.*]] = arith.shli %[[XW]]
// CHECK: arith.bitcast %[[XS]] : vector<16xi32> to vector<16xf32>
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}} : vector<16xf32>
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : vector<16xf32> to vector<16xi32>
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[SUM]], %[[SUM]]
// CHECK: %[[R:.*]] = arith.select %[[NAN]]
// CHECK: %[[OUT:.*]] = arith.trunci %[[R]] : vector<16xi32> to vector<16xi16>
// CHECK: llvm.store %[[OUT]]

// CHECK: func.func private @kernel_1
// CHECK: %[[H:.*]] = arith.bitcast %{{.*}} : vector<16xi16> to vector<16xf16>
// CHECK: arith.extf %[[H]] : vector<16xf16> to vector<16xf32>

// CHECK: func.func private @kernel_2
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<32xi16>
// CHECK: func.func private @kernel_3
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<32xi8>

// CHECK: func.func private @kernel_4
// CHECK: %[[B:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<16xi8>
// CHECK: arith.extui %[[B]] : vector<16xi8> to vector<16xi32>
// CHECK: arith.bitcast %{{.*}} : vector<16xi32> to vector<16xf32>

// CHECK: func.func private @kernel_5
// CHECK: arith.addf %{{.*}} : vector<16xf32>
// CHECK: %[[S:.*]] = "llvm.intr.vector.reduce.fadd"
// CHECK: arith.bitcast %[[S]] : f32 to i32
// CHECK: arith.trunci %{{.*}} : i32 to i16
