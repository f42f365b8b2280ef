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

// -----

func.func @attention_of_f64(%q: tensor<1x4x2x8xf64>) -> tensor<1x4x2x8xf64> {
  // expected-error @+1 {{'ff.attention' op has no device code for f64; fix: compute_dtype = "fp32", or --target=cpu}}
  %o, %l = ff.attention %q, %q, %q {scale = 0.5 : f64} : (tensor<1x4x2x8xf64>, tensor<1x4x2x8xf64>, tensor<1x4x2x8xf64>) -> (tensor<1x4x2x8xf64>, tensor<1x2x4xf64>)
  return %o : tensor<1x4x2x8xf64>
}

// -----

func.func @large_heads(%q: tensor<1x4x2x136xf32>) -> tensor<1x4x2x136xf32> {
  // expected-error @+1 {{'ff.attention' op has device code for head dims up to 128, not 136: use more heads}}
  %o, %l = ff.attention %q, %q, %q {scale = 0.5 : f64} : (tensor<1x4x2x136xf32>, tensor<1x4x2x136xf32>, tensor<1x4x2x136xf32>) -> (tensor<1x4x2x136xf32>, tensor<1x2x4xf32>)
  return %o : tensor<1x4x2x136xf32>
}
