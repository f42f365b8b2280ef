// RUN: ff-opt %s --ff-form-kernels --ff-verify-kernels | FileCheck %s

// A parameter is memory that the function does not own: a result that is one is copied.
ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<16xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
// CHECK-LABEL: func.func @returns_parameter
// CHECK: %[[W:.*]] = ff.param @net::@w
// CHECK: %[[COPY:.*]] = ff.fused(%[[W]])
// CHECK: return %[[COPY]]
func.func @returns_parameter() -> tensor<16xf32> attributes {ff.program = "p"} {
  %w = ff.param @net::@w : tensor<16xf32>
  return %w : tensor<16xf32>
}
