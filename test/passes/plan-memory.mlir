// RUN: ff-opt %s --ff-plan-memory --ff-verify-memory --split-input-file | FileCheck %s

func.func private @kernel(!llvm.ptr, i64, i64)

// %a is dead when %c is computed: they share memory.
// CHECK-LABEL: func.func @reuse
// CHECK-SAME: ff.frame_bytes = 2048
// CHECK: ff.launch {{.*}} {ff.offsets = array<i64: 0>}
// CHECK: ff.launch {{.*}} {ff.offsets = array<i64: 1024>}
// CHECK: ff.launch {{.*}} {ff.offsets = array<i64: 0>}
// CHECK: ff.launch
// CHECK-NOT: ff.offsets
func.func @reuse(%x: tensor<256xf32>) -> tensor<256xf32> attributes {ff.program = "p"} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 : (tensor<256xf32>) -> tensor<256xf32>
  %b = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<256xf32>) -> tensor<256xf32>
  %c = ff.launch @kernel(%b) iterations 1 grain 1 : (tensor<256xf32>) -> tensor<256xf32>
  %d = ff.launch @kernel(%c) iterations 1 grain 1 : (tensor<256xf32>) -> tensor<256xf32>
  return %d : tensor<256xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)

// A view keeps what it views alive.
// CHECK-LABEL: func.func @through_views
// CHECK-SAME: ff.frame_bytes = 192
func.func @through_views(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {ff.program = "p"} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = ff.transpose %a [1, 0] : tensor<4x4xf32> to tensor<4x4xf32>
  %b = ff.launch @kernel(%x) iterations 1 grain 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = ff.launch @kernel(%b) iterations 1 grain 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = ff.launch @kernel(%c, %t) iterations 1 grain 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)

// The frame of a callee lies in the frame of its caller while it runs.
func.func private @block(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.block = "B"} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  %b = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %b : tensor<16xf32>
}
// CHECK-LABEL: func.func @caller
// CHECK-SAME: ff.frame_bytes = 128
// CHECK: call @block(%{{.*}}) {ff.frame = {{0|64}} : i64, ff.offsets = array<i64: {{0|64}}>}
func.func @caller(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p"} {
  %a = func.call @block(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %b = func.call @block(%a) : (tensor<16xf32>) -> tensor<16xf32>
  return %b : tensor<16xf32>
}
