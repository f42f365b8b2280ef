func.func @double(%x: tensor<8xf32>) -> tensor<8xf32> attributes {test.range = [1.0, 2.0]} {
  %y = arith.addf %x, %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
