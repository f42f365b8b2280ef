// bf16, and by substitution f16, in every family of kernels.
//
// RUN: ff-kernel-test --calls %s | FileCheck %s
// RUN: ff-kernel-test --calls --vector-bytes=32 --cpu=x86-64-v3 %s | FileCheck %s
// RUN: sed s/bf16/f16/g %s > %t.f16.mlir
// RUN: ff-kernel-test --calls %t.f16.mlir | FileCheck %s
// RUN: ff-kernel-test --calls --vector-bytes=32 --cpu=x86-64-v3 %t.f16.mlir | FileCheck %s

// Conversions are instructions, also where the CPU has none for bf16: no function is called for them. Storing zeros may be a call.
// CHECK-NOT: calls {{[^m]}}
// CHECK-NOT: calls m{{[^e]}}
// CHECK: ok

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

func.func @widen(%a: tensor<5x37xbf16>) -> tensor<5x37xf32> attributes {test.tolerance = 0.0 : f64} {
  %0 = arith.extf %a : tensor<5x37xbf16> to tensor<5x37xf32>
  return %0 : tensor<5x37xf32>
}

func.func @round(%a: tensor<5x37xf32>) -> tensor<5x37xbf16> attributes {test.tolerance = 0.0 : f64} {
  %0 = arith.truncf %a : tensor<5x37xf32> to tensor<5x37xbf16>
  return %0 : tensor<5x37xbf16>
}

func.func @between_arithmetic(%a: tensor<7x33xbf16>, %b: tensor<33xbf16>) -> tensor<7x33xbf16> {
  %x = arith.extf %a : tensor<7x33xbf16> to tensor<7x33xf32>
  %y = arith.extf %b : tensor<33xbf16> to tensor<33xf32>
  %s = ff.broadcast %y dims [1] : tensor<33xf32> to tensor<7x33xf32>
  %0 = arith.addf %x, %s : tensor<7x33xf32>
  %1 = math.exp %0 : tensor<7x33xf32>
  %2 = arith.truncf %1 : tensor<7x33xf32> to tensor<7x33xbf16>
  return %2 : tensor<7x33xbf16>
}

// A sum in f32, rounded once.
func.func @direct_sum(%a: tensor<101xbf16>, %b: tensor<101xbf16>) -> tensor<101xbf16> attributes {test.tolerance = 0.0 : f64} {
  %0 = arith.addf %a, %b : tensor<101xbf16>
  return %0 : tensor<101xbf16>
}

func.func @direct_functions(%a: tensor<3x21xbf16>, %b: tensor<3x21xbf16>) -> (tensor<3x21xbf16>, tensor<3x21xbf16>, tensor<3x21xi1>) {
  %0 = math.tanh %a : tensor<3x21xbf16>
  %c = arith.cmpf olt, %a, %b : tensor<3x21xbf16>
  %1 = arith.select %c, %0, %b : tensor<3x21xi1>, tensor<3x21xbf16>
  %2 = arith.negf %1 : tensor<3x21xbf16>
  return %0, %2, %c : tensor<3x21xbf16>, tensor<3x21xbf16>, tensor<3x21xi1>
}

func.func @rounding_is_kept(%a: tensor<200xf32>) -> tensor<200xf32> attributes {test.tolerance = 0.0 : f64} {
  %0 = arith.truncf %a : tensor<200xf32> to tensor<200xbf16>
  %1 = arith.extf %0 : tensor<200xbf16> to tensor<200xf32>
  %2 = arith.subf %a, %1 : tensor<200xf32>
  return %2 : tensor<200xf32>
}

func.func @not_a_number(%a: tensor<40xf32>) -> tensor<40xbf16> attributes {test.range = [-1.0, -0.5]} {
  %0 = math.sqrt %a : tensor<40xf32>
  %1 = arith.truncf %0 : tensor<40xf32> to tensor<40xbf16>
  return %1 : tensor<40xbf16>
}

func.func @beyond_the_largest(%a: tensor<40xf32>) -> tensor<40xbf16> attributes {test.range = [-3.5e38, 3.5e38]} {
  %0 = arith.truncf %a : tensor<40xf32> to tensor<40xbf16>
  return %0 : tensor<40xbf16>
}

func.func @subnormal(%a: tensor<40xf32>) -> tensor<40xbf16> attributes {test.range = [-1.0e-38, 1.0e-38], test.tolerance = 0.0 : f64} {
  %0 = arith.truncf %a : tensor<40xf32> to tensor<40xbf16>
  return %0 : tensor<40xbf16>
}

