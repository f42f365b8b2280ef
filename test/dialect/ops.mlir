// RUN: ff-opt %s --verify-roundtrip | FileCheck %s
// RUN: ff-opt %s --emit-bytecode | ff-opt | FileCheck %s

// Every operation, in text and bytecode.

// CHECK-LABEL: ff.component @net
// CHECK: ff.parameter @blocks.0.w : tensor<4x4xf32> init <normal, 0.000000e+00 : f64, 2.000000e-02 : f64> in "blocks.0"
ff.component @net attributes {module = "Net", train = #ff.train<full>, config = {dim = 4}} {
  ff.parameter @table : tensor<3x4xf32> init <uniform, -1.0 : f64, 1.0 : f64>
  ff.parameter @"blocks.0.w" : tensor<4x4xf32> init <normal, 0.0 : f64, 0.02 : f64> in "blocks.0"
  ff.parameter @"blocks.0.b" : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.0" {decay = false}
}
// CHECK: ff.unit @net.blocks.0 of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 32, params = ["blocks.0.w", "blocks.0.b"], offsets = [0, 16]>]
ff.unit @"net.blocks.0" of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 32, params = ["blocks.0.w", "blocks.0.b"], offsets = [0, 16]>]
// CHECK: ff.unit @net.root {{.*}} {root}
ff.unit @"net.root" of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["table"], offsets = [0]>] {root}

// CHECK-LABEL: func.func @leaves
func.func @leaves() {
  // CHECK: ff.param @net::@table : tensor<3x4xf32>
  %0 = ff.param @net::@table : tensor<3x4xf32>
  // CHECK: ff.iota dim 1 : tensor<2x3xf32>
  %1 = ff.iota dim 1 : tensor<2x3xf32>
  // CHECK: ff.random <normal> site 3 : tensor<2x3xf32>
  %2 = ff.random <normal> site 3 : tensor<2x3xf32>
  // CHECK: ff.loss_seed : tensor<f32>
  %3 = ff.loss_seed : tensor<f32>
  return
}

// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<2x6xf32>, %b: tensor<6xf32>) {
  // CHECK: ff.broadcast %{{.*}} dims [1] : tensor<6xf32> to tensor<2x6xf32>
  %0 = ff.broadcast %b dims [1] : tensor<6xf32> to tensor<2x6xf32>
  // CHECK: ff.reshape %{{.*}} : tensor<2x6xf32> to tensor<3x4xf32>
  %1 = ff.reshape %x : tensor<2x6xf32> to tensor<3x4xf32>
  // CHECK: ff.transpose %{{.*}} [1, 0] : tensor<2x6xf32> to tensor<6x2xf32>
  %2 = ff.transpose %x [1, 0] : tensor<2x6xf32> to tensor<6x2xf32>
  // CHECK: ff.slice %{{.*}} dim 1 at 2 : tensor<2x6xf32> to tensor<2x3xf32>
  %3 = ff.slice %x dim 1 at 2 : tensor<2x6xf32> to tensor<2x3xf32>
  // CHECK: ff.concat %{{.*}}, %{{.*}} dim 0 : tensor<2x6xf32>, tensor<2x6xf32> to tensor<4x6xf32>
  %4 = ff.concat %x, %0 dim 0 : tensor<2x6xf32>, tensor<2x6xf32> to tensor<4x6xf32>
  return
}

