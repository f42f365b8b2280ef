// RUN: ff-opt %s --ff-verify-kernels -split-input-file -verify-diagnostics

func.func @k1_elementwise_outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{stands outside of ff.fused}}
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @k2_repeated_matrix_dim(%x: tensor<4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %b = ff.broadcast %x dims [1] : tensor<4xf32> to tensor<2x4xf32>
  // expected-error @+1 {{needs operand 0 to be a view whose matrix dims do not repeat, one with stride 1}}
  %m = ff.matmul %b, %w : tensor<2x4xf32>, tensor<4x3xf32> to tensor<2x3xf32>
  return %m : tensor<2x3xf32>
}

// -----

func.func @k3_last_dim(%x: tensor<1x2x3x2xf32>) -> tensor<1x2x2x3xf32> {
  %t = ff.transpose %x [0, 1, 3, 2] : tensor<1x2x3x2xf32> to tensor<1x2x2x3xf32>
  // expected-error @+1 {{needs operand 0 to be a view whose last dim has stride 1}}
  %o, %l = ff.attention %t, %t, %t {scale = 1.0 : f64} : (tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> (tensor<1x2x2x3xf32>, tensor<1x2x2xf32>)
  return %o : tensor<1x2x2x3xf32>
}

// -----

func.func private @callee(tensor<3xf32>)
func.func @k4_contiguous(%x: tensor<5xf32>) {
  %s = ff.slice %x dim 0 at 1 : tensor<5xf32> to tensor<3xf32>
  // expected-error @+1 {{needs operand 0 to be contiguous and not a constant}}
  func.call @callee(%s) : (tensor<3xf32>) -> ()
  return
}

// -----

func.func @k5_argument(%x: tensor<5xf32>) -> tensor<5xf32> {
  // expected-error @+1 {{returns an argument as result 0}}
  return %x : tensor<5xf32>
}

// -----

func.func private @callee() -> tensor<3xf32>
func.func @k5_twice() -> (tensor<3xf32>, tensor<3xf32>) {
  %s = func.call @callee() : () -> tensor<3xf32>
  // expected-error @+1 {{returns one value twice, as result 1}}
  return %s, %s : tensor<3xf32>, tensor<3xf32>
}

// -----

func.func @k6_narrow(%g: tensor<8x10xbf16>, %i: tensor<8xi64>) -> tensor<5x10xbf16> {
  // expected-error @+1 {{makes 'tensor<5x10xbf16>', but the runtime makes f32 and f64}}
  %1 = ff.embedding_backward %g[%i] : tensor<8x10xbf16>, tensor<8xi64> to tensor<5x10xbf16>
  return %1 : tensor<5x10xbf16>
}
