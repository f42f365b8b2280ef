// RUN: ff-opt %s --ff-stage-form-units --ff-stage-differentiate --ff-stage-kernels --ff-stage-shard --ff-stage-schedule --ff-stage-plan-memory > %t.planned.mlir
// RUN: FileCheck %s --check-prefix=PLAN < %t.planned.mlir
// RUN: ff-opt %t.planned.mlir --ff-stage-runtime-calls --ff-stage-llvm | FileCheck %s

// A step in bf16, all the way. The attention's gradient has two scratch buffers of f32, 320 bytes each.
// PLAN: ff.launch {{.*}} -> (tensor<2x5x2x4xbf16>, tensor<2x5x2x4xbf16>, tensor<2x5x2x4xbf16>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)

// Code knows bf16 as bits alone; dtypes of calls are numbers.
// CHECK-NOT: bf16{{[ ,>]}}
// CHECK: llvm.call @ff_rt_embedding(
// CHECK: llvm.call @ff_rt_matmul(
// CHECK: llvm.call @ff_rt_embedding_grad(
module attributes {ff.spec = {name = "narrow", precision = {master = "none"}, train = {program = "train"}}} {
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @table : tensor<11x8xbf16> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<8x24xbf16> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @scale : tensor<8xbf16> init <constant, 0.0 : f64, 0.0 : f64>
}
func.func @train(%ids: tensor<2x5xi64> {ff.input = "ids"}) -> (tensor<f32> {ff.output = "loss"}) attributes {ff.program = "train"} {
  %t = ff.param @net::@table : tensor<11x8xbf16>
  %w = ff.param @net::@w : tensor<8x24xbf16>
  %s = ff.param @net::@scale : tensor<8xbf16>
  %e = ff.embedding %t[%ids] : tensor<11x8xbf16>, tensor<2x5xi64> to tensor<2x5x8xbf16>
  %ef = arith.extf %e : tensor<2x5x8xbf16> to tensor<2x5x8xf32>
  %n = ff.layer_norm %ef {eps = 1.0e-6 : f64} : tensor<2x5x8xf32>
  %sf = arith.extf %s : tensor<8xbf16> to tensor<8xf32>
  %sb = ff.broadcast %sf dims [2] : tensor<8xf32> to tensor<2x5x8xf32>
  %m = arith.mulf %n, %sb : tensor<2x5x8xf32>
  %mt = arith.truncf %m : tensor<2x5x8xf32> to tensor<2x5x8xbf16>
  %qkv = ff.matmul %mt, %w : tensor<2x5x8xbf16>, tensor<8x24xbf16> to tensor<2x5x24xbf16>
  %q0 = ff.slice %qkv dim 2 at 0 : tensor<2x5x24xbf16> to tensor<2x5x8xbf16>
  %q = ff.reshape %q0 : tensor<2x5x8xbf16> to tensor<2x5x2x4xbf16>
  %k0 = ff.slice %qkv dim 2 at 8 : tensor<2x5x24xbf16> to tensor<2x5x8xbf16>
  %k = ff.reshape %k0 : tensor<2x5x8xbf16> to tensor<2x5x2x4xbf16>
  %v0 = ff.slice %qkv dim 2 at 16 : tensor<2x5x24xbf16> to tensor<2x5x8xbf16>
  %v = ff.reshape %v0 : tensor<2x5x8xbf16> to tensor<2x5x2x4xbf16>
  %o, %l = ff.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x5x2x4xbf16>, tensor<2x5x2x4xbf16>, tensor<2x5x2x4xbf16>) -> (tensor<2x5x2x4xbf16>, tensor<2x2x5xf32>)
  %of = arith.extf %o : tensor<2x5x2x4xbf16> to tensor<2x5x2x4xf32>
  %sq = arith.mulf %of, %of : tensor<2x5x2x4xf32>
  %loss = ff.reduce <sum> %sq dims [0, 1, 2, 3] : tensor<2x5x2x4xf32> to tensor<f32>
  return %loss : tensor<f32>
}
}
