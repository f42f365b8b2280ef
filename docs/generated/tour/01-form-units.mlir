module attributes {ff.spec = {checkpoint = {at_end = true, dir = "docs/tour/out", keep = 2 : i64}, data = {fields = {image = "image"}, shuffle = true, sources = [{kind = "shards", paths = ["examples/digits/digits.safetensors"], weight = 1.000000e+00 : f64}]}, log = {every = 10 : i64}, mesh = {replicate = 1 : i64, shard = 0 : i64}, name = "tour", optimizer = {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, eps = 1.000000e-08 : f64, kind = "adamw", lr = 1.000000e-03 : f64, weight_decay = 1.000000e-02 : f64}, precision = {compute_dtype = "fp32", keep = {}, master = "auto", reduce_dtype = "fp32", tf32 = false, trainable_parameters_dtype = "fp32"}, schedule = {final_lr = 0.000000e+00 : f64, kind = "constant", total_steps = 10 : i64, warmup_steps = 0 : i64}, seed = 0 : i64, sharding = {max_buffer = 4294967296 : i64, mixed_dtype = "split", reshard_after_forward = true, strategy = "shard", units = "blocks"}, spec = "docs/tour/pipeline.toml", train = {global_batch = 8 : i64, micro_batch = 8 : i64, on_nonfinite = "stop", program = "train", steps = 10 : i64}}} {
  ff.component @net attributes {config = {depth = 2 : i64, dim = 16 : i64, pixels = 64 : i64}, module = "Net", save = {files = ["diffusion_pytorch_model.safetensors"], kind = "full"}, train = #ff.train<full>} {
    ff.parameter @enc.weight : tensor<16x64xf32> init <uniform, -0.27386127875258304 : f64, 0.27386127875258304 : f64> {save = #ff.save<0, "enc.weight">}
    ff.parameter @dec.weight : tensor<64x16xf32> init <uniform, -0.27386127875258304 : f64, 0.27386127875258304 : f64> {save = #ff.save<0, "dec.weight">}
    ff.parameter @blocks.0.norm.weight : tensor<16xf32> init <constant, 1.000000e+00 : f64, 0.000000e+00 : f64> in "blocks.0" {decay = false, save = #ff.save<0, "blocks.0.norm.weight">}
    ff.parameter @blocks.0.fc.weight : tensor<16x16xf32> init <uniform, -0.4330127018922193 : f64, 0.4330127018922193 : f64> in "blocks.0" {save = #ff.save<0, "blocks.0.fc.weight">}
    ff.parameter @blocks.0.fc.bias : tensor<16xf32> init <constant, 0.000000e+00 : f64, 0.000000e+00 : f64> in "blocks.0" {decay = false, save = #ff.save<0, "blocks.0.fc.bias">}
    ff.parameter @blocks.1.norm.weight : tensor<16xf32> init <constant, 1.000000e+00 : f64, 0.000000e+00 : f64> in "blocks.1" {decay = false, save = #ff.save<0, "blocks.1.norm.weight">}
    ff.parameter @blocks.1.fc.weight : tensor<16x16xf32> init <uniform, -0.4330127018922193 : f64, 0.4330127018922193 : f64> in "blocks.1" {save = #ff.save<0, "blocks.1.fc.weight">}
    ff.parameter @blocks.1.fc.bias : tensor<16xf32> init <constant, 0.000000e+00 : f64, 0.000000e+00 : f64> in "blocks.1" {decay = false, save = #ff.save<0, "blocks.1.fc.bias">}
  }
  ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 2048, params = ["enc.weight", "dec.weight"], offsets = [0, 1024]>] {root}
  ff.unit @net.blocks.0 of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 288, params = ["blocks.0.norm.weight", "blocks.0.fc.weight", "blocks.0.fc.bias"], offsets = [0, 16, 272]>]
  ff.unit @net.blocks.1 of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 288, params = ["blocks.1.norm.weight", "blocks.1.fc.weight", "blocks.1.fc.bias"], offsets = [0, 16, 272]>]
  func.func @train(%arg0: tensor<8x1x8x8xf32> {ff.input = "image"}) -> (tensor<f32> {ff.output = "loss"}) attributes {ff.program = "train"} {
    %0 = ff.reshape %arg0 : tensor<8x1x8x8xf32> to tensor<8x64xf32>
    %1 = ff.param @net::@enc.weight : tensor<16x64xf32>
    %2 = ff.matmul %0, %1 {transpose_rhs} : tensor<8x64xf32>, tensor<16x64xf32> to tensor<8x16xf32>
    %3 = ff.param @net::@blocks.0.norm.weight : tensor<16xf32>
    %4 = ff.param @net::@blocks.0.fc.weight : tensor<16x16xf32>
    %5 = ff.param @net::@blocks.0.fc.bias : tensor<16xf32>
    %6 = call @Block_0(%2, %3, %4, %5) : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
    %7 = ff.param @net::@blocks.1.norm.weight : tensor<16xf32>
    %8 = ff.param @net::@blocks.1.fc.weight : tensor<16x16xf32>
    %9 = ff.param @net::@blocks.1.fc.bias : tensor<16xf32>
    %10 = call @Block_0(%6, %7, %8, %9) : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
    %11 = ff.param @net::@dec.weight : tensor<64x16xf32>
    %12 = ff.matmul %10, %11 {transpose_rhs} : tensor<8x16xf32>, tensor<64x16xf32> to tensor<8x64xf32>
    %13 = arith.subf %12, %0 : tensor<8x64xf32>
    %14 = arith.mulf %13, %13 : tensor<8x64xf32>
    %15 = ff.reduce <sum> %14 dims [0, 1] : tensor<8x64xf32> to tensor<f32>
    %cst = arith.constant dense<5.120000e+02> : tensor<f32>
    %16 = arith.divf %15, %cst : tensor<f32>
    return %16 : tensor<f32>
  }
  func.func private @Block_0(%arg0: tensor<8x16xf32>, %arg1: tensor<16xf32> {ff.param = "norm.weight"}, %arg2: tensor<16x16xf32> {ff.param = "fc.weight"}, %arg3: tensor<16xf32> {ff.param = "fc.bias"}) -> tensor<8x16xf32> attributes {ff.block = "Block"} {
    %0 = ff.layer_norm %arg0 {eps = 1.000000e-05 : f64} : tensor<8x16xf32>
    %1 = ff.broadcast %arg1 dims [1] : tensor<16xf32> to tensor<8x16xf32>
    %2 = arith.mulf %0, %1 : tensor<8x16xf32>
    %3 = ff.matmul %2, %arg2 {transpose_rhs} : tensor<8x16xf32>, tensor<16x16xf32> to tensor<8x16xf32>
    %4 = ff.broadcast %arg3 dims [1] : tensor<16xf32> to tensor<8x16xf32>
    %5 = arith.addf %3, %4 : tensor<8x16xf32>
    %6 = ff.activation <silu> %5 : tensor<8x16xf32>
    %7 = arith.addf %arg0, %6 : tensor<8x16xf32>
    return %7 : tensor<8x16xf32>
  }
}
