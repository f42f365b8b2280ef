// RUN: ff-opt %s --ff-fuse-epilogues=device | FileCheck %s --check-prefix=EPILOGUE
// RUN: ff-opt %s --ff-form-kernels=device | FileCheck %s --check-prefix=SPLIT
// RUN: ff-opt %s --ff-form-kernels | FileCheck %s --check-prefix=HOST

// What is formed otherwise for a GPU.

// The matmul library of a GPU has relu and gelu_tanh.
// EPILOGUE-LABEL: func.func @activations(
func.func @activations(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  // EPILOGUE: ff.matmul {{.*}}activation_kind<relu>
  // EPILOGUE: ff.matmul {{.*}}activation_kind<gelu_tanh>
  // EPILOGUE: ff.matmul
  // EPILOGUE-NOT: activation_kind
  // EPILOGUE: ff.activation <silu>
  %a = ff.matmul %x, %w : tensor<8x64xf32>, tensor<64x32xf32> to tensor<8x32xf32>
  %b = ff.activation <relu> %a : tensor<8x32xf32>
  %c = ff.matmul %x, %w : tensor<8x64xf32>, tensor<64x32xf32> to tensor<8x32xf32>
  %d = ff.activation <gelu_tanh> %c : tensor<8x32xf32>
  %e = ff.matmul %x, %w : tensor<8x64xf32>, tensor<64x32xf32> to tensor<8x32xf32>
  %f = ff.activation <silu> %e : tensor<8x32xf32>
  return %b, %d, %f : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
}

// And of f64 no epilogue at all.
// EPILOGUE-LABEL: func.func @wide(
func.func @wide(%x: tensor<8x64xf64>, %w: tensor<64x32xf64>, %b: tensor<32xf64>) -> tensor<8x32xf64> {
  // EPILOGUE: ff.matmul %{{.*}}, %{{.*}} : tensor<8x64xf64>
  // EPILOGUE: arith.addf
  // EPILOGUE: ff.activation <relu>
  %m = ff.matmul %x, %w : tensor<8x64xf64>, tensor<64x32xf64> to tensor<8x32xf64>
  %v = ff.broadcast %b dims [1] : tensor<32xf64> to tensor<8x32xf64>
  %s = arith.addf %m, %v : tensor<8x32xf64>
  %r = ff.activation <relu> %s : tensor<8x32xf64>
  return %r : tensor<8x32xf64>
}

// The sum of a bias begins with sums for each sample, in the kernel of those of the gate.
// SPLIT-LABEL: func.func @bias_and_gate(
// HOST-LABEL: func.func @bias_and_gate(
func.func @bias_and_gate(%x: tensor<64x16x128xf32>, %y: tensor<64x16x128xf32>) -> (tensor<128xf32>, tensor<64x128xf32>) {
  // SPLIT: ff.fused{{.*}} domain [64, 16, 128] reduced 0 columns [1] : {{.*}} -> (tensor<64x128xf32>, tensor<64x128xf32>)
  // SPLIT: ff.fused{{.*}} domain [64, 128] reduced 0 columns [0] : (tensor<64x128xf32>) -> tensor<128xf32>
  // SPLIT-NOT: ff.fused
  // HOST-COUNT-3: ff.fused
  %p = arith.mulf %x, %y : tensor<64x16x128xf32>
  %g = ff.reduce <sum> %p dims [1] : tensor<64x16x128xf32> to tensor<64x128xf32>
  %b = ff.reduce <sum> %x dims [0, 1] : tensor<64x16x128xf32> to tensor<128xf32>
  return %b, %g : tensor<128xf32>, tensor<64x128xf32>
}

// Kernels of a GPU cut one long dim into parts themselves.
// SPLIT-LABEL: func.func @one_dim(
// HOST-LABEL: func.func @one_dim(
func.func @one_dim(%x: tensor<2048x128xf32>) -> tensor<128xf32> {
  // SPLIT-COUNT-1: ff.fused{{.*}} domain [2048, 128] reduced 0 columns [0]
  // SPLIT-NOT: ff.fused
  // HOST-COUNT-2: ff.fused
  %b = ff.reduce <sum> %x dims [0] : tensor<2048x128xf32> to tensor<128xf32>
  return %b : tensor<128xf32>
}
