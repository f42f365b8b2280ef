// RUN: ff-opt %s --ff-verify-collectives --allow-unregistered-dialect --split-input-file --verify-diagnostics

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
// expected-note @below {{the function}}
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
func.func @released_twice() attributes {ff.program = "train"} {
  %u = ff.gather @net.root : !ff.gathered
  // expected-note @below {{the other operation}}
  ff.release %u
  // expected-error @below {{releases the unit a second time}}
  ff.release %u
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @gathered_twice() attributes {ff.program = "train"} {
  // expected-note @below {{the other operation}}
  %u = ff.gather @net.root : !ff.gathered
  // expected-error @below {{gathers @net.root, which is whole}}
  %v = ff.gather @net.root : !ff.gathered
  ff.release %u
  ff.release %v
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @read_in_a_region_after(%c: i1) attributes {ff.program = "train"} {
  %u = ff.gather @net.root : !ff.gathered
  %w = ff.view %u["w"] : tensor<4xf32>
  // expected-note @below {{released here}}
  ff.release %u
  scf.if %c {
    // expected-error @below {{reads 'w' after its release}}
    %y = arith.negf %w : tensor<4xf32>
  }
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
// expected-error @below {{may hold collectives and branches: ranks could differ in it}}
func.func @two_blocks() attributes {ff.program = "train"} {
  "test.br"()[^next] : () -> ()
^next:
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @scheduled_before_its_time() attributes {ff.program = "train"} {
  // expected-error @below {{stands before scheduling}}
  %p = ff.gather_start @net.root : !ff.pending
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func @reduction_in_loop(%g: tensor<4xf32>, %n: index) attributes {ff.program = "train"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{is a collective inside a region: ranks could differ in it}}
    ff.reduce_gradients @net.root(%g) ["w"] : tensor<4xf32>
  }
  return
}
