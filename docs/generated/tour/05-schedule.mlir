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
    %1 = ff.gather_start @net.root : !ff.pending
    %2 = ff.gather_wait %1 : !ff.gathered
    %3 = ff.gather_start @net.blocks.0 : !ff.pending
    %4 = ff.view %2["enc.weight"] : tensor<16x64xf32>
    %5 = ff.matmul %0, %4 {transpose_rhs} : tensor<8x64xf32>, tensor<16x64xf32> to tensor<8x16xf32>
    %6 = ff.gather_wait %3 : !ff.gathered
    %7 = ff.gather_start @net.blocks.1 : !ff.pending
    %8 = ff.view %6["blocks.0.norm.weight"] : tensor<16xf32>
    %9 = ff.view %6["blocks.0.fc.weight"] : tensor<16x16xf32>
    %10 = ff.view %6["blocks.0.fc.bias"] : tensor<16xf32>
    %11:3 = call @Block_0_fwd(%5, %8, %9, %10) : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    ff.release %6
    %12 = ff.gather_wait %7 : !ff.gathered
    %13 = ff.gather_start @net.blocks.0 : !ff.pending
    %14 = ff.view %12["blocks.1.norm.weight"] : tensor<16xf32>
    %15 = ff.view %12["blocks.1.fc.weight"] : tensor<16x16xf32>
    %16 = ff.view %12["blocks.1.fc.bias"] : tensor<16xf32>
    %17:3 = call @Block_0_fwd(%11#0, %14, %15, %16) : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    %18 = ff.view %2["dec.weight"] : tensor<64x16xf32>
    %19 = ff.matmul %17#0, %18 {transpose_rhs} : tensor<8x16xf32>, tensor<64x16xf32> to tensor<8x64xf32>
    %20 = ff.loss_seed : tensor<f32>
    %21 = ff.fused(%20) domain [] reduced 0 : (tensor<f32>) -> tensor<f32> {
    ^bb0(%arg1: tensor<f32>):
      %cst = arith.constant dense<5.120000e+02> : tensor<f32>
      %35 = arith.divf %arg1, %cst : tensor<f32>
      ff.yield %35 : tensor<f32>
    }
    %22 = ff.broadcast %21 dims [] : tensor<f32> to tensor<8x64xf32>
    %23:2 = ff.fused(%19, %0, %22) domain [8, 64] reduced 2 : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> (tensor<f32>, tensor<8x64xf32>) {
    ^bb0(%arg1: tensor<8x64xf32>, %arg2: tensor<8x64xf32>, %arg3: tensor<8x64xf32>):
      %35 = arith.subf %arg1, %arg2 : tensor<8x64xf32>
      %36 = arith.mulf %35, %35 : tensor<8x64xf32>
      %37 = ff.reduce <sum> %36 dims [0, 1] : tensor<8x64xf32> to tensor<f32>
      %cst = arith.constant dense<5.120000e+02> : tensor<f32>
      %38 = arith.divf %37, %cst : tensor<f32>
      %39 = arith.mulf %arg3, %35 : tensor<8x64xf32>
      %40 = arith.addf %39, %39 : tensor<8x64xf32>
      ff.yield %38, %40 : tensor<f32>, tensor<8x64xf32>
    }
    %24 = ff.view %2["dec.weight"] : tensor<64x16xf32>
    %25 = ff.matmul %23#1, %24 : tensor<8x64xf32>, tensor<64x16xf32> to tensor<8x16xf32>
    ff.release %2
    %26 = ff.matmul %23#1, %17#0 {transpose_lhs} : tensor<8x64xf32>, tensor<8x16xf32> to tensor<64x16xf32>
    %27 = ff.view %12["blocks.1.norm.weight"] : tensor<16xf32>
    %28 = ff.view %12["blocks.1.fc.weight"] : tensor<16x16xf32>
    %29:4 = call @Block_0_bwd(%11#0, %27, %28, %17#1, %17#2, %25) : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>)
    ff.reduce_gradients @net.blocks.1(%29#1, %29#2, %29#3) ["blocks.1.norm.weight", "blocks.1.fc.weight", "blocks.1.fc.bias"] : tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>
    ff.release %12
    %30 = ff.gather_wait %13 : !ff.gathered
    %31 = ff.view %30["blocks.0.norm.weight"] : tensor<16xf32>
    %32 = ff.view %30["blocks.0.fc.weight"] : tensor<16x16xf32>
    %33:4 = call @Block_0_bwd(%5, %31, %32, %11#1, %11#2, %29#0) : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>)
    ff.reduce_wait @net.blocks.1
    ff.reduce_gradients @net.blocks.0(%33#1, %33#2, %33#3) ["blocks.0.norm.weight", "blocks.0.fc.weight", "blocks.0.fc.bias"] : tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>
    ff.release %30
    %34 = ff.matmul %33#0, %0 {transpose_lhs} : tensor<8x16xf32>, tensor<8x64xf32> to tensor<16x64xf32>
    ff.reduce_wait @net.blocks.0
    ff.reduce_gradients @net.root(%34, %26) ["enc.weight", "dec.weight"] : tensor<16x64xf32>, tensor<64x16xf32>
    ff.reduce_wait @net.root
    return %23#0 : tensor<f32>
  }
  func.func private @Block_0_bwd(%arg0: tensor<8x16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16x16xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<8x16xf32>, %arg5: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>) attributes {ff.block = "Block"} {
    %0 = ff.fused(%arg4, %arg5) domain [8, 16] reduced 0 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> {
    ^bb0(%arg6: tensor<8x16xf32>, %arg7: tensor<8x16xf32>):
      %7 = arith.negf %arg6 : tensor<8x16xf32>
      %8 = math.exp %7 : tensor<8x16xf32>
      %cst = arith.constant dense<1.000000e+00> : tensor<8x16xf32>
      %9 = arith.addf %8, %cst : tensor<8x16xf32>
      %10 = arith.divf %cst, %9 : tensor<8x16xf32>
      %11 = arith.subf %cst, %10 : tensor<8x16xf32>
      %12 = arith.mulf %arg6, %11 : tensor<8x16xf32>
      %13 = arith.addf %12, %cst : tensor<8x16xf32>
      %14 = arith.mulf %10, %13 : tensor<8x16xf32>
      %15 = arith.mulf %arg7, %14 : tensor<8x16xf32>
      ff.yield %15 : tensor<8x16xf32>
    }
    %1 = ff.fused(%0) domain [8, 16] reduced 0 columns [0] : (tensor<8x16xf32>) -> tensor<16xf32> {
    ^bb0(%arg6: tensor<8x16xf32>):
      %7 = ff.reduce <sum> %arg6 dims [0] : tensor<8x16xf32> to tensor<16xf32>
      ff.yield %7 : tensor<16xf32>
    }
    %2 = ff.matmul %0, %arg2 : tensor<8x16xf32>, tensor<16x16xf32> to tensor<8x16xf32>
    %3 = ff.matmul %0, %arg3 {transpose_lhs} : tensor<8x16xf32>, tensor<8x16xf32> to tensor<16x16xf32>
    %4 = ff.broadcast %arg1 dims [1] : tensor<16xf32> to tensor<8x16xf32>
    %5:2 = ff.fused(%2, %4, %arg0, %arg5) domain [8, 16] reduced 1 : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
    ^bb0(%arg6: tensor<8x16xf32>, %arg7: tensor<8x16xf32>, %arg8: tensor<8x16xf32>, %arg9: tensor<8x16xf32>):
      %7 = arith.mulf %arg6, %arg7 : tensor<8x16xf32>
      %8 = ff.reduce <sum> %arg8 dims [1] : tensor<8x16xf32> to tensor<8xf32>
      %cst = arith.constant dense<6.250000e-02> : tensor<8xf32>
      %9 = arith.mulf %8, %cst : tensor<8xf32>
      %10 = ff.broadcast %9 dims [0] : tensor<8xf32> to tensor<8x16xf32>
      %11 = arith.subf %arg8, %10 : tensor<8x16xf32>
      %12 = arith.mulf %11, %11 : tensor<8x16xf32>
      %13 = ff.reduce <sum> %12 dims [1] : tensor<8x16xf32> to tensor<8xf32>
      %14 = arith.mulf %13, %cst : tensor<8xf32>
      %cst_0 = arith.constant dense<9.99999974E-6> : tensor<8xf32>
      %15 = arith.addf %14, %cst_0 : tensor<8xf32>
      %16 = math.rsqrt %15 : tensor<8xf32>
      %17 = ff.broadcast %16 dims [0] : tensor<8xf32> to tensor<8x16xf32>
      %18 = arith.mulf %11, %17 : tensor<8x16xf32>
      %19 = arith.mulf %7, %18 : tensor<8x16xf32>
      %20 = ff.reduce <sum> %19 dims [1] : tensor<8x16xf32> to tensor<8xf32>
      %21 = arith.mulf %20, %cst : tensor<8xf32>
      %22 = ff.broadcast %21 dims [0] : tensor<8xf32> to tensor<8x16xf32>
      %23 = arith.mulf %18, %22 : tensor<8x16xf32>
      %24 = arith.subf %7, %23 : tensor<8x16xf32>
      %25 = ff.reduce <sum> %7 dims [1] : tensor<8x16xf32> to tensor<8xf32>
      %26 = arith.mulf %25, %cst : tensor<8xf32>
      %27 = ff.broadcast %26 dims [0] : tensor<8xf32> to tensor<8x16xf32>
      %28 = arith.subf %24, %27 : tensor<8x16xf32>
      %29 = arith.mulf %28, %17 : tensor<8x16xf32>
      %30 = arith.addf %arg9, %29 : tensor<8x16xf32>
      ff.yield %18, %30 : tensor<8x16xf32>, tensor<8x16xf32>
    }
    %6 = ff.fused(%2, %5#0) domain [8, 16] reduced 0 columns [0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16xf32> {
    ^bb0(%arg6: tensor<8x16xf32>, %arg7: tensor<8x16xf32>):
      %7 = arith.mulf %arg6, %arg7 : tensor<8x16xf32>
      %8 = ff.reduce <sum> %7 dims [0] : tensor<8x16xf32> to tensor<16xf32>
      ff.yield %8 : tensor<16xf32>
    }
    return %5#1, %6, %3, %1 : tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>
  }
  func.func private @Block_0_fwd(%arg0: tensor<8x16xf32>, %arg1: tensor<16xf32> {ff.param = "norm.weight"}, %arg2: tensor<16x16xf32> {ff.param = "fc.weight"}, %arg3: tensor<16xf32> {ff.param = "fc.bias"}) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) attributes {ff.block = "Block"} {
    %0 = ff.broadcast %arg1 dims [1] : tensor<16xf32> to tensor<8x16xf32>
    %1 = ff.fused(%arg0, %0) domain [8, 16] reduced 1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> {
    ^bb0(%arg4: tensor<8x16xf32>, %arg5: tensor<8x16xf32>):
      %4 = ff.reduce <sum> %arg4 dims [1] : tensor<8x16xf32> to tensor<8xf32>
      %cst = arith.constant dense<6.250000e-02> : tensor<8xf32>
      %5 = arith.mulf %4, %cst : tensor<8xf32>
      %6 = ff.broadcast %5 dims [0] : tensor<8xf32> to tensor<8x16xf32>
      %7 = arith.subf %arg4, %6 : tensor<8x16xf32>
      %8 = arith.mulf %7, %7 : tensor<8x16xf32>
      %9 = ff.reduce <sum> %8 dims [1] : tensor<8x16xf32> to tensor<8xf32>
      %10 = arith.mulf %9, %cst : tensor<8xf32>
      %cst_0 = arith.constant dense<9.99999974E-6> : tensor<8xf32>
      %11 = arith.addf %10, %cst_0 : tensor<8xf32>
      %12 = math.rsqrt %11 : tensor<8xf32>
      %13 = ff.broadcast %12 dims [0] : tensor<8xf32> to tensor<8x16xf32>
      %14 = arith.mulf %7, %13 : tensor<8x16xf32>
      %15 = arith.mulf %14, %arg5 : tensor<8x16xf32>
      ff.yield %15 : tensor<8x16xf32>
    }
    %2 = ff.matmul %1, %arg2 bias %arg3 : tensor<16xf32> {transpose_rhs} : tensor<8x16xf32>, tensor<16x16xf32> to tensor<8x16xf32>
    %3 = ff.fused(%2, %arg0) domain [8, 16] reduced 0 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> {
    ^bb0(%arg4: tensor<8x16xf32>, %arg5: tensor<8x16xf32>):
      %4 = arith.negf %arg4 : tensor<8x16xf32>
      %5 = math.exp %4 : tensor<8x16xf32>
      %cst = arith.constant dense<1.000000e+00> : tensor<8x16xf32>
      %6 = arith.addf %5, %cst : tensor<8x16xf32>
      %7 = arith.divf %cst, %6 : tensor<8x16xf32>
      %8 = arith.mulf %arg4, %7 : tensor<8x16xf32>
      %9 = arith.addf %arg5, %8 : tensor<8x16xf32>
      ff.yield %9 : tensor<8x16xf32>
    }
    return %3, %1, %2 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
}
