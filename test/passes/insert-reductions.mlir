// RUN: ff-opt %s --ff-insert-reductions --split-input-file | FileCheck %s

ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @a : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @b : tensor<2x2xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @c : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 48, params = ["a", "b", "c"], offsets = [0, 16, 32]>] {root}

// A reshape of a value of its own lies in place.
// CHECK-LABEL: func.func @own_value
// CHECK-NOT: ff.fused
// CHECK: ff.reduce_gradients @net.root
func.func @own_value(%x: tensor<4xf32>) attributes {ff.program = "train"} {
  %g = arith.negf %x : tensor<4xf32>
  %v = ff.reshape %g : tensor<4xf32> to tensor<2x2xf32>
  ff.gradient @net::@b, %v : tensor<2x2xf32>
  return
}

// One value as the gradient of two parameters, an argument, and a value that something else reads: each is copied.
// CHECK-LABEL: func.func @shared_value
// CHECK: %[[G:.*]] = arith.negf
// CHECK-COUNT-2: ff.fused(%[[G]])
// CHECK: ff.reduce_gradients @net.root(%{{.*}}, %{{.*}}) ["a", "c"]
func.func @shared_value(%x: tensor<4xf32>) attributes {ff.program = "train"} {
  %g = arith.negf %x : tensor<4xf32>
  ff.gradient @net::@a, %g : tensor<4xf32>
  ff.gradient @net::@c, %g : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @argument
// CHECK: %[[C:.*]] = ff.fused
// CHECK: ff.reduce_gradients @net.root(%[[C]])
func.func @argument(%x: tensor<4xf32>) attributes {ff.program = "train"} {
  ff.gradient @net::@a, %x : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @transposed
// CHECK: %[[C:.*]] = ff.fused
// CHECK: ff.reduce_gradients @net.root(%[[C]])
func.func @transposed(%x: tensor<2x2xf32>) attributes {ff.program = "train"} {
  %g = arith.negf %x : tensor<2x2xf32>
  %t = ff.transpose %g [1, 0] : tensor<2x2xf32> to tensor<2x2xf32>
  ff.gradient @net::@b, %t : tensor<2x2xf32>
  return
}
