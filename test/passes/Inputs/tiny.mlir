module attributes {ff.spec = {name = "tiny", train = {program = "train"}}} {
  ff.component @net attributes {module = "Net", train = #ff.train<full>} {
    ff.parameter @"in.weight" : tensor<8x4xf32> init <normal, 0.0 : f64, 0.02 : f64>
    ff.parameter @"blocks.0.w" : tensor<8x8xf32> init <normal, 0.0 : f64, 0.02 : f64> in "blocks.0"
    ff.parameter @"blocks.0.b" : tensor<8xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.0"
    ff.parameter @"blocks.1.w" : tensor<8x8xf32> init <normal, 0.0 : f64, 0.02 : f64> in "blocks.1"
    ff.parameter @"blocks.1.b" : tensor<8xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.1"
  }
  func.func private @Block_0(%x: tensor<2x8xf32>, %w: tensor<8x8xf32> {ff.param = "w"}, %b: tensor<8xf32> {ff.param = "b"}) -> tensor<2x8xf32> attributes {ff.block = "Block"} {
    %n = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<2x8xf32>
    %m = ff.matmul %n, %w {transpose_rhs} : tensor<2x8xf32>, tensor<8x8xf32> to tensor<2x8xf32>
    %bb = ff.broadcast %b dims [1] : tensor<8xf32> to tensor<2x8xf32>
    %a = arith.addf %m, %bb : tensor<2x8xf32>
    %g = ff.activation <gelu_tanh> %a : tensor<2x8xf32>
    %y = arith.addf %x, %g : tensor<2x8xf32>
    return %y : tensor<2x8xf32>
  }
  func.func @train(%x: tensor<2x4xf32> {ff.input = "x"}) -> (tensor<f32> {ff.output = "loss"}) attributes {ff.program = "train"} {
    %w = ff.param @net::@"in.weight" : tensor<8x4xf32>
    %h = ff.matmul %x, %w {transpose_rhs} : tensor<2x4xf32>, tensor<8x4xf32> to tensor<2x8xf32>
    %w0 = ff.param @net::@"blocks.0.w" : tensor<8x8xf32>
    %b0 = ff.param @net::@"blocks.0.b" : tensor<8xf32>
    %h0 = func.call @Block_0(%h, %w0, %b0) : (tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    %w1 = ff.param @net::@"blocks.1.w" : tensor<8x8xf32>
    %b1 = ff.param @net::@"blocks.1.b" : tensor<8xf32>
    %h1 = func.call @Block_0(%h0, %w1, %b1) : (tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    %q = arith.mulf %h1, %h1 : tensor<2x8xf32>
    %l = ff.reduce <sum> %q dims [0, 1] : tensor<2x8xf32> to tensor<f32>
    return %l : tensor<f32>
  }
}
