// RUN: ff-kernel-test %s
// RUN: ff-kernel-test --vector-bytes=32 %s

func.func @add_1d(%a: tensor<1000xf32>, %b: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = arith.addf %a, %b : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

func.func @scalar(%a: tensor<f32>) -> tensor<f32> {
  %0 = math.exp %a : tensor<f32>
  return %0 : tensor<f32>
}

func.func @size_one_dims(%a: tensor<1x3x1x5xf32>) -> tensor<1x3x1x5xf32> {
  %0 = arith.mulf %a, %a : tensor<1x3x1x5xf32>
  return %0 : tensor<1x3x1x5xf32>
}

func.func @rank_5(%a: tensor<2x3x1x5x7xf32>, %b: tensor<3x7xf32>) -> tensor<2x3x1x5x7xf32> {
  %0 = ff.broadcast %b dims [1, 4] : tensor<3x7xf32> to tensor<2x3x1x5x7xf32>
  %1 = arith.subf %a, %0 : tensor<2x3x1x5x7xf32>
  return %1 : tensor<2x3x1x5x7xf32>
}

func.func @bias(%a: tensor<8x17xf32>, %b: tensor<17xf32>) -> tensor<8x17xf32> {
  %0 = ff.broadcast %b dims [1] : tensor<17xf32> to tensor<8x17xf32>
  %1 = arith.addf %a, %0 : tensor<8x17xf32>
  return %1 : tensor<8x17xf32>
}

func.func @transposed(%a: tensor<20x33xf32>, %b: tensor<33x20xf32>) -> tensor<33x20xf32> {
  %0 = ff.transpose %a [1, 0] : tensor<20x33xf32> to tensor<33x20xf32>
  %1 = arith.addf %0, %b : tensor<33x20xf32>
  return %1 : tensor<33x20xf32>
}

func.func @short_last_dim(%a: tensor<6x5x2xf32>, %b: tensor<5x2x6xf32>) -> tensor<6x5x2xf32> {
  %0 = ff.transpose %b [2, 0, 1] : tensor<5x2x6xf32> to tensor<6x5x2xf32>
  %1 = arith.addf %a, %0 : tensor<6x5x2xf32>
  return %1 : tensor<6x5x2xf32>
}

func.func @patchify(%a: tensor<4x3x8x8xf32>) -> tensor<4x16x12xf32> {
  %0 = ff.reshape %a : tensor<4x3x8x8xf32> to tensor<4x3x4x2x4x2xf32>
  %1 = ff.transpose %0 [0, 2, 4, 1, 3, 5] : tensor<4x3x4x2x4x2xf32> to tensor<4x4x4x3x2x2xf32>
  %2 = ff.reshape %1 : tensor<4x4x4x3x2x2xf32> to tensor<4x16x12xf32>
  return %2 : tensor<4x16x12xf32>
}

func.func @slices(%a: tensor<6x40xf32>) -> tensor<6x8xf32> {
  %0 = ff.slice %a dim 1 at 3 : tensor<6x40xf32> to tensor<6x8xf32>
  %1 = ff.slice %a dim 1 at 21 : tensor<6x40xf32> to tensor<6x8xf32>
  %2 = arith.mulf %0, %1 : tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}

func.func @strided_last_dim(%a: tensor<9x20x2xf32>) -> tensor<9x20xf32> {
  %0 = ff.slice %a dim 2 at 1 : tensor<9x20x2xf32> to tensor<9x20x1xf32>
  %1 = ff.reshape %0 : tensor<9x20x1xf32> to tensor<9x20xf32>
  %2 = arith.negf %1 : tensor<9x20xf32>
  return %2 : tensor<9x20xf32>
}

func.func @iota(%a: tensor<5x37xf32>) -> (tensor<5x37xf32>, tensor<5x37xf32>) {
  %0 = ff.iota dim 0 : tensor<5x37xf32>
  %1 = ff.iota dim 1 : tensor<5x37xf32>
  %2 = arith.mulf %0, %a : tensor<5x37xf32>
  %3 = arith.addf %2, %1 : tensor<5x37xf32>
  return %3, %1 : tensor<5x37xf32>, tensor<5x37xf32>
}

func.func @broadcast_scalar(%a: tensor<f32>, %b: tensor<50xf32>) -> tensor<50xf32> {
  %0 = ff.broadcast %a dims [] : tensor<f32> to tensor<50xf32>
  %1 = arith.divf %b, %0 : tensor<50xf32>
  return %1 : tensor<50xf32>
}

func.func @constants() -> (tensor<7x3xf32>, tensor<4xi64>) {
  %0 = arith.constant dense<1.5> : tensor<7x3xf32>
  %1 = arith.constant dense<3> : tensor<4xi64>
  return %0, %1 : tensor<7x3xf32>, tensor<4xi64>
}

func.func @integers(%a: tensor<33xi64>, %b: tensor<33xi64>) -> (tensor<33xf32>, tensor<33xi64>) {
  %0 = arith.addi %a, %b : tensor<33xi64>
  %1 = arith.sitofp %0 : tensor<33xi64> to tensor<33xf32>
  return %1, %0 : tensor<33xf32>, tensor<33xi64>
}

func.func @truth(%a: tensor<33xf32>, %b: tensor<33xf32>) -> (tensor<33xf32>, tensor<33xi1>) {
  %0 = arith.cmpf ogt, %a, %b : tensor<33xf32>
  %1 = arith.select %0, %a, %b : tensor<33xi1>, tensor<33xf32>
  return %1, %0 : tensor<33xf32>, tensor<33xi1>
}

func.func @truth_argument(%c: tensor<9x5xi1>, %a: tensor<9x5xf32>, %b: tensor<5xf32>) -> tensor<9x5xf32> {
  %0 = ff.broadcast %b dims [1] : tensor<5xf32> to tensor<9x5xf32>
  %1 = arith.select %c, %a, %0 : tensor<9x5xi1>, tensor<9x5xf32>
  return %1 : tensor<9x5xf32>
}

func.func @f64(%a: tensor<3x19xf64>, %b: tensor<19xf64>) -> tensor<3x19xf64> {
  %0 = ff.broadcast %b dims [1] : tensor<19xf64> to tensor<3x19xf64>
  %1 = arith.addf %a, %0 : tensor<3x19xf64>
  %2 = math.exp %1 : tensor<3x19xf64>
  %3 = math.tanh %2 : tensor<3x19xf64>
  return %3 : tensor<3x19xf64>
}

func.func @concat_last(%a: tensor<4x3xf32>, %b: tensor<4x20xf32>) -> tensor<4x28xf32> {
  %z = arith.constant dense<0.0> : tensor<4x5xf32>
  %0 = ff.concat %a, %z, %b dim 1 : tensor<4x3xf32>, tensor<4x5xf32>, tensor<4x20xf32> to tensor<4x28xf32>
  return %0 : tensor<4x28xf32>
}

func.func @concat_middle(%a: tensor<4x3x6xf32>, %b: tensor<6x2x4xf32>) -> tensor<4x5x6xf32> {
  %t = ff.transpose %b [2, 1, 0] : tensor<6x2x4xf32> to tensor<4x2x6xf32>
  %0 = ff.concat %a, %t dim 1 : tensor<4x3x6xf32>, tensor<4x2x6xf32> to tensor<4x5x6xf32>
  return %0 : tensor<4x5x6xf32>
}

func.func @concat_first(%a: tensor<2x7xf32>, %b: tensor<3x7xf32>) -> tensor<5x7xf32> {
  %0 = ff.concat %a, %b dim 0 : tensor<2x7xf32>, tensor<3x7xf32> to tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

func.func @padded_sums(%a: tensor<4x3xf32>, %b: tensor<4x4xf32>) -> tensor<4x7xf32> {
  %za = arith.constant dense<0.0> : tensor<4x4xf32>
  %zb = arith.constant dense<0.0> : tensor<4x3xf32>
  %0 = ff.concat %a, %za dim 1 : tensor<4x3xf32>, tensor<4x4xf32> to tensor<4x7xf32>
  %1 = ff.concat %zb, %b dim 1 : tensor<4x3xf32>, tensor<4x4xf32> to tensor<4x7xf32>
  %2 = arith.addf %0, %1 : tensor<4x7xf32>
  return %2 : tensor<4x7xf32>
}

func.func @argument_returned(%a: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  return %a, %a : tensor<5xf32>, tensor<5xf32>
}

func.func @reshape_needs_copy(%a: tensor<4x6xf32>) -> tensor<24xf32> {
  %0 = ff.transpose %a [1, 0] : tensor<4x6xf32> to tensor<6x4xf32>
  %1 = ff.reshape %0 : tensor<6x4xf32> to tensor<24xf32>
  %2 = arith.addf %1, %1 : tensor<24xf32>
  return %2 : tensor<24xf32>
}
