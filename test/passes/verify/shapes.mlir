// RUN: ff-opt %s --ff-verify-shapes --split-input-file --verify-diagnostics

// A scalar, a matrix gathered in bf16: right.
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @s : tensor<f32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<2x3xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 32, params = ["s", "w"], offsets = [0, 16]>] {root}
func.func @train(%g: tensor<2x3xf32>, %h: tensor<f32>) attributes {ff.program = "train"} {
  %u = ff.gather @net.root : !ff.gathered
  %s = ff.view %u["s"] : tensor<f32>
  %w = ff.view %u["w"] : tensor<2x3xf32>
  ff.release %u
  ff.reduce_gradients @net.root(%g, %h) ["w", "s"] : tensor<2x3xf32>, tensor<f32>
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @unknown_name() attributes {ff.program = "train"} {
  %u = ff.gather @net.root : !ff.gathered
  // expected-error @below {{names 'nope', which is not in @net.root}}
  %w = ff.view %u["nope"] : tensor<4xf32>
  ff.release %u
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  // expected-note @below {{the parameter}}
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @other_size() attributes {ff.program = "train"} {
  %u = ff.gather @net.root : !ff.gathered
  // expected-error @below {{has type 'tensor<5xf32>' for 'w', which is 'tensor<4xf32>'}}
  %w = ff.view %u["w"] : tensor<5xf32>
  ff.release %u
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  // expected-note @below {{the parameter}}
  ff.parameter @w : tensor<2x3xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @transposed() attributes {ff.program = "train"} {
  %u = ff.gather @net.root : !ff.gathered
  // expected-error @below {{has type 'tensor<3x2xf32>' for 'w', which is 'tensor<2x3xf32>'}}
  %w = ff.view %u["w"] : tensor<3x2xf32>
  ff.release %u
  return
}

// -----

// The storage dtype where another one is gathered.
ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  // expected-note @below {{the parameter}}
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {gather = bf16}
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, gather = bf16, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @not_gathered_in() attributes {ff.program = "train"} {
  %u = ff.gather @net.root : !ff.gathered
  // expected-error @below {{has type 'tensor<4xf32>' for 'w', which is 'tensor<4xbf16>'}}
  %w = ff.view %u["w"] : tensor<4xf32>
  ff.release %u
  return
}

// -----

// A local shard instead of the gradient.
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  // expected-note @below {{the parameter}}
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @local(%g: tensor<2xf32>) attributes {ff.program = "train"} {
  // expected-error @below {{has type 'tensor<2xf32>' for 'w', which is 'tensor<4xf32>'}}
  ff.reduce_gradients @net.root(%g) ["w"] : tensor<2xf32>
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @unknown_gradient(%g: tensor<4xf32>) attributes {ff.program = "train"} {
  // expected-error @below {{names 'v', which is not in @net.root}}
  ff.reduce_gradients @net.root(%g) ["v"] : tensor<4xf32>
  return
}

// -----

// Offsets: the verifiers of ff.unit
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<20xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-error @below {{'w' ends at element 20 of its group, beyond 16}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 32, params = ["w", "v"], offsets = [0, 16]>] {root}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<20xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-error @below {{'w' ends at element 20 of its group, beyond 16}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

// -----

// and of the group.
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-error @below {{offset 8 of 'w' is not a multiple of 16 elements}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [8]>] {root}

// -----

// The verifiers of ff.param and ff.gradient, before sharding.
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<2x3xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @train() attributes {ff.program = "train"} {
  // expected-error @below {{has type 'tensor<3x2xf32>', but the parameter is 'tensor<2x3xf32>'}}
  %w = ff.param @net::@w : tensor<3x2xf32>
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<2x3xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @train(%g: tensor<6xf32>) attributes {ff.program = "train"} {
  // expected-error @below {{has shape [6], but the parameter has [2, 3]}}
  ff.gradient @net::@w, %g : tensor<6xf32>
  return
}
