// RUN: ff-opt %s -split-input-file -verify-diagnostics

func.func @matmul_c4_operands(%x: tensor<2x3xbf16>, %y: tensor<3x4xf16>) {
  // expected-error @below {{element types differ: 'bf16' and 'f16'}}
  %0 = ff.matmul %x, %y : tensor<2x3xbf16>, tensor<3x4xf16> to tensor<2x4xf32>
  return
}

// -----

func.func @matmul_c4_result(%x: tensor<2x3xbf16>, %y: tensor<3x4xbf16>) {
  // expected-error @below {{makes 'f16' of 'bf16', not 'bf16' or 'f32'}}
  %0 = ff.matmul %x, %y : tensor<2x3xbf16>, tensor<3x4xbf16> to tensor<2x4xf16>
  return
}

// -----

func.func @matmul_c4_narrower(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{makes 'bf16' of 'f32', not 'f32'}}
  %0 = ff.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf32> to tensor<2x4xbf16>
  return
}

// -----

func.func @matmul_c4_bias(%x: tensor<2x3xbf16>, %y: tensor<3x4xbf16>, %b: tensor<4xbf16>) {
  // expected-error @below {{element types differ: 'f32' and 'bf16'}}
  %0 = ff.matmul %x, %y bias %b : tensor<4xbf16> : tensor<2x3xbf16>, tensor<3x4xbf16> to tensor<2x4xf32>
  return
}

// -----

func.func @embedding_backward_c1(%g: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{makes 'bf16' of 'f32', not 'f32'}}
  %0 = ff.embedding_backward %g[%i] : tensor<2x3xf32>, tensor<2xi64> to tensor<5x3xbf16>
  return
}

// -----

func.func @attention_c1(%q: tensor<1x2x2x4xbf16>, %k: tensor<1x2x2x4xf32>) {
  // expected-error @below {{element types differ: 'bf16' and 'f32'}}
  %0, %1 = ff.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x2x2x4xbf16>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> (tensor<1x2x2x4xbf16>, tensor<1x2x2xf32>)
  return
}

// -----

func.func @attention_c2(%q: tensor<1x2x2x4xbf16>) {
  // expected-error @below {{lse of 'bf16' operands is 'f32', not 'bf16'}}
  %0, %1 = ff.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16>) -> (tensor<1x2x2x4xbf16>, tensor<1x2x2xbf16>)
  return
}

// -----

func.func @attention_backward_c1(%q: tensor<1x2x2x4xbf16>, %l: tensor<1x2x2xf32>, %g: tensor<1x2x2x4xf32>) {
  // expected-error @below {{has 'tensor<1x2x2x4xf32>' where 'tensor<1x2x2x4xbf16>' belongs}}
  %0:3 = ff.attention_backward %q, %q, %q, %q, %l, %g {scale = 1.0 : f64} : (tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16>, tensor<1x2x2xf32>, tensor<1x2x2x4xf32>) -> (tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16>, tensor<1x2x2x4xbf16>)
  return
}