// CHECK-LABEL: func.func @compute
func.func @compute(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %ids: tensor<2xi64>, %q: tensor<1x2x1x4xf32>, %l: tensor<1x1x2xf32>) {
  // CHECK: ff.embedding %{{.*}}[%{{.*}}] : tensor<4x4xf32>, tensor<2xi64> to tensor<2x4xf32>
  %0 = ff.embedding %w[%ids] : tensor<4x4xf32>, tensor<2xi64> to tensor<2x4xf32>
  // CHECK: ff.embedding_backward
  %1 = ff.embedding_backward %x[%ids] : tensor<2x4xf32>, tensor<2xi64> to tensor<4x4xf32>
  // CHECK: ff.activation <silu>
  %2 = ff.activation <silu> %x : tensor<2x4xf32>
  // CHECK: ff.activation_backward <gelu_tanh>
  %3 = ff.activation_backward <gelu_tanh> %x, %2 : tensor<2x4xf32>
  // CHECK: ff.stop_gradient
  %4 = ff.stop_gradient %x : tensor<2x4xf32>
  // CHECK: ff.reduce <max> %{{.*}} dims [0, 1] : tensor<2x4xf32> to tensor<f32>
  %5 = ff.reduce <max> %x dims [0, 1] : tensor<2x4xf32> to tensor<f32>
  // CHECK: ff.layer_norm
  %6 = ff.layer_norm %x {eps = 1.0e-5 : f64} : tensor<2x4xf32>
  // CHECK: ff.layer_norm_backward
  %7 = ff.layer_norm_backward %x, %6 {eps = 1.0e-5 : f64} : tensor<2x4xf32>
  // CHECK: ff.rms_norm
  %8 = ff.rms_norm %x {eps = 1.0e-5 : f64} : tensor<2x4xf32>
  // CHECK: ff.rms_norm_backward
  %9 = ff.rms_norm_backward %x, %8 {eps = 1.0e-5 : f64} : tensor<2x4xf32>
  // CHECK: ff.softmax
  %10 = ff.softmax %x : tensor<2x4xf32>
  // CHECK: ff.softmax_backward
  %11 = ff.softmax_backward %10, %x : tensor<2x4xf32>
  // CHECK: ff.matmul %{{.*}}, %{{.*}} bias %{{.*}} : tensor<4xf32> {activation = #ff.activation_kind<gelu>, transpose_rhs}
  %12 = ff.matmul %x, %w bias %b : tensor<4xf32> {transpose_rhs, activation = #ff.activation_kind<gelu>} : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32>
  // CHECK: ff.attention
  %13, %14 = ff.attention %q, %q, %q {scale = 0.5 : f64, causal} : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x1x2xf32>)
  // CHECK: ff.attention_backward
  %15:3 = ff.attention_backward %q, %q, %q, %13, %14, %q {scale = 0.5 : f64} : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x1x2xf32>, tensor<1x2x1x4xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>)
  // CHECK: arith.constant
  %mask = arith.constant dense<true> : tensor<1x2xi1>
  // CHECK: ff.attention {{.*}} mask
  %masked:2 = ff.attention %q, %q, %q mask %mask {scale = 0.5 : f64} : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2xi1>) -> (tensor<1x2x1x4xf32>, tensor<1x1x2xf32>)
  // CHECK: ff.attention_backward {{.*}} mask
  %masked_grads:3 = ff.attention_backward %q, %q, %q, %13, %14, %q mask %mask {scale = 0.5 : f64} : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x1x2xf32>, tensor<1x2x1x4xf32>, tensor<1x2xi1>) -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>)
  return
}

// CHECK-LABEL: func.func @kernels
func.func @kernels(%x: tensor<2x4xf32>) {
  // CHECK: ff.fused(%{{.*}}) domain [2, 4] reduced 1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = ff.fused(%x) domain [2, 4] reduced 1 : (tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>):
    %m = ff.reduce <max> %a dims [1] : tensor<2x4xf32> to tensor<2xf32>
    %b = ff.broadcast %m dims [0] : tensor<2xf32> to tensor<2x4xf32>
    %c = arith.subf %a, %b : tensor<2x4xf32>
    // CHECK: ff.yield
    ff.yield %c : tensor<2x4xf32>
  }
  // CHECK: ff.launch @kernel(%{{.*}}) iterations 2 grain 1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %z = ff.launch @kernel(%y) iterations 2 grain 1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: ff.launch_device @device::@device_kernel(%{{.*}}) blocks 2 threads 32 shared 0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %d = ff.launch_device @device::@device_kernel(%z) blocks 2 threads 32 shared 0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
gpu.module @device {
  gpu.func @device_kernel(%x: !llvm.ptr, %y: !llvm.ptr) kernel {
    gpu.return
  }
}
func.func private @kernel(!llvm.ptr, i64, i64)

// CHECK-LABEL: func.func @collectives
func.func @collectives(%g: tensor<4x4xf32>, %h: tensor<4xf32>) {
  // CHECK: ff.gather @net.root : !ff.gathered
  %u = ff.gather @"net.root" : !ff.gathered
  // CHECK: ff.view %{{.*}}["table"] : tensor<3x4xf32>
  %t = ff.view %u["table"] : tensor<3x4xf32>
  // CHECK: ff.release
  ff.release %u
  // CHECK: ff.gather_start @net.blocks.0 {slot = 1 : i32} : !ff.pending
  %p = ff.gather_start @"net.blocks.0" {slot = 1 : i32} : !ff.pending
  // CHECK: ff.gather_wait
  %v = ff.gather_wait %p : !ff.gathered
  ff.release %v
  // CHECK: ff.gradient @net::@blocks.0.w
  ff.gradient @net::@"blocks.0.w", %g : tensor<4x4xf32>
  // CHECK: ff.reduce_gradients @net.blocks.0(%{{.*}}, %{{.*}}) ["blocks.0.w", "blocks.0.b"]
  ff.reduce_gradients @"net.blocks.0"(%g, %h) ["blocks.0.w", "blocks.0.b"] : tensor<4x4xf32>, tensor<4xf32>
  // CHECK: ff.reduce_wait @net.blocks.0
  ff.reduce_wait @"net.blocks.0"
  return
}
