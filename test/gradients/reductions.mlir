// RUN: ff-grad-check %s | FileCheck %s
// CHECK-NOT: error
// CHECK: functions agree

func.func @sum_4_over0(%x: tensor<4xf64>) -> (tensor<f64>) {
  %y = ff.reduce <sum> %x dims [0] : tensor<4xf64> to tensor<f64>
  return %y : tensor<f64>
}

func.func @max_4_over0(%x: tensor<4xf64>) -> (tensor<f64>) {
  %y = ff.reduce <max> %x dims [0] : tensor<4xf64> to tensor<f64>
  return %y : tensor<f64>
}

func.func @sum_2x3_over0(%x: tensor<2x3xf64>) -> (tensor<3xf64>) {
  %y = ff.reduce <sum> %x dims [0] : tensor<2x3xf64> to tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @max_2x3_over0(%x: tensor<2x3xf64>) -> (tensor<3xf64>) {
  %y = ff.reduce <max> %x dims [0] : tensor<2x3xf64> to tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @sum_2x3_over1(%x: tensor<2x3xf64>) -> (tensor<2xf64>) {
  %y = ff.reduce <sum> %x dims [1] : tensor<2x3xf64> to tensor<2xf64>
  return %y : tensor<2xf64>
}

func.func @max_2x3_over1(%x: tensor<2x3xf64>) -> (tensor<2xf64>) {
  %y = ff.reduce <max> %x dims [1] : tensor<2x3xf64> to tensor<2xf64>
  return %y : tensor<2xf64>
}

func.func @sum_2x3_over01(%x: tensor<2x3xf64>) -> (tensor<f64>) {
  %y = ff.reduce <sum> %x dims [0, 1] : tensor<2x3xf64> to tensor<f64>
  return %y : tensor<f64>
}

func.func @max_2x3_over01(%x: tensor<2x3xf64>) -> (tensor<f64>) {
  %y = ff.reduce <max> %x dims [0, 1] : tensor<2x3xf64> to tensor<f64>
  return %y : tensor<f64>
}

func.func @sum_2x3x4_over1(%x: tensor<2x3x4xf64>) -> (tensor<2x4xf64>) {
  %y = ff.reduce <sum> %x dims [1] : tensor<2x3x4xf64> to tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @max_2x3x4_over1(%x: tensor<2x3x4xf64>) -> (tensor<2x4xf64>) {
  %y = ff.reduce <max> %x dims [1] : tensor<2x3x4xf64> to tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @sum_2x3x4_over02(%x: tensor<2x3x4xf64>) -> (tensor<3xf64>) {
  %y = ff.reduce <sum> %x dims [0, 2] : tensor<2x3x4xf64> to tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @max_2x3x4_over02(%x: tensor<2x3x4xf64>) -> (tensor<3xf64>) {
  %y = ff.reduce <max> %x dims [0, 2] : tensor<2x3x4xf64> to tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @sum_2x3x4_over12(%x: tensor<2x3x4xf64>) -> (tensor<2xf64>) {
  %y = ff.reduce <sum> %x dims [1, 2] : tensor<2x3x4xf64> to tensor<2xf64>
  return %y : tensor<2xf64>
}

func.func @max_2x3x4_over12(%x: tensor<2x3x4xf64>) -> (tensor<2xf64>) {
  %y = ff.reduce <max> %x dims [1, 2] : tensor<2x3x4xf64> to tensor<2xf64>
  return %y : tensor<2xf64>
}

func.func @sum_2x1x3_over1(%x: tensor<2x1x3xf64>) -> (tensor<2x3xf64>) {
  %y = ff.reduce <sum> %x dims [1] : tensor<2x1x3xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @max_2x1x3_over1(%x: tensor<2x1x3xf64>) -> (tensor<2x3xf64>) {
  %y = ff.reduce <max> %x dims [1] : tensor<2x1x3xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @layer_norm_5(%x: tensor<5xf64>) -> (tensor<5xf64>) {
  %y = ff.layer_norm %x {eps = 1.0e-3 : f64} : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @layer_norm_5_inline(%x: tensor<5xf64>) -> (tensor<5xf64>) attributes {test.inline} {
  %y = ff.layer_norm %x {eps = 1.0e-3 : f64} : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @rms_norm_5(%x: tensor<5xf64>) -> (tensor<5xf64>) {
  %y = ff.rms_norm %x {eps = 1.0e-3 : f64} : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @rms_norm_5_inline(%x: tensor<5xf64>) -> (tensor<5xf64>) attributes {test.inline} {
  %y = ff.rms_norm %x {eps = 1.0e-3 : f64} : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @softmax_5(%x: tensor<5xf64>) -> (tensor<5xf64>) {
  %y = ff.softmax %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @softmax_5_inline(%x: tensor<5xf64>) -> (tensor<5xf64>) attributes {test.inline} {
  %y = ff.softmax %x : tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @layer_norm_2x4(%x: tensor<2x4xf64>) -> (tensor<2x4xf64>) {
  %y = ff.layer_norm %x {eps = 1.0e-3 : f64} : tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @layer_norm_2x4_inline(%x: tensor<2x4xf64>) -> (tensor<2x4xf64>) attributes {test.inline} {
  %y = ff.layer_norm %x {eps = 1.0e-3 : f64} : tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @rms_norm_2x4(%x: tensor<2x4xf64>) -> (tensor<2x4xf64>) {
  %y = ff.rms_norm %x {eps = 1.0e-3 : f64} : tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @rms_norm_2x4_inline(%x: tensor<2x4xf64>) -> (tensor<2x4xf64>) attributes {test.inline} {
  %y = ff.rms_norm %x {eps = 1.0e-3 : f64} : tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @softmax_2x4(%x: tensor<2x4xf64>) -> (tensor<2x4xf64>) {
  %y = ff.softmax %x : tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @softmax_2x4_inline(%x: tensor<2x4xf64>) -> (tensor<2x4xf64>) attributes {test.inline} {
  %y = ff.softmax %x : tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @layer_norm_2x3x6(%x: tensor<2x3x6xf64>) -> (tensor<2x3x6xf64>) {
  %y = ff.layer_norm %x {eps = 1.0e-3 : f64} : tensor<2x3x6xf64>
  return %y : tensor<2x3x6xf64>
}

func.func @layer_norm_2x3x6_inline(%x: tensor<2x3x6xf64>) -> (tensor<2x3x6xf64>) attributes {test.inline} {
  %y = ff.layer_norm %x {eps = 1.0e-3 : f64} : tensor<2x3x6xf64>
  return %y : tensor<2x3x6xf64>
}

func.func @rms_norm_2x3x6(%x: tensor<2x3x6xf64>) -> (tensor<2x3x6xf64>) {
  %y = ff.rms_norm %x {eps = 1.0e-3 : f64} : tensor<2x3x6xf64>
  return %y : tensor<2x3x6xf64>
}

func.func @rms_norm_2x3x6_inline(%x: tensor<2x3x6xf64>) -> (tensor<2x3x6xf64>) attributes {test.inline} {
  %y = ff.rms_norm %x {eps = 1.0e-3 : f64} : tensor<2x3x6xf64>
  return %y : tensor<2x3x6xf64>
}

func.func @softmax_2x3x6(%x: tensor<2x3x6xf64>) -> (tensor<2x3x6xf64>) {
  %y = ff.softmax %x : tensor<2x3x6xf64>
  return %y : tensor<2x3x6xf64>
}

func.func @softmax_2x3x6_inline(%x: tensor<2x3x6xf64>) -> (tensor<2x3x6xf64>) attributes {test.inline} {
  %y = ff.softmax %x : tensor<2x3x6xf64>
  return %y : tensor<2x3x6xf64>
}

func.func @layer_norm_3x2(%x: tensor<3x2xf64>) -> (tensor<3x2xf64>) {
  %y = ff.layer_norm %x {eps = 1.0e-3 : f64} : tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}

func.func @layer_norm_3x2_inline(%x: tensor<3x2xf64>) -> (tensor<3x2xf64>) attributes {test.inline} {
  %y = ff.layer_norm %x {eps = 1.0e-3 : f64} : tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}

func.func @rms_norm_3x2(%x: tensor<3x2xf64>) -> (tensor<3x2xf64>) {
  %y = ff.rms_norm %x {eps = 1.0e-3 : f64} : tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}

func.func @rms_norm_3x2_inline(%x: tensor<3x2xf64>) -> (tensor<3x2xf64>) attributes {test.inline} {
  %y = ff.rms_norm %x {eps = 1.0e-3 : f64} : tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}

func.func @softmax_3x2(%x: tensor<3x2xf64>) -> (tensor<3x2xf64>) {
  %y = ff.softmax %x : tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}

func.func @softmax_3x2_inline(%x: tensor<3x2xf64>) -> (tensor<3x2xf64>) attributes {test.inline} {
  %y = ff.softmax %x : tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}

func.func @modulated_norm(%x: tensor<2x3x4xf64>, %scale: tensor<2x4xf64>, %shift: tensor<2x4xf64>, %w: tensor<4xf64>) -> (tensor<2x3x4xf64>) {
  %n = ff.layer_norm %x {eps = 1.0e-3 : f64} : tensor<2x3x4xf64>
  %wb = ff.broadcast %w dims [2] : tensor<4xf64> to tensor<2x3x4xf64>
  %a = arith.mulf %n, %wb : tensor<2x3x4xf64>
  %sb = ff.broadcast %scale dims [0, 2] : tensor<2x4xf64> to tensor<2x3x4xf64>
  %tb = ff.broadcast %shift dims [0, 2] : tensor<2x4xf64> to tensor<2x3x4xf64>
  %m = arith.mulf %a, %sb : tensor<2x3x4xf64>
  %y = arith.addf %m, %tb : tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}
