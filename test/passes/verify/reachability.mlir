// RUN: ff-opt %s --ff-verify-reachability --split-input-file --verify-diagnostics

// Through a block whose second result depends on its second argument alone: right.
module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }

  func.func private @f(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ff.block = "F"} {
    %y = arith.negf %w : tensor<4xf32>
    return %x, %y : tensor<4xf32>, tensor<4xf32>
  }
  func.func @train(%x: tensor<4xf32>) -> tensor<f32> attributes {ff.program = "train"} {
    %w = ff.param @net::@w : tensor<4xf32>
    %y:2 = func.call @f(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %l = ff.reduce <sum> %y#1 dims [0] : tensor<4xf32> to tensor<f32>
    %s = ff.loss_seed : tensor<f32>
    %g = ff.broadcast %s dims [] : tensor<f32> to tensor<4xf32>
    ff.gradient @net::@w, %g : tensor<4xf32>
    return %l : tensor<f32>
  }
}

// -----

// The other result does not reach the loss: the parameter is not used.
module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{is trainable and has no path to the loss of program 'train'}}
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  func.func private @f(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ff.block = "F"} {
    %y = arith.negf %w : tensor<4xf32>
    return %x, %y : tensor<4xf32>, tensor<4xf32>
  }
  func.func @train(%x: tensor<4xf32>) -> tensor<f32> attributes {ff.program = "train"} {
    %w = ff.param @net::@w : tensor<4xf32>
    %y:2 = func.call @f(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %l = ff.reduce <sum> %y#0 dims [0] : tensor<4xf32> to tensor<f32>
    %s = ff.loss_seed : tensor<f32>
    %g = ff.broadcast %s dims [] : tensor<f32> to tensor<4xf32>
    ff.gradient @net::@w, %g : tensor<4xf32>
    // expected-note @below {{the loss}}
    return %l : tensor<f32>
  }
}

// -----

// A constant as a gradient.
module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }

  func.func @train(%x: tensor<4xf32>) -> tensor<f32> attributes {ff.program = "train"} {
    %w = ff.param @net::@w : tensor<4xf32>
    %l = ff.reduce <sum> %w dims [0] : tensor<4xf32> to tensor<f32>
    %s = ff.loss_seed : tensor<f32>
    %g = arith.constant dense<0.0> : tensor<4xf32>
    // expected-error @below {{has a gradient of 'w' that does not depend on the loss}}
    ff.gradient @net::@w, %g : tensor<4xf32>
    return %l : tensor<f32>
  }
}

// -----

// After sharding: a value of the forward as a gradient.
module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

  func.func @train(%x: tensor<4xf32>) -> tensor<f32> attributes {ff.program = "train"} {
    %u = ff.gather @net.root : !ff.gathered
    %w = ff.view %u["w"] : tensor<4xf32>
    %l = ff.reduce <sum> %w dims [0] : tensor<4xf32> to tensor<f32>
    ff.release %u
    // expected-error @below {{has a gradient of 'w' that does not depend on the loss}}
    ff.reduce_gradients @net.root(%x) ["w"] : tensor<4xf32>
    return %l : tensor<f32>
  }
}

// -----

// A fused loop that computes loss and gradient at once is looked into.
module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }

  func.func @train(%x: tensor<4xf32>) -> tensor<f32> attributes {ff.program = "train"} {
    %w = ff.param @net::@w : tensor<4xf32>
    %s = ff.loss_seed : tensor<f32>
    %b = ff.broadcast %s dims [] : tensor<f32> to tensor<4xf32>
    %r:2 = ff.fused(%w, %b) domain [4] reduced 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
    ^bb0(%p: tensor<4xf32>, %q: tensor<4xf32>):
      %sum = ff.reduce <sum> %p dims [0] : tensor<4xf32> to tensor<f32>
      %neg = arith.negf %p : tensor<4xf32>
      ff.yield %sum, %neg : tensor<f32>, tensor<4xf32>
    }
    // expected-error @below {{has a gradient of 'w' that does not depend on the loss}}
    ff.gradient @net::@w, %r#1 : tensor<4xf32>
    return %r#0 : tensor<f32>
  }
}

// -----

// Adapters: both halves exist,
ff.component @net attributes {module = "Net", train = #ff.train<lora>} {
  // expected-error @below {{names the adapter 'b', which does not exist}}
  ff.parameter @w : tensor<4x8xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"a", "b", 1.0 : f64>}
  ff.parameter @a : tensor<2x8xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
}

// -----

// belong to a weight,
ff.component @net attributes {module = "Net", train = #ff.train<lora>} {
  ff.parameter @w : tensor<4x8xbf16> init <constant, 0.0 : f64, 0.0 : f64>
  // expected-error @below {{is trainable and the adapter of no weight}}
  ff.parameter @a : tensor<2x8xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
}

// -----

// to one only,
ff.component @net attributes {module = "Net", train = #ff.train<lora>} {
  // expected-note @below {{the other weight}}
  ff.parameter @w : tensor<4x8xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"a", "b", 1.0 : f64>}
  ff.parameter @v : tensor<4x8xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"a", "b", 1.0 : f64>}
  // expected-error @below {{is the adapter of 'v' and of another weight}}
  ff.parameter @a : tensor<2x8xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
  ff.parameter @b : tensor<4x2xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
}

// -----

// and fit it.
ff.component @net attributes {module = "Net", train = #ff.train<lora>} {
  // expected-error @below {{of 'tensor<4x8xbf16>' has an adapter of other sizes}}
  ff.parameter @w : tensor<4x8xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"a", "b", 1.0 : f64>}
  // expected-note @below {{A is 'tensor<2x8xf32>'}}
  ff.parameter @a : tensor<2x8xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
  // expected-note @below {{B is 'tensor<4x3xf32>'}}
  ff.parameter @b : tensor<4x3xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
}
