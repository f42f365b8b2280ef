// RUN: ff-opt %s --ff-verify-randomness --split-input-file --verify-diagnostics

// Two programs with numbers of their own: right.
module attributes {ff.spec = {sample = {micro_batch = 3 : i64, program = "sample"}, train = {micro_batch = 2 : i64, program = "train"}}} {
  func.func @train() attributes {ff.program = "train"} {
    %a = ff.random <normal> site 0 : tensor<2x4xf32>
    %b = ff.random <uniform> site 1 : tensor<2xf32>
    return
  }
  func.func @sample() attributes {ff.program = "sample"} {
    %a = ff.random <normal> site 16777216 : tensor<3x1xf32>
    return
  }
}

// -----

module attributes {ff.spec = {sample = {micro_batch = 3 : i64, program = "sample"}, train = {micro_batch = 2 : i64, program = "train"}}} {
  func.func @train() attributes {ff.program = "train"} {
    // expected-note @below {{the other one}}
    %a = ff.random <normal> site 0 : tensor<2x4xf32>
    // expected-error @below {{has site 0 of another random value}}
    %b = ff.random <normal> site 0 : tensor<2x4xf32>
    return
  }
}

// -----

module attributes {ff.spec = {sample = {micro_batch = 3 : i64, program = "sample"}, train = {micro_batch = 2 : i64, program = "train"}}} {
  func.func @train() attributes {ff.program = "train"} {
    // expected-error @below {{of 'tensor<4x2xf32>' has no row for each of 2 samples (train.micro_batch)}}
    %a = ff.random <normal> site 0 : tensor<4x2xf32>
    return
  }
}

// -----

module attributes {ff.spec = {sample = {micro_batch = 3 : i64, program = "sample"}, train = {micro_batch = 2 : i64, program = "train"}}} {
  func.func @sample() attributes {ff.program = "sample"} {
    // expected-error @below {{of 'tensor<1xf64>' has no row for each of 3 samples (sample.micro_batch)}}
    %a = ff.random <uniform> site 16777216 : tensor<1xf64>
    return
  }
}

// -----

module attributes {ff.spec = {sample = {micro_batch = 3 : i64, program = "sample"}, train = {micro_batch = 2 : i64, program = "train"}}} {
  func.func private @Block_0() attributes {ff.block = "Block"} {
    // expected-error @below {{stands in 'Block_0', which is no program: all calls would draw the same}}
    %a = ff.random <normal> site 0 : tensor<2x4xf32>
    return
  }
}

// -----

module attributes {ff.spec = {sample = {micro_batch = 3 : i64, program = "sample"}, train = {micro_batch = 2 : i64, program = "train"}}} {
  func.func private @net_forward() attributes {ff.forward = "Net"} {
    // expected-error @below {{stands in 'net_forward', which is no program: all calls would draw the same}}
    %a = ff.random <normal> site 0 : tensor<2x4xf32>
    return
  }
}

// -----

module attributes {ff.spec = {sample = {micro_batch = 3 : i64, program = "sample"}, train = {micro_batch = 2 : i64, program = "train"}}} {
  func.func @train(%c: i1) attributes {ff.program = "train"} {
    scf.if %c {
      // expected-error @below {{stands in a region}}
      %a = ff.random <normal> site 0 : tensor<2x4xf32>
    }
    return
  }
}

// -----

module attributes {ff.spec = {sample = {micro_batch = 3 : i64, program = "sample"}, train = {micro_batch = 2 : i64, program = "train"}}} {
  // expected-note @below {{the other program}}
  func.func @train() attributes {ff.program = "train"} {
    %a = ff.random <normal> site 0 : tensor<2x4xf32>
    return
  }
  func.func @sample() attributes {ff.program = "sample"} {
    // expected-error @below {{of program 'sample' has site 5, of program number 0, which is 'train'}}
    %a = ff.random <normal> site 5 : tensor<3x1xf32>
    return
  }
}

// -----

module attributes {ff.spec = {sample = {micro_batch = 3 : i64, program = "sample"}, train = {micro_batch = 2 : i64, program = "train"}}} {
  func.func @train() attributes {ff.program = "train"} {
    %a = ff.random <normal> site 16777215 : tensor<2x4xf32>
    // expected-error @below {{has site 16777216, of program number 1; those of 'train' before it are of number 0}}
    %b = ff.random <normal> site 16777216 : tensor<2x4xf32>
    return
  }
}

// -----

// The verifier of ff.random.
module attributes {ff.spec = {sample = {micro_batch = 3 : i64, program = "sample"}, train = {micro_batch = 2 : i64, program = "train"}}} {
  func.func @train() attributes {ff.program = "train"} {
    // expected-error @below {{needs a batch dim}}
    %a = ff.random <normal> site 0 : tensor<f32>
    return
  }
}

// -----

// A sample is in one bucket, and has the same values in any: right.
module attributes {ff.spec = {train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 4 : i64, program = "train.1"}], micro_batch = 2 : i64, program = "train"}}} {
  func.func @train() attributes {ff.program = "train"} {
    %a = ff.random <normal> site 0 : tensor<2x4xf32>
    return
  }
  func.func @train.1() attributes {ff.program = "train.1"} {
    %a = ff.random <normal> site 0 : tensor<4x8xf32>
    return
  }
}

// -----

module attributes {ff.spec = {train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 4 : i64, program = "train.1"}], micro_batch = 2 : i64, program = "train"}}} {
  func.func @train() attributes {ff.program = "train"} {
    return
  }
  func.func @train.1() attributes {ff.program = "train.1"} {
    // expected-error @below {{has no row for each of 4 samples}}
    %a = ff.random <normal> site 0 : tensor<2x8xf32>
    return
  }
}
