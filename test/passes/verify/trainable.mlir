// RUN: ff-opt %s --ff-verify-trainable --split-input-file --verify-diagnostics

// Two gradients through a block function, a frozen weight that passes one on: right.
module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
    ff.parameter @table : tensor<4xi64> init <constant, 0.0 : f64, 0.0 : f64> {buffer, trainable = false}
  }
  ff.component @ice attributes {module = "Net", train = #ff.train<frozen>} {
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64>
  }
  func.func private @f_bwd(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> attributes {ff.block = "F"} {
    %r = arith.mulf %w, %g : tensor<4xf32>
    return %r : tensor<4xf32>
  }
  func.func @train(%x: tensor<4xf32>) attributes {ff.program = "train"} {
    %s = ff.loss_seed : tensor<f32>
    %b = ff.broadcast %s dims [] : tensor<f32> to tensor<4xf32>
    %g = func.call @f_bwd(%x, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ff.gradient @net::@w, %g : tensor<4xf32>
    return
  }
}

// -----

module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{is trainable and has no gradient}}
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  func.func @train() attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
    // expected-error @below {{is frozen and has a gradient}}
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  func.func @train(%g: tensor<4xf32>) attributes {ff.program = "train"} {
    // expected-note @below {{the gradient}}
    ff.gradient @net::@w, %g : tensor<4xf32>
    return
  }
}

// -----

module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  func.func @train(%g: tensor<4xf32>) attributes {ff.program = "train"} {
    // expected-note @below {{the first}}
    ff.gradient @net::@w, %g : tensor<4xf32>
    // expected-error @below {{is the second gradient of @net::@w}}
    ff.gradient @net::@w, %g : tensor<4xf32>
    return
  }
}

// -----

module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  func.func @sample(%g: tensor<4xf32>) attributes {ff.program = "sample"} {
    // expected-error @below {{stands in 'sample', which does not train}}
    ff.gradient @net::@w, %g : tensor<4xf32>
    return
  }
}

// -----

// The train mode is the spec's word: nothing of a frozen component is trained,
module attributes {ff.spec = {train = {program = "train"}}} {

  // expected-note @below {{the component}}
  ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
    // expected-error @below {{is trainable, but component @net has train = frozen}}
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
  }
}

// -----

// of an adapted one the adapters,
module attributes {ff.spec = {train = {program = "train"}}} {

  // expected-note @below {{the component}}
  ff.component @net attributes {module = "Net", train = #ff.train<lora>} {
    // expected-error @below {{is trainable, but component @net has train = lora}}
    ff.parameter @w : tensor<4x4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, merge = #ff.merge<"a", "b", 1.0 : f64>}
    ff.parameter @a : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
    ff.parameter @b : tensor<4x1xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
  }
}

// -----

module attributes {ff.spec = {train = {program = "train"}}} {

  // expected-note @below {{the component}}
  ff.component @net attributes {module = "Net", train = #ff.train<lora>} {
    ff.parameter @w : tensor<4x4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"a", "b", 1.0 : f64>}
    ff.parameter @a : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
    // expected-error @below {{is frozen, but component @net has train = lora}}
    ff.parameter @b : tensor<4x1xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
}

// -----

// and of the others all.
module attributes {ff.spec = {train = {program = "train"}}} {

  // expected-note @below {{the component}}
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{is frozen, but component @net has train = full}}
    ff.parameter @w : tensor<4xf64> init <constant, 0.0 : f64, 0.0 : f64> {trainable = false}
  }
}

// -----

// The gradient of something frozen: at the call,
module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  // expected-note @below {{the function that computes it}}
  func.func private @f_bwd(%w: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {ff.block = "F"} {
    %r = arith.mulf %w, %g : tensor<4xf32>
    return %r, %g : tensor<4xf32>, tensor<4xf32>
  }
  func.func @train(%x: tensor<4xf32>) attributes {ff.program = "train"} {
    %s = ff.loss_seed : tensor<f32>
    %b = ff.broadcast %s dims [] : tensor<f32> to tensor<4xf32>
    // expected-error @below {{of 'f_bwd' has result 1, a gradient that nothing uses}}
    %g:2 = func.call @f_bwd(%x, %b) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ff.gradient @net::@w, %g#0 : tensor<4xf32>
    return
  }
}

// -----

// inside the function,
module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  func.func private @f_bwd(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> attributes {ff.block = "F"} {
    // expected-error @below {{in 'f_bwd' is a gradient that nothing uses}}
    %dead = arith.negf %g : tensor<4xf32>
    %r = arith.mulf %w, %g : tensor<4xf32>
    return %r : tensor<4xf32>
  }
  func.func @train(%x: tensor<4xf32>) attributes {ff.program = "train"} {
    %s = ff.loss_seed : tensor<f32>
    %b = ff.broadcast %s dims [] : tensor<f32> to tensor<4xf32>
    %g = func.call @f_bwd(%x, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ff.gradient @net::@w, %g : tensor<4xf32>
    return
  }
}

// -----

// and in the program.
module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<f32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  func.func @train(%x: tensor<4xf32>) attributes {ff.program = "train"} {
    %s = ff.loss_seed : tensor<f32>
    // expected-error @below {{is a gradient that nothing uses}}
    %b = ff.broadcast %s dims [] : tensor<f32> to tensor<4xf32>
    ff.gradient @net::@w, %s : tensor<f32>
    return
  }
}

// -----

// An adapter of a weight in 8 bits, which cannot hold the merged one: right.
ff.component @net attributes {module = "Net", train = #ff.train<lora>} {
  ff.parameter @to_q.weight : tensor<4x4xi8> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @to_q.lora_A.weight : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
  ff.parameter @to_q.lora_B.weight : tensor<4x1xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
}

// -----

// expected-note @below {{the component}}
ff.component @net attributes {module = "Net", train = #ff.train<lora>} {
  ff.parameter @to_q.weight : tensor<4x4xi8> init <constant, 0.0 : f64, 0.0 : f64>
  // expected-error @below {{is trainable, but component @net has train = lora}}
  ff.parameter @to_k.lora_A.weight : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
}
