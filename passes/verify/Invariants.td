//===- Invariants.td - Verifiers of V1 to V15 -------------*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass for each invariant. They change nothing. tools/Pipeline.cpp says
// after which stage each runs, docs/invariants.md what is tested where.
//
//===----------------------------------------------------------------------===//

#ifndef FF_PASSES_VERIFY_INVARIANTS_TD
#define FF_PASSES_VERIFY_INVARIANTS_TD

include "mlir/Pass/PassBase.td"

def VerifyGroups : Pass<"ff-verify-groups", "mlir::ModuleOp"> {
  let summary = "Each parameter is in one uniform group of one unit (V1)";
  let description = [{
    V1: every parameter of every component is in exactly one group, of the unit
    that its `block` names. That groups are uniform in (storage, gather, master,
    reduce, trainable) is stated by the verifier of `ff.unit`.
  }];
}

def VerifyTrainable : Pass<"ff-verify-trainable", "mlir::ModuleOp"> {
  let summary = "Trainable in the spec = with a gradient (V2)";
  let description = [{
    V2: what is trainable is what the train mode of its component says: all but
    buffers, the adapters, or nothing. In the program that trains each trainable
    parameter has exactly one `ff.gradient`, and no other has any; other programs
    have none. Nothing that depends on the loss seed leads nowhere, in block
    functions either: it would be the gradient of something frozen. The verifier
    of `ff.unit` says the same of groups, and with them of masters and optimizer
    state; ff-verify-reductions says it of reductions.
  }];
  let options = [
    Option<"gradients", "gradients", "bool", "true",
           "The program has been differentiated and not been sharded">,
  ];
}

def VerifyReductions : Pass<"ff-verify-reductions", "mlir::ModuleOp"> {
  let summary = "Each trainable parameter is reduced once (V3)";
  let description = [{
    V3: in the program that trains each unit has at most one
    `ff.reduce_gradients`; each trainable parameter is in exactly one, frozen ones
    in none, whether its component is sharded or replicated. Other functions have
    none.
  }];
}

def VerifyReachability : Pass<"ff-verify-reachability", "mlir::ModuleOp"> {
  let summary = "Each trainable parameter reaches the loss (V4)";
  let description = [{
    V4: in the program that trains each trainable parameter is read on a way to
    the loss, and its gradient depends on the loss seed, through calls and fused
    loops. Each adapter has exactly one base weight, each such weight both halves,
    and their sizes fit.
  }];
}

def VerifyCollectives : Pass<"ff-verify-collectives", "mlir::ModuleOp"> {
  let summary = "Every rank runs the same collectives (V5)";
  let description = [{
    V5: collectives, and uses of parameters that become one, stand in the
    straight line of a program, or of a function that only such lines call: not in
    a region, a block function or a function with branches. No operand of one is
    computed but the gradients, so no rank can differ. Each gather is released
    once, after its last reader, and no unit is gathered while it is whole. Once
    scheduled, each start has one wait and each reduction is waited for before its
    unit is reduced again and before the program ends.
  }];
  let options = [
    Option<"form", "form", "ff::CollectiveForm", "ff::CollectiveForm::Sharded",
           "What stands in programs",
           [{::llvm::cl::values(
             clEnumValN(ff::CollectiveForm::None, "none",
                        "Uses of parameters"),
             clEnumValN(ff::CollectiveForm::Sharded, "sharded",
                        "Gathers and reductions"),
             clEnumValN(ff::CollectiveForm::Scheduled, "scheduled",
                        "Starts and waits"))}]>,
  ];
}

def VerifyReduceDtypes : Pass<"ff-verify-reduce-dtypes", "mlir::ModuleOp"> {
  let summary = "Gradients are added up in the reduce dtype (V6)";
  let description = [{
    V6: each gradient in an `ff.reduce_gradients` has the reduce dtype of its
    parameter; contributions to it and to nothing else are not added in a narrower
    one. The verifier of `ff.gradient` says so before sharding, that of `ff.unit`
    of groups. Sums inside kernels are in f32 by the numerics contract.
  }];
}

