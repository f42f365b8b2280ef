// RUN: ff-opt %s --ff-form-kernels --ff-verify-kernels | FileCheck %s

// A norm with what stands around it is one kernel.
// CHECK-LABEL: @norm_and_modulation
func.func @norm_and_modulation(%x: tensor<8x16x128xf32>, %s: tensor<8x128xf32>) -> tensor<8x16x128xf32> {
  // CHECK: ff.fused{{.*}} domain [8, 16, 128] reduced 1
  // CHECK-NOT: ff.fused
  // CHECK: return
  %one = arith.constant dense<1.0> : tensor<8x128xf32>
  %s1 = arith.addf %s, %one : tensor<8x128xf32>
  %sb = ff.broadcast %s1 dims [0, 2] : tensor<8x128xf32> to tensor<8x16x128xf32>
  %q = arith.mulf %x, %x : tensor<8x16x128xf32>
  %r = ff.reduce <sum> %q dims [2] : tensor<8x16x128xf32> to tensor<8x16xf32>
  %i = math.rsqrt %r : tensor<8x16xf32>
  %b = ff.broadcast %i dims [0, 1] : tensor<8x16xf32> to tensor<8x16x128xf32>
  %n = arith.mulf %x, %b : tensor<8x16x128xf32>
  %y = arith.mulf %n, %sb : tensor<8x16x128xf32>
  return %y : tensor<8x16x128xf32>
}

// CHECK-LABEL: @columns_take_their_producer
func.func @columns_take_their_producer(%x: tensor<8x16x128xf32>, %y: tensor<8x16x128xf32>) -> tensor<8x128xf32> {
  // CHECK: ff.fused{{.*}} domain [8, 16, 128] reduced 0 columns [1]
  // CHECK: arith.mulf
  // CHECK: ff.reduce <sum>
  // CHECK-NOT: ff.fused
  %m = arith.mulf %x, %y : tensor<8x16x128xf32>
  %r = ff.reduce <sum> %m dims [1] : tensor<8x16x128xf32> to tensor<8x128xf32>
  return %r : tensor<8x128xf32>
}

// Few columns: partial sums, whose number is fixed here.
// CHECK-LABEL: @partial_sums
func.func @partial_sums(%x: tensor<128x16x128xf32>) -> tensor<128xf32> {
  // CHECK: ff.fused{{.*}} domain [16, 8, 16, 128] reduced 0 columns [1, 2]
  // CHECK: ff.fused{{.*}} domain [16, 128] reduced 0 columns [0]
  %r = ff.reduce <sum> %x dims [0, 1] : tensor<128x16x128xf32> to tensor<128xf32>
  return %r : tensor<128xf32>
}

// CHECK-LABEL: @sum_of_padded_is_concat
func.func @sum_of_padded_is_concat(%a: tensor<4x3xf32>, %b: tensor<4x4xf32>) -> tensor<4x7xf32> {
  // CHECK-NOT: arith.addf
  // CHECK: ff.concat %{{.*}}, %{{.*}} dim 1
  %za = arith.constant dense<0.0> : tensor<4x4xf32>
  %zb = arith.constant dense<0.0> : tensor<4x3xf32>
  %0 = ff.concat %a, %za dim 1 : tensor<4x3xf32>, tensor<4x4xf32> to tensor<4x7xf32>
  %1 = ff.concat %zb, %b dim 1 : tensor<4x3xf32>, tensor<4x4xf32> to tensor<4x7xf32>
  %2 = arith.addf %0, %1 : tensor<4x7xf32>
  return %2 : tensor<4x7xf32>
}

// What depends on a kernel by way of a transpose cannot be in it.
// CHECK-LABEL: @no_cycle
func.func @no_cycle(%x: tensor<12x12xf32>) -> tensor<12x12xf32> {
  // CHECK: %[[A:.*]] = ff.fused
  // CHECK: %[[T:.*]] = ff.transpose %[[A]]
  // CHECK: ff.fused(%[[T]]
  %a = math.exp %x : tensor<12x12xf32>
  %t = ff.transpose %a [1, 0] : tensor<12x12xf32> to tensor<12x12xf32>
  %s = ff.reduce <sum> %t dims [1] : tensor<12x12xf32> to tensor<12xf32>
  %b = ff.broadcast %s dims [0] : tensor<12xf32> to tensor<12x12xf32>
  %y = arith.divf %a, %b : tensor<12x12xf32>
  return %y : tensor<12x12xf32>
}