func.func @constants_and_iota(%a: tensor<5x19xbf16>) -> (tensor<5x19xbf16>, tensor<4xbf16>) attributes {test.tolerance = 0.0 : f64} {
  %c = arith.constant dense<1.5> : tensor<5x19xbf16>
  %i = ff.iota dim 1 : tensor<5x19xbf16>
  %0 = arith.addf %i, %c : tensor<5x19xbf16>
  %1 = arith.maximumf %a, %0 : tensor<5x19xbf16>
  %2 = arith.constant dense<-2.5> : tensor<4xbf16>
  return %1, %2 : tensor<5x19xbf16>, tensor<4xbf16>
}

func.func @activation(%a: tensor<9x35xbf16>, %g: tensor<9x35xbf16>) -> (tensor<9x35xbf16>, tensor<9x35xbf16>) {
  %0 = ff.activation <gelu_tanh> %a : tensor<9x35xbf16>
  %1 = ff.activation_backward <gelu_tanh> %a, %g : tensor<9x35xbf16>
  return %0, %1 : tensor<9x35xbf16>, tensor<9x35xbf16>
}

//===----------------------------------------------------------------------===//
// Views and data movement
//===----------------------------------------------------------------------===//

func.func @short_last_dim(%a: tensor<6x5x2xbf16>, %b: tensor<5x2x6xbf16>) -> tensor<6x5x2xbf16> {
  %0 = ff.transpose %b [2, 0, 1] : tensor<5x2x6xbf16> to tensor<6x5x2xbf16>
  %1 = arith.addf %a, %0 : tensor<6x5x2xbf16>
  return %1 : tensor<6x5x2xbf16>
}

func.func @patchify(%a: tensor<4x3x8x8xbf16>) -> tensor<4x16x12xbf16> attributes {test.tolerance = 0.0 : f64} {
  %0 = ff.reshape %a : tensor<4x3x8x8xbf16> to tensor<4x3x4x2x4x2xbf16>
  %1 = ff.transpose %0 [0, 2, 4, 1, 3, 5] : tensor<4x3x4x2x4x2xbf16> to tensor<4x4x4x3x2x2xbf16>
  %2 = ff.reshape %1 : tensor<4x4x4x3x2x2xbf16> to tensor<4x16x12xbf16>
  return %2 : tensor<4x16x12xbf16>
}

func.func @slices(%a: tensor<6x40xbf16>) -> tensor<6x9xf32> {
  %0 = ff.slice %a dim 1 at 3 : tensor<6x40xbf16> to tensor<6x9xbf16>
  %1 = ff.slice %a dim 1 at 21 : tensor<6x40xbf16> to tensor<6x9xbf16>
  %x = arith.extf %0 : tensor<6x9xbf16> to tensor<6x9xf32>
  %y = arith.extf %1 : tensor<6x9xbf16> to tensor<6x9xf32>
  %2 = arith.mulf %x, %y : tensor<6x9xf32>
  return %2 : tensor<6x9xf32>
}

func.func @strided_last_dim(%a: tensor<9x20x2xbf16>) -> tensor<9x20xbf16> {
  %0 = ff.slice %a dim 2 at 1 : tensor<9x20x2xbf16> to tensor<9x20x1xbf16>
  %1 = ff.reshape %0 : tensor<9x20x1xbf16> to tensor<9x20xbf16>
  %2 = arith.negf %1 : tensor<9x20xbf16>
  return %2 : tensor<9x20xbf16>
}

func.func @concat(%a: tensor<4x3x7xbf16>, %b: tensor<4x20x7xbf16>) -> (tensor<4x28x7xbf16>, tensor<3x4x14xbf16>) attributes {test.tolerance = 0.0 : f64} {
  %z = arith.constant dense<0.5> : tensor<4x5x7xbf16>
  %0 = ff.concat %a, %z, %b dim 1 : tensor<4x3x7xbf16>, tensor<4x5x7xbf16>, tensor<4x20x7xbf16> to tensor<4x28x7xbf16>
  %t = ff.transpose %a [1, 0, 2] : tensor<4x3x7xbf16> to tensor<3x4x7xbf16>
  %1 = ff.concat %t, %t dim 2 : tensor<3x4x7xbf16>, tensor<3x4x7xbf16> to tensor<3x4x14xbf16>
  return %0, %1 : tensor<4x28x7xbf16>, tensor<3x4x14xbf16>
}