def VerifyInitializers : Pass<"ff-verify-initializers", "mlir::ModuleOp"> {
  let summary = "Each parameter has exactly one initial value (V7)";
  let description = [{
    V7: a parameter comes from one tensor of a file that its component lists, of
    a dtype that can supply it and that supplies no other; else from its
    initialiser, whose numbers make sense. Both depend on no rank.
  }];
}

def VerifyShapes : Pass<"ff-verify-shapes", "mlir::ModuleOp"> {
  let summary = "Views and gradients have the shape of the parameter (V8)";
  let description = [{
    V8: each `ff.view` and each operand of `ff.reduce_gradients` names a
    parameter of its unit and has its logical shape. Offsets inside groups are
    checked by the verifiers of `ff.unit` and `#ff.group`, uses before sharding by
    those of `ff.param` and `ff.gradient`.
  }];
}

def VerifyNorm : Pass<"ff-verify-norm", "mlir::ModuleOp"> {
  let summary = "Each trained element counts once for the norm (V9)";
  let description = [{
    V9: the trainable groups of a component hold each of its trainable
    parameters once and as many elements; the clip norm is positive. The runtime
    adds up groups: those of a sharded component over `shard`, those of a
    replicated one not.
  }];
}

def VerifyManifest : Pass<"ff-verify-manifest", "mlir::ModuleOp"> {
  let summary = "What is saved is what is trained, once, under its name (V10)";
  let description = [{
    V10: the save table of a component is of the kind of its train mode; all
    parameters of a full model and the adapters of an adapted one are in it, once,
    in a file that it lists, under the name that a load looks for; each file has a
    tensor, each adapter both halves; nothing frozen is in it.
  }];
}

def VerifyBatch : Pass<"ff-verify-batch", "mlir::ModuleOp"> {
  let summary = "Batch sizes and step counts agree (V11)";
  let description = [{
    V11: `global_batch` is a multiple of `micro_batch`; dim 0 of each input of the
    program that trains is `micro_batch`, of the one that samples its own; the
    schedule counts the optimizer steps of `train.steps`.
  }];
}

def VerifyRandomness : Pass<"ff-verify-randomness", "mlir::ModuleOp"> {
  let summary = "Random values are of a sample and a site (V12)";
  let description = [{
    V12: each `ff.random` stands in the straight line of a program, not in a
    function whose calls would all draw the same; dim 0 is the batch; sites are
    unique in a program and of its number, which no other program has.
  }];
}

def VerifyPrecision : Pass<"ff-verify-precision", "mlir::ModuleOp"> {
  let summary = "Dtypes are those of the policy (V13)";
  let description = [{
    V13: storage, gather, master and reduce dtype of each parameter follow from
    `precision` of the spec and of the component: narrow trainable parameters have
    an f32 master unless it says none, gathers are in the narrower of storage and
    compute, what is frozen keeps the dtype of its file, buffers are left alone. A
    recomputed block is a call of the function of the forward, with the same
    operands, so that it has the same casts.
  }];
}

def VerifyMemory : Pass<"ff-verify-memory", "mlir::ModuleOp"> {
  let summary = "No buffer is overwritten before its last reader (V14)";
  let description = [{
    V14: every function has a frame of known size. Run through in order, no
    operation reads a buffer that another one has written since, writes where it
    reads, or lies outside the frame; frames of callees lie in those of callers; a
    slot holds one unit at a time, which the tables of the function list. This
    computes no lifetimes, so it shares none with the planner.
  }];
}

def VerifySpec : Pass<"ff-verify-spec", "mlir::ModuleOp"> {
  let summary = "The spec is complete and agrees with itself (V15)";
  let description = [{
    V15: sections and keys that later stages read are there; sizes of the mesh
    and all counts are positive; each program that the spec names exists once, with
    unique inputs and outputs; inputs of the program that trains are the fields of
    the data.
  }];
  let options = [
    Option<"complete", "complete", "bool", "false",
           "All of the spec must be there">,
  ];
}

#endif // FF_PASSES_VERIFY_INVARIANTS_TD
