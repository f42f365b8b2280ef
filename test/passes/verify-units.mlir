// RUN: ff-opt %s --ff-verify-units --split-input-file --verify-diagnostics

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  // expected-error @below {{belongs to no unit}}
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-note @below {{the other unit}}
ff.unit @one of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["a"], offsets = [0]>]
// expected-error @below {{holds 'a', which another unit holds too}}
ff.unit @two of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["a"], offsets = [0]>]

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-error @below {{has a group with trainable = 1, but 'a' is frozen}}
ff.unit @one of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["a"], offsets = [0]>]
