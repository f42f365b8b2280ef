// RUN: ff-opt %s --ff-insert-gathers --ff-verify-collectives --ff-schedule-collectives --ff-plan-memory --ff-verify-memory | FileCheck %s

// The forward of a component gathers its units itself; the program that calls it has their slots.
ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<16xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @net.root of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>] {root}
func.func private @kernel(!llvm.ptr, i64, i64)

// CHECK-LABEL: func.func private @net_forward
// CHECK-SAME: ff.gather_slots = {{\[\[}}@net.root]]
// CHECK: ff.gather_start @net.root {slot = 0 : i32}
// CHECK: ff.launch
// CHECK-NEXT: ff.release
func.func private @net_forward(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.forward = "Net"} {
  %w = ff.param @net::@w : tensor<16xf32>
  %y = ff.launch @kernel(%x, %w) iterations 1 grain 1 : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// CHECK-LABEL: func.func @sample
// CHECK-SAME: ff.gather_slots = {{\[\[}}@net.root]]
// CHECK-COUNT-2: call @net_forward
func.func @sample(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "sample"} {
  %a = func.call @net_forward(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %b = func.call @net_forward(%a) : (tensor<16xf32>) -> tensor<16xf32>
  return %b : tensor<16xf32>
}
