// RUN: ff-opt %S/Inputs/tiny.mlir --cse --ff-differentiate --symbol-dce --canonicalize --cse --ff-verify-trainable | FileCheck %s --check-prefix=TINY
// RUN: ff-opt %s --ff-differentiate=program=train --split-input-file --verify-diagnostics | FileCheck %s

// One forward and one backward for two calls; the forward saves what the backward cannot compute again (the matmul's operand and
// result), the backward gets the arguments that it needs.
// TINY-LABEL: func.func private @Block_0_bwd(
// TINY: ff.layer_norm_backward
// TINY-NOT: ff.activation <
// TINY-LABEL: func.func private @Block_0_fwd(
// TINY: return %{{.*}}, %[[NORM:.*]], %{{.*}} : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
// TINY-LABEL: func.func @train
// TINY-COUNT-2: call @Block_0_fwd
// TINY: ff.loss_seed
// TINY-COUNT-2: call @Block_0_bwd
// TINY-COUNT-5: ff.gradient
// TINY-NOT: ff.gradient

// A parameter that is used twice has one gradient, the sum.
// CHECK-LABEL: ff.component @twice
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: ff.gradient @twice::@w, %[[SUM]]
// CHECK-NOT: ff.gradient
ff.component @twice attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @train(%x: tensor<4xf32> {ff.input = "x"}) -> (tensor<f32> {ff.output = "loss"}) attributes {ff.program = "train"} {
  %w = ff.param @twice::@w : tensor<4xf32>
  %v = ff.param @twice::@w : tensor<4xf32>
  %a = arith.mulf %x, %w : tensor<4xf32>
  %b = arith.mulf %a, %v : tensor<4xf32>
  %l = ff.reduce <sum> %b dims [0] : tensor<4xf32> to tensor<f32>
  return %l : tensor<f32>
}

// -----

// No value is the gradient of a frozen parameter (B2).
// CHECK-LABEL: ff.component @base
// CHECK: ff.loss_seed
// CHECK-NEXT: ff.broadcast
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: ff.gradient @head::@w
// CHECK-NEXT: return
ff.component @base attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.component @head attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @train() -> (tensor<f32> {ff.output = "loss"}) attributes {ff.program = "train"} {
  %w = ff.param @base::@w : tensor<4xf32>
  %v = ff.param @head::@w : tensor<4xf32>
  %b = arith.mulf %w, %v : tensor<4xf32>
  %l = ff.reduce <sum> %b dims [0] : tensor<4xf32> to tensor<f32>
  return %l : tensor<f32>
}

// -----

// Slices that tile a dim become one concatenation.
// CHECK-LABEL: ff.component @tiles
// CHECK: ff.loss_seed
// CHECK: ff.concat %{{.*}}, %{{.*}} dim 0 : tensor<2xf32>, tensor<2xf32> to tensor<4xf32>
// CHECK-NEXT: ff.gradient @tiles::@w
ff.component @tiles attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @train() -> (tensor<f32> {ff.output = "loss"}) attributes {ff.program = "train"} {
  %w = ff.param @tiles::@w : tensor<4xf32>
  %a = ff.slice %w dim 0 at 0 : tensor<4xf32> to tensor<2xf32>
  %c = ff.slice %w dim 0 at 2 : tensor<4xf32> to tensor<2xf32>
  %b = arith.mulf %a, %c : tensor<2xf32>
  %l = ff.reduce <sum> %b dims [0] : tensor<2xf32> to tensor<f32>
  return %l : tensor<f32>
}

// -----

ff.component @cut attributes {module = "Net", train = #ff.train<full>} {
  // expected-note @below {{'cut.w' is one; freeze its component, or use it in the program}}
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-error @below {{1 of 2 trainable parameters have no path to the loss of program 'train'}}
func.func @train() -> (tensor<f32> {ff.output = "loss"}) attributes {ff.program = "train"} {
  %w = ff.param @cut::@w : tensor<4xf32>
  %v = ff.param @cut::@v : tensor<4xf32>
  %s = ff.stop_gradient %w : tensor<4xf32>
  %b = arith.mulf %s, %v : tensor<4xf32>
  %l = ff.reduce <sum> %b dims [0] : tensor<4xf32> to tensor<f32>
  return %l : tensor<f32>
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<1x2x1x4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @train() -> (tensor<f32> {ff.output = "loss"}) attributes {ff.program = "train"} {
  %w = ff.param @net::@w : tensor<1x2x1x4xf32>
  // expected-error @below {{has no gradient with respect to its second result}}
  %o, %l = ff.attention %w, %w, %w {scale = 0.5 : f64} : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x1x2xf32>)
  %s = ff.reduce <sum> %l dims [0, 1, 2] : tensor<1x1x2xf32> to tensor<f32>
  return %s : tensor<f32>
}

// -----

// expected-error @below {{program 'train' is trained, so it must return one scalar, the loss}}
func.func @train(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ff.program = "train"} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{train.program 'train' is not a program}}
module {}
