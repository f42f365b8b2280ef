// RUN: ff-opt %s --ff-verify-reductions --split-input-file --verify-diagnostics

// A tensor smaller than any number of ranks, in a replicated component, and a frozen one: right.
module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", sharded = false, train = #ff.train<full>} {
    ff.parameter @w : tensor<1xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  ff.component @ice attributes {module = "Net", train = #ff.train<frozen>} {
    ff.parameter @w : tensor<1xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
  ff.unit @ice.root of @ice groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

  func.func @train(%g: tensor<1xf32>) attributes {ff.program = "train"} {
    ff.reduce_gradients @net.root(%g) ["w"] : tensor<1xf32>
    return
  }
}

// -----

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

// A replicated component is reduced too.
module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", sharded = false, train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
    ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  // expected-error @below {{has trainable 'v', which nothing reduces}}
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 32, params = ["w", "v"], offsets = [0, 16]>] {root}

  func.func @train(%g: tensor<4xf32>) attributes {ff.program = "train"} {
    ff.reduce_gradients @net.root(%g) ["w"] : tensor<4xf32>
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

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

  func.func @train(%g: tensor<4xf32>) attributes {ff.program = "train"} {
    // expected-error @below {{reduces 'w', which is in it twice}}
    ff.reduce_gradients @net.root(%g, %g) ["w", "w"] : tensor<4xf32>, tensor<4xf32>
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

module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

  func.func @sample(%g: tensor<4xf32>) attributes {ff.program = "sample"} {
    // expected-error @below {{stands in 'sample', which does not train}}
    ff.reduce_gradients @net.root(%g) ["w"] : tensor<4xf32>
    return
  }
}

// -----

// Each bucket reduces every trainable parameter.
module attributes {ff.spec = {train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 4 : i64, program = "train.1"}], program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  // expected-error @below {{has trainable 'w', which nothing reduces}}
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

  func.func @train(%g: tensor<4xf32>) attributes {ff.program = "train"} {
    ff.reduce_gradients @net.root(%g) ["w"] : tensor<4xf32>
    return
  }
  func.func @train.1(%g: tensor<4xf32>) attributes {ff.program = "train.1"} {
    return
  }
}
