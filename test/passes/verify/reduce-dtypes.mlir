// RUN: ff-opt %s --ff-verify-reduce-dtypes --split-input-file --verify-diagnostics

// A bf16 parameter whose contributions are widened before they are added; a sum of activations in bf16: right.
module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {master = f32}
  }

  func.func @train(%x: tensor<2x4xbf16>, %p: tensor<4xbf16>, %q: tensor<4xbf16>) attributes {ff.program = "train"} {
    %n = arith.addf %x, %x : tensor<2x4xbf16>
    %wide = arith.extf %n : tensor<2x4xbf16> to tensor<2x4xf32>
    %r = ff.reduce <sum> %wide dims [0] : tensor<2x4xf32> to tensor<4xf32>
    %a = arith.extf %p : tensor<4xbf16> to tensor<4xf32>
    %sum = arith.addf %r, %a : tensor<4xf32>
    ff.gradient @net::@w, %sum : tensor<4xf32>
    return
  }
}

// -----

// Contributions that are added in bf16.
module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {master = f32}
  }

  func.func @train(%p: tensor<4xbf16>, %q: tensor<4xbf16>) attributes {ff.program = "train"} {
    // expected-error @below {{adds up the gradient of 'net.w' in 'bf16', which is reduced in 'f32'}}
    %sum = arith.addf %p, %q : tensor<4xbf16>
    %wide = arith.extf %sum : tensor<4xbf16> to tensor<4xf32>
    // expected-note @below {{the gradient}}
    ff.gradient @net::@w, %wide : tensor<4xf32>
    return
  }
}

// -----

// The same in a block function, behind a view.
module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {master = f32}
  }

  func.func private @f_bwd(%p: tensor<2x2xf16>, %q: tensor<2x2xf16>) -> tensor<4xf32> attributes {ff.block = "F"} {
    // expected-error @below {{adds up the gradient of 'net.w' in 'f16', which is reduced in 'f32'}}
    %sum = arith.addf %p, %q : tensor<2x2xf16>
    %flat = ff.reshape %sum : tensor<2x2xf16> to tensor<4xf16>
    %wide = arith.extf %flat : tensor<4xf16> to tensor<4xf32>
    return %wide : tensor<4xf32>
  }
  func.func @train(%p: tensor<2x2xf16>, %q: tensor<2x2xf16>) attributes {ff.program = "train"} {
    %g = func.call @f_bwd(%p, %q) : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<4xf32>
    // expected-note @below {{the gradient}}
    ff.gradient @net::@w, %g : tensor<4xf32>
    return
  }
}

// -----

// f32 where f64 is reduced.
module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf64> init <constant, 0.0 : f64, 0.0 : f64>
  }
  func.func @train(%p: tensor<4xf32>, %q: tensor<4xf32>) attributes {ff.program = "train"} {
    // expected-error @below {{adds up the gradient of 'net.w' in 'f32', which is reduced in 'f64'}}
    %sum = arith.addf %p, %q : tensor<4xf32>
    %wide = arith.extf %sum : tensor<4xf32> to tensor<4xf64>
    // expected-note @below {{the gradient}}
    ff.gradient @net::@w, %wide : tensor<4xf64>
    return
  }
}

// -----

// reduce_dtype = "bf16" allows it.
module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {reduce = bf16}
  }
  func.func @train(%p: tensor<4xbf16>, %q: tensor<4xbf16>) attributes {ff.program = "train"} {
    %sum = arith.addf %p, %q : tensor<4xbf16>
    ff.gradient @net::@w, %sum : tensor<4xbf16>
    return
  }
}

// -----

// The verifier of ff.gradient.
module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {master = f32}
  }

  func.func @train(%g: tensor<4xbf16>) attributes {ff.program = "train"} {
    // expected-error @below {{has dtype 'bf16', but the parameter is reduced in 'f32'}}
    ff.gradient @net::@w, %g : tensor<4xbf16>
    return
  }
}

// -----

// The operand of a reduction.
module attributes {ff.spec = {train = {program = "train"}}} {

  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-note @below {{the parameter}}
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

  func.func @train(%g: tensor<4xbf16>) attributes {ff.program = "train"} {
    // expected-error @below {{has a gradient of 'bf16' for 'net.w', which is reduced in 'f32'}}
    ff.reduce_gradients @net.root(%g) ["w"] : tensor<4xbf16>
    return
  }
}
