// RUN: ff-opt %s --ff-verify-spec=complete --split-input-file --verify-diagnostics

// One rank, and a mesh of one row: right.
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 2 : i64, shard = 1 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{has no 'ff.spec'}}
module {
}

// -----

// expected-error @below {{the spec has no 'name'}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{the spec has no 'seed'}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{the spec has no 'optimizer'}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{the spec has no 'train.micro_batch'}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{the spec has no 'train.program'}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{mesh.replicate is 0}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 0 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{mesh.shard is -8}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = -8 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{mesh.replicate = 65536 times mesh.shard = 65536 is no number of ranks}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 65536 : i64, shard = 65536 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{device_memory is 0}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, device_memory = 0 : i64, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{train.steps is 0}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 0 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{checkpoint.keep is 0}}
module attributes {ff.spec = {checkpoint = {keep = 0 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{train.program is 'trian', but the module has no such program}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "trian", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{sample.program is 'sample', but the module has no such program}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, sample = {program = "sample"}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  // expected-note @below {{the first}}
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
  // expected-error @below {{is a second program "train"}}
  func.func @other(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  // expected-error @below {{program 'train' has the input "x" twice}}
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}, %y: tensor<2xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  // expected-error @below {{input "y" of program 'train' has no field in data.fields}}
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}, %y: tensor<2xf32> {ff.input = "y"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{data.fields has "z", but program 'train' has no such input}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x", z = "z"}, files = ["d"]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, sources = [{kind = "shards", paths = ["d"], weight = 1.0 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  // expected-error @below {{has no module or config}}
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  }
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// A unit's component exists: the verifier of ff.unit.
// expected-error @below {{@net is not a component}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

// -----

// The mask of padding has no field.
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, pad = [{input = "x", mask = "m", to = 4 : i64}], sources = []}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}, %m: tensor<2x4xi64> {ff.input = "m"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{train.buckets has 'train.1', but the module has no such program}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 4 : i64, program = "train.1"}], global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{train.buckets has an entry without program or micro_batch}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 2 : i64}], global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{train.buckets has an entry without program or micro_batch}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {program = "train.1"}], global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
  func.func @train.1(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train.1"} {
    return
  }
}

// -----

// expected-error @below {{train.buckets has 'train' twice}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 2 : i64, program = "train"}], global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

// expected-error @below {{train.program is 'train', but the first of train.buckets is 'train.1'}}
module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {buckets = [{micro_batch = 2 : i64, program = "train.1"}, {micro_batch = 2 : i64, program = "train"}], global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
  func.func @train.1(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train.1"} {
    return
  }
}

// -----

module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 2 : i64, program = "train.1"}], global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  // expected-note @below {{the other bucket}}
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
  // expected-error @below {{buckets 'train' and 'train.1' differ in more than the shapes of inputs}}
  func.func @train.1(%x: tensor<2x8xf32> {ff.input = "y"}) attributes {ff.program = "train.1"} {
    return
  }
}

// -----

module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {buckets = [{micro_batch = 2 : i64, program = "train"}, {micro_batch = 2 : i64, program = "train.1"}], global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  // expected-note @below {{the other bucket}}
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) attributes {ff.program = "train"} {
    return
  }
  // expected-error @below {{buckets 'train' and 'train.1' differ in more than the shapes of inputs}}
  func.func @train.1(%x: tensor<2x8xf64> {ff.input = "x"}) attributes {ff.program = "train.1"} {
    return
  }
}

// -----

module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, pad = [{input = "x", mask = "m", to = 5 : i64}], sources = []}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  // expected-error @below {{is of no input of 'train' with that size}}
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}, %m: tensor<2x4xi64> {ff.input = "m"}) attributes {ff.program = "train"} {
    return
  }
}

// -----

module attributes {ff.spec = {checkpoint = {keep = 2 : i64}, data = {fields = {x = "x"}, pad = [{input = "x", mask = "m", to = 4 : i64}], sources = []}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "t", optimizer = {}, precision = {}, schedule = {total_steps = 6 : i64}, seed = 0 : i64, sharding = {}, spec = "t.toml", train = {global_batch = 4 : i64, micro_batch = 2 : i64, program = "train", steps = 6 : i64}}} {
  // expected-error @below {{is no input [B, to] of i64 of 'train'}}
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}, %m: tensor<2x4xf32> {ff.input = "m"}) attributes {ff.program = "train"} {
    return
  }
}
