// Measured by hand: ff-kernel-test --bench bench-narrow.mlir
//
// The same kernels on f32 and on bf16. The first ones stay in the second cache,
// the last ones do not.

func.func @norm_f32(%x: tensor<256x1024xf32>) -> tensor<256x1024xf32> {
  %n = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<256x1024xf32>
  return %n : tensor<256x1024xf32>
}
func.func @norm_bf16(%x: tensor<256x1024xbf16>) -> tensor<256x1024xbf16> {
  %n = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<256x1024xbf16>
  return %n : tensor<256x1024xbf16>
}
func.func @norm_f16(%x: tensor<256x1024xf16>) -> tensor<256x1024xf16> {
  %n = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<256x1024xf16>
  return %n : tensor<256x1024xf16>
}

func.func @add_f32(%x: tensor<256x512xf32>, %y: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %n = arith.addf %x, %y : tensor<256x512xf32>
  return %n : tensor<256x512xf32>
}
func.func @add_bf16(%x: tensor<256x512xbf16>, %y: tensor<256x512xbf16>) -> tensor<256x512xbf16> {
  %n = arith.addf %x, %y : tensor<256x512xbf16>
  return %n : tensor<256x512xbf16>
}

func.func @gelu_f32(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %n = ff.activation <gelu_tanh> %x : tensor<512x512xf32>
  return %n : tensor<512x512xf32>
}
func.func @gelu_bf16(%x: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  %n = ff.activation <gelu_tanh> %x : tensor<512x512xbf16>
  return %n : tensor<512x512xbf16>
}

func.func @columns_f32(%x: tensor<1024x512xf32>) -> tensor<512xf32> attributes {test.tolerance = 1.0e-3 : f64} {
  %n = ff.reduce <sum> %x dims [0] : tensor<1024x512xf32> to tensor<512xf32>
  return %n : tensor<512xf32>
}
func.func @columns_bf16(%x: tensor<1024x512xbf16>) -> tensor<512xf32> attributes {test.tolerance = 1.0e-3 : f64} {
  %w = arith.extf %x : tensor<1024x512xbf16> to tensor<1024x512xf32>
  %n = ff.reduce <sum> %w dims [0] : tensor<1024x512xf32> to tensor<512xf32>
  return %n : tensor<512xf32>
}

func.func @transpose_f32(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %n = ff.transpose %x [1, 0] : tensor<512x512xf32> to tensor<512x512xf32>
  return %n : tensor<512x512xf32>
}
func.func @transpose_bf16(%x: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  %n = ff.transpose %x [1, 0] : tensor<512x512xbf16> to tensor<512x512xbf16>
  return %n : tensor<512x512xbf16>
}

func.func @attention_f32(%q: tensor<2x256x4x64xf32>, %g: tensor<2x256x4x64xf32>) -> (tensor<2x256x4x64xf32>, tensor<2x256x4x64xf32>) attributes {test.range = [-1.0, 1.0]} {
  %o, %l = ff.attention %q, %q, %q {scale = 0.125 : f64} : (tensor<2x256x4x64xf32>, tensor<2x256x4x64xf32>, tensor<2x256x4x64xf32>) -> (tensor<2x256x4x64xf32>, tensor<2x4x256xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %q, %q, %o, %l, %g {scale = 0.125 : f64} : (tensor<2x256x4x64xf32>, tensor<2x256x4x64xf32>, tensor<2x256x4x64xf32>, tensor<2x256x4x64xf32>, tensor<2x4x256xf32>, tensor<2x256x4x64xf32>) -> (tensor<2x256x4x64xf32>, tensor<2x256x4x64xf32>, tensor<2x256x4x64xf32>)
  return %o, %dk : tensor<2x256x4x64xf32>, tensor<2x256x4x64xf32>
}
func.func @attention_bf16(%q: tensor<2x256x4x64xbf16>, %g: tensor<2x256x4x64xbf16>) -> (tensor<2x256x4x64xbf16>, tensor<2x256x4x64xbf16>) attributes {test.range = [-1.0, 1.0]} {
  %o, %l = ff.attention %q, %q, %q {scale = 0.125 : f64} : (tensor<2x256x4x64xbf16>, tensor<2x256x4x64xbf16>, tensor<2x256x4x64xbf16>) -> (tensor<2x256x4x64xbf16>, tensor<2x4x256xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %q, %q, %o, %l, %g {scale = 0.125 : f64} : (tensor<2x256x4x64xbf16>, tensor<2x256x4x64xbf16>, tensor<2x256x4x64xbf16>, tensor<2x256x4x64xbf16>, tensor<2x4x256xf32>, tensor<2x256x4x64xbf16>) -> (tensor<2x256x4x64xbf16>, tensor<2x256x4x64xbf16>, tensor<2x256x4x64xbf16>)
  return %o, %dk : tensor<2x256x4x64xbf16>, tensor<2x256x4x64xbf16>
}

func.func @norm_large_f32(%x: tensor<8192x2048xf32>) -> tensor<8192x2048xf32> {
  %n = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<8192x2048xf32>
  return %n : tensor<8192x2048xf32>
}
func.func @norm_large_bf16(%x: tensor<8192x2048xbf16>) -> tensor<8192x2048xbf16> {
  %n = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<8192x2048xbf16>
  return %n : tensor<8192x2048xbf16>
}
