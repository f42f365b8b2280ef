// RUN: ff-opt %s --ff-lower-kernels-to-gpu | FileCheck %s
// RUN: ff-opt %s --ff-lower-kernels-to-gpu | ff-opt | FileCheck %s

// A kernel calls the function of its type and padded head dim; strides and sizes are constants. Equal ones are one.
// CHECK-LABEL: @twice
func.func @twice(%x: tensor<8x512x3x8x40xbf16>, %y: tensor<8x512x3x8x40xbf16>) -> (tensor<8x512x8x40xbf16>, tensor<8x512x8x40xbf16>) {
  // CHECK: ff.launch_device @kernels::@kernel_0({{.*}}) blocks 256 threads 128 shared 43008 {ff.flops = {{.*}} : f64} : (tensor<8x512x3x8x40xbf16>, tensor<3931840xbf16>, tensor<3931840xbf16>) -> (tensor<8x512x8x40xbf16>, tensor<8x8x512xf32>)
  // CHECK: ff.launch_device @kernels::@kernel_0(
  %q0 = ff.slice %x dim 2 at 0 : tensor<8x512x3x8x40xbf16> to tensor<8x512x1x8x40xbf16>
  %q = ff.reshape %q0 : tensor<8x512x1x8x40xbf16> to tensor<8x512x8x40xbf16>
  %k0 = ff.slice %x dim 2 at 1 : tensor<8x512x3x8x40xbf16> to tensor<8x512x1x8x40xbf16>
  %k = ff.reshape %k0 : tensor<8x512x1x8x40xbf16> to tensor<8x512x8x40xbf16>
  %p0 = ff.slice %y dim 2 at 0 : tensor<8x512x3x8x40xbf16> to tensor<8x512x1x8x40xbf16>
  %p = ff.reshape %p0 : tensor<8x512x1x8x40xbf16> to tensor<8x512x8x40xbf16>
  %o, %l = ff.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<8x512x8x40xbf16>, tensor<8x512x8x40xbf16>, tensor<8x512x8x40xbf16>) -> (tensor<8x512x8x40xbf16>, tensor<8x8x512xf32>)
  %o2, %l2 = ff.attention %p, %k, %k {scale = 0.5 : f64} : (tensor<8x512x8x40xbf16>, tensor<8x512x8x40xbf16>, tensor<8x512x8x40xbf16>) -> (tensor<8x512x8x40xbf16>, tensor<8x8x512xf32>)
  return %o, %o2 : tensor<8x512x8x40xbf16>, tensor<8x512x8x40xbf16>
}

// The second kernel of a gradient reads the sums that the first one leaves. Small tensors have small blocks.
// CHECK-LABEL: @gradient
func.func @gradient(%q: tensor<2x33x4x32xf32>, %k: tensor<2x65x4x32xf32>, %v: tensor<2x65x4x32xf32>, %o: tensor<2x33x4x32xf32>, %l: tensor<2x4x33xf32>, %do: tensor<2x33x4x32xf32>) -> (tensor<2x33x4x32xf32>, tensor<2x65x4x32xf32>, tensor<2x65x4x32xf32>) {
  // CHECK: %[[Q:.*]]:2 = ff.launch_device @kernels::@kernel_1(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5) blocks 24 threads 32 {{.*}} -> (tensor<2x33x4x32xf32>, tensor<2x4x33xf32>)
  // CHECK: %[[K:.*]]:2 = ff.launch_device @kernels::@kernel_2(%arg0, %arg1, %arg2, %arg4, %arg5, %[[Q]]#1) blocks 40 threads 32 {{.*}} -> (tensor<2x65x4x32xf32>, tensor<2x65x4x32xf32>)
  // CHECK: return %[[Q]]#0, %[[K]]#0, %[[K]]#1
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.5 : f64} : (tensor<2x33x4x32xf32>, tensor<2x65x4x32xf32>, tensor<2x65x4x32xf32>, tensor<2x33x4x32xf32>, tensor<2x4x33xf32>, tensor<2x33x4x32xf32>) -> (tensor<2x33x4x32xf32>, tensor<2x65x4x32xf32>, tensor<2x65x4x32xf32>)
  return %dq, %dk, %dv : tensor<2x33x4x32xf32>, tensor<2x65x4x32xf32>, tensor<2x65x4x32xf32>
}

// CHECK: llvm.func @ff_attention_forward_bf16_48(
// CHECK: llvm.mlir.global internal constant @kernel_0_sizes(dense<[8, 512, 512, 40,
// CHECK: gpu.func @kernel_0
// CHECK: llvm.call @ff_attention_forward_bf16_48(
// CHECK: llvm.call @ff_attention_query_grad_f32_32(
// CHECK: llvm.call @ff_attention_key_grad_f32_32(