func.func @padded_sums(%a: tensor<4x3xbf16>, %b: tensor<4x4xbf16>) -> tensor<4x7xbf16> attributes {test.tolerance = 0.0 : f64} {
  %za = arith.constant dense<0.0> : tensor<4x4xbf16>
  %zb = arith.constant dense<0.0> : tensor<4x3xbf16>
  %0 = ff.concat %a, %za dim 1 : tensor<4x3xbf16>, tensor<4x4xbf16> to tensor<4x7xbf16>
  %1 = ff.concat %zb, %b dim 1 : tensor<4x3xbf16>, tensor<4x4xbf16> to tensor<4x7xbf16>
  %2 = arith.addf %0, %1 : tensor<4x7xbf16>
  return %2 : tensor<4x7xbf16>
}

func.func @embedding(%t: tensor<11x37xbf16>, %ids: tensor<2x9xi64>, %g: tensor<2x9x37xbf16>) -> (tensor<2x9x37xbf16>, tensor<11x37xbf16>, tensor<11x37xf32>) attributes {test.range = [-2.0, 10.0]} {
  %0 = ff.embedding %t[%ids] : tensor<11x37xbf16>, tensor<2x9xi64> to tensor<2x9x37xbf16>
  %1 = ff.embedding_backward %g[%ids] : tensor<2x9x37xbf16>, tensor<2x9xi64> to tensor<11x37xbf16>
  %2 = ff.embedding_backward %g[%ids] : tensor<2x9x37xbf16>, tensor<2x9xi64> to tensor<11x37xf32>
  return %0, %1, %2 : tensor<2x9x37xbf16>, tensor<11x37xbf16>, tensor<11x37xf32>
}

//===----------------------------------------------------------------------===//
// Rows and columns
//===----------------------------------------------------------------------===//

func.func @rows(%a: tensor<8x130xbf16>) -> (tensor<8xf32>, tensor<8xbf16>, tensor<8xbf16>) {
  %x = arith.extf %a : tensor<8x130xbf16> to tensor<8x130xf32>
  %0 = ff.reduce <sum> %x dims [1] : tensor<8x130xf32> to tensor<8xf32>
  %1 = ff.reduce <sum> %a dims [1] : tensor<8x130xbf16> to tensor<8xbf16>
  %2 = ff.reduce <max> %a dims [1] : tensor<8x130xbf16> to tensor<8xbf16>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xbf16>, tensor<8xbf16>
}

func.func @all_dims_large(%a: tensor<3x7000xbf16>) -> tensor<bf16> attributes {test.range = [0.5, 1.0]} {
  %0 = ff.reduce <sum> %a dims [0, 1] : tensor<3x7000xbf16> to tensor<bf16>
  return %0 : tensor<bf16>
}

func.func @columns(%a: tensor<50x70xbf16>) -> (tensor<70xf32>, tensor<70xbf16>, tensor<70xbf16>) {
  %x = arith.extf %a : tensor<50x70xbf16> to tensor<50x70xf32>
  %0 = ff.reduce <sum> %x dims [0] : tensor<50x70xf32> to tensor<70xf32>
  %1 = ff.reduce <sum> %a dims [0] : tensor<50x70xbf16> to tensor<70xbf16>
  %2 = ff.reduce <max> %a dims [0] : tensor<50x70xbf16> to tensor<70xbf16>
  return %0, %1, %2 : tensor<70xf32>, tensor<70xbf16>, tensor<70xbf16>
}

func.func @columns_chunked(%a: tensor<128x16x33xbf16>) -> tensor<33xbf16> attributes {test.range = [0.5, 1.0]} {
  %0 = ff.reduce <sum> %a dims [0, 1] : tensor<128x16x33xbf16> to tensor<33xbf16>
  return %0 : tensor<33xbf16>
}

func.func @norm_and_affine(%a: tensor<6x5x70xbf16>, %w: tensor<70xbf16>, %b: tensor<70xbf16>) -> tensor<6x5x70xbf16> {
  %x = arith.extf %a : tensor<6x5x70xbf16> to tensor<6x5x70xf32>
  %n = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<6x5x70xf32>
  %wf = arith.extf %w : tensor<70xbf16> to tensor<70xf32>
  %bf = arith.extf %b : tensor<70xbf16> to tensor<70xf32>
  %ws = ff.broadcast %wf dims [2] : tensor<70xf32> to tensor<6x5x70xf32>
  %bs = ff.broadcast %bf dims [2] : tensor<70xf32> to tensor<6x5x70xf32>
  %0 = arith.mulf %n, %ws : tensor<6x5x70xf32>
  %1 = arith.addf %0, %bs : tensor<6x5x70xf32>
  %2 = arith.truncf %1 : tensor<6x5x70xf32> to tensor<6x5x70xbf16>
  return %2 : tensor<6x5x70xbf16>
}

