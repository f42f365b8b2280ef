// RUN: ff-opt %s --split-input-file --verify-diagnostics

func.func @broadcast_c1(%x: tensor<3xf32>) {
  // expected-error @below {{has 2 dims for an operand of rank 1}}
  %0 = ff.broadcast %x dims [0, 1] : tensor<3xf32> to tensor<3x2xf32>
  return
}

// -----

func.func @broadcast_c1_order(%x: tensor<3x2xf32>) {
  // expected-error @below {{dims must ascend below the rank 2 of the result}}
  %0 = ff.broadcast %x dims [1, 0] : tensor<3x2xf32> to tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<3xf32>) {
  // expected-error @below {{operand dim 0 of size 3 becomes result dim 1 of size 4}}
  %0 = ff.broadcast %x dims [1] : tensor<3xf32> to tensor<2x4xf32>
  return
}

// -----

func.func @broadcast_c3(%x: tensor<3xf32>) {
  // expected-error @below {{element types differ: 'f32' and 'f64'}}
  %0 = ff.broadcast %x dims [1] : tensor<3xf32> to tensor<2x3xf64>
  return
}

// -----

func.func @reshape_c1(%x: tensor<2x3xf32>) {
  // expected-error @below {{[2, 3] has 6 elements, [5] has 5}}
  %0 = ff.reshape %x : tensor<2x3xf32> to tensor<5xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<2x3xf32>) {
  // expected-error @below {{[0, 0] is not a permutation of 2 dims}}
  %0 = ff.transpose %x [0, 0] : tensor<2x3xf32> to tensor<2x2xf32>
  return
}

// -----

func.func @transpose_c2(%x: tensor<2x3xf32>) {
  // expected-error @below {{result dim 0 of size 2 is operand dim 1 of size 3}}
  %0 = ff.transpose %x [1, 0] : tensor<2x3xf32> to tensor<2x3xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<2x3xf32>) {
  // expected-error @below {{range [2, 4) leaves dim 1 of size 3}}
  %0 = ff.slice %x dim 1 at 2 : tensor<2x3xf32> to tensor<2x2xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<2x3xf32>) {
  // expected-error @below {{dim 0 changes from 2 to 1}}
  %0 = ff.slice %x dim 1 at 0 : tensor<2x3xf32> to tensor<1x2xf32>
  return
}

// -----

func.func @concat_c1(%x: tensor<2x3xf32>, %y: tensor<2x2xf32>) {
  // expected-error @below {{dim 1 is 2 in an operand and 3 in the result}}
  %0 = ff.concat %x, %y dim 0 : tensor<2x3xf32>, tensor<2x2xf32> to tensor<4x3xf32>
  return
}

// -----

func.func @concat_c2(%x: tensor<2x3xf32>) {
  // expected-error @below {{operands add up to 4 along dim 0, the result has 5}}
  %0 = ff.concat %x, %x dim 0 : tensor<2x3xf32>, tensor<2x3xf32> to tensor<5x3xf32>
  return
}

// -----

func.func @embedding_rows(%t: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{rows have shape [2, 4], not [2, 3]}}
  %0 = ff.embedding %t[%i] : tensor<4x3xf32>, tensor<2xi64> to tensor<2x4xf32>
  return
}

// -----

func.func @reduce_c1(%x: tensor<2x3xf32>) {
  // expected-error @below {{dims must ascend below the rank 2}}
  %0 = ff.reduce <sum> %x dims [1, 1] : tensor<2x3xf32> to tensor<2xf32>
  return
}

// -----

func.func @reduce_c2(%x: tensor<2x3xf32>) {
  // expected-error @below {{result has shape [3], not [2]}}
  %0 = ff.reduce <sum> %x dims [1] : tensor<2x3xf32> to tensor<3xf32>
  return
}

// -----

func.func @matmul_c1(%x: tensor<2x2x3xf32>, %y: tensor<4x3x2xf32>) {
  // expected-error @below {{batch dims [2] and [4] differ}}
  %0 = ff.matmul %x, %y : tensor<2x2x3xf32>, tensor<4x3x2xf32> to tensor<2x2x2xf32>
  return
}

