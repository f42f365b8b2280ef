// RUN: ff-opt %s --ff-verify-groups --split-input-file --verify-diagnostics

// A block of three groups (dtypes, trainable or not) and a root unit: right.
ff.component @net attributes {module = "Net", train = #ff.train<lora>} {
  ff.parameter @w : tensor<4x4xbf16> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.0" {merge = #ff.merge<"a", "b", 1.0 : f64>}
  ff.parameter @norm : tensor<3xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.0"
  ff.parameter @a : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.0" {trainable = true}
  ff.parameter @b : tensor<4x1xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.0" {trainable = true}
  ff.parameter @scalar : tensor<f32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.component @empty attributes {module = "Empty", train = #ff.train<frozen>} {
}
ff.unit @net.blocks.0 of @net groups [#ff.group<bf16, trainable = false, reduce = bf16, numel = 16, params = ["w"], offsets = [0]>, #ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["norm"], offsets = [0]>, #ff.group<f32, trainable = true, reduce = f32, numel = 32, params = ["a", "b"], offsets = [0, 16]>]
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["scalar"], offsets = [0]>] {root}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  // expected-error @below {{belongs to no unit}}
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-note @below {{the other unit}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["a"], offsets = [0]>] {root}
// expected-error @below {{holds 'a', which another unit holds too}}
ff.unit @two of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["a"], offsets = [0]>]

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  // expected-error @below {{belongs to unit 'net.blocks.1', but lies in 'net.blocks.0'}}
  ff.parameter @a : tensor<4xf64> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.1"
}
// expected-note @below {{the unit that holds it}}
ff.unit @net.blocks.0 of @net groups [#ff.group<f64, trainable = true, reduce = f64, numel = 16, params = ["a"], offsets = [0]>]

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  // expected-error @below {{belongs to unit 'net.root', but lies in 'net.root'}}
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-note @below {{the unit that holds it}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["a"], offsets = [0]>]

// -----

// Uniformity is the verifier of ff.unit: trainable,
ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-error @below {{has a group with trainable = 1, but 'a' is frozen}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["a"], offsets = [0]>] {root}

// -----

// storage dtype,
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @b : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {master = f32}
}
// expected-error @below {{group of 'f32' holds 'b' of 'bf16'}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 32, params = ["a", "b"], offsets = [0, 16]>] {root}

// -----

// gather dtype,
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {gather = bf16}
}
// expected-error @below {{group of 'f32' (gathered) holds 'a' of 'bf16'}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["a"], offsets = [0]>] {root}

// -----

// master dtype,
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @a : tensor<4xf16> init <constant, 0.0 : f64, 0.0 : f64> {master = f32}
}
// expected-error @below {{group of 'f16' (master) holds 'a' of 'f32'}}
ff.unit @net.root of @net groups [#ff.group<f16, trainable = true, reduce = f32, numel = 16, params = ["a"], offsets = [0]>] {root}

// -----

// reduce dtype.
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {reduce = bf16}
}
// expected-error @below {{group of 'f32' (reduced) holds 'a' of 'bf16'}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["a"], offsets = [0]>] {root}
