// RUN: ff-device-test --print-ptx --verify-ptx %s | FileCheck %s
// RUN: ff-device-test --print-ptx --verify-ptx --chip=sm_80 %s | FileCheck %s

// Eight numbers of 16 bits in one access, those of 32 bits in two; one rounding instruction for each. No local memory.
// CHECK: .visible .entry kernel_0(
// CHECK: .maxntid 256, 1, 1
// CHECK: .minnctapersm 2
// CHECK-NOT: .local
// CHECK-NOT: ld.global.nc.u16
// CHECK: ld.global.nc.v4.u32
// CHECK: ld.global.nc.v4.f32
// CHECK: ld.global.nc.v4.f32
// CHECK-COUNT-8: cvt.rn.bf16.f32
// CHECK: st.global.v4.u32
// CHECK: ret;
func.func @scaled(%a: tensor<64x512xbf16>, %b: tensor<512xf32>) -> tensor<64x512xbf16> {
  %x = arith.extf %a : tensor<64x512xbf16> to tensor<64x512xf32>
  %s = ff.broadcast %b dims [1] : tensor<512xf32> to tensor<64x512xf32>
  %0 = arith.mulf %x, %s : tensor<64x512xf32>
  %1 = arith.truncf %0 : tensor<64x512xf32> to tensor<64x512xbf16>
  return %1 : tensor<64x512xbf16>
}

// A large tensor: a thread reads four places before it computes.
// CHECK: .visible .entry kernel_1(
// CHECK-COUNT-4: ld.global.nc.v4.f32
// CHECK-NOT: ld.global
// CHECK: fma.rn.f32
func.func @large(%a: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %0 = math.exp %a : tensor<2048x2048xf32>
  return %0 : tensor<2048x2048xf32>
}
