// RUN: ff-opt %s --ff-verify-collectives=form=scheduled --split-input-file --verify-diagnostics

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @started_twice() attributes {ff.program = "p"} {
  // expected-note @below {{the other operation}}
  %p = ff.gather_start @one : !ff.pending
  // expected-error @below {{starts @one, a unit that is whole}}
  %q = ff.gather_start @one : !ff.pending
  %u = ff.gather_wait %p : !ff.gathered
  ff.release %u
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @never_waited_for() attributes {ff.program = "p"} {
  // expected-error @below {{needs exactly one wait}}
  %p = ff.gather_start @one : !ff.pending
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @never_released() attributes {ff.program = "p"} {
  %p = ff.gather_start @one : !ff.pending
  // expected-error @below {{needs exactly one release}}
  %u = ff.gather_wait %p : !ff.gathered
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @left_unsplit() attributes {ff.program = "p"} {
  // expected-error @below {{is left after scheduling}}
  %u = ff.gather @one : !ff.gathered
  ff.release %u
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @reduction_not_completed(%g: tensor<4xf32>) attributes {ff.program = "p"} {
  // expected-error @below {{is not completed at the end of the function}}
  ff.reduce_gradients @one(%g) ["w"] : tensor<4xf32>
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @wait_without_reduction() attributes {ff.program = "p"} {
  // expected-error @below {{waits for a reduction of @one that is not under way}}
  ff.reduce_wait @one
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @read_after_release() attributes {ff.program = "p"} {
  %p = ff.gather_start @one : !ff.pending
  %u = ff.gather_wait %p : !ff.gathered
  %w = ff.view %u["w"] : tensor<4xf32>
  // expected-note @below {{released here}}
  ff.release %u
  // expected-error @below {{reads 'w' after its release}}
  %y = arith.negf %w : tensor<4xf32>
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @reduced_twice(%g: tensor<4xf32>) attributes {ff.program = "p"} {
  // expected-note @below {{the other operation}}
  ff.reduce_gradients @one(%g) ["w"] : tensor<4xf32>
  // expected-error @below {{reduces @one, a unit whose reduction is under way}}
  ff.reduce_gradients @one(%g) ["w"] : tensor<4xf32>
  ff.reduce_wait @one
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @released_twice() attributes {ff.program = "p"} {
  %p = ff.gather_start @one : !ff.pending
  // expected-error @below {{needs exactly one release}}
  %u = ff.gather_wait %p : !ff.gathered
  ff.release %u
  ff.release %u
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @wait_in_branch(%c: i1) attributes {ff.program = "p"} {
  %p = ff.gather_start @one : !ff.pending
  scf.if %c {
    // expected-error @below {{is a collective inside a region: ranks could differ in it}}
    %u = ff.gather_wait %p : !ff.gathered
    ff.release %u
  }
  return
}

// -----

// One unit in use while the next one travels: right.
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
ff.unit @two of @other groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
ff.component @other attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @overlapped(%g: tensor<4xf32>) attributes {ff.program = "p"} {
  %p = ff.gather_start @one : !ff.pending
  %u = ff.gather_wait %p : !ff.gathered
  %q = ff.gather_start @two : !ff.pending
  ff.reduce_gradients @one(%g) ["w"] : tensor<4xf32>
  ff.release %u
  %v = ff.gather_wait %q : !ff.gathered
  ff.release %v
  ff.reduce_wait @one
  return
}
