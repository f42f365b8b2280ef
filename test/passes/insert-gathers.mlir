// RUN: ff-opt %S/Inputs/tiny.mlir --ff-form-units --cse --ff-differentiate --symbol-dce --canonicalize --ff-insert-gathers | FileCheck %s
// RUN: ff-opt %S/Inputs/tiny.mlir --ff-form-units --cse --ff-differentiate --symbol-dce --canonicalize --ff-insert-gathers --ff-insert-reductions --ff-verify-reductions --ff-verify-collectives --ff-verify-shapes | FileCheck %s --check-prefix=REDUCE
// RUN: ff-opt %S/Inputs/tiny.mlir --ff-form-units --cse --ff-differentiate --symbol-dce --canonicalize --ff-insert-gathers --ff-insert-reductions --ff-schedule-collectives | FileCheck %s --check-prefix=SCHEDULE

// Block 0 is gathered twice, for the forward and for the backward; block 1 once, since nothing is between its two uses.
// CHECK-LABEL: func.func @train
// CHECK: %[[ROOT:.*]] = ff.gather @net.root
// CHECK: ff.matmul
// CHECK: ff.release %[[ROOT]]
// CHECK: %[[B0:.*]] = ff.gather @net.blocks.0
// CHECK: %[[W0:.*]] = ff.view %[[B0]]["blocks.0.w"]
// CHECK: call @Block_0_fwd(%{{.*}}, %[[W0]]
// CHECK-NEXT: ff.release %[[B0]]
// CHECK: %[[B1:.*]] = ff.gather @net.blocks.1
// CHECK: call @Block_0_fwd
// CHECK: call @Block_0_bwd
// CHECK-NEXT: ff.release %[[B1]]
// CHECK: %[[B0B:.*]] = ff.gather @net.blocks.0
// CHECK: call @Block_0_bwd
// CHECK-NEXT: ff.release %[[B0B]]
// CHECK-NOT: ff.gather

// Each unit is reduced right after its last gradient.
// REDUCE-LABEL: func.func @train
// REDUCE: %[[G:.*]]:3 = call @Block_0_bwd
// REDUCE-NEXT: ff.reduce_gradients @net.blocks.1(%[[G]]#1, %[[G]]#2) ["blocks.1.w", "blocks.1.b"]
// REDUCE: call @Block_0_bwd
// REDUCE-NEXT: ff.reduce_gradients @net.blocks.0
// REDUCE: ff.reduce_gradients @net.root
// REDUCE-NOT: ff.gradient

// The gather of the next unit starts when the one before it has arrived.
// SCHEDULE-LABEL: func.func @train
// SCHEDULE: ff.gather_start @net.root
// SCHEDULE-NEXT: ff.gather_wait
// SCHEDULE-NEXT: ff.gather_start @net.blocks.0
// SCHEDULE: ff.matmul
// SCHEDULE: ff.gather_wait
// SCHEDULE-NEXT: ff.gather_start @net.blocks.1
// SCHEDULE: call @Block_0_fwd
// SCHEDULE: ff.gather_wait
// SCHEDULE-NEXT: ff.gather_start @net.blocks.0
// SCHEDULE: ff.reduce_gradients @net.blocks.1
// SCHEDULE: call @Block_0_bwd
// SCHEDULE: ff.reduce_wait @net.blocks.1
// SCHEDULE-NEXT: ff.reduce_gradients @net.blocks.0
// SCHEDULE: ff.reduce_wait @net.blocks.0
// SCHEDULE-NEXT: ff.reduce_gradients @net.root
// SCHEDULE-NEXT: ff.reduce_wait @net.root
