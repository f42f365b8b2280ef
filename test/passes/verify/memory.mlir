// RUN: ff-opt %s --ff-verify-memory --split-input-file --verify-diagnostics

// Mutated plans are caught.
// Two buffers at one place, one after the other: right.
func.func private @kernel(!llvm.ptr, i64, i64)
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 128 : i64} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %b = ff.launch @kernel(%a) iterations 1 grain 1 {ff.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  %d = ff.launch @kernel(%b) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%d) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

// Live at the same time.
func.func private @kernel(!llvm.ptr, i64, i64)
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 256 : i64} {
  // expected-note @below {{what it should hold}}
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %e = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-note @below {{what overwrote it}}
  %b = ff.launch @kernel(%e) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @below {{reads a buffer [0, 64) that has been overwritten}}
  %c = ff.launch @kernel(%a, %b) iterations 1 grain 1 : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

// Through a view.
func.func private @kernel(!llvm.ptr, i64, i64)
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 256 : i64} {
  // expected-note @below {{what it should hold}}
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %v = ff.reshape %a : tensor<16xf32> to tensor<4x4xf32>
  // expected-note @below {{what overwrote it}}
  %b = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %u = ff.reshape %v : tensor<4x4xf32> to tensor<16xf32>
  // expected-error @below {{reads a buffer [0, 64) that has been overwritten}}
  %c = ff.launch @kernel(%u, %b) iterations 1 grain 1 : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

// In part: the larger buffer ends in the smaller one.
func.func private @kernel(!llvm.ptr, i64, i64)
func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> attributes {ff.program = "p", ff.frame_bytes = 256 : i64} {
  // expected-note @below {{what it should hold}}
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 64>} : (tensor<1xf32>) -> tensor<1xf32>
  // expected-note @below {{what overwrote it}}
  %b = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<1xf32>) -> tensor<17xf32>
  // expected-error @below {{reads a buffer [64, 68) that has been overwritten}}
  %c = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<1xf32>) -> tensor<1xf32>
  return %c : tensor<1xf32>
}

// -----

// Written where it is read.
func.func private @kernel(!llvm.ptr, i64, i64)
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 256 : i64} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @below {{has a buffer [0, 64) that overlaps [0, 64), which it reads}}
  %b = ff.launch @kernel(%a) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%b) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

// Two results at one place.
func.func private @kernel(!llvm.ptr, i64, i64)
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 256 : i64} {
  // expected-error @below {{has buffers [0, 64) and [0, 64) that overlap}}
  %a:2 = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0, 0>} : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %c = ff.launch @kernel(%a#0, %a#1) iterations 1 grain 1 : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 64 : i64} {
  // expected-error @below {{has a buffer [64, 128) outside the frame of 64 bytes}}
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 64>} : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 256 : i64} {
  // expected-error @below {{has a buffer [32, 96) that is not aligned to 64 bytes}}
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 32>} : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 256 : i64} {
  // expected-error @below {{has a result without a place}}
  %a = ff.launch @kernel(%x) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 256 : i64} {
  // expected-error @below {{has an offset for result 0, which lies outside the frame}}
  %c = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)
// expected-error @below {{has no planned frame}}
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p"} {
  %c = ff.launch @kernel(%x) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

// Frames of callees.
func.func private @kernel(!llvm.ptr, i64, i64)
func.func private @callee(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.block = "B", ff.frame_bytes = 128 : i64} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func @outside(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 128 : i64} {
  // expected-error @below {{has a buffer [64, 192) outside the frame of 128 bytes}}
  %c = func.call @callee(%x) {ff.frame = 64 : i64} : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)
func.func private @callee(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.block = "B", ff.frame_bytes = 64 : i64} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func @no_frame(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 128 : i64} {
  // expected-error @below {{has no place for the frame of 'callee'}}
  %c = func.call @callee(%x) : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)
func.func private @callee(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.block = "B", ff.frame_bytes = 64 : i64} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %c = ff.launch @kernel(%a) iterations 1 grain 1 : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}
func.func @frame_over_operand(%x: tensor<16xf32>) -> tensor<16xf32> attributes {ff.program = "p", ff.frame_bytes = 128 : i64} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 {ff.offsets = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @below {{has a buffer [0, 64) that overlaps [0, 64), which it reads}}
  %c = func.call @callee(%a) {ff.frame = 0 : i64} : (tensor<16xf32>) -> tensor<16xf32>
  return %c : tensor<16xf32>
}

// -----

