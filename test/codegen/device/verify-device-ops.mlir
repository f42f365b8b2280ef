// RUN: ff-opt %s --split-input-file --verify-diagnostics --ff-verify-device-ops

func.func @narrower(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = ff.fused (%x) domain [8] reduced 0 : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = math.exp %a : tensor<8xf32>
    ff.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @f64(%x: tensor<8xf64>) -> tensor<8xf64> {
  %0 = ff.fused (%x) domain [8] reduced 0 : (tensor<8xf64>) -> tensor<8xf64> {
  ^bb0(%a: tensor<8xf64>):
    %1 = math.sqrt %a : tensor<8xf64>
    // expected-error @+2 {{'log' of 'tensor<8xf64>' has no code for a GPU}}
    // expected-note @+1 {{fix: set compute_dtype = "fp32" in [precision], or compile with --target=cpu}}
    %2 = math.log %1 : tensor<8xf64>
    ff.yield %2 : tensor<8xf64>
  }
  return %0 : tensor<8xf64>
}
