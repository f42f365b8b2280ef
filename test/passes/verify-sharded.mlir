// RUN: ff-opt %s --ff-verify-sharded --split-input-file --verify-diagnostics

module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  // expected-error @below {{has trainable 'w', which nothing reduces}}
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
  func.func @train() attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
  func.func @train(%g: tensor<4xf32>) attributes {ff.program = "train"} {
    // expected-note @below {{the first}}
    ff.reduce_gradients @net.root(%g) ["w"] : tensor<4xf32>
    // expected-error @below {{is the second reduction of @net.root}}
    ff.reduce_gradients @net.root(%g) ["w"] : tensor<4xf32>
    return
  }
}

// -----

module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
  func.func @train(%g: tensor<4xf32>) attributes {ff.program = "train"} {
    // expected-error @below {{reduces 'w', which is not trainable}}
    ff.reduce_gradients @net.root(%g) ["w"] : tensor<4xf32>
    return
  }
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @never_released() attributes {ff.program = "train"} {
  // expected-error @below {{is never released}}
  %u = ff.gather @net.root : !ff.gathered
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @used_after_release() attributes {ff.program = "train"} {
  %u = ff.gather @net.root : !ff.gathered
  %w = ff.view %u["w"] : tensor<4xf32>
  // expected-note @below {{released here}}
  ff.release %u
  // expected-error @below {{reads 'w' after its release}}
  %y = arith.negf %w : tensor<4xf32>
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @collective_in_branch(%c: i1) attributes {ff.program = "train"} {
  scf.if %c {
    // expected-error @below {{is a collective inside a region: ranks could differ in it}}
    %u = ff.gather @net.root : !ff.gathered
    ff.release %u
  }
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @param_left() attributes {ff.program = "train"} {
  // expected-error @below {{is left after sharding}}
  %w = ff.param @net::@w : tensor<4xf32>
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func private @collective_in_block() attributes {ff.block = "Block"} {
  // expected-error @below {{is a collective outside a program}}
  %u = ff.gather @net.root : !ff.gathered
  ff.release %u
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func private @net_forward() attributes {ff.forward = "Net"} {
  return
}
func.func @forward_in_branch(%c: i1) attributes {ff.program = "sample"} {
  scf.if %c {
    // expected-error @below {{calls a function with collectives from elsewhere than the straight line of a program}}
    func.call @net_forward() : () -> ()
  }
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<2x2xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @used_through_a_view() attributes {ff.program = "train"} {
  %u = ff.gather @net.root : !ff.gathered
  %w = ff.view %u["w"] : tensor<2x2xf32>
  %t = ff.transpose %w [1, 0] : tensor<2x2xf32> to tensor<2x2xf32>
  // expected-note @below {{released here}}
  ff.release %u
  // expected-error @below {{reads 'w' after its release}}
  %y = arith.negf %t : tensor<2x2xf32>
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
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @other_type() attributes {ff.program = "train"} {
  %u = ff.gather @net.root : !ff.gathered
  // expected-error @below {{has type 'tensor<5xf32>' for 'w', which is 'tensor<4xf32>'}}
  %w = ff.view %u["w"] : tensor<5xf32>
  ff.release %u
  return
}
