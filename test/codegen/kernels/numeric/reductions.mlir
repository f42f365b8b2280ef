// RUN: ff-kernel-test %s
// RUN: ff-kernel-test --vector-bytes=32 %s

func.func @rows(%a: tensor<8x130xf32>) -> tensor<8xf32> {
  %0 = ff.reduce <sum> %a dims [1] : tensor<8x130xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @rows_max_short(%a: tensor<8x10xf32>) -> tensor<8xf32> {
  %0 = ff.reduce <max> %a dims [1] : tensor<8x10xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @rows_of_two_dims(%a: tensor<4x3x5xf32>, %b: tensor<5x3xf32>) -> tensor<4xf32> {
  %t = ff.transpose %b [1, 0] : tensor<5x3xf32> to tensor<3x5xf32>
  %s = ff.broadcast %t dims [1, 2] : tensor<3x5xf32> to tensor<4x3x5xf32>
  %m = arith.mulf %a, %s : tensor<4x3x5xf32>
  %0 = ff.reduce <sum> %m dims [1, 2] : tensor<4x3x5xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @all_dims(%a: tensor<128x1x8x8xf32>) -> tensor<f32> {
  %m = arith.mulf %a, %a : tensor<128x1x8x8xf32>
  %0 = ff.reduce <sum> %m dims [0, 1, 2, 3] : tensor<128x1x8x8xf32> to tensor<f32>
  %c = arith.constant dense<1.220703125e-4> : tensor<f32>
  %1 = arith.mulf %0, %c : tensor<f32>
  return %1 : tensor<f32>
}
func.func @all_dims_large(%a: tensor<3x70000xf32>) -> tensor<f32> attributes {test.tolerance = 1.0e-4 : f64} {
  %0 = ff.reduce <sum> %a dims [0, 1] : tensor<3x70000xf32> to tensor<f32>
  return %0 : tensor<f32>
}
func.func @columns(%a: tensor<50x70xf32>) -> tensor<70xf32> {
  %0 = ff.reduce <sum> %a dims [0] : tensor<50x70xf32> to tensor<70xf32>
  return %0 : tensor<70xf32>
}
func.func @columns_max(%a: tensor<50x128xf32>) -> tensor<128xf32> {
  %0 = ff.reduce <max> %a dims [0] : tensor<50x128xf32> to tensor<128xf32>
  return %0 : tensor<128xf32>
}
func.func @columns_middle(%a: tensor<6x16x128xf32>, %b: tensor<6x16x128xf32>) -> (tensor<6x128xf32>, tensor<6x128xf32>) {
  %m = arith.mulf %a, %b : tensor<6x16x128xf32>
  %0 = ff.reduce <sum> %m dims [1] : tensor<6x16x128xf32> to tensor<6x128xf32>
  %1 = ff.reduce <sum> %a dims [1] : tensor<6x16x128xf32> to tensor<6x128xf32>
  return %0, %1 : tensor<6x128xf32>, tensor<6x128xf32>
}
func.func @columns_chunked(%a: tensor<128x16x128xf32>) -> tensor<128xf32> attributes {test.tolerance = 1.0e-4 : f64} {
  %0 = ff.reduce <sum> %a dims [0, 1] : tensor<128x16x128xf32> to tensor<128xf32>
  return %0 : tensor<128xf32>
}
func.func @columns_narrow(%a: tensor<2000x4xf32>) -> tensor<4xf32> attributes {test.tolerance = 1.0e-4 : f64} {
  %0 = ff.reduce <sum> %a dims [0] : tensor<2000x4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @columns_one(%a: tensor<200x1xf32>) -> tensor<1xf32> {
  %0 = ff.reduce <sum> %a dims [0] : tensor<200x1xf32> to tensor<1xf32>
  return %0 : tensor<1xf32>
}
func.func @mixed(%a: tensor<6x5x9xf32>) -> tensor<5xf32> {
  %0 = ff.reduce <sum> %a dims [0, 2] : tensor<6x5x9xf32> to tensor<5xf32>
  return %0 : tensor<5xf32>
}
func.func @around_size_one(%a: tensor<6x1x9xf32>) -> tensor<1xf32> {
  %0 = ff.reduce <sum> %a dims [0, 2] : tensor<6x1x9xf32> to tensor<1xf32>
  return %0 : tensor<1xf32>
}
func.func @size_one(%a: tensor<6x1x9xf32>) -> tensor<6x9xf32> {
  %0 = ff.reduce <max> %a dims [1] : tensor<6x1x9xf32> to tensor<6x9xf32>
  return %0 : tensor<6x9xf32>
}
func.func @layer_norm(%a: tensor<4x3x128xf32>) -> tensor<4x3x128xf32> {
  %0 = ff.layer_norm %a {eps = 1.0e-6 : f64} : tensor<4x3x128xf32>
  return %0 : tensor<4x3x128xf32>
}
func.func @layer_norm_odd(%a: tensor<5x37xf32>) -> tensor<5x37xf32> {
  %0 = ff.layer_norm %a {eps = 1.0e-6 : f64} : tensor<5x37xf32>
  return %0 : tensor<5x37xf32>
}
func.func @layer_norm_backward(%a: tensor<5x96xf32>, %g: tensor<5x96xf32>) -> tensor<5x96xf32> {
  %0 = ff.layer_norm_backward %a, %g {eps = 1.0e-6 : f64} : tensor<5x96xf32>
  return %0 : tensor<5x96xf32>
}
func.func @rms_norm(%a: tensor<5x4x6xf32>) -> tensor<5x4x6xf32> {
  %0 = ff.rms_norm %a {eps = 1.0e-6 : f64} : tensor<5x4x6xf32>
  return %0 : tensor<5x4x6xf32>
}
func.func @rms_norm_backward(%a: tensor<5x33xf32>, %g: tensor<5x33xf32>) -> tensor<5x33xf32> {
  %0 = ff.rms_norm_backward %a, %g {eps = 1.0e-6 : f64} : tensor<5x33xf32>
  return %0 : tensor<5x33xf32>
}
func.func @softmax(%a: tensor<7x100xf32>) -> tensor<7x100xf32> attributes {test.range = [-30.0, 30.0]} {
  %0 = ff.softmax %a : tensor<7x100xf32>
  return %0 : tensor<7x100xf32>
}
func.func @softmax_10(%a: tensor<7x10xf32>) -> tensor<7x10xf32> {
  %0 = ff.softmax %a : tensor<7x10xf32>
  return %0 : tensor<7x10xf32>
}
func.func @softmax_long(%a: tensor<3x9000xf32>) -> tensor<3x9000xf32> {
  %0 = ff.softmax %a : tensor<3x9000xf32>
  return %0 : tensor<3x9000xf32>
}
func.func @softmax_f64(%a: tensor<7x10xf64>) -> tensor<7x10xf64> {
  %0 = ff.softmax %a : tensor<7x10xf64>
  return %0 : tensor<7x10xf64>
}
func.func @softmax_backward(%y: tensor<7x20xf32>, %g: tensor<7x20xf32>) -> tensor<7x20xf32> {
  %0 = ff.softmax_backward %y, %g : tensor<7x20xf32>
  return %0 : tensor<7x20xf32>
}
func.func @matmul_f64(%a: tensor<2x3x5xf64>, %b: tensor<4x5xf64>, %c: tensor<2x7x3xf64>, %d: tensor<2x3x5xf64>, %bias: tensor<4xf64>) -> (tensor<2x3x4xf64>, tensor<2x7x5xf64>, tensor<2x5x4xf64>) {
  %bb = ff.broadcast %bias dims [2] : tensor<4xf64> to tensor<2x3x4xf64>
  %0 = ff.matmul %a, %b {transpose_rhs} : tensor<2x3x5xf64>, tensor<4x5xf64> to tensor<2x3x4xf64>
  %1 = arith.addf %0, %bb : tensor<2x3x4xf64>
  %2 = ff.matmul %c, %d : tensor<2x7x3xf64>, tensor<2x3x5xf64> to tensor<2x7x5xf64>
  %3 = ff.matmul %a, %1 {transpose_lhs} : tensor<2x3x5xf64>, tensor<2x3x4xf64> to tensor<2x5x4xf64>
  %4 = ff.activation <gelu> %1 : tensor<2x3x4xf64>
  return %4, %2, %3 : tensor<2x3x4xf64>, tensor<2x7x5xf64>, tensor<2x5x4xf64>
}