// -----

func.func @matmul_c2(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) {
  // expected-error @below {{contracts 3 with 4}}
  %0 = ff.matmul %x, %y : tensor<2x3xf32>, tensor<4x3xf32> to tensor<2x3xf32>
  return
}

// -----

func.func @matmul_c3(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) {
  // expected-error @below {{result has shape [2, 3], not [2, 4]}}
  %0 = ff.matmul %x, %y {transpose_rhs} : tensor<2x3xf32>, tensor<4x3xf32> to tensor<2x3xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x2x4xf32>) {
  // expected-error @below {{dim 2 of query is 3, of key 2}}
  %0, %1 = ff.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x2x3x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x3x2xf32>)
  return
}

// -----

func.func @attention_mask(%q: tensor<2x3x1x4xf32>, %k: tensor<2x5x1x4xf32>, %m: tensor<2x3xi1>) {
  // expected-error @below {{mask has shape [2, 3], not [2, 5]}}
  %0, %1 = ff.attention %q, %k, %k mask %m {scale = 1.0 : f64} : (tensor<2x3x1x4xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1x4xf32>, tensor<2x3xi1>) -> (tensor<2x3x1x4xf32>, tensor<2x1x3xf32>)
  return
}

// -----

func.func @attention_mask_of_numbers(%q: tensor<2x3x1x4xf32>, %m: tensor<2x3xf32>) {
  // expected-error @below {{operand #3 must be statically shaped tensor of 1-bit signless integer values}}
  %0, %1 = ff.attention %q, %q, %q mask %m {scale = 1.0 : f64} : (tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>, tensor<2x3xf32>) -> (tensor<2x3x1x4xf32>, tensor<2x1x3xf32>)
  return
}

// -----

func.func @iota_dim() {
  // expected-error @below {{dim 2 is not a dim of 'tensor<2x3xf32>'}}
  %0 = ff.iota dim 2 : tensor<2x3xf32>
  return
}

// -----

func.func @random_batch() {
  // expected-error @below {{needs a batch dim}}
  %0 = ff.random <normal> site 0 : tensor<f32>
  return
}

// -----

func.func @param_unknown() {
  // expected-error @below {{@net::@w is not a parameter of a component}}
  %0 = ff.param @net::@w : tensor<2xf32>
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<2xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @param_type() {
  // expected-error @below {{has type 'tensor<3xf32>', but the parameter is 'tensor<2xf32>'}}
  %0 = ff.param @net::@w : tensor<3xf32>
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<2xf64> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-error @below {{group of 'f32' holds 'w' of 'f64'}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<2xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-error @below {{'w' stands in two groups}}
ff.unit @net.root of @net groups [
  #ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>,
  #ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}

// -----

// expected-error @below {{offset 8 of 'w' is not a multiple of 16 elements}}
#group = #ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [8]>

// -----

// expected-error @below {{group has 1 params and 2 offsets}}
#group = #ff.group<f32, trainable = true, reduce = f32, numel = 32, params = ["w"], offsets = [0, 16]>

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @v : tensor<20xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<2xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-error @below {{'v' ends at element 20 of its group, beyond 16}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 32, params = ["v", "w"], offsets = [0, 16]>] {root}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @v : tensor<20xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// expected-error @below {{'v' ends at element 20 of its group, beyond 16}}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["v"], offsets = [0]>] {root}

// -----

func.func @launch_device(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{@kernels::@missing is not a function}}
  %0 = ff.launch_device @kernels::@missing(%x) blocks 1 threads 32 shared 0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
gpu.module @kernels {
}

// -----

func.func @launch_device(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{@kernels::@kernel has 3 parameters for 1 operands and 1 results}}
  %0 = ff.launch_device @kernels::@kernel(%x) blocks 1 threads 32 shared 0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
gpu.module @kernels {
  gpu.func @kernel(%x: !llvm.ptr, %y: !llvm.ptr, %z: !llvm.ptr) kernel {
    gpu.return
  }
}
