// RUN: ff-opt %s --ff-verify-batch --split-input-file --verify-diagnostics

// Two micro-batches; a sampler with a batch of its own: right.
module attributes {ff.spec = {schedule = {total_steps = 6 : i64, warmup_steps = 0 : i64}, train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}, sample = {micro_batch = 3 : i64, program = "sample"}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
  func.func @sample(%x: tensor<3xi64> {ff.input = "label"}) attributes {ff.program = "sample"} {
    return
  }
}

// -----

// expected-error @below {{train.global_batch = 5 is not a multiple of train.micro_batch = 2}}
module attributes {ff.spec = {schedule = {total_steps = 6 : i64, warmup_steps = 0 : i64}, train = {global_batch = 5 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{train.global_batch = 1 is not a multiple of train.micro_batch = 2}}
module attributes {ff.spec = {schedule = {total_steps = 6 : i64, warmup_steps = 0 : i64}, train = {global_batch = 1 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{train.micro_batch is 0}}
module attributes {ff.spec = {schedule = {total_steps = 6 : i64, warmup_steps = 0 : i64}, train = {global_batch = 4 : i64, micro_batch = 0 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{train.global_batch is -4}}
module attributes {ff.spec = {schedule = {total_steps = 6 : i64, warmup_steps = 0 : i64}, train = {global_batch = -4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {schedule = {total_steps = 6 : i64, warmup_steps = 0 : i64}, train = {global_batch = 4 : i64, micro_batch = 4 : i64, program = "train", steps = 6 : i64}}} {
  // expected-error @below {{input "x" of program 'train' is 'tensor<2x4xf32>', but train.micro_batch = 4}}
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {schedule = {total_steps = 6 : i64, warmup_steps = 0 : i64}, train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  // expected-error @below {{input "x" of program 'train' is 'tensor<f32>', but train.micro_batch = 2}}
  func.func @train(%x: tensor<f32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {schedule = {total_steps = 6 : i64, warmup_steps = 0 : i64}, train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  // expected-error @below {{argument 0 of program 'train' is no input}}
  func.func @train(%x: tensor<2x4xf32>) attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {schedule = {total_steps = 6 : i64, warmup_steps = 0 : i64}, train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}, sample = {micro_batch = 3 : i64, program = "sample"}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
  // expected-error @below {{input "label" of program 'sample' is 'tensor<2xi64>', but sample.micro_batch = 3}}
  func.func @sample(%x: tensor<2xi64> {ff.input = "label"}) attributes {ff.program = "sample"} {
    return
  }
}

// -----

// expected-error @below {{schedule.total_steps = 24, but train.steps = 6}}
module attributes {ff.spec = {schedule = {total_steps = 24 : i64, warmup_steps = 0 : i64}, train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{schedule.warmup_steps = 7, but train.steps = 6}}
module attributes {ff.spec = {schedule = {total_steps = 6 : i64, warmup_steps = 7 : i64}, train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// Each bucket has a micro-batch of its own: right.
module attributes {ff.spec = {train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 4 : i64, program = "train.1"}], global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
  func.func @train.1(%x: tensor<4x2xf32> {ff.input = "x"}) attributes {ff.program = "train.1"} {
    return
  }
}

// -----

// expected-error @below {{train.global_batch = 4 is not a multiple of the micro_batch = 3 of bucket 'train.1'}}
module attributes {ff.spec = {train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 3 : i64, program = "train.1"}], global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
  func.func @train.1(%x: tensor<3x2xf32> {ff.input = "x"}) attributes {ff.program = "train.1"} {
    return
  }
}

// -----

module attributes {ff.spec = {train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 4 : i64, program = "train.1"}], global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
  // expected-error @below {{input "x" of program 'train.1' is 'tensor<2x2xf32>', but train.micro_batch = 4}}
  func.func @train.1(%x: tensor<2x2xf32> {ff.input = "x"}) attributes {ff.program = "train.1"} {
    return
  }
}
