// RUN: ff-device-test --print-ptx --verify-ptx %s | FileCheck %s

// A row of a warp is read once; no barrier.
// CHECK: .visible .entry kernel_0(
// CHECK-NOT: bar.sync
// CHECK-NOT: .local
// CHECK: ld.global.nc.v4.f32
// CHECK-NOT: ld.global
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.f32
// CHECK: ret;
func.func @softmax(%a: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = ff.softmax %a : tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// Eight warps: one barrier for each reduction, and a butterfly over warps.
// CHECK: .visible .entry kernel_1(
// CHECK-COUNT-4: ld.global.nc.v4.f32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK: st.shared.f32
// CHECK: bar.sync
// CHECK: ld.shared.f32
// CHECK-COUNT-3: shfl.sync.bfly.b32
// CHECK-NOT: bar.sync
// CHECK: st.global.v4.f32
// CHECK: ret;
func.func @rms_norm(%a: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %0 = ff.rms_norm %a {eps = 1.0e-6 : f64} : tensor<64x4096xf32>
  return %0 : tensor<64x4096xf32>
}

// Columns: four elements of each column under way, joined in shared memory. Nothing is atomic.
// CHECK: .visible .entry kernel_2(
// CHECK-NOT: atom
// CHECK-NOT: red.
// CHECK-COUNT-4: ld.global.nc.v4.f32
// CHECK: st.shared.f32
// CHECK: bar.sync
// CHECK: ld.shared.f32
// CHECK: st.global.v4.f32
// CHECK: ret;
func.func @columns(%a: tensor<512x2048xf32>) -> tensor<2048xf32> {
  %0 = ff.reduce <sum> %a dims [0] : tensor<512x2048xf32> to tensor<2048xf32>
  return %0 : tensor<2048xf32>
}
