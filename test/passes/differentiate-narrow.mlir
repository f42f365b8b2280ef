// RUN: ff-opt %s --ff-differentiate=program=train | FileCheck %s

// The gradient of a matmul whose result is wider than its operands is rounded to their type, in which it is multiplied.
// CHECK: %[[G:.*]] = arith.truncf %{{.*}} : tensor<8x4xf32> to tensor<8x4xbf16>
// CHECK: %[[D:.*]] = ff.matmul %{{.*}}, %[[G]] {transpose_lhs} : tensor<8x6xbf16>, tensor<8x4xbf16> to tensor<6x4xf32>
// The gradient of a parameter is reduced in f32: it is not rounded before.
// CHECK: ff.gradient @net::@w, %[[D]] : tensor<6x4xf32>
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<6x4xbf16> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @train(%x: tensor<8x6xbf16> {ff.input = "x"}) -> (tensor<f32> {ff.output = "loss"}) attributes {ff.program = "train"} {
  %w = ff.param @net::@w : tensor<6x4xbf16>
  %y = ff.matmul %x, %w : tensor<8x6xbf16>, tensor<6x4xbf16> to tensor<8x4xf32>
  %l = ff.reduce <sum> %y dims [0, 1] : tensor<8x4xf32> to tensor<f32>
  return %l : tensor<f32>
}
