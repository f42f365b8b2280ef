// RUN: ff-opt %s --ff-verify-differentiated --split-input-file --verify-diagnostics

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
