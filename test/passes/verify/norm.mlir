// RUN: ff-opt %s --ff-verify-norm --split-input-file --verify-diagnostics

// A sharded, a replicated and an empty component: right.
module attributes {ff.spec = {train = {clip_norm = 1.0 : f64}}} {
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<3xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @v : tensor<3xf64> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.component @copy attributes {sharded = false, module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<1xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.component @empty attributes {module = "Net", train = #ff.train<full>} {
}

ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>, #ff.group<f64, trainable = true, reduce = f64, numel = 16, params = ["v"], offsets = [0]>] {root}
ff.unit @copy.root of @copy groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
}

// -----

// Counted twice.
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-note @below {{the first}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
// expected-error @below {{counts 'net.w' a second time for the norm}}
ff.unit @net.other of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

// -----

// Not counted, in a replicated component.
// expected-error @below {{trains 10 elements, of which its groups count 4 for the norm}}
ff.component @net attributes {sharded = false, module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  // expected-note @below {{'v' is in none}}
  ff.parameter @v : tensor<2x3xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

// -----

// Nothing is left of a gradient that is clipped to 0.
// expected-error @below {{train.clip_norm is 0.000000e+00}}
module attributes {ff.spec = {train = {clip_norm = 0.0 : f64}}} {
}
