//===- Passes.td - Passes over the ff dialect -------------*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order of the pipeline; tools/Pipeline.cpp says why it is this order.
//
//===----------------------------------------------------------------------===//

#ifndef FF_PASSES_PASSES_TD
#define FF_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"
include "passes/verify/Invariants.td"

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

def FormUnits : Pass<"ff-form-units", "mlir::ModuleOp"> {
  let summary = "Deals the parameters of each component to shard units";
  let description = [{
    Each instance of a block module becomes a unit; what is left of a component
    becomes its root unit. A unit is split into flat groups, uniform in (storage
    dtype, trainable, reduction dtype) (V1), and in the dtypes to gather and to
    update in. A group whose buffer would exceed `sharding.max_buffer` is split.
    The order of parameters in a group is that of their declaration, so equal
    blocks have equal layouts.

    Input:
    ```mlir
    ff.component @dit attributes {module = "DiT", train = #ff.train<full>} {
      ff.parameter @"blocks.0.w" : tensor<4x4xf32> init <constant, 0.0 : f64, 0.0 : f64> in "blocks.0"
    }
    ```
    Output, in addition:
    ```mlir
    ff.unit @"dit.blocks.0" of @dit groups [#ff.group<f32, trainable = true,
      reduce = f32, numel = 16, params = ["blocks.0.w"], offsets = [0]>]
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Differentiation
//===----------------------------------------------------------------------===//

def Differentiate : Pass<"ff-differentiate", "mlir::ModuleOp"> {
  let summary = "Adds the backward of the program that trains";
  let description = [{
    Reverse mode over the program named by `train.program` of the spec. A call of
    a block becomes a call of its forward variant, which also returns what the
    backward needs (residuals), and a call of its backward variant; the variants
    are made once for each block and set of wanted gradients, however many layers
    call it. What is cheap (views, constants, elementwise operations, norms of
    available values) is computed again in the backward instead of being saved.
    No value exists for the gradient of a frozen parameter.

    Input:
    ```mlir
    func.func @train(%x: tensor<8xf32> {ff.input = "x"}) -> (tensor<f32> {ff.output = "loss"}) attributes {ff.program = "train"} {
      %w = ff.param @c::@w : tensor<8xf32>
      %y = arith.mulf %x, %w : tensor<8xf32>
      %l = ff.reduce <sum> %y dims [0] : tensor<8xf32> to tensor<f32>
      return %l : tensor<f32>
    }
    ```
    Output: before the return,
    ```mlir
      %s = ff.loss_seed : tensor<f32>
      %b = ff.broadcast %s dims [] : tensor<f32> to tensor<8xf32>
      %g = arith.mulf %b, %x : tensor<8xf32>
      ff.gradient @c::@w, %g : tensor<8xf32>
    ```
  }];
  let options = [
    Option<"program", "program", "std::string", "\"\"",
           "Program to differentiate; default: train.program of the spec">,
  ];
  let dependentDialects = ["ff::FFDialect"];
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

def InsertGathers : Pass<"ff-insert-gathers", "mlir::ModuleOp"> {
  let summary = "Gathers each unit before its use and releases it after";
  let description = [{
    The uses of a unit are cut into runs wherever another block's unit is used in
    between; each run has its own gather and release, so that at most the unit in
    use (and the one being prefetched) is whole. Components with
    `reshard_after_forward = false`, and root units, are gathered once.

    Input:
    ```mlir
    %w = ff.param @dit::@"blocks.0.w" : tensor<4x4xf32>
    %y = ff.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32>
    ```
    Output:
    ```mlir
    %u = ff.gather @"dit.blocks.0" : !ff.gathered
    %w = ff.view %u["blocks.0.w"] : tensor<4x4xf32>
    %y = ff.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> to tensor<2x4xf32>
    ff.release %u
    ```
  }];
  let dependentDialects = ["ff::FFDialect"];
}

def InsertReductions : Pass<"ff-insert-reductions", "mlir::ModuleOp"> {
  let summary = "Reduces the gradients of each unit as soon as they are complete";
  let description = [{
    Collects the `ff.gradient`s of a unit in one `ff.reduce_gradients` after the
    last of them is computed. A gradient that cannot lie in the unit's gradient
    buffer (it is used elsewhere too) is copied.

    Input:
    ```mlir
    ff.gradient @dit::@"blocks.0.w", %g : tensor<4x4xf32>
    ```
    Output:
    ```mlir
    ff.reduce_gradients @"dit.blocks.0"(%g) ["blocks.0.w"] : tensor<4x4xf32>
    ```
  }];
  let dependentDialects = ["ff::FFDialect"];
}

//===----------------------------------------------------------------------===//
// Schedule and memory
//===----------------------------------------------------------------------===//

def ScheduleCollectives : Pass<"ff-schedule-collectives", "mlir::ModuleOp"> {
  let summary = "Starts collectives early enough to overlap with compute";
  let description = [{
    A gather becomes a start and a wait; it starts when the one before it has
    arrived, so that one unit is prefetched during the compute of another. A
    reduction is waited for when the next one is about to start.

    Input:
    ```mlir
    %a = ff.gather @a : !ff.gathered
    ...
    %b = ff.gather @b : !ff.gathered
    ```
    Output:
    ```mlir
    %p = ff.gather_start @a : !ff.pending
    %a = ff.gather_wait %p : !ff.gathered
    %q = ff.gather_start @b : !ff.pending
    ...
    %b = ff.gather_wait %q : !ff.gathered
    ```
  }];
  let dependentDialects = ["ff::FFDialect"];
}

def PlanMemory : Pass<"ff-plan-memory", "mlir::ModuleOp"> {
  let summary = "Gives every buffer an offset, every collective a slot";
  let description = [{
    Values of tensors get offsets in the frame of their function (attribute
    `ff.offsets`, bytes, one for each result; -1: it lies elsewhere), the frame of
    a callee lies in the frame of the caller (`ff.frame`), and the frame of a
    program is the activation arena (`ff.frame_bytes` of the function). Buffers
    with disjoint lifetimes share memory. Gathers and reductions get slots
    (`ff.gather_slots`, `ff.grad_slots`: for each slot the units that use it).
    Returned values and gradients are written in place.
  }];
}

#endif // FF_PASSES_PASSES_TD
