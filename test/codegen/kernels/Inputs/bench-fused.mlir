// Measured by hand: ff-kernel-test --bench bench-fused.mlir

// Norm, modulation and residual of a DiT block.
func.func @adaln(%x: tensor<128x16x128xf32>, %a: tensor<128x16x128xf32>, %mod: tensor<128x768xf32>) -> (tensor<128x16x128xf32>, tensor<128x16x128xf32>) {
  %g0 = ff.slice %mod dim 1 at 0 : tensor<128x768xf32> to tensor<128x128xf32>
  %s0 = ff.slice %mod dim 1 at 128 : tensor<128x768xf32> to tensor<128x128xf32>
  %t0 = ff.slice %mod dim 1 at 256 : tensor<128x768xf32> to tensor<128x128xf32>
  %one = arith.constant dense<1.0> : tensor<128x128xf32>
  %s1 = arith.addf %s0, %one : tensor<128x128xf32>
  %g = ff.broadcast %g0 dims [0, 2] : tensor<128x128xf32> to tensor<128x16x128xf32>
  %s = ff.broadcast %s1 dims [0, 2] : tensor<128x128xf32> to tensor<128x16x128xf32>
  %t = ff.broadcast %t0 dims [0, 2] : tensor<128x128xf32> to tensor<128x16x128xf32>
  %ga = arith.mulf %g, %a : tensor<128x16x128xf32>
  %h = arith.addf %x, %ga : tensor<128x16x128xf32>
  %n = ff.layer_norm %h {eps = 1.0e-6 : f64} : tensor<128x16x128xf32>
  %m = arith.mulf %n, %s : tensor<128x16x128xf32>
  %y = arith.addf %m, %t : tensor<128x16x128xf32>
  return %h, %y : tensor<128x16x128xf32>, tensor<128x16x128xf32>
}

func.func @norm_large(%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
  %n = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<4096x1024xf32>
  return %n : tensor<4096x1024xf32>
}

func.func @gelu(%x: tensor<2048x512xf32>) -> tensor<2048x512xf32> {
  %n = ff.activation <gelu_tanh> %x : tensor<2048x512xf32>
  return %n : tensor<2048x512xf32>
}

func.func @gelu_backward_and_bias(%x: tensor<2048x512xf32>, %g: tensor<2048x512xf32>) -> (tensor<2048x512xf32>, tensor<512xf32>) attributes {test.tolerance = 1.0e-4 : f64} {
  %n = ff.activation_backward <gelu_tanh> %x, %g : tensor<2048x512xf32>
  %b = ff.reduce <sum> %n dims [0] : tensor<2048x512xf32> to tensor<512xf32>
  return %n, %b : tensor<2048x512xf32>, tensor<512xf32>
}

func.func @softmax(%x: tensor<2048x512xf32>) -> tensor<2048x512xf32> {
  %n = ff.softmax %x : tensor<2048x512xf32>
  return %n : tensor<2048x512xf32>
}

func.func @transposed_copy(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %n = ff.transpose %x [1, 0] : tensor<1024x1024xf32> to tensor<1024x1024xf32>
  return %n : tensor<1024x1024xf32>
}
