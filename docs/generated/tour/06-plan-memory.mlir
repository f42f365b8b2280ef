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
  func.func @train(%arg0: tensor<8x1x8x8xf32> {ff.input = "image"}) -> (tensor<f32> {ff.output = "loss"}) attributes {ff.frame_bytes = 7744 : i64, ff.gather_slots = [[@net.root], [@net.blocks.0], [@net.blocks.1]], ff.grad_slots = [[@net.root], [@net.blocks.1], [@net.blocks.0]], ff.program = "train"} {
    %0 = ff.reshape %arg0 : tensor<8x1x8x8xf32> to tensor<8x64xf32>
    %1 = ff.gather_start @net.root {slot = 0 : i32} : !ff.pending
    %2 = ff.gather_wait %1 : !ff.gathered
    %3 = ff.gather_start @net.blocks.0 {slot = 1 : i32} : !ff.pending
    %4 = ff.view %2["enc.weight"] : tensor<16x64xf32>
    %5 = ff.matmul %0, %4 {ff.offsets = array<i64: 4096>, transpose_rhs} : tensor<8x64xf32>, tensor<16x64xf32> to tensor<8x16xf32>
    %6 = ff.gather_wait %3 : !ff.gathered
    %7 = ff.gather_start @net.blocks.1 {slot = 2 : i32} : !ff.pending
    %8 = ff.view %6["blocks.0.norm.weight"] : tensor<16xf32>
    %9 = ff.view %6["blocks.0.fc.weight"] : tensor<16x16xf32>
    %10 = ff.view %6["blocks.0.fc.bias"] : tensor<16xf32>
    %11:3 = call @Block_0_fwd(%5, %8, %9, %10) {ff.frame = 0 : i64, ff.offsets = array<i64: 4608, 5120, 5632>} : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    ff.release %6
    %12 = ff.gather_wait %7 : !ff.gathered
    %13 = ff.gather_start @net.blocks.0 {slot = 1 : i32} : !ff.pending
    %14 = ff.view %12["blocks.1.norm.weight"] : tensor<16xf32>
    %15 = ff.view %12["blocks.1.fc.weight"] : tensor<16x16xf32>
    %16 = ff.view %12["blocks.1.fc.bias"] : tensor<16xf32>
    %17:3 = call @Block_0_fwd(%11#0, %14, %15, %16) {ff.frame = 0 : i64, ff.offsets = array<i64: 6144, 6656, 7168>} : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    %18 = ff.view %2["dec.weight"] : tensor<64x16xf32>
    %19 = ff.matmul %17#0, %18 {ff.offsets = array<i64: 0>, transpose_rhs} : tensor<8x16xf32>, tensor<64x16xf32> to tensor<8x64xf32>
    %20 = ff.loss_seed : tensor<f32>
    %21 = ff.launch @kernel_0(%20) iterations 1 grain 4096 {ff.offsets = array<i64: 7680>} : (tensor<f32>) -> tensor<f32>
    %22:2 = ff.launch @kernel_1(%19, %arg0, %21) iterations 1 grain 3 {ff.offsets = array<i64: -1, 2048>} : (tensor<8x64xf32>, tensor<8x1x8x8xf32>, tensor<f32>) -> (tensor<f32>, tensor<8x64xf32>)
    %23 = ff.view %2["dec.weight"] : tensor<64x16xf32>
    %24 = ff.matmul %22#1, %23 {ff.offsets = array<i64: 1024>} : tensor<8x64xf32>, tensor<64x16xf32> to tensor<8x16xf32>
    ff.release %2
    %25 = ff.matmul %22#1, %17#0 {transpose_lhs} : tensor<8x64xf32>, tensor<8x16xf32> to tensor<64x16xf32>
    %26 = ff.view %12["blocks.1.norm.weight"] : tensor<16xf32>
    %27 = ff.view %12["blocks.1.fc.weight"] : tensor<16x16xf32>
    %28:4 = call @Block_0_bwd(%11#0, %26, %27, %17#1, %17#2, %24) {ff.frame = 0 : i64, ff.offsets = array<i64: 1536, -1, -1, -1>} : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>)
    ff.reduce_gradients @net.blocks.1(%28#1, %28#2, %28#3) ["blocks.1.norm.weight", "blocks.1.fc.weight", "blocks.1.fc.bias"] {slot = 1 : i32} : tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>
    ff.release %12
    %29 = ff.gather_wait %13 : !ff.gathered
    %30 = ff.view %29["blocks.0.norm.weight"] : tensor<16xf32>
    %31 = ff.view %29["blocks.0.fc.weight"] : tensor<16x16xf32>
    %32:4 = call @Block_0_bwd(%5, %30, %31, %11#1, %11#2, %28#0) {ff.frame = 0 : i64, ff.offsets = array<i64: 1024, -1, -1, -1>} : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>)
    ff.reduce_wait @net.blocks.1
    ff.reduce_gradients @net.blocks.0(%32#1, %32#2, %32#3) ["blocks.0.norm.weight", "blocks.0.fc.weight", "blocks.0.fc.bias"] {slot = 2 : i32} : tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>
    ff.release %29
    %33 = ff.matmul %32#0, %0 {transpose_lhs} : tensor<8x16xf32>, tensor<8x64xf32> to tensor<16x64xf32>
    ff.reduce_wait @net.blocks.0
    ff.reduce_gradients @net.root(%33, %25) ["enc.weight", "dec.weight"] {slot = 0 : i32} : tensor<16x64xf32>, tensor<64x16xf32>
    ff.reduce_wait @net.root
    return %22#0 : tensor<f32>
  }
  func.func private @Block_0_bwd(%arg0: tensor<8x16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16x16xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<8x16xf32>, %arg5: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>) attributes {ff.block = "Block", ff.frame_bytes = 1024 : i64, ff.gather_slots = [], ff.grad_slots = []} {
    %0 = ff.launch @kernel_2(%arg4, %arg5) iterations 128 grain 2730 {ff.offsets = array<i64: 0>} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = ff.launch @kernel_3(%0) iterations 1 grain 32 : (tensor<8x16xf32>) -> tensor<16xf32>
    %2 = ff.matmul %0, %arg2 {ff.offsets = array<i64: 512>} : tensor<8x16xf32>, tensor<16x16xf32> to tensor<8x16xf32>
    %3 = ff.matmul %0, %arg3 {transpose_lhs} : tensor<8x16xf32>, tensor<8x16xf32> to tensor<16x16xf32>
    %4:2 = ff.launch @kernel_4(%2, %arg1, %arg0, %arg5) iterations 8 grain 85 {ff.offsets = array<i64: 0, -1>} : (tensor<8x16xf32>, tensor<16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %5 = ff.launch @kernel_5(%2, %4#0) iterations 1 grain 21 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16xf32>
    return %4#1, %5, %3, %1 : tensor<8x16xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>
  }
  func.func private @Block_0_fwd(%arg0: tensor<8x16xf32>, %arg1: tensor<16xf32> {ff.param = "norm.weight"}, %arg2: tensor<16x16xf32> {ff.param = "fc.weight"}, %arg3: tensor<16xf32> {ff.param = "fc.bias"}) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) attributes {ff.block = "Block", ff.frame_bytes = 0 : i64, ff.gather_slots = [], ff.grad_slots = []} {
    %0 = ff.launch @kernel_6(%arg0, %arg1) iterations 8 grain 170 : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
    %1 = ff.matmul %0, %arg2 bias %arg3 : tensor<16xf32> {transpose_rhs} : tensor<8x16xf32>, tensor<16x16xf32> to tensor<8x16xf32>
    %2 = ff.launch @kernel_7(%1, %arg0) iterations 128 grain 2730 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %2, %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
  func.func private @kernel_0(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {ff.kernel} {
    %c0_i64 = arith.constant 0 : i64
    %c8_i64 = arith.constant 8 : i64
    %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
    %4 = arith.subi %arg2, %arg1 : i64
    %5 = arith.remui %4, %c8_i64 : i64
    %6 = arith.subi %arg2, %5 : i64
    scf.for %arg3 = %arg1 to %6 step %c8_i64  : i64 {
      %7 = llvm.getelementptr %1[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %8 = llvm.load %7 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %cst = arith.constant dense<5.120000e+02> : vector<8xf32>
      %9 = arith.divf %8, %cst : vector<8xf32>
      %10 = llvm.getelementptr %3[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %9, %10 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    }
    scf.for %arg3 = %6 to %arg2 step %c8_i64  : i64 {
      %cst = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
      %7 = vector.broadcast %c0_i64 : i64 to vector<8xi64>
      %8 = arith.addi %7, %cst : vector<8xi64>
      %9 = vector.broadcast %5 : i64 to vector<8xi64>
      %10 = arith.cmpi slt, %8, %9 : vector<8xi64>
      %11 = llvm.getelementptr %1[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %cst_0 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %12 = llvm.intr.masked.load %11, %10, %cst_0 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
      %cst_1 = arith.constant dense<5.120000e+02> : vector<8xf32>
      %13 = arith.divf %12, %cst_1 : vector<8xf32>
      %14 = llvm.getelementptr %3[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.intr.masked.store %13, %14, %10 {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
    }
    return
  }
  func.func private @kernel_1(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {ff.kernel} {
    %c24_i64 = arith.constant 24 : i64
    %c16_i64 = arith.constant 16 : i64
    %c8_i64 = arith.constant 8 : i64
    %c32_i64 = arith.constant 32 : i64
    %c512_i64 = arith.constant 512 : i64
    %c0_i64 = arith.constant 0 : i64
    %c1_i64 = arith.constant 1 : i64
    %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
    %4 = llvm.getelementptr %arg0[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %5 = llvm.load %4 : !llvm.ptr -> !llvm.ptr
    %6 = llvm.getelementptr %arg0[3] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %7 = llvm.load %6 : !llvm.ptr -> !llvm.ptr
    %8 = llvm.getelementptr %arg0[4] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %9 = llvm.load %8 : !llvm.ptr -> !llvm.ptr
    scf.for %arg3 = %arg1 to %arg2 step %c1_i64  : i64 {
      %10 = llvm.load %5 {alignment = 4 : i64} : !llvm.ptr -> f32
      %cst = arith.constant dense<0.000000e+00> : vector<8xf32>
      %cst_0 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %cst_1 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %cst_2 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %11:4 = scf.for %arg4 = %c0_i64 to %c512_i64 step %c32_i64 iter_args(%arg5 = %cst, %arg6 = %cst_0, %arg7 = %cst_1, %arg8 = %cst_2) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)  : i64 {
        %17 = llvm.getelementptr %1[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %18 = llvm.load %17 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %19 = llvm.getelementptr %3[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %20 = llvm.load %19 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %21 = arith.subf %18, %20 : vector<8xf32>
        %22 = arith.mulf %21, %21 : vector<8xf32>
        %23 = arith.addf %arg5, %22 : vector<8xf32>
        %24 = vector.broadcast %10 : f32 to vector<8xf32>
        %25 = arith.mulf %24, %21 : vector<8xf32>
        %26 = arith.addf %25, %25 : vector<8xf32>
        %27 = llvm.getelementptr %9[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.store %26, %27 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
        %28 = arith.addi %arg4, %c8_i64 : i64
        %29 = llvm.getelementptr %1[%28] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %30 = llvm.load %29 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %31 = llvm.getelementptr %3[%28] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %32 = llvm.load %31 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %33 = arith.subf %30, %32 : vector<8xf32>
        %34 = arith.mulf %33, %33 : vector<8xf32>
        %35 = arith.addf %arg6, %34 : vector<8xf32>
        %36 = vector.broadcast %10 : f32 to vector<8xf32>
        %37 = arith.mulf %36, %33 : vector<8xf32>
        %38 = arith.addf %37, %37 : vector<8xf32>
        %39 = llvm.getelementptr %9[%28] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.store %38, %39 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
        %40 = arith.addi %arg4, %c16_i64 : i64
        %41 = llvm.getelementptr %1[%40] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %42 = llvm.load %41 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %43 = llvm.getelementptr %3[%40] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %44 = llvm.load %43 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %45 = arith.subf %42, %44 : vector<8xf32>
        %46 = arith.mulf %45, %45 : vector<8xf32>
        %47 = arith.addf %arg7, %46 : vector<8xf32>
        %48 = vector.broadcast %10 : f32 to vector<8xf32>
        %49 = arith.mulf %48, %45 : vector<8xf32>
        %50 = arith.addf %49, %49 : vector<8xf32>
        %51 = llvm.getelementptr %9[%40] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.store %50, %51 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
        %52 = arith.addi %arg4, %c24_i64 : i64
        %53 = llvm.getelementptr %1[%52] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %54 = llvm.load %53 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %55 = llvm.getelementptr %3[%52] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %56 = llvm.load %55 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %57 = arith.subf %54, %56 : vector<8xf32>
        %58 = arith.mulf %57, %57 : vector<8xf32>
        %59 = arith.addf %arg8, %58 : vector<8xf32>
        %60 = vector.broadcast %10 : f32 to vector<8xf32>
        %61 = arith.mulf %60, %57 : vector<8xf32>
        %62 = arith.addf %61, %61 : vector<8xf32>
        %63 = llvm.getelementptr %9[%52] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.store %62, %63 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
        scf.yield %23, %35, %47, %59 : vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
      }
      %12 = arith.addf %11#0, %11#1 : vector<8xf32>
      %13 = arith.addf %12, %11#2 : vector<8xf32>
      %14 = arith.addf %13, %11#3 : vector<8xf32>
      %cst_3 = arith.constant 0.000000e+00 : f32
      %15 = "llvm.intr.vector.reduce.fadd"(%cst_3, %14) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<8xf32>) -> f32
      %cst_4 = arith.constant 5.120000e+02 : f32
      %16 = arith.divf %15, %cst_4 : f32
      llvm.store %16, %7 {alignment = 4 : i64} : f32, !llvm.ptr
    }
    return
  }
  func.func private @kernel_2(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {ff.kernel} {
    %c0_i64 = arith.constant 0 : i64
    %c8_i64 = arith.constant 8 : i64
    %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
    %4 = llvm.getelementptr %arg0[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %5 = llvm.load %4 : !llvm.ptr -> !llvm.ptr
    %6 = arith.subi %arg2, %arg1 : i64
    %7 = arith.remui %6, %c8_i64 : i64
    %8 = arith.subi %arg2, %7 : i64
    scf.for %arg3 = %arg1 to %8 step %c8_i64  : i64 {
      %9 = llvm.getelementptr %3[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %10 = llvm.load %9 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %cst = arith.constant dense<1.000000e+00> : vector<8xf32>
      %11 = llvm.getelementptr %1[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %12 = llvm.load %11 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %13 = arith.negf %12 : vector<8xf32>
      %cst_0 = arith.constant dense<-8.700000e+01> : vector<8xf32>
      %14 = arith.cmpf olt, %13, %cst_0 : vector<8xf32>
      %cst_1 = arith.constant dense<-8.700000e+01> : vector<8xf32>
      %15 = arith.select %14, %cst_1, %13 : vector<8xi1>, vector<8xf32>
      %cst_2 = arith.constant dense<8.880000e+01> : vector<8xf32>
      %16 = arith.cmpf olt, %cst_2, %15 : vector<8xf32>
      %cst_3 = arith.constant dense<8.880000e+01> : vector<8xf32>
      %17 = arith.select %16, %cst_3, %15 : vector<8xi1>, vector<8xf32>
      %cst_4 = arith.constant dense<1.44269502> : vector<8xf32>
      %cst_5 = arith.constant dense<0x4B400000> : vector<8xf32>
      %18 = llvm.intr.fmuladd(%17, %cst_4, %cst_5)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_6 = arith.constant dense<0x4B400000> : vector<8xf32>
      %19 = arith.subf %18, %cst_6 : vector<8xf32>
      %cst_7 = arith.constant dense<-0.693359375> : vector<8xf32>
      %20 = llvm.intr.fmuladd(%19, %cst_7, %17)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_8 = arith.constant dense<2.12194442E-4> : vector<8xf32>
      %21 = llvm.intr.fmuladd(%19, %cst_8, %20)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_9 = arith.constant dense<0.00139504764> : vector<8xf32>
      %cst_10 = arith.constant dense<0.00836888235> : vector<8xf32>
      %22 = llvm.intr.fmuladd(%cst_9, %21, %cst_10)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_11 = arith.constant dense<0.041666206> : vector<8xf32>
      %23 = llvm.intr.fmuladd(%22, %21, %cst_11)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_12 = arith.constant dense<0.166665196> : vector<8xf32>
      %24 = llvm.intr.fmuladd(%23, %21, %cst_12)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_13 = arith.constant dense<5.000000e-01> : vector<8xf32>
      %25 = llvm.intr.fmuladd(%24, %21, %cst_13)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %26 = arith.mulf %21, %21 : vector<8xf32>
      %27 = llvm.intr.fmuladd(%26, %25, %21)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_14 = arith.constant dense<1.000000e+00> : vector<8xf32>
      %28 = arith.addf %27, %cst_14 : vector<8xf32>
      %29 = arith.bitcast %18 : vector<8xf32> to vector<8xi32>
      %cst_15 = arith.constant dense<23> : vector<8xi32>
      %30 = arith.shli %29, %cst_15 : vector<8xi32>
      %cst_16 = arith.constant dense<1056964608> : vector<8xi32>
      %31 = arith.addi %30, %cst_16 : vector<8xi32>
      %32 = arith.bitcast %31 : vector<8xi32> to vector<8xf32>
      %33 = arith.mulf %28, %32 : vector<8xf32>
      %cst_17 = arith.constant dense<2.000000e+00> : vector<8xf32>
      %34 = arith.mulf %33, %cst_17 : vector<8xf32>
      %35 = arith.addf %34, %cst : vector<8xf32>
      %36 = arith.divf %cst, %35 : vector<8xf32>
      %37 = arith.subf %cst, %36 : vector<8xf32>
      %38 = arith.mulf %12, %37 : vector<8xf32>
      %39 = arith.addf %38, %cst : vector<8xf32>
      %40 = arith.mulf %36, %39 : vector<8xf32>
      %41 = arith.mulf %10, %40 : vector<8xf32>
      %42 = llvm.getelementptr %5[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %41, %42 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    }
    scf.for %arg3 = %8 to %arg2 step %c8_i64  : i64 {
      %cst = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
      %9 = vector.broadcast %c0_i64 : i64 to vector<8xi64>
      %10 = arith.addi %9, %cst : vector<8xi64>
      %11 = vector.broadcast %7 : i64 to vector<8xi64>
      %12 = arith.cmpi slt, %10, %11 : vector<8xi64>
      %13 = llvm.getelementptr %3[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %cst_0 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %14 = llvm.intr.masked.load %13, %12, %cst_0 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
      %cst_1 = arith.constant dense<1.000000e+00> : vector<8xf32>
      %15 = llvm.getelementptr %1[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %cst_2 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %16 = llvm.intr.masked.load %15, %12, %cst_2 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
      %17 = arith.negf %16 : vector<8xf32>
      %cst_3 = arith.constant dense<-8.700000e+01> : vector<8xf32>
      %18 = arith.cmpf olt, %17, %cst_3 : vector<8xf32>
      %cst_4 = arith.constant dense<-8.700000e+01> : vector<8xf32>
      %19 = arith.select %18, %cst_4, %17 : vector<8xi1>, vector<8xf32>
      %cst_5 = arith.constant dense<8.880000e+01> : vector<8xf32>
      %20 = arith.cmpf olt, %cst_5, %19 : vector<8xf32>
      %cst_6 = arith.constant dense<8.880000e+01> : vector<8xf32>
      %21 = arith.select %20, %cst_6, %19 : vector<8xi1>, vector<8xf32>
      %cst_7 = arith.constant dense<1.44269502> : vector<8xf32>
      %cst_8 = arith.constant dense<0x4B400000> : vector<8xf32>
      %22 = llvm.intr.fmuladd(%21, %cst_7, %cst_8)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_9 = arith.constant dense<0x4B400000> : vector<8xf32>
      %23 = arith.subf %22, %cst_9 : vector<8xf32>
      %cst_10 = arith.constant dense<-0.693359375> : vector<8xf32>
      %24 = llvm.intr.fmuladd(%23, %cst_10, %21)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_11 = arith.constant dense<2.12194442E-4> : vector<8xf32>
      %25 = llvm.intr.fmuladd(%23, %cst_11, %24)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_12 = arith.constant dense<0.00139504764> : vector<8xf32>
      %cst_13 = arith.constant dense<0.00836888235> : vector<8xf32>
      %26 = llvm.intr.fmuladd(%cst_12, %25, %cst_13)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_14 = arith.constant dense<0.041666206> : vector<8xf32>
      %27 = llvm.intr.fmuladd(%26, %25, %cst_14)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_15 = arith.constant dense<0.166665196> : vector<8xf32>
      %28 = llvm.intr.fmuladd(%27, %25, %cst_15)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_16 = arith.constant dense<5.000000e-01> : vector<8xf32>
      %29 = llvm.intr.fmuladd(%28, %25, %cst_16)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %30 = arith.mulf %25, %25 : vector<8xf32>
      %31 = llvm.intr.fmuladd(%30, %29, %25)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_17 = arith.constant dense<1.000000e+00> : vector<8xf32>
      %32 = arith.addf %31, %cst_17 : vector<8xf32>
      %33 = arith.bitcast %22 : vector<8xf32> to vector<8xi32>
      %cst_18 = arith.constant dense<23> : vector<8xi32>
      %34 = arith.shli %33, %cst_18 : vector<8xi32>
      %cst_19 = arith.constant dense<1056964608> : vector<8xi32>
      %35 = arith.addi %34, %cst_19 : vector<8xi32>
      %36 = arith.bitcast %35 : vector<8xi32> to vector<8xf32>
      %37 = arith.mulf %32, %36 : vector<8xf32>
      %cst_20 = arith.constant dense<2.000000e+00> : vector<8xf32>
      %38 = arith.mulf %37, %cst_20 : vector<8xf32>
      %39 = arith.addf %38, %cst_1 : vector<8xf32>
      %40 = arith.divf %cst_1, %39 : vector<8xf32>
      %41 = arith.subf %cst_1, %40 : vector<8xf32>
      %42 = arith.mulf %16, %41 : vector<8xf32>
      %43 = arith.addf %42, %cst_1 : vector<8xf32>
      %44 = arith.mulf %40, %43 : vector<8xf32>
      %45 = arith.mulf %14, %44 : vector<8xf32>
      %46 = llvm.getelementptr %5[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.intr.masked.store %45, %46, %12 {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
    }
    return
  }
  func.func private @kernel_3(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {ff.kernel} {
    %c0_i64 = arith.constant 0 : i64
    %c8_i64 = arith.constant 8 : i64
    %c16_i64 = arith.constant 16 : i64
    %c1_i64 = arith.constant 1 : i64
    %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
    scf.for %arg3 = %arg1 to %arg2 step %c1_i64  : i64 {
      %4 = arith.muli %arg3, %c16_i64 : i64
      %cst = arith.constant dense<0.000000e+00> : vector<8xf32>
      %5 = arith.addi %4, %c8_i64 : i64
      %cst_0 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %6:2 = scf.for %arg4 = %c0_i64 to %c8_i64 step %c1_i64 iter_args(%arg5 = %cst, %arg6 = %cst_0) -> (vector<8xf32>, vector<8xf32>)  : i64 {
        %9 = arith.muli %arg4, %c16_i64 : i64
        %10 = arith.addi %9, %4 : i64
        %11 = llvm.getelementptr %1[%10] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %12 = llvm.load %11 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %13 = arith.addf %arg5, %12 : vector<8xf32>
        %14 = arith.muli %arg4, %c16_i64 : i64
        %15 = arith.addi %14, %5 : i64
        %16 = llvm.getelementptr %1[%15] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %17 = llvm.load %16 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %18 = arith.addf %arg6, %17 : vector<8xf32>
        scf.yield %13, %18 : vector<8xf32>, vector<8xf32>
      }
      %7 = llvm.getelementptr %3[%4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %6#0, %7 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      %8 = llvm.getelementptr %3[%5] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %6#1, %8 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    }
    return
  }
  func.func private @kernel_4(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {ff.kernel} {
    %c8_i64 = arith.constant 8 : i64
    %c0_i64 = arith.constant 0 : i64
    %c16_i64 = arith.constant 16 : i64
    %c1_i64 = arith.constant 1 : i64
    %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
    %4 = llvm.getelementptr %arg0[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %5 = llvm.load %4 : !llvm.ptr -> !llvm.ptr
    %6 = llvm.getelementptr %arg0[3] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %7 = llvm.load %6 : !llvm.ptr -> !llvm.ptr
    %8 = llvm.getelementptr %arg0[4] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %9 = llvm.load %8 : !llvm.ptr -> !llvm.ptr
    %10 = llvm.getelementptr %arg0[5] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %11 = llvm.load %10 : !llvm.ptr -> !llvm.ptr
    scf.for %arg3 = %arg1 to %arg2 step %c1_i64  : i64 {
      %12 = arith.muli %arg3, %c16_i64 : i64
      %13 = llvm.getelementptr %1[%12] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %14 = arith.muli %arg3, %c16_i64 : i64
      %15 = llvm.getelementptr %5[%14] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %16 = arith.muli %arg3, %c16_i64 : i64
      %17 = llvm.getelementptr %7[%16] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %18 = arith.muli %arg3, %c16_i64 : i64
      %19 = llvm.getelementptr %9[%18] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %20 = arith.muli %arg3, %c16_i64 : i64
      %21 = llvm.getelementptr %11[%20] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %cst = arith.constant dense<0.000000e+00> : vector<8xf32>
      %cst_0 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %cst_1 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %cst_2 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %22 = llvm.getelementptr %15[%c0_i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %23 = llvm.load %22 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %24 = arith.addf %cst, %23 : vector<8xf32>
      %25 = llvm.getelementptr %13[%c0_i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %26 = llvm.load %25 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %27 = llvm.getelementptr %3[%c0_i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %28 = llvm.load %27 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %29 = arith.mulf %26, %28 : vector<8xf32>
      %30 = arith.addf %cst_0, %29 : vector<8xf32>
      %31 = arith.addi %c0_i64, %c8_i64 : i64
      %32 = llvm.getelementptr %15[%31] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %33 = llvm.load %32 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %34 = arith.addf %cst_1, %33 : vector<8xf32>
      %35 = llvm.getelementptr %13[%31] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %36 = llvm.load %35 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %37 = llvm.getelementptr %3[%31] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %38 = llvm.load %37 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %39 = arith.mulf %36, %38 : vector<8xf32>
      %40 = arith.addf %cst_2, %39 : vector<8xf32>
      %41 = arith.addf %24, %34 : vector<8xf32>
      %cst_3 = arith.constant 0.000000e+00 : f32
      %42 = "llvm.intr.vector.reduce.fadd"(%cst_3, %41) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<8xf32>) -> f32
      %43 = arith.addf %30, %40 : vector<8xf32>
      %cst_4 = arith.constant 0.000000e+00 : f32
      %44 = "llvm.intr.vector.reduce.fadd"(%cst_4, %43) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<8xf32>) -> f32
      %cst_5 = arith.constant 6.250000e-02 : f32
      %45 = arith.mulf %42, %cst_5 : f32
      %cst_6 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %cst_7 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %46 = llvm.getelementptr %15[%c0_i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %47 = llvm.load %46 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %48 = vector.broadcast %45 : f32 to vector<8xf32>
      %49 = arith.subf %47, %48 : vector<8xf32>
      %50 = arith.mulf %49, %49 : vector<8xf32>
      %51 = arith.addf %cst_6, %50 : vector<8xf32>
      %52 = arith.addi %c0_i64, %c8_i64 : i64
      %53 = llvm.getelementptr %15[%52] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %54 = llvm.load %53 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %55 = vector.broadcast %45 : f32 to vector<8xf32>
      %56 = arith.subf %54, %55 : vector<8xf32>
      %57 = arith.mulf %56, %56 : vector<8xf32>
      %58 = arith.addf %cst_7, %57 : vector<8xf32>
      %59 = arith.addf %51, %58 : vector<8xf32>
      %cst_8 = arith.constant 0.000000e+00 : f32
      %60 = "llvm.intr.vector.reduce.fadd"(%cst_8, %59) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<8xf32>) -> f32
      %61 = arith.mulf %60, %cst_5 : f32
      %cst_9 = arith.constant 9.99999974E-6 : f32
      %62 = arith.addf %61, %cst_9 : f32
      %63 = math.rsqrt %62 : f32
      %cst_10 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %cst_11 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %64 = llvm.getelementptr %13[%c0_i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %65 = llvm.load %64 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %66 = llvm.getelementptr %3[%c0_i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %67 = llvm.load %66 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %68 = arith.mulf %65, %67 : vector<8xf32>
      %69 = llvm.getelementptr %15[%c0_i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %70 = llvm.load %69 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %71 = vector.broadcast %45 : f32 to vector<8xf32>
      %72 = arith.subf %70, %71 : vector<8xf32>
      %73 = vector.broadcast %63 : f32 to vector<8xf32>
      %74 = arith.mulf %72, %73 : vector<8xf32>
      %75 = arith.mulf %68, %74 : vector<8xf32>
      %76 = arith.addf %cst_10, %75 : vector<8xf32>
      %77 = llvm.getelementptr %19[%c0_i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %74, %77 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      %78 = arith.addi %c0_i64, %c8_i64 : i64
      %79 = llvm.getelementptr %13[%78] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %80 = llvm.load %79 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %81 = llvm.getelementptr %3[%78] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %82 = llvm.load %81 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %83 = arith.mulf %80, %82 : vector<8xf32>
      %84 = llvm.getelementptr %15[%78] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %85 = llvm.load %84 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %86 = vector.broadcast %45 : f32 to vector<8xf32>
      %87 = arith.subf %85, %86 : vector<8xf32>
      %88 = vector.broadcast %63 : f32 to vector<8xf32>
      %89 = arith.mulf %87, %88 : vector<8xf32>
      %90 = arith.mulf %83, %89 : vector<8xf32>
      %91 = arith.addf %cst_11, %90 : vector<8xf32>
      %92 = llvm.getelementptr %19[%78] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %89, %92 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      %93 = arith.addf %76, %91 : vector<8xf32>
      %cst_12 = arith.constant 0.000000e+00 : f32
      %94 = "llvm.intr.vector.reduce.fadd"(%cst_12, %93) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<8xf32>) -> f32
      %95 = arith.mulf %94, %cst_5 : f32
      %96 = arith.mulf %44, %cst_5 : f32
      scf.for %arg4 = %c0_i64 to %c16_i64 step %c8_i64  : i64 {
        %97 = llvm.getelementptr %17[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %98 = llvm.load %97 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %99 = llvm.getelementptr %13[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %100 = llvm.load %99 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %101 = llvm.getelementptr %3[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %102 = llvm.load %101 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %103 = arith.mulf %100, %102 : vector<8xf32>
        %104 = llvm.getelementptr %19[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %105 = llvm.load %104 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %106 = vector.broadcast %95 : f32 to vector<8xf32>
        %107 = arith.mulf %105, %106 : vector<8xf32>
        %108 = arith.subf %103, %107 : vector<8xf32>
        %109 = vector.broadcast %96 : f32 to vector<8xf32>
        %110 = arith.subf %108, %109 : vector<8xf32>
        %111 = vector.broadcast %63 : f32 to vector<8xf32>
        %112 = arith.mulf %110, %111 : vector<8xf32>
        %113 = arith.addf %98, %112 : vector<8xf32>
        %114 = llvm.getelementptr %21[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.store %113, %114 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      }
    }
    return
  }
  func.func private @kernel_5(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {ff.kernel} {
    %c0_i64 = arith.constant 0 : i64
    %c8_i64 = arith.constant 8 : i64
    %c16_i64 = arith.constant 16 : i64
    %c1_i64 = arith.constant 1 : i64
    %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
    %4 = llvm.getelementptr %arg0[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %5 = llvm.load %4 : !llvm.ptr -> !llvm.ptr
    scf.for %arg3 = %arg1 to %arg2 step %c1_i64  : i64 {
      %6 = arith.muli %arg3, %c16_i64 : i64
      %cst = arith.constant dense<0.000000e+00> : vector<8xf32>
      %7 = arith.addi %6, %c8_i64 : i64
      %cst_0 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %8:2 = scf.for %arg4 = %c0_i64 to %c8_i64 step %c1_i64 iter_args(%arg5 = %cst, %arg6 = %cst_0) -> (vector<8xf32>, vector<8xf32>)  : i64 {
        %11 = arith.muli %arg4, %c16_i64 : i64
        %12 = arith.addi %11, %6 : i64
        %13 = llvm.getelementptr %1[%12] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %14 = llvm.load %13 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %15 = arith.muli %arg4, %c16_i64 : i64
        %16 = arith.addi %15, %6 : i64
        %17 = llvm.getelementptr %3[%16] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %18 = llvm.load %17 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %19 = arith.mulf %14, %18 : vector<8xf32>
        %20 = arith.addf %arg5, %19 : vector<8xf32>
        %21 = arith.muli %arg4, %c16_i64 : i64
        %22 = arith.addi %21, %7 : i64
        %23 = llvm.getelementptr %1[%22] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %24 = llvm.load %23 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %25 = arith.muli %arg4, %c16_i64 : i64
        %26 = arith.addi %25, %7 : i64
        %27 = llvm.getelementptr %3[%26] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %28 = llvm.load %27 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %29 = arith.mulf %24, %28 : vector<8xf32>
        %30 = arith.addf %arg6, %29 : vector<8xf32>
        scf.yield %20, %30 : vector<8xf32>, vector<8xf32>
      }
      %9 = llvm.getelementptr %5[%6] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %8#0, %9 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      %10 = llvm.getelementptr %5[%7] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %8#1, %10 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    }
    return
  }
  func.func private @kernel_6(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {ff.kernel} {
    %c8_i64 = arith.constant 8 : i64
    %c0_i64 = arith.constant 0 : i64
    %c16_i64 = arith.constant 16 : i64
    %c1_i64 = arith.constant 1 : i64
    %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
    %4 = llvm.getelementptr %arg0[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %5 = llvm.load %4 : !llvm.ptr -> !llvm.ptr
    scf.for %arg3 = %arg1 to %arg2 step %c1_i64  : i64 {
      %6 = arith.muli %arg3, %c16_i64 : i64
      %7 = llvm.getelementptr %1[%6] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %8 = arith.muli %arg3, %c16_i64 : i64
      %9 = llvm.getelementptr %5[%8] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %cst = arith.constant dense<0.000000e+00> : vector<8xf32>
      %cst_0 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %10 = llvm.getelementptr %7[%c0_i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %11 = llvm.load %10 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %12 = arith.addf %cst, %11 : vector<8xf32>
      %13 = arith.addi %c0_i64, %c8_i64 : i64
      %14 = llvm.getelementptr %7[%13] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %15 = llvm.load %14 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %16 = arith.addf %cst_0, %15 : vector<8xf32>
      %17 = arith.addf %12, %16 : vector<8xf32>
      %cst_1 = arith.constant 0.000000e+00 : f32
      %18 = "llvm.intr.vector.reduce.fadd"(%cst_1, %17) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<8xf32>) -> f32
      %cst_2 = arith.constant 6.250000e-02 : f32
      %19 = arith.mulf %18, %cst_2 : f32
      %cst_3 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %cst_4 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %20 = llvm.getelementptr %7[%c0_i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %21 = llvm.load %20 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %22 = vector.broadcast %19 : f32 to vector<8xf32>
      %23 = arith.subf %21, %22 : vector<8xf32>
      %24 = arith.mulf %23, %23 : vector<8xf32>
      %25 = arith.addf %cst_3, %24 : vector<8xf32>
      %26 = arith.addi %c0_i64, %c8_i64 : i64
      %27 = llvm.getelementptr %7[%26] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %28 = llvm.load %27 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %29 = vector.broadcast %19 : f32 to vector<8xf32>
      %30 = arith.subf %28, %29 : vector<8xf32>
      %31 = arith.mulf %30, %30 : vector<8xf32>
      %32 = arith.addf %cst_4, %31 : vector<8xf32>
      %33 = arith.addf %25, %32 : vector<8xf32>
      %cst_5 = arith.constant 0.000000e+00 : f32
      %34 = "llvm.intr.vector.reduce.fadd"(%cst_5, %33) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<8xf32>) -> f32
      %35 = arith.mulf %34, %cst_2 : f32
      %cst_6 = arith.constant 9.99999974E-6 : f32
      %36 = arith.addf %35, %cst_6 : f32
      %37 = math.rsqrt %36 : f32
      scf.for %arg4 = %c0_i64 to %c16_i64 step %c8_i64  : i64 {
        %38 = llvm.getelementptr %7[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %39 = llvm.load %38 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %40 = vector.broadcast %19 : f32 to vector<8xf32>
        %41 = arith.subf %39, %40 : vector<8xf32>
        %42 = vector.broadcast %37 : f32 to vector<8xf32>
        %43 = arith.mulf %41, %42 : vector<8xf32>
        %44 = llvm.getelementptr %3[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %45 = llvm.load %44 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
        %46 = arith.mulf %43, %45 : vector<8xf32>
        %47 = llvm.getelementptr %9[%arg4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.store %46, %47 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
      }
    }
    return
  }
  func.func private @kernel_7(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) attributes {ff.kernel} {
    %c0_i64 = arith.constant 0 : i64
    %c8_i64 = arith.constant 8 : i64
    %0 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %2 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
    %4 = llvm.getelementptr %arg0[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %5 = llvm.load %4 : !llvm.ptr -> !llvm.ptr
    %6 = arith.subi %arg2, %arg1 : i64
    %7 = arith.remui %6, %c8_i64 : i64
    %8 = arith.subi %arg2, %7 : i64
    scf.for %arg3 = %arg1 to %8 step %c8_i64  : i64 {
      %9 = llvm.getelementptr %3[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %10 = llvm.load %9 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %11 = llvm.getelementptr %1[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %12 = llvm.load %11 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
      %cst = arith.constant dense<1.000000e+00> : vector<8xf32>
      %13 = arith.negf %12 : vector<8xf32>
      %cst_0 = arith.constant dense<-8.700000e+01> : vector<8xf32>
      %14 = arith.cmpf olt, %13, %cst_0 : vector<8xf32>
      %cst_1 = arith.constant dense<-8.700000e+01> : vector<8xf32>
      %15 = arith.select %14, %cst_1, %13 : vector<8xi1>, vector<8xf32>
      %cst_2 = arith.constant dense<8.880000e+01> : vector<8xf32>
      %16 = arith.cmpf olt, %cst_2, %15 : vector<8xf32>
      %cst_3 = arith.constant dense<8.880000e+01> : vector<8xf32>
      %17 = arith.select %16, %cst_3, %15 : vector<8xi1>, vector<8xf32>
      %cst_4 = arith.constant dense<1.44269502> : vector<8xf32>
      %cst_5 = arith.constant dense<0x4B400000> : vector<8xf32>
      %18 = llvm.intr.fmuladd(%17, %cst_4, %cst_5)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_6 = arith.constant dense<0x4B400000> : vector<8xf32>
      %19 = arith.subf %18, %cst_6 : vector<8xf32>
      %cst_7 = arith.constant dense<-0.693359375> : vector<8xf32>
      %20 = llvm.intr.fmuladd(%19, %cst_7, %17)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_8 = arith.constant dense<2.12194442E-4> : vector<8xf32>
      %21 = llvm.intr.fmuladd(%19, %cst_8, %20)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_9 = arith.constant dense<0.00139504764> : vector<8xf32>
      %cst_10 = arith.constant dense<0.00836888235> : vector<8xf32>
      %22 = llvm.intr.fmuladd(%cst_9, %21, %cst_10)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_11 = arith.constant dense<0.041666206> : vector<8xf32>
      %23 = llvm.intr.fmuladd(%22, %21, %cst_11)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_12 = arith.constant dense<0.166665196> : vector<8xf32>
      %24 = llvm.intr.fmuladd(%23, %21, %cst_12)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_13 = arith.constant dense<5.000000e-01> : vector<8xf32>
      %25 = llvm.intr.fmuladd(%24, %21, %cst_13)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %26 = arith.mulf %21, %21 : vector<8xf32>
      %27 = llvm.intr.fmuladd(%26, %25, %21)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_14 = arith.constant dense<1.000000e+00> : vector<8xf32>
      %28 = arith.addf %27, %cst_14 : vector<8xf32>
      %29 = arith.bitcast %18 : vector<8xf32> to vector<8xi32>
      %cst_15 = arith.constant dense<23> : vector<8xi32>
      %30 = arith.shli %29, %cst_15 : vector<8xi32>
      %cst_16 = arith.constant dense<1056964608> : vector<8xi32>
      %31 = arith.addi %30, %cst_16 : vector<8xi32>
      %32 = arith.bitcast %31 : vector<8xi32> to vector<8xf32>
      %33 = arith.mulf %28, %32 : vector<8xf32>
      %cst_17 = arith.constant dense<2.000000e+00> : vector<8xf32>
      %34 = arith.mulf %33, %cst_17 : vector<8xf32>
      %35 = arith.addf %34, %cst : vector<8xf32>
      %36 = arith.divf %cst, %35 : vector<8xf32>
      %37 = arith.mulf %12, %36 : vector<8xf32>
      %38 = arith.addf %10, %37 : vector<8xf32>
      %39 = llvm.getelementptr %5[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %38, %39 {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    }
    scf.for %arg3 = %8 to %arg2 step %c8_i64  : i64 {
      %cst = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi64>
      %9 = vector.broadcast %c0_i64 : i64 to vector<8xi64>
      %10 = arith.addi %9, %cst : vector<8xi64>
      %11 = vector.broadcast %7 : i64 to vector<8xi64>
      %12 = arith.cmpi slt, %10, %11 : vector<8xi64>
      %13 = llvm.getelementptr %3[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %cst_0 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %14 = llvm.intr.masked.load %13, %12, %cst_0 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
      %15 = llvm.getelementptr %1[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %cst_1 = arith.constant dense<0.000000e+00> : vector<8xf32>
      %16 = llvm.intr.masked.load %15, %12, %cst_1 {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
      %cst_2 = arith.constant dense<1.000000e+00> : vector<8xf32>
      %17 = arith.negf %16 : vector<8xf32>
      %cst_3 = arith.constant dense<-8.700000e+01> : vector<8xf32>
      %18 = arith.cmpf olt, %17, %cst_3 : vector<8xf32>
      %cst_4 = arith.constant dense<-8.700000e+01> : vector<8xf32>
      %19 = arith.select %18, %cst_4, %17 : vector<8xi1>, vector<8xf32>
      %cst_5 = arith.constant dense<8.880000e+01> : vector<8xf32>
      %20 = arith.cmpf olt, %cst_5, %19 : vector<8xf32>
      %cst_6 = arith.constant dense<8.880000e+01> : vector<8xf32>
      %21 = arith.select %20, %cst_6, %19 : vector<8xi1>, vector<8xf32>
      %cst_7 = arith.constant dense<1.44269502> : vector<8xf32>
      %cst_8 = arith.constant dense<0x4B400000> : vector<8xf32>
      %22 = llvm.intr.fmuladd(%21, %cst_7, %cst_8)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_9 = arith.constant dense<0x4B400000> : vector<8xf32>
      %23 = arith.subf %22, %cst_9 : vector<8xf32>
      %cst_10 = arith.constant dense<-0.693359375> : vector<8xf32>
      %24 = llvm.intr.fmuladd(%23, %cst_10, %21)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_11 = arith.constant dense<2.12194442E-4> : vector<8xf32>
      %25 = llvm.intr.fmuladd(%23, %cst_11, %24)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_12 = arith.constant dense<0.00139504764> : vector<8xf32>
      %cst_13 = arith.constant dense<0.00836888235> : vector<8xf32>
      %26 = llvm.intr.fmuladd(%cst_12, %25, %cst_13)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_14 = arith.constant dense<0.041666206> : vector<8xf32>
      %27 = llvm.intr.fmuladd(%26, %25, %cst_14)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_15 = arith.constant dense<0.166665196> : vector<8xf32>
      %28 = llvm.intr.fmuladd(%27, %25, %cst_15)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_16 = arith.constant dense<5.000000e-01> : vector<8xf32>
      %29 = llvm.intr.fmuladd(%28, %25, %cst_16)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %30 = arith.mulf %25, %25 : vector<8xf32>
      %31 = llvm.intr.fmuladd(%30, %29, %25)  : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %cst_17 = arith.constant dense<1.000000e+00> : vector<8xf32>
      %32 = arith.addf %31, %cst_17 : vector<8xf32>
      %33 = arith.bitcast %22 : vector<8xf32> to vector<8xi32>
      %cst_18 = arith.constant dense<23> : vector<8xi32>
      %34 = arith.shli %33, %cst_18 : vector<8xi32>
      %cst_19 = arith.constant dense<1056964608> : vector<8xi32>
      %35 = arith.addi %34, %cst_19 : vector<8xi32>
      %36 = arith.bitcast %35 : vector<8xi32> to vector<8xf32>
      %37 = arith.mulf %32, %36 : vector<8xf32>
      %cst_20 = arith.constant dense<2.000000e+00> : vector<8xf32>
      %38 = arith.mulf %37, %cst_20 : vector<8xf32>
      %39 = arith.addf %38, %cst_2 : vector<8xf32>
      %40 = arith.divf %cst_2, %39 : vector<8xf32>
      %41 = arith.mulf %16, %40 : vector<8xf32>
      %42 = arith.addf %14, %41 : vector<8xf32>
      %43 = llvm.getelementptr %5[%arg3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.intr.masked.store %42, %43, %12 {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
    }
    return
  }
}
