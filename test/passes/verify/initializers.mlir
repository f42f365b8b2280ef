// RUN: ff-opt %s --ff-verify-initializers --split-input-file --verify-diagnostics

// Sources of three dtypes, a table of integers and what initialisers give: right.
ff.component @net attributes {files = ["a.safetensors", "b.safetensors"], module = "Net", train = #ff.train<full>} {
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {source = #ff.source<0, "m.a", "bf16">}
  ff.parameter @b : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {source = #ff.source<1, "m.a", "f32">}
  ff.parameter @ids : tensor<4xi64> init <constant, 0.0 : f64, 0.0 : f64> {buffer, trainable = false, source = #ff.source<0, "ids", "i64">}
  ff.parameter @q : tensor<4xi8> init <constant, 0.0 : f64, 0.0 : f64> {trainable = false, buffer, source = #ff.source<0, "q", "f8_e4m3">}
  ff.parameter @n : tensor<0xf32> init <normal, 0.0 : f64, 0.02 : f64>
  ff.parameter @u : tensor<f64> init <uniform, -1.0 : f64, 1.0 : f64>
}

// -----

// A file that the component does not list.
ff.component @net attributes {files = ["a.safetensors"], module = "Net", train = #ff.train<full>} {
  // expected-error @below {{comes from file 1, but component @net has 1}}
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {source = #ff.source<1, "a", "f32">}
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  // expected-error @below {{comes from file 0, but component @net has 0}}
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {source = #ff.source<0, "a", "f32">}
}

// -----

// One tensor for two parameters.
ff.component @net attributes {files = ["a.safetensors"], module = "Net", train = #ff.train<full>} {
  // expected-note @below {{the other parameter}}
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {source = #ff.source<0, "t", "f32">}
  // expected-error @below {{comes from tensor "t", which supplies 'a' too}}
  ff.parameter @b : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {source = #ff.source<0, "t", "f32">}
}

// -----

// Dtypes that cannot supply it.
ff.component @net attributes {files = ["a.safetensors"], module = "Net", train = #ff.train<frozen>} {
  // expected-error @below {{of 'bf16' comes from a tensor of "f8_e4m3"}}
  ff.parameter @a : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {source = #ff.source<0, "t", "f8_e4m3">}
}

// -----

ff.component @net attributes {files = ["a.safetensors"], module = "Net", train = #ff.train<full>} {
  // expected-error @below {{of 'i32' comes from a tensor of "i64"}}
  ff.parameter @a : tensor<4xi32> init <constant, 0.0 : f64, 0.0 : f64> {buffer, trainable = false, source = #ff.source<0, "t", "i64">}
}

// -----

// A file twice.
// expected-error @below {{lists the file "a.safetensors" twice}}
ff.component @net attributes {files = ["a.safetensors", "a.safetensors"], module = "Net", train = #ff.train<full>} {
}

// -----

// Numbers.
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  // expected-error @below {{has an initial value <normal, 0.000000e+00, -1.000000e+00>: a deviation is not negative}}
  ff.parameter @a : tensor<4xf32> init <normal, 0.0 : f64, -1.0 : f64>
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  // expected-error @below {{has an initial value <uniform, 1.000000e+00, 0.000000e+00>: the range is empty}}
  ff.parameter @a : tensor<4xf32> init <uniform, 1.0 : f64, 0.0 : f64>
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  // expected-error @below {{has an initial value <constant, 1.000000e+00, 2.000000e+00>: a constant is one number}}
  ff.parameter @a : tensor<4xf32> init <constant, 1.0 : f64, 2.0 : f64>
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  // expected-error @below {{its numbers must be finite}}
  ff.parameter @a : tensor<4xf32> init <constant, 0x7FF0000000000000 : f64, 0.0 : f64>
}
