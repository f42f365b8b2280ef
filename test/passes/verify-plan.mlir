// RUN: ff-opt %s --ff-verify-plan --split-input-file --verify-diagnostics

// Mutated plans are caught.

func.func private @kernel(!llvm.ptr, i64, i64)
func.func @overlap(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 128 : i64} {
  // expected-error @below {{has a buffer [0, 64) that overlaps another, live at the same time}}
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-note @below {{the other, [32, 96)}}
  %b = ff.launch @kernel(%a) iterations 1 grain 1 {ff.offsets = array<i64: 32>} : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%a, %b) iterations 1 grain 1 : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)
func.func @outside(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 64 : i64} {
  // expected-error @below {{has a buffer [64, 128) outside the frame of 64 bytes}}
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)
func.func @no_place(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 64 : i64} {
  // expected-error @below {{has a result without a place}}
  %a = ff.launch @kernel(%x) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["v"], offsets = [0]>]
ff.unit @two of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @slot_taken() attributes {ff.program = "p", ff.frame_bytes = 0 : i64} {
  // expected-error @below {{uses slot 0 while it holds @two}}
  %p = ff.gather_start @one {slot = 0 : i32} : !ff.pending
  %u = ff.gather_wait %p : !ff.gathered
  // expected-note @below {{the other use of the slot}}
  %q = ff.gather_start @two {slot = 0 : i32} : !ff.pending
  %v = ff.gather_wait %q : !ff.gathered
  ff.release %u
  ff.release %v
  return
}