// The gradient of a norm with the sum over rows for the weight.
func.func @norm_backward(%a: tensor<30x70xbf16>, %g: tensor<30x70xbf16>) -> (tensor<30x70xbf16>, tensor<70xf32>) {
  %x = arith.extf %a : tensor<30x70xbf16> to tensor<30x70xf32>
  %gf = arith.extf %g : tensor<30x70xbf16> to tensor<30x70xf32>
  %d = ff.rms_norm_backward %x, %gf {eps = 1.0e-6 : f64} : tensor<30x70xf32>
  %0 = arith.truncf %d : tensor<30x70xf32> to tensor<30x70xbf16>
  %n = ff.rms_norm %x {eps = 1.0e-6 : f64} : tensor<30x70xf32>
  %m = arith.mulf %n, %gf : tensor<30x70xf32>
  %1 = ff.reduce <sum> %m dims [0] : tensor<30x70xf32> to tensor<70xf32>
  return %0, %1 : tensor<30x70xbf16>, tensor<70xf32>
}

func.func @norms_of_bf16(%a: tensor<6x70xbf16>, %g: tensor<6x70xbf16>) -> (tensor<6x70xbf16>, tensor<6x70xbf16>, tensor<6x70xbf16>) {
  %0 = ff.layer_norm %a {eps = 1.0e-6 : f64} : tensor<6x70xbf16>
  %1 = ff.rms_norm %a {eps = 1.0e-6 : f64} : tensor<6x70xbf16>
  %2 = ff.layer_norm_backward %a, %g {eps = 1.0e-6 : f64} : tensor<6x70xbf16>
  return %0, %1, %2 : tensor<6x70xbf16>, tensor<6x70xbf16>, tensor<6x70xbf16>
}