// CHECK-LABEL: @reshape_without_strides_copies
func.func @reshape_without_strides_copies(%x: tensor<4x6xf32>, %w: tensor<24x2xf32>) -> tensor<1x2xf32> {
  // CHECK: %[[C:.*]] = ff.fused
  // CHECK: %[[R:.*]] = ff.reshape %[[C]]
  // CHECK: ff.matmul %[[R]]
  %0 = ff.transpose %x [1, 0] : tensor<4x6xf32> to tensor<6x4xf32>
  %1 = ff.reshape %0 : tensor<6x4xf32> to tensor<1x24xf32>
  %2 = ff.matmul %1, %w : tensor<1x24xf32>, tensor<24x2xf32> to tensor<1x2xf32>
  return %2 : tensor<1x2xf32>
}

// CHECK-LABEL: @argument_is_copied_to_return
func.func @argument_is_copied_to_return(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[C:.*]] = ff.fused(%arg0)
  // CHECK: return %[[C]]
  return %x : tensor<4xf32>
}

// CHECK-LABEL: @unused_is_gone
func.func @unused_is_gone(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: math.exp
  // CHECK: return
  %0 = math.exp %x : tensor<4xf32>
  %1 = arith.addf %x, %y : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Conversions are elementwise operations like others; what a matmul reads is rounded to memory once.
// CHECK-LABEL: @conversions
func.func @conversions(%x: tensor<8x16xbf16>, %w: tensor<4x16xi8>, %s: tensor<4xf32>) -> tensor<8x4xbf16> {
  // CHECK-DAG: %[[W:.*]] = ff.fused(%arg1, %{{.*}}) domain [4, 16] reduced 0 : (tensor<4x16xi8>, tensor<4x16xf32>) -> tensor<4x16xbf16>
  // CHECK-DAG: %[[N:.*]] = ff.fused(%arg0) domain [8, 16] reduced 1 : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
  // CHECK: %[[M:.*]] = ff.matmul %[[N]], %[[W]] {transpose_rhs}
  // CHECK: ff.fused(%[[M]]) domain [8, 4] reduced 0 : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  // CHECK-NOT: ff.fused
  %f = arith.extf %x : tensor<8x16xbf16> to tensor<8x16xf32>
  %d = arith.constant dense<1.0> : tensor<8xf32>
  %m = ff.reduce <sum> %f dims [1] : tensor<8x16xf32> to tensor<8xf32>
  %r = arith.divf %d, %m : tensor<8xf32>
  %b = ff.broadcast %r dims [0] : tensor<8xf32> to tensor<8x16xf32>
  %n = arith.mulf %f, %b : tensor<8x16xf32>
  %nt = arith.truncf %n : tensor<8x16xf32> to tensor<8x16xbf16>
  %wf = arith.sitofp %w : tensor<4x16xi8> to tensor<4x16xf32>
  %sb = ff.broadcast %s dims [0] : tensor<4xf32> to tensor<4x16xf32>
  %ws = arith.mulf %wf, %sb : tensor<4x16xf32>
  %wt = arith.truncf %ws : tensor<4x16xf32> to tensor<4x16xbf16>
  %p = ff.matmul %nt, %wt {transpose_rhs} : tensor<8x16xbf16>, tensor<4x16xbf16> to tensor<8x4xbf16>
  %pf = arith.extf %p : tensor<8x4xbf16> to tensor<8x4xf32>
  %e = math.exp %pf : tensor<8x4xf32>
  %et = arith.truncf %e : tensor<8x4xf32> to tensor<8x4xbf16>
  return %et : tensor<8x4xbf16>
}

// Kernels that read one value each convert it themselves: no f32 copy of it lies in memory.
// CHECK-LABEL: @conversions_are_repeated
func.func @conversions_are_repeated(%x: tensor<8x16xbf16>, %w: tensor<16xbf16>) -> (tensor<8xf32>, tensor<16xf32>) {
  // CHECK: %[[B:.*]] = ff.broadcast %arg1 dims [1] : tensor<16xbf16> to tensor<8x16xbf16>
  // CHECK: %[[S:.*]] = ff.fused(%[[B]], %arg0) {{.*}} columns [0] : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<16xf32>
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: arith.extf
  // CHECK-NOT: arith.extf
  // CHECK: ff.yield
  // CHECK: %[[R:.*]] = ff.fused(%arg0, %[[B]]) domain [8, 16] reduced 1 : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8xf32>
  // CHECK: return %[[R]], %[[S]]
  %f = arith.extf %x : tensor<8x16xbf16> to tensor<8x16xf32>
  %wf = arith.extf %w : tensor<16xbf16> to tensor<16xf32>
  %b = ff.broadcast %wf dims [1] : tensor<16xf32> to tensor<8x16xf32>
  %m = arith.mulf %f, %b : tensor<8x16xf32>
  %s = arith.mulf %m, %f : tensor<8x16xf32>
  %c = ff.reduce <sum> %s dims [0] : tensor<8x16xf32> to tensor<16xf32>
  %e = math.exp %f : tensor<8x16xf32>
  %p = arith.mulf %e, %b : tensor<8x16xf32>
  %r = ff.reduce <sum> %p dims [1] : tensor<8x16xf32> to tensor<8xf32>
  return %r, %c : tensor<8xf32>, tensor<16xf32>
}

func.func private @again(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>

// A kernel moves up to what uses it; everything else stays where it is. The second of the calls of @again that need nothing must
// not come before the use of the first: that is how a backward computes blocks again, one at a time.
// CHECK-LABEL: @order_stays
func.func @order_stays(%x: tensor<8x8xf32>, %z: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: %[[F:.*]]:2 = ff.fused(%arg0)
  // CHECK: %[[C:.*]] = ff.matmul %[[F]]#0, %arg1
  // CHECK: %[[R:.*]] = call @again(%arg1, %arg1)
  // CHECK: %[[D:.*]] = call @again(%[[R]], %[[C]])
  // CHECK: %[[S:.*]] = call @again(%arg1, %arg1)
  // CHECK: call @again(%[[S]], %[[D]])
  %a = math.exp %x : tensor<8x8xf32>
  %c = ff.matmul %a, %z : tensor<8x8xf32>, tensor<8x8xf32> to tensor<8x8xf32>
  %b = arith.addf %a, %x : tensor<8x8xf32>
  %r = call @again(%z, %z) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = call @again(%r, %c) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = call @again(%z, %z) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = call @again(%s, %d) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %e, %b : tensor<8x8xf32>, tensor<8x8xf32>
}

// What only constants go into is a constant inside a kernel, whatever views are between.
// CHECK-LABEL: @constants_under_views
func.func @constants_under_views(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[F:.*]] = ff.fused(%arg0)
  // CHECK: arith.constant dense<6.000000e+00>
  // CHECK: return %[[F]]
  %a = arith.constant dense<2.0> : tensor<4xf32>
  %b = arith.constant dense<3.0> : tensor<4x1xf32>
  %c = ff.reshape %a : tensor<4xf32> to tensor<4x1xf32>
  %d = arith.mulf %c, %b : tensor<4x1xf32>
  %e = ff.reshape %d : tensor<4x1xf32> to tensor<4xf32>
  %f = ff.broadcast %e dims [0] : tensor<4xf32> to tensor<4x8xf32>
  %g = arith.mulf %x, %f : tensor<4x8xf32>
  return %g : tensor<4x8xf32>
}

// Cross-entropy of rows with its gradient: one loop over the rows, which writes the gradient and no intermediate. The factor of each row
// has a loop over the rows; what it meets there with sums of their elements goes on in the loop over the elements.
// CHECK-LABEL: @cross_entropy
func.func @cross_entropy(%logits: tensor<8x50xf32>, %mask: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x50xbf16>) {
  // CHECK: %[[FACTOR:.*]] = ff.fused(%arg1) domain [8] reduced 0
  // CHECK: ff.fused({{.*}}%[[FACTOR]]{{.*}}) domain [8, 50] reduced 1 : {{.*}} -> (tensor<8xf32>, tensor<8x50xbf16>)
  // CHECK-NOT: ff.fused
  // CHECK: return
  %max = ff.reduce <max> %logits dims [1] : tensor<8x50xf32> to tensor<8xf32>
  %shift = ff.broadcast %max dims [0] : tensor<8xf32> to tensor<8x50xf32>
  %below = arith.subf %logits, %shift : tensor<8x50xf32>
  %exp = math.exp %below : tensor<8x50xf32>
  %total = ff.reduce <sum> %exp dims [1] : tensor<8x50xf32> to tensor<8xf32>
  %factor = math.tanh %mask : tensor<8xf32>
  %log = math.log %total : tensor<8xf32>
  %loss = arith.mulf %factor, %log : tensor<8xf32>
  %each = arith.divf %factor, %total : tensor<8xf32>
  %b = ff.broadcast %each dims [0] : tensor<8xf32> to tensor<8x50xf32>
  %grad = arith.mulf %b, %exp : tensor<8x50xf32>
  %n = arith.truncf %grad : tensor<8x50xf32> to tensor<8x50xbf16>
  return %loss, %n : tensor<8xf32>, tensor<8x50xbf16>
}
