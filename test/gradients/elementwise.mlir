// RUN: ff-grad-check %s | FileCheck %s
// CHECK-NOT: error
// CHECK: functions agree

func.func @exp_scalar(%x: tensor<f64>) -> (tensor<f64>) {
  %y = math.exp %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @exp_5(%x: tensor<5xf64>) -> (tensor<5xf64>) {
  %y = math.exp %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @exp_2x3(%x: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %y = math.exp %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @exp_2x1x4(%x: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %y = math.exp %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @log_scalar(%x: tensor<f64> {test.range = [0.5, 2.0]}) -> (tensor<f64>) {
  %y = math.log %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @log_5(%x: tensor<5xf64> {test.range = [0.5, 2.0]}) -> (tensor<5xf64>) {
  %y = math.log %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @log_2x3(%x: tensor<2x3xf64> {test.range = [0.5, 2.0]}) -> (tensor<2x3xf64>) {
  %y = math.log %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @log_2x1x4(%x: tensor<2x1x4xf64> {test.range = [0.5, 2.0]}) -> (tensor<2x1x4xf64>) {
  %y = math.log %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @sqrt_scalar(%x: tensor<f64> {test.range = [0.5, 2.0]}) -> (tensor<f64>) {
  %y = math.sqrt %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @sqrt_5(%x: tensor<5xf64> {test.range = [0.5, 2.0]}) -> (tensor<5xf64>) {
  %y = math.sqrt %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @sqrt_2x3(%x: tensor<2x3xf64> {test.range = [0.5, 2.0]}) -> (tensor<2x3xf64>) {
  %y = math.sqrt %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @sqrt_2x1x4(%x: tensor<2x1x4xf64> {test.range = [0.5, 2.0]}) -> (tensor<2x1x4xf64>) {
  %y = math.sqrt %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @rsqrt_scalar(%x: tensor<f64> {test.range = [0.5, 2.0]}) -> (tensor<f64>) {
  %y = math.rsqrt %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @rsqrt_5(%x: tensor<5xf64> {test.range = [0.5, 2.0]}) -> (tensor<5xf64>) {
  %y = math.rsqrt %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @rsqrt_2x3(%x: tensor<2x3xf64> {test.range = [0.5, 2.0]}) -> (tensor<2x3xf64>) {
  %y = math.rsqrt %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @rsqrt_2x1x4(%x: tensor<2x1x4xf64> {test.range = [0.5, 2.0]}) -> (tensor<2x1x4xf64>) {
  %y = math.rsqrt %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @tanh_scalar(%x: tensor<f64>) -> (tensor<f64>) {
  %y = math.tanh %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @tanh_5(%x: tensor<5xf64>) -> (tensor<5xf64>) {
  %y = math.tanh %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @tanh_2x3(%x: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %y = math.tanh %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @tanh_2x1x4(%x: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %y = math.tanh %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @sin_scalar(%x: tensor<f64>) -> (tensor<f64>) {
  %y = math.sin %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @sin_5(%x: tensor<5xf64>) -> (tensor<5xf64>) {
  %y = math.sin %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @sin_2x3(%x: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %y = math.sin %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @sin_2x1x4(%x: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %y = math.sin %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @cos_scalar(%x: tensor<f64>) -> (tensor<f64>) {
  %y = math.cos %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @cos_5(%x: tensor<5xf64>) -> (tensor<5xf64>) {
  %y = math.cos %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @cos_2x3(%x: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %y = math.cos %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @cos_2x1x4(%x: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %y = math.cos %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @absf_scalar(%x: tensor<f64> {test.range = [0.2, 1.0]}) -> (tensor<f64>) {
  %y = math.absf %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @absf_5(%x: tensor<5xf64> {test.range = [0.2, 1.0]}) -> (tensor<5xf64>) {
  %y = math.absf %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @absf_2x3(%x: tensor<2x3xf64> {test.range = [0.2, 1.0]}) -> (tensor<2x3xf64>) {
  %y = math.absf %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @absf_2x1x4(%x: tensor<2x1x4xf64> {test.range = [0.2, 1.0]}) -> (tensor<2x1x4xf64>) {
  %y = math.absf %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @erf_scalar(%x: tensor<f64>) -> (tensor<f64>) {
  %y = math.erf %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @erf_5(%x: tensor<5xf64>) -> (tensor<5xf64>) {
  %y = math.erf %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @erf_2x3(%x: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %y = math.erf %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @erf_2x1x4(%x: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %y = math.erf %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @negf_scalar(%x: tensor<f64>) -> (tensor<f64>) {
  %y = arith.negf %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @negf_5(%x: tensor<5xf64>) -> (tensor<5xf64>) {
  %y = arith.negf %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @negf_2x3(%x: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %y = arith.negf %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @negf_2x1x4(%x: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %y = arith.negf %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @addf_scalar(%x: tensor<f64>, %y: tensor<f64>) -> (tensor<f64>) {
  %z = arith.addf %x, %y : tensor<f64>
  return %z : tensor<f64>
}

func.func @addf_5(%x: tensor<5xf64>, %y: tensor<5xf64>) -> (tensor<5xf64>) {
  %z = arith.addf %x, %y : tensor<5xf64>
  return %z : tensor<5xf64>
}

func.func @addf_2x3(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %z = arith.addf %x, %y : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}

func.func @addf_2x1x4(%x: tensor<2x1x4xf64>, %y: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %z = arith.addf %x, %y : tensor<2x1x4xf64>
  return %z : tensor<2x1x4xf64>
}

func.func @subf_scalar(%x: tensor<f64>, %y: tensor<f64>) -> (tensor<f64>) {
  %z = arith.subf %x, %y : tensor<f64>
  return %z : tensor<f64>
}

func.func @subf_5(%x: tensor<5xf64>, %y: tensor<5xf64>) -> (tensor<5xf64>) {
  %z = arith.subf %x, %y : tensor<5xf64>
  return %z : tensor<5xf64>
}

func.func @subf_2x3(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %z = arith.subf %x, %y : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}

func.func @subf_2x1x4(%x: tensor<2x1x4xf64>, %y: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %z = arith.subf %x, %y : tensor<2x1x4xf64>
  return %z : tensor<2x1x4xf64>
}

func.func @mulf_scalar(%x: tensor<f64>, %y: tensor<f64>) -> (tensor<f64>) {
  %z = arith.mulf %x, %y : tensor<f64>
  return %z : tensor<f64>
}

func.func @mulf_5(%x: tensor<5xf64>, %y: tensor<5xf64>) -> (tensor<5xf64>) {
  %z = arith.mulf %x, %y : tensor<5xf64>
  return %z : tensor<5xf64>
}

func.func @mulf_2x3(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %z = arith.mulf %x, %y : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}

func.func @mulf_2x1x4(%x: tensor<2x1x4xf64>, %y: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %z = arith.mulf %x, %y : tensor<2x1x4xf64>
  return %z : tensor<2x1x4xf64>
}

func.func @divf_scalar(%x: tensor<f64>, %y: tensor<f64> {test.range = [0.5, 2.0]}) -> (tensor<f64>) {
  %z = arith.divf %x, %y : tensor<f64>
  return %z : tensor<f64>
}

func.func @divf_5(%x: tensor<5xf64>, %y: tensor<5xf64> {test.range = [0.5, 2.0]}) -> (tensor<5xf64>) {
  %z = arith.divf %x, %y : tensor<5xf64>
  return %z : tensor<5xf64>
}

func.func @divf_2x3(%x: tensor<2x3xf64>, %y: tensor<2x3xf64> {test.range = [0.5, 2.0]}) -> (tensor<2x3xf64>) {
  %z = arith.divf %x, %y : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}

func.func @divf_2x1x4(%x: tensor<2x1x4xf64>, %y: tensor<2x1x4xf64> {test.range = [0.5, 2.0]}) -> (tensor<2x1x4xf64>) {
  %z = arith.divf %x, %y : tensor<2x1x4xf64>
  return %z : tensor<2x1x4xf64>
}

func.func @maximumf_scalar(%x: tensor<f64>, %y: tensor<f64>) -> (tensor<f64>) {
  %z = arith.maximumf %x, %y : tensor<f64>
  return %z : tensor<f64>
}

func.func @maximumf_5(%x: tensor<5xf64>, %y: tensor<5xf64>) -> (tensor<5xf64>) {
  %z = arith.maximumf %x, %y : tensor<5xf64>
  return %z : tensor<5xf64>
}

func.func @maximumf_2x3(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %z = arith.maximumf %x, %y : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}

func.func @maximumf_2x1x4(%x: tensor<2x1x4xf64>, %y: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %z = arith.maximumf %x, %y : tensor<2x1x4xf64>
  return %z : tensor<2x1x4xf64>
}

func.func @minimumf_scalar(%x: tensor<f64>, %y: tensor<f64>) -> (tensor<f64>) {
  %z = arith.minimumf %x, %y : tensor<f64>
  return %z : tensor<f64>
}

func.func @minimumf_5(%x: tensor<5xf64>, %y: tensor<5xf64>) -> (tensor<5xf64>) {
  %z = arith.minimumf %x, %y : tensor<5xf64>
  return %z : tensor<5xf64>
}

func.func @minimumf_2x3(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %z = arith.minimumf %x, %y : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}

func.func @minimumf_2x1x4(%x: tensor<2x1x4xf64>, %y: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %z = arith.minimumf %x, %y : tensor<2x1x4xf64>
  return %z : tensor<2x1x4xf64>
}

func.func @same_operand_scalar(%x: tensor<f64>) -> (tensor<f64>) attributes {test.inline} {
  %z = arith.mulf %x, %x : tensor<f64>
  return %z : tensor<f64>
}

func.func @powf_scalar(%x: tensor<f64> {test.range = [0.5, 2.0]}, %y: tensor<f64>) -> (tensor<f64>) {
  %z = math.powf %x, %y : tensor<f64>
  return %z : tensor<f64>
}

func.func @select_scalar(%x: tensor<f64>, %y: tensor<f64>) -> (tensor<f64>) {
  %p = arith.cmpf ogt, %x, %y : tensor<f64>
  %r = arith.select %p, %x, %y : tensor<i1>, tensor<f64>
  return %r : tensor<f64>
}

func.func @activation_gelu_tanh_scalar(%x: tensor<f64> {test.range = [-3.0, 3.0]}) -> (tensor<f64>) {
  %y = ff.activation <gelu_tanh> %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @activation_gelu_scalar(%x: tensor<f64> {test.range = [-3.0, 3.0]}) -> (tensor<f64>) {
  %y = ff.activation <gelu> %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @activation_silu_scalar(%x: tensor<f64> {test.range = [-3.0, 3.0]}) -> (tensor<f64>) {
  %y = ff.activation <silu> %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @activation_sigmoid_scalar(%x: tensor<f64> {test.range = [-3.0, 3.0]}) -> (tensor<f64>) {
  %y = ff.activation <sigmoid> %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @activation_tanh_scalar(%x: tensor<f64> {test.range = [-3.0, 3.0]}) -> (tensor<f64>) {
  %y = ff.activation <tanh> %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @activation_relu_scalar(%x: tensor<f64> {test.range = [0.1, 1.0]}) -> (tensor<f64>) {
  %y = ff.activation <relu> %x : tensor<f64>
  return %y : tensor<f64>
}

func.func @same_operand_5(%x: tensor<5xf64>) -> (tensor<5xf64>) attributes {test.inline} {
  %z = arith.mulf %x, %x : tensor<5xf64>
  return %z : tensor<5xf64>
}

func.func @powf_5(%x: tensor<5xf64> {test.range = [0.5, 2.0]}, %y: tensor<5xf64>) -> (tensor<5xf64>) {
  %z = math.powf %x, %y : tensor<5xf64>
  return %z : tensor<5xf64>
}

func.func @select_5(%x: tensor<5xf64>, %y: tensor<5xf64>) -> (tensor<5xf64>) {
  %p = arith.cmpf ogt, %x, %y : tensor<5xf64>
  %r = arith.select %p, %x, %y : tensor<5xi1>, tensor<5xf64>
  return %r : tensor<5xf64>
}

func.func @activation_gelu_tanh_5(%x: tensor<5xf64> {test.range = [-3.0, 3.0]}) -> (tensor<5xf64>) {
  %y = ff.activation <gelu_tanh> %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @activation_gelu_5(%x: tensor<5xf64> {test.range = [-3.0, 3.0]}) -> (tensor<5xf64>) {
  %y = ff.activation <gelu> %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @activation_silu_5(%x: tensor<5xf64> {test.range = [-3.0, 3.0]}) -> (tensor<5xf64>) {
  %y = ff.activation <silu> %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @activation_sigmoid_5(%x: tensor<5xf64> {test.range = [-3.0, 3.0]}) -> (tensor<5xf64>) {
  %y = ff.activation <sigmoid> %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @activation_tanh_5(%x: tensor<5xf64> {test.range = [-3.0, 3.0]}) -> (tensor<5xf64>) {
  %y = ff.activation <tanh> %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @activation_relu_5(%x: tensor<5xf64> {test.range = [0.1, 1.0]}) -> (tensor<5xf64>) {
  %y = ff.activation <relu> %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @same_operand_2x3(%x: tensor<2x3xf64>) -> (tensor<2x3xf64>) attributes {test.inline} {
  %z = arith.mulf %x, %x : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}

func.func @powf_2x3(%x: tensor<2x3xf64> {test.range = [0.5, 2.0]}, %y: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %z = math.powf %x, %y : tensor<2x3xf64>
  return %z : tensor<2x3xf64>
}

func.func @select_2x3(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %p = arith.cmpf ogt, %x, %y : tensor<2x3xf64>
  %r = arith.select %p, %x, %y : tensor<2x3xi1>, tensor<2x3xf64>
  return %r : tensor<2x3xf64>
}

func.func @activation_gelu_tanh_2x3(%x: tensor<2x3xf64> {test.range = [-3.0, 3.0]}) -> (tensor<2x3xf64>) {
  %y = ff.activation <gelu_tanh> %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @activation_gelu_2x3(%x: tensor<2x3xf64> {test.range = [-3.0, 3.0]}) -> (tensor<2x3xf64>) {
  %y = ff.activation <gelu> %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @activation_silu_2x3(%x: tensor<2x3xf64> {test.range = [-3.0, 3.0]}) -> (tensor<2x3xf64>) {
  %y = ff.activation <silu> %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @activation_sigmoid_2x3(%x: tensor<2x3xf64> {test.range = [-3.0, 3.0]}) -> (tensor<2x3xf64>) {
  %y = ff.activation <sigmoid> %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @activation_tanh_2x3(%x: tensor<2x3xf64> {test.range = [-3.0, 3.0]}) -> (tensor<2x3xf64>) {
  %y = ff.activation <tanh> %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @activation_relu_2x3(%x: tensor<2x3xf64> {test.range = [0.1, 1.0]}) -> (tensor<2x3xf64>) {
  %y = ff.activation <relu> %x : tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @same_operand_2x1x4(%x: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) attributes {test.inline} {
  %z = arith.mulf %x, %x : tensor<2x1x4xf64>
  return %z : tensor<2x1x4xf64>
}

func.func @powf_2x1x4(%x: tensor<2x1x4xf64> {test.range = [0.5, 2.0]}, %y: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %z = math.powf %x, %y : tensor<2x1x4xf64>
  return %z : tensor<2x1x4xf64>
}

func.func @select_2x1x4(%x: tensor<2x1x4xf64>, %y: tensor<2x1x4xf64>) -> (tensor<2x1x4xf64>) {
  %p = arith.cmpf ogt, %x, %y : tensor<2x1x4xf64>
  %r = arith.select %p, %x, %y : tensor<2x1x4xi1>, tensor<2x1x4xf64>
  return %r : tensor<2x1x4xf64>
}

func.func @activation_gelu_tanh_2x1x4(%x: tensor<2x1x4xf64> {test.range = [-3.0, 3.0]}) -> (tensor<2x1x4xf64>) {
  %y = ff.activation <gelu_tanh> %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @activation_gelu_2x1x4(%x: tensor<2x1x4xf64> {test.range = [-3.0, 3.0]}) -> (tensor<2x1x4xf64>) {
  %y = ff.activation <gelu> %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @activation_silu_2x1x4(%x: tensor<2x1x4xf64> {test.range = [-3.0, 3.0]}) -> (tensor<2x1x4xf64>) {
  %y = ff.activation <silu> %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @activation_sigmoid_2x1x4(%x: tensor<2x1x4xf64> {test.range = [-3.0, 3.0]}) -> (tensor<2x1x4xf64>) {
  %y = ff.activation <sigmoid> %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @activation_tanh_2x1x4(%x: tensor<2x1x4xf64> {test.range = [-3.0, 3.0]}) -> (tensor<2x1x4xf64>) {
  %y = ff.activation <tanh> %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @activation_relu_2x1x4(%x: tensor<2x1x4xf64> {test.range = [0.1, 1.0]}) -> (tensor<2x1x4xf64>) {
  %y = ff.activation <relu> %x : tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}
