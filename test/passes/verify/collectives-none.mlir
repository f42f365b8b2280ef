// RUN: ff-opt %s --ff-verify-collectives=form=none --split-input-file --verify-diagnostics

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
// A use in the straight line, of a program and of a function that only it calls: right.
func.func private @net_forward() attributes {ff.forward = "Net"} {
  %w = ff.param @net::@w : tensor<4xf32>
  return
}
func.func @sample() attributes {ff.program = "sample"} {
  %w = ff.param @net::@w : tensor<4xf32>
  func.call @net_forward() : () -> ()
  func.call @net_forward() : () -> ()
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @use_in_branch(%c: i1) attributes {ff.program = "train"} {
  scf.if %c {
    // expected-error @below {{becomes a collective inside a region: ranks could differ in it}}
    %w = ff.param @net::@w : tensor<4xf32>
  }
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func private @use_in_block() attributes {ff.block = "Block"} {
  // expected-error @below {{becomes a collective outside a program}}
  %w = ff.param @net::@w : tensor<4xf32>
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @gather_before_sharding() attributes {ff.program = "train"} {
  // expected-error @below {{is a collective before sharding}}
  %u = ff.gather @net.root : !ff.gathered
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
// expected-note @below {{the function}}
func.func private @net_forward() attributes {ff.forward = "Net"} {
  return
}
func.func private @other_forward() attributes {ff.forward = "Other"} {
  // expected-error @below {{calls a function with collectives from elsewhere than the straight line of a program}}
  func.call @net_forward() : () -> ()
  return
}
