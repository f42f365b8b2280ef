// RUN: ff-device-test --print-ptx --verify-ptx %s | FileCheck %s
// RUN: ff-device-test --print-ptx --verify-ptx --chip=sm_80 %s | FileCheck %s
// RUN: sed -e s/bf16/f16/g %s > %t.f16.mlir
// RUN: ff-device-test --print-ptx --verify-ptx %t.f16.mlir | FileCheck --check-prefix=F16 %s

// RUN: sed -e s/bf16/f32/g %s > %t.f32.mlir
// RUN: ff-device-test --print-ptx --verify-ptx %t.f32.mlir | FileCheck --check-prefix=F32 %s
// RUN: ff-device-test --print-ptx --verify-ptx --chip=sm_80 %t.f32.mlir | FileCheck --check-prefix=F32 %s

// Shapes are constants, nothing is called, nothing is in local memory, and nothing is atomic. Tiles arrive in pieces of 16 bytes while
// others are worked on; results leave in pieces of 16 bytes.
// CHECK-NOT: .func
// CHECK-NOT: _sizes
// CHECK: .visible .entry kernel_0(
// CHECK-NOT: .local
// CHECK-NOT: call
// CHECK: cp.async.cg.shared.global
// CHECK: cp.async.commit_group
// CHECK-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-DAG: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK-DAG: ex2.approx.ftz.f32
// CHECK-DAG: cvt.rn.bf16x2.f32
// CHECK-DAG: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-DAG: cp.async.wait_group 0
// CHECK-DAG: bar.sync
// CHECK-DAG: cp.async.cg.shared.global
// CHECK: st.global.v4.u32
// CHECK: .visible .entry kernel_1(
// CHECK-NOT: atom
// CHECK: mma.sync
// CHECK: st.global.v4.u32
// CHECK: .visible .entry kernel_2(
// CHECK-NOT: atom
// CHECK: mma.sync
// CHECK-COUNT-8: st.global.v4.u32
// CHECK-NOT: cp.async.ca

// F16: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// F16: cvt.rn.f16x2.f32

// No tensor core rounds numbers of f32.
// F32-NOT: mma.sync
// F32: cp.async.cg.shared.global
// F32: ld.shared.v4.f32
// F32: fma.rn.f32
// F32-NOT: mma.sync
// F32: st.global.v4

func.func @packed(%x: tensor<8x2048x3072xbf16>, %do: tensor<8x2048x16x64xbf16>) -> (tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>) {
  %q0 = ff.slice %x dim 2 at 0 : tensor<8x2048x3072xbf16> to tensor<8x2048x1024xbf16>
  %q = ff.reshape %q0 : tensor<8x2048x1024xbf16> to tensor<8x2048x16x64xbf16>
  %k0 = ff.slice %x dim 2 at 1024 : tensor<8x2048x3072xbf16> to tensor<8x2048x1024xbf16>
  %k = ff.reshape %k0 : tensor<8x2048x1024xbf16> to tensor<8x2048x16x64xbf16>
  %v0 = ff.slice %x dim 2 at 2048 : tensor<8x2048x3072xbf16> to tensor<8x2048x1024xbf16>
  %v = ff.reshape %v0 : tensor<8x2048x1024xbf16> to tensor<8x2048x16x64xbf16>
  %o, %l = ff.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>) -> (tensor<8x2048x16x64xbf16>, tensor<8x16x2048xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.125 : f64} : (tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>, tensor<8x16x2048xf32>, tensor<8x2048x16x64xbf16>) -> (tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>)
  return %o, %dq, %dk, %dv : tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>, tensor<8x2048x16x64xbf16>
}

// The largest head dim has the most sums: they stay in registers, which --verify-ptx asks ptxas about.
func.func @largest(%q: tensor<4x4096x8x128xbf16>, %k: tensor<4x4096x8x128xbf16>, %v: tensor<4x4096x8x128xbf16>, %do: tensor<4x4096x8x128xbf16>) -> (tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>) {
  %o, %l = ff.attention %q, %k, %v {scale = 0.0883883476 : f64, causal} : (tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>) -> (tensor<4x4096x8x128xbf16>, tensor<4x8x4096xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.0883883476 : f64, causal} : (tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x8x4096xf32>, tensor<4x4096x8x128xbf16>) -> (tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>)
  return %o, %dq, %dk, %dv : tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16>
}
