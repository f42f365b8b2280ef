// RUN: ff-opt %s --ff-verify-precision --split-input-file --verify-diagnostics

// Mixed precision, an adapted component of a bf16 file, a buffer, and a component with its own words: right.
module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {gather = bf16}
    ff.parameter @freqs : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {buffer, trainable = false}
  }
  ff.component @ice attributes {files = ["f"], module = "Net", train = #ff.train<frozen>} {
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {source = #ff.source<0, "w", "bf16">}
    ff.parameter @n : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {gather = bf16, source = #ff.source<0, "n", "f32">}
  }
  ff.component @own attributes {precision = {master = "none", trainable_parameters_dtype = "bf16", reduce_dtype = "bf16"}, module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {reduce = bf16}
  }
  ff.component @half attributes {precision = {trainable_parameters_dtype = "fp16", compute_dtype = "fp16"}, module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf16> init <constant, 0.0 : f64, 0.0 : f64> {master = f32}
  }
}

// -----

// Narrow and trained without a master.
module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "bf16"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{has master dtype 'bf16', not 'f32': it is trained in fewer than 32 bits}}
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64>
  }
}

// -----

module attributes {ff.spec = {precision = {compute_dtype = "fp16", trainable_parameters_dtype = "fp16"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{has master dtype 'f16', not 'f32': it is trained in fewer than 32 bits}}
    ff.parameter @w : tensor<4xf16> init <constant, 0.0 : f64, 0.0 : f64>
  }
}

// -----

// A master where the policy says none.
module attributes {ff.spec = {precision = {master = "none", trainable_parameters_dtype = "bf16"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{has master dtype 'f32', not 'bf16'}}
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {master = f32}
  }
}

// -----

// Frozen and upcast: a master, or another dtype than the file.
module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
    // expected-error @below {{has master dtype 'f32', not 'bf16': what is frozen has no master}}
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {master = f32}
  }
}

// -----

module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, train = {program = "train"}}} {
  ff.component @net attributes {files = ["f"], module = "Net", train = #ff.train<frozen>} {
    // expected-error @below {{has storage dtype 'f32', not 'bf16': what is frozen keeps the dtype of its file}}
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {gather = bf16, source = #ff.source<0, "w", "bf16">}
  }
}

// -----

module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, train = {program = "train"}}} {
  ff.component @net attributes {files = ["f"], module = "Net", train = #ff.train<frozen>} {
    // expected-error @below {{has storage dtype 'bf16', not 'f32': what is frozen keeps the dtype of its file}}
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {source = #ff.source<0, "w", "f32">}
  }
}

// -----

module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32", frozen_parameters_dtype = "fp16"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
    // expected-error @below {{has storage dtype 'f32', not 'f16': frozen_parameters_dtype says so}}
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {gather = bf16}
  }
}

// -----

module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{has storage dtype 'f64', not 'f32': trainable_parameters_dtype says so}}
    ff.parameter @w : tensor<4xf64> init <constant, 0.0 : f64, 0.0 : f64> {gather = bf16}
  }
}

// -----

// `keep` and "promote" are reasons for another storage dtype.
module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32", keep = {w = "fp64"}}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf64> init <constant, 0.0 : f64, 0.0 : f64>
  }
}

// -----

module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, sharding = {mixed_dtype = "promote"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @w : tensor<4xf64> init <constant, 0.0 : f64, 0.0 : f64> {gather = bf16}
  }
}

// -----

// Gathers.
module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{has gather dtype 'f32', not 'bf16': it is the narrower of storage and compute_dtype}}
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
}

// -----

module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
    // expected-error @below {{has gather dtype 'f32', not 'bf16': a gather never widens}}
    ff.parameter @w : tensor<4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {gather = f32}
  }
}

// -----

// Buffers.
module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{has gather dtype 'bf16', not 'f32': no policy changes a buffer}}
    ff.parameter @freqs : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {buffer, trainable = false, gather = bf16}
  }
}

// -----

module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{has master dtype 'f64', not 'f32': no policy changes a buffer}}
    ff.parameter @freqs : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {buffer, trainable = false, master = f64}
  }
}

// -----

// Reductions.
module attributes {ff.spec = {precision = {compute_dtype = "bf16", master = "auto", reduce_dtype = "fp32", trainable_parameters_dtype = "fp32"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{has reduce dtype 'bf16', not 'f32': reduce_dtype says so}}
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {gather = bf16, reduce = bf16}
  }
}

// -----

module attributes {ff.spec = {precision = {reduce_dtype = "bf16"}, train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    // expected-error @below {{has reduce dtype 'f32', not 'bf16': reduce_dtype says so}}
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
}

// -----

// Recompute: the same function on the same values, also where they are gathered or drawn again,
module attributes {ff.spec = {train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
    ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  }
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

  func.func private @f_fwd(%x: tensor<4xf32>, %w: tensor<4xf32>, %r: tensor<4xf32>) attributes {ff.block = "F"} {
    return
  }
  func.func @train(%x: tensor<4xf32>) attributes {ff.program = "train"} {
    %u = ff.gather @net.root : !ff.gathered
    %w = ff.view %u["w"] : tensor<4xf32>
    %r = ff.random <normal> site 0 : tensor<4xf32>
    func.call @f_fwd(%x, %w, %r) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
    ff.release %u
    %s = ff.loss_seed : tensor<f32>
    %v = ff.gather @net.root : !ff.gathered
    %again = ff.view %v["w"] : tensor<4xf32>
    %drawn = ff.random <normal> site 0 : tensor<4xf32>
    func.call @f_fwd(%x, %again, %drawn) {ff.recompute} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
    ff.release %v
    return
  }
}

// -----

// not on others,
module attributes {ff.spec = {train = {program = "train"}}} {
  func.func private @f_fwd(%x: tensor<4xf32>) attributes {ff.block = "F"} {
    return
  }
  func.func @train(%x: tensor<4xf32>, %y: tensor<4xf32>) attributes {ff.program = "train"} {
    // expected-note @below {{the last call}}
    func.call @f_fwd(%x) : (tensor<4xf32>) -> ()
    %s = ff.loss_seed : tensor<f32>
    // expected-error @below {{computes 'f_fwd' again, but no call before it has the same operands}}
    func.call @f_fwd(%y) {ff.recompute} : (tensor<4xf32>) -> ()
    return
  }
}

// -----

// not by a function with other casts.
module attributes {ff.spec = {train = {program = "train"}}} {
  func.func private @f_fwd(%x: tensor<4xf32>) attributes {ff.block = "F"} {
    return
  }
  func.func private @g_fwd(%x: tensor<4xf32>) attributes {ff.block = "F"} {
    return
  }
  func.func @train(%x: tensor<4xf32>) attributes {ff.program = "train"} {
    func.call @f_fwd(%x) : (tensor<4xf32>) -> ()
    %s = ff.loss_seed : tensor<f32>
    // expected-error @below {{computes 'g_fwd' again, but no call before it has the same operands}}
    func.call @g_fwd(%x) {ff.recompute} : (tensor<4xf32>) -> ()
    return
  }
}
