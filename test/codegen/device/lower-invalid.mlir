// RUN: ff-opt %s --ff-lower-kernels-to-gpu --split-input-file --verify-diagnostics

func.func @wide(%a: tensor<8xf64>) -> tensor<8xf64> {
  %0 = ff.fused (%a) domain [8] reduced 0 : (tensor<8xf64>) -> tensor<8xf64> {
  ^bb0(%x: tensor<8xf64>):
    // expected-error @+1 {{has no device code for 'f64'}}
    %e = math.exp %x : tensor<8xf64>
    ff.yield %e : tensor<8xf64>
  }
  return %0 : tensor<8xf64>
}