// Slots.
ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["v"], offsets = [0]>]
ff.unit @two of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @slot_taken() attributes {ff.program = "p", ff.frame_bytes = 0 : i64, ff.gather_slots = [[@one, @two]]} {
  // expected-note @below {{the other use of the slot}}
  %p = ff.gather_start @one {slot = 0 : i32} : !ff.pending
  %u = ff.gather_wait %p : !ff.gathered
  // expected-error @below {{uses slot 0 while it holds @one}}
  %q = ff.gather_start @two {slot = 0 : i32} : !ff.pending
  %v = ff.gather_wait %q : !ff.gathered
  ff.release %u
  ff.release %v
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["v"], offsets = [0]>]
ff.unit @two of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @in_turn() attributes {ff.program = "p", ff.frame_bytes = 0 : i64, ff.gather_slots = [[@one, @two]]} {
  %p = ff.gather_start @one {slot = 0 : i32} : !ff.pending
  %u = ff.gather_wait %p : !ff.gathered
  ff.release %u
  %q = ff.gather_start @two {slot = 0 : i32} : !ff.pending
  %v = ff.gather_wait %q : !ff.gathered
  ff.release %v
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["v"], offsets = [0]>]
ff.unit @two of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @no_slot() attributes {ff.program = "p", ff.frame_bytes = 0 : i64} {
  // expected-error @below {{has no slot}}
  %p = ff.gather_start @one : !ff.pending
  %u = ff.gather_wait %p : !ff.gathered
  ff.release %u
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["v"], offsets = [0]>]
ff.unit @two of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @not_listed() attributes {ff.program = "p", ff.frame_bytes = 0 : i64, ff.gather_slots = [[@two]]} {
  // expected-error @below {{uses slot 0 for @one, which 'ff.gather_slots' does not list there}}
  %p = ff.gather_start @one {slot = 0 : i32} : !ff.pending
  %u = ff.gather_wait %p : !ff.gathered
  ff.release %u
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["v"], offsets = [0]>]
ff.unit @two of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func private @callee() attributes {ff.forward = "F", ff.frame_bytes = 0 : i64, ff.gather_slots = [[@two]]} {
  return
}
func.func @slot_of_callee() attributes {ff.program = "p", ff.frame_bytes = 0 : i64, ff.gather_slots = [[@one, @two]]} {
  // expected-note @below {{the other use of the slot}}
  %p = ff.gather_start @one {slot = 0 : i32} : !ff.pending
  %u = ff.gather_wait %p : !ff.gathered
  // expected-error @below {{gathers into slot 0 while it holds @one}}
  func.call @callee() {ff.frame = 0 : i64} : () -> ()
  ff.release %u
  return
}

// -----

// A gradient is computed in the slot of its reduction.
func.func private @kernel(!llvm.ptr, i64, i64)
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["v"], offsets = [0]>]
ff.unit @two of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @grad_slot_taken(%x: tensor<4xf32>) attributes {ff.program = "p", ff.frame_bytes = 0 : i64, ff.grad_slots = [[@one, @two]]} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{the other use of the slot}}
  ff.reduce_gradients @one(%a) ["v"] {slot = 0 : i32} : tensor<4xf32>
  %b = ff.launch @kernel(%x) iterations 1 grain 1 : (tensor<4xf32>) -> tensor<4xf32>
  ff.reduce_wait @one
  // expected-error @below {{uses slot 0 while it holds @one}}
  ff.reduce_gradients @two(%b) ["w"] {slot = 0 : i32} : tensor<4xf32>
  ff.reduce_wait @two
  return
}

// -----

func.func private @kernel(!llvm.ptr, i64, i64)
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["v"], offsets = [0]>]
ff.unit @two of @net groups [#ff.group<f32, trainable = true, reduce = f32, numel = 16, params = ["w"], offsets = [0]>]
func.func @one_value(%x: tensor<4xf32>) attributes {ff.program = "p", ff.frame_bytes = 0 : i64, ff.grad_slots = [[@one], [@two]]} {
  %a = ff.launch @kernel(%x) iterations 1 grain 1 : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{reduced here}}
  ff.reduce_gradients @one(%a) ["v"] {slot = 0 : i32} : tensor<4xf32>
  // expected-error @below {{reduces a value that lies in another place of the gradient buffers too}}
  ff.reduce_gradients @two(%a) ["w"] {slot = 1 : i32} : tensor<4xf32>
  ff.reduce_wait @one
  ff.reduce_wait @two
  return
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @v : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}
ff.unit @one of @net groups [#ff.group<f32, trainable = false, reduce = f32, numel = 16, params = ["v"], offsets = [0]>]
func.func private @callee() attributes {ff.forward = "F", ff.frame_bytes = 0 : i64, ff.gather_slots = [[@one]]} {
  return
}
func.func @slot_of_callee_not_listed() attributes {ff.program = "p", ff.frame_bytes = 0 : i64, ff.gather_slots = [[]]} {
  // expected-error @below {{gathers @one into slot 0, which 'ff.gather_slots' does not list there}}
  func.call @callee() {ff.frame = 0 : i64} : () -> ()
  return
}
