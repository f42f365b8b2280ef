// RUN: ff-kernel-test %s
// RUN: ff-kernel-test --vector-bytes=32 %s
// The functions of math, and the activations made of them.

func.func @exp(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [-20.0, 20.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.exp %x : tensor<5000xf32>
  return %y : tensor<5000xf32>
}
func.func @exp_f64(%x: tensor<50xf64>) -> tensor<50xf64> attributes {test.range = [-20.0, 20.0]} {
  %y = math.exp %x : tensor<50xf64>
  return %y : tensor<50xf64>
}
func.func @log(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [0.000001, 50.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.log %x : tensor<5000xf32>
  return %y : tensor<5000xf32>
}
func.func @log_f64(%x: tensor<50xf64>) -> tensor<50xf64> attributes {test.range = [0.000001, 50.0]} {
  %y = math.log %x : tensor<50xf64>
  return %y : tensor<50xf64>
}
func.func @sin(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [-1000.0, 1000.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.sin %x : tensor<5000xf32>
  return %y : tensor<5000xf32>
}
func.func @sin_f64(%x: tensor<50xf64>) -> tensor<50xf64> attributes {test.range = [-1000.0, 1000.0]} {
  %y = math.sin %x : tensor<50xf64>
  return %y : tensor<50xf64>
}
func.func @cos(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [-1000.0, 1000.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.cos %x : tensor<5000xf32>
  return %y : tensor<5000xf32>
}
func.func @cos_f64(%x: tensor<50xf64>) -> tensor<50xf64> attributes {test.range = [-1000.0, 1000.0]} {
  %y = math.cos %x : tensor<50xf64>
  return %y : tensor<50xf64>
}
func.func @tanh(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [-10.0, 10.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.tanh %x : tensor<5000xf32>
  return %y : tensor<5000xf32>
}
func.func @tanh_f64(%x: tensor<50xf64>) -> tensor<50xf64> attributes {test.range = [-10.0, 10.0]} {
  %y = math.tanh %x : tensor<50xf64>
  return %y : tensor<50xf64>
}
func.func @erf(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [-5.0, 5.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.erf %x : tensor<5000xf32>
  return %y : tensor<5000xf32>
}
func.func @erf_f64(%x: tensor<50xf64>) -> tensor<50xf64> attributes {test.range = [-5.0, 5.0]} {
  %y = math.erf %x : tensor<50xf64>
  return %y : tensor<50xf64>
}
func.func @sqrt(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [0.000001, 50.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.sqrt %x : tensor<5000xf32>
  return %y : tensor<5000xf32>
}
func.func @sqrt_f64(%x: tensor<50xf64>) -> tensor<50xf64> attributes {test.range = [0.000001, 50.0]} {
  %y = math.sqrt %x : tensor<50xf64>
  return %y : tensor<50xf64>
}
func.func @rsqrt(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [0.000001, 50.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.rsqrt %x : tensor<5000xf32>
  return %y : tensor<5000xf32>
}
func.func @rsqrt_f64(%x: tensor<50xf64>) -> tensor<50xf64> attributes {test.range = [0.000001, 50.0]} {
  %y = math.rsqrt %x : tensor<50xf64>
  return %y : tensor<50xf64>
}
func.func @absf(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [-2.0, 2.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.absf %x : tensor<5000xf32>
  return %y : tensor<5000xf32>
}
func.func @absf_f64(%x: tensor<50xf64>) -> tensor<50xf64> attributes {test.range = [-2.0, 2.0]} {
  %y = math.absf %x : tensor<50xf64>
  return %y : tensor<50xf64>
}
func.func @floor(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [-20.0, 20.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.floor %x : tensor<5000xf32>
  return %y : tensor<5000xf32>
}
func.func @floor_f64(%x: tensor<50xf64>) -> tensor<50xf64> attributes {test.range = [-20.0, 20.0]} {
  %y = math.floor %x : tensor<50xf64>
  return %y : tensor<50xf64>
}
// The relative error of small results matters too: they are divided by.
func.func @exp_relative(%x: tensor<5000xf32>) -> tensor<5000xf32> attributes {test.range = [-80.0, -20.0], test.tolerance = 1.0e-6 : f64} {
  %y = math.exp %x : tensor<5000xf32>
  %n = arith.negf %x : tensor<5000xf32>
  %z = math.exp %n : tensor<5000xf32>
  %w = arith.mulf %y, %z : tensor<5000xf32>
  return %w : tensor<5000xf32>
}
func.func @tanh_small(%x: tensor<500xf32>) -> tensor<500xf32> attributes {test.range = [1.0e-5, 1.0e-3], test.tolerance = 1.0e-6 : f64} {
  %y = math.tanh %x : tensor<500xf32>
  %z = arith.divf %y, %x : tensor<500xf32>
  return %z : tensor<500xf32>
}
func.func @powf(%x: tensor<50xf32>, %e: tensor<50xf32>) -> tensor<50xf32> attributes {test.range = [0.1, 3.0]} {
  %y = math.powf %x, %e : tensor<50xf32>
  return %y : tensor<50xf32>
}
func.func @exp_bounds() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = arith.constant dense<-1.0e30> : tensor<3xf32>
  %b = arith.constant dense<100.0> : tensor<3xf32>
  %c = arith.constant dense<0x7FC00000> : tensor<3xf32>
  %x = math.exp %a : tensor<3xf32>
  %y = math.exp %b : tensor<3xf32>
  %z = math.exp %c : tensor<3xf32>
  // The interpreter does not round: it has e^100, a kernel infinity.
  %one = arith.constant dense<1.0> : tensor<3xf32>
  %r = arith.divf %one, %y : tensor<3xf32>
  return %x, %r, %z : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
func.func @act_gelu_tanh_f32(%x: tensor<3x700xf32>, %g: tensor<3x700xf32>) -> (tensor<3x700xf32>, tensor<3x700xf32>) attributes {test.range = [-8.0, 8.0], test.tolerance = 2.0e-6 : f64} {
  %y = ff.activation <gelu_tanh> %x : tensor<3x700xf32>
  %d = ff.activation_backward <gelu_tanh> %x, %g : tensor<3x700xf32>
  return %y, %d : tensor<3x700xf32>, tensor<3x700xf32>
}
func.func @act_gelu_tanh_f64(%x: tensor<3x700xf64>, %g: tensor<3x700xf64>) -> (tensor<3x700xf64>, tensor<3x700xf64>) attributes {test.range = [-8.0, 8.0]} {
  %y = ff.activation <gelu_tanh> %x : tensor<3x700xf64>
  %d = ff.activation_backward <gelu_tanh> %x, %g : tensor<3x700xf64>
  return %y, %d : tensor<3x700xf64>, tensor<3x700xf64>
}
func.func @act_gelu_f32(%x: tensor<3x700xf32>, %g: tensor<3x700xf32>) -> (tensor<3x700xf32>, tensor<3x700xf32>) attributes {test.range = [-8.0, 8.0], test.tolerance = 2.0e-6 : f64} {
  %y = ff.activation <gelu> %x : tensor<3x700xf32>
  %d = ff.activation_backward <gelu> %x, %g : tensor<3x700xf32>
  return %y, %d : tensor<3x700xf32>, tensor<3x700xf32>
}
func.func @act_gelu_f64(%x: tensor<3x700xf64>, %g: tensor<3x700xf64>) -> (tensor<3x700xf64>, tensor<3x700xf64>) attributes {test.range = [-8.0, 8.0]} {
  %y = ff.activation <gelu> %x : tensor<3x700xf64>
  %d = ff.activation_backward <gelu> %x, %g : tensor<3x700xf64>
  return %y, %d : tensor<3x700xf64>, tensor<3x700xf64>
}
func.func @act_silu_f32(%x: tensor<3x700xf32>, %g: tensor<3x700xf32>) -> (tensor<3x700xf32>, tensor<3x700xf32>) attributes {test.range = [-8.0, 8.0], test.tolerance = 2.0e-6 : f64} {
  %y = ff.activation <silu> %x : tensor<3x700xf32>
  %d = ff.activation_backward <silu> %x, %g : tensor<3x700xf32>
  return %y, %d : tensor<3x700xf32>, tensor<3x700xf32>
}
func.func @act_silu_f64(%x: tensor<3x700xf64>, %g: tensor<3x700xf64>) -> (tensor<3x700xf64>, tensor<3x700xf64>) attributes {test.range = [-8.0, 8.0]} {
  %y = ff.activation <silu> %x : tensor<3x700xf64>
  %d = ff.activation_backward <silu> %x, %g : tensor<3x700xf64>
  return %y, %d : tensor<3x700xf64>, tensor<3x700xf64>
}
func.func @act_relu_f32(%x: tensor<3x700xf32>, %g: tensor<3x700xf32>) -> (tensor<3x700xf32>, tensor<3x700xf32>) attributes {test.range = [-8.0, 8.0], test.tolerance = 2.0e-6 : f64} {
  %y = ff.activation <relu> %x : tensor<3x700xf32>
  %d = ff.activation_backward <relu> %x, %g : tensor<3x700xf32>
  return %y, %d : tensor<3x700xf32>, tensor<3x700xf32>
}
func.func @act_relu_f64(%x: tensor<3x700xf64>, %g: tensor<3x700xf64>) -> (tensor<3x700xf64>, tensor<3x700xf64>) attributes {test.range = [-8.0, 8.0]} {
  %y = ff.activation <relu> %x : tensor<3x700xf64>
  %d = ff.activation_backward <relu> %x, %g : tensor<3x700xf64>
  return %y, %d : tensor<3x700xf64>, tensor<3x700xf64>
}
func.func @act_sigmoid_f32(%x: tensor<3x700xf32>, %g: tensor<3x700xf32>) -> (tensor<3x700xf32>, tensor<3x700xf32>) attributes {test.range = [-8.0, 8.0], test.tolerance = 2.0e-6 : f64} {
  %y = ff.activation <sigmoid> %x : tensor<3x700xf32>
  %d = ff.activation_backward <sigmoid> %x, %g : tensor<3x700xf32>
  return %y, %d : tensor<3x700xf32>, tensor<3x700xf32>
}
func.func @act_sigmoid_f64(%x: tensor<3x700xf64>, %g: tensor<3x700xf64>) -> (tensor<3x700xf64>, tensor<3x700xf64>) attributes {test.range = [-8.0, 8.0]} {
  %y = ff.activation <sigmoid> %x : tensor<3x700xf64>
  %d = ff.activation_backward <sigmoid> %x, %g : tensor<3x700xf64>
  return %y, %d : tensor<3x700xf64>, tensor<3x700xf64>
}
func.func @act_tanh_f32(%x: tensor<3x700xf32>, %g: tensor<3x700xf32>) -> (tensor<3x700xf32>, tensor<3x700xf32>) attributes {test.range = [-8.0, 8.0], test.tolerance = 2.0e-6 : f64} {
  %y = ff.activation <tanh> %x : tensor<3x700xf32>
  %d = ff.activation_backward <tanh> %x, %g : tensor<3x700xf32>
  return %y, %d : tensor<3x700xf32>, tensor<3x700xf32>
}
func.func @act_tanh_f64(%x: tensor<3x700xf64>, %g: tensor<3x700xf64>) -> (tensor<3x700xf64>, tensor<3x700xf64>) attributes {test.range = [-8.0, 8.0]} {
  %y = ff.activation <tanh> %x : tensor<3x700xf64>
  %d = ff.activation_backward <tanh> %x, %g : tensor<3x700xf64>
  return %y, %d : tensor<3x700xf64>, tensor<3x700xf64>
}