func.func @softmax(%a: tensor<7x45xbf16>, %g: tensor<7x45xbf16>) -> (tensor<7x45xbf16>, tensor<7x45xbf16>) {
  %x = arith.extf %a : tensor<7x45xbf16> to tensor<7x45xf32>
  %s = ff.softmax %x : tensor<7x45xf32>
  %0 = arith.truncf %s : tensor<7x45xf32> to tensor<7x45xbf16>
  %1 = ff.softmax_backward %0, %g : tensor<7x45xbf16>
  return %0, %1 : tensor<7x45xbf16>, tensor<7x45xbf16>
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

func.func @linear(%x: tensor<3x5x17xbf16>, %w: tensor<9x17xf32>, %b: tensor<9xf32>) -> (tensor<3x5x9xbf16>, tensor<3x5x9xf32>) attributes {test.range = [-1.0, 1.0]} {
  %wn = arith.truncf %w : tensor<9x17xf32> to tensor<9x17xbf16>
  %0 = ff.matmul %x, %wn {transpose_rhs} : tensor<3x5x17xbf16>, tensor<9x17xbf16> to tensor<3x5x9xbf16>
  %f = arith.extf %0 : tensor<3x5x9xbf16> to tensor<3x5x9xf32>
  %s = ff.broadcast %b dims [2] : tensor<9xf32> to tensor<3x5x9xf32>
  %1 = arith.addf %f, %s : tensor<3x5x9xf32>
  %2 = ff.activation <silu> %1 : tensor<3x5x9xf32>
  %3 = arith.truncf %2 : tensor<3x5x9xf32> to tensor<3x5x9xbf16>
  %wide = ff.matmul %x, %wn {transpose_rhs} : tensor<3x5x17xbf16>, tensor<9x17xbf16> to tensor<3x5x9xf32>
  %4 = arith.addf %wide, %s : tensor<3x5x9xf32>
  return %3, %4 : tensor<3x5x9xbf16>, tensor<3x5x9xf32>
}

func.func @attention(%qkv: tensor<2x21x120xbf16>, %do: tensor<2x21x2x20xbf16>) -> (tensor<2x21x2x20xbf16>, tensor<2x2x21xf32>, tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>) attributes {test.range = [-1.0, 1.0]} {
  %q0 = ff.slice %qkv dim 2 at 0 : tensor<2x21x120xbf16> to tensor<2x21x40xbf16>
  %q = ff.reshape %q0 : tensor<2x21x40xbf16> to tensor<2x21x2x20xbf16>
  %k0 = ff.slice %qkv dim 2 at 40 : tensor<2x21x120xbf16> to tensor<2x21x40xbf16>
  %k = ff.reshape %k0 : tensor<2x21x40xbf16> to tensor<2x21x2x20xbf16>
  %v0 = ff.slice %qkv dim 2 at 80 : tensor<2x21x120xbf16> to tensor<2x21x40xbf16>
  %v = ff.reshape %v0 : tensor<2x21x40xbf16> to tensor<2x21x2x20xbf16>
  %o, %l = ff.attention %q, %k, %v {scale = 0.25 : f64} : (tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>) -> (tensor<2x21x2x20xbf16>, tensor<2x2x21xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.25 : f64} : (tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>, tensor<2x2x21xf32>, tensor<2x21x2x20xbf16>) -> (tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>)
  return %o, %l, %dq, %dk, %dv : tensor<2x21x2x20xbf16>, tensor<2x2x21xf32>, tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>, tensor<2x21x2x20xbf16>
}

// Gradients of keys and values over several tiles of queries are rounded once.
func.func @causal(%q: tensor<1x37x3x33xbf16>, %k: tensor<1x45x3x33xbf16>, %v: tensor<1x45x3x33xbf16>, %do: tensor<1x37x3x33xbf16>) -> (tensor<1x37x3x33xbf16>, tensor<1x3x37xf32>, tensor<1x37x3x33xbf16>, tensor<1x45x3x33xbf16>, tensor<1x45x3x33xbf16>) attributes {test.range = [-1.0, 1.0]} {
  %o, %l = ff.attention %q, %k, %v {scale = 0.5 : f64, causal} : (tensor<1x37x3x33xbf16>, tensor<1x45x3x33xbf16>, tensor<1x45x3x33xbf16>) -> (tensor<1x37x3x33xbf16>, tensor<1x3x37xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.5 : f64, causal} : (tensor<1x37x3x33xbf16>, tensor<1x45x3x33xbf16>, tensor<1x45x3x33xbf16>, tensor<1x37x3x33xbf16>, tensor<1x3x37xf32>, tensor<1x37x3x33xbf16>) -> (tensor<1x37x3x33xbf16>, tensor<1x45x3x33xbf16>, tensor<1x45x3x33xbf16>)
  return %o, %l, %dq, %dk, %dv : tensor<1x37x3x33xbf16>, tensor<1x3x37xf32>, tensor<1x37x3x33xbf16>, tensor<1x45x3x33xbf16>, tensor<1x45x3x33xbf16>
}

func.func @attention_mask(%q: tensor<2x19x2x24xbf16>, %k: tensor<2x21x2x24xbf16>, %v: tensor<2x21x2x24xbf16>, %do: tensor<2x19x2x24xbf16>, %n: tensor<2x21xf32>) -> (tensor<2x19x2x24xbf16>, tensor<2x19x2x24xbf16>, tensor<2x21x2x24xbf16>, tensor<2x21x2x24xbf16>) attributes {test.range = [-1.0, 1.0]} {
  %z = arith.constant dense<0.0> : tensor<2x21xf32>
  %m = arith.cmpf ogt, %n, %z : tensor<2x21xf32>
  %o, %l = ff.attention %q, %k, %v mask %m {scale = 0.5 : f64} : (tensor<2x19x2x24xbf16>, tensor<2x21x2x24xbf16>, tensor<2x21x2x24xbf16>, tensor<2x21xi1>) -> (tensor<2x19x2x24xbf16>, tensor<2x2x19xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do mask %m {scale = 0.5 : f64} : (tensor<2x19x2x24xbf16>, tensor<2x21x2x24xbf16>, tensor<2x21x2x24xbf16>, tensor<2x19x2x24xbf16>, tensor<2x2x19xf32>, tensor<2x19x2x24xbf16>, tensor<2x21xi1>) -> (tensor<2x19x2x24xbf16>, tensor<2x21x2x24xbf16>, tensor<2x21x2x24xbf16>)
  return %o, %dq, %dk, %dv : tensor<2x19x2x24xbf16>, tensor<2x19x2x24xbf16>, tensor<2x21x2x24xbf16>, tensor<2x21x2x24xbf16>
}
