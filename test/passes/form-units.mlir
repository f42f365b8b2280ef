// RUN: ff-opt %s --ff-form-units --ff-verify-groups --split-input-file | FileCheck %s

// Blocks become units, the rest is the root; parameters keep their order and start at multiples of 16 elements.
// CHECK-LABEL: ff.component @blocks_and_root
// CHECK: ff.unit @blocks_and_root.root of @blocks_and_root groups [#ff.group<f32, trainable = true, reduce = f32, numel = 48, params = ["in", "out"], offsets = [0, 32]>] {root}
// CHECK: ff.unit @blocks_and_root.blocks.0 {{.*}}numel = 32, params = ["blocks.0.w", "blocks.0.b"], offsets = [0, 16]
// CHECK: ff.unit @blocks_and_root.blocks.1 {{.*}}numel = 32, params = ["blocks.1.w", "blocks.1.b"], offsets = [0, 16]
ff.component @blocks_and_root attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @in : tensor<17xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @"blocks.0.w" : tensor<4x4xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.0"
  ff.parameter @"blocks.0.b" : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.0"
  ff.parameter @"blocks.1.w" : tensor<4x4xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.1"
  ff.parameter @"blocks.1.b" : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.1"
  ff.parameter @out : tensor<2xf32> init <constant, 0.0 : f64, 0.0 : f64>
}

// -----

// Two dtypes in one unit are two groups (V1); low precision is reduced in f32.
// CHECK-LABEL: ff.component @mixed_dtypes
// CHECK: ff.unit @mixed_dtypes.root
// CHECK-SAME: #ff.group<bf16, trainable = true, reduce = f32, numel = 32, params = ["a", "c"], offsets = [0, 16]>
// CHECK-SAME: #ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["b"], offsets = [0]>
ff.component @mixed_dtypes attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @a : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @b : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @c : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64>
}

// -----

// CHECK-LABEL: ff.component @frozen
// CHECK: ff.unit @frozen.root of @frozen groups [#ff.group<f32, trainable = false
ff.component @frozen attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
