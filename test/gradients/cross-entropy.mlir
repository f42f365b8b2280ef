// What the builtin cross_entropy becomes, with ids that are classes and ids that are ignored (here -1).
// RUN: ff-grad-check %s | FileCheck %s
// CHECK-NOT: error
// CHECK: functions agree

func.func @cross_entropy_4x5(%x: tensor<4x5xf64> {test.range = [-3.0, 3.0]}, %ids: tensor<4xi64> {test.range = [-1.0, 5.0]}) -> (tensor<4xf64>) {
  %max = ff.reduce <max> %x dims [1] : tensor<4x5xf64> to tensor<4xf64>
  %constant = ff.stop_gradient %max : tensor<4xf64>
  %shift = ff.broadcast %constant dims [0] : tensor<4xf64> to tensor<4x5xf64>
  %below = arith.subf %x, %shift : tensor<4x5xf64>
  %exp = math.exp %below : tensor<4x5xf64>
  %total = ff.reduce <sum> %exp dims [1] : tensor<4x5xf64> to tensor<4xf64>
  %classes = ff.iota dim 0 : tensor<5xi64>
  %i = ff.broadcast %classes dims [1] : tensor<5xi64> to tensor<4x5xi64>
  %id = ff.broadcast %ids dims [0] : tensor<4xi64> to tensor<4x5xi64>
  %is = arith.cmpi eq, %id, %i : tensor<4x5xi64>
  %zero = arith.constant dense<0.0> : tensor<4x5xf64>
  %picked = arith.select %is, %below, %zero : tensor<4x5xi1>, tensor<4x5xf64>
  %target = ff.reduce <sum> %picked dims [1] : tensor<4x5xf64> to tensor<4xf64>
  %log = math.log %total : tensor<4xf64>
  %loss = arith.subf %log, %target : tensor<4xf64>
  %no = arith.constant dense<-1> : tensor<4xi64>
  %none = arith.constant dense<0.0> : tensor<4xf64>
  %one = arith.constant dense<1.0> : tensor<4xf64>
  %ignored = arith.cmpi eq, %ids, %no : tensor<4xi64>
  %factor = arith.select %ignored, %none, %one : tensor<4xi1>, tensor<4xf64>
  %result = arith.mulf %loss, %factor : tensor<4xf64>
  return %result : tensor<4xf64>
}
